"""Words and numbers of clinical text, brought to one form: what grounding, ontology and summary share."""
