"""Evaluation of clinical language models: grounding, ontology, summary, and a registry of results."""
