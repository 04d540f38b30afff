"""Inspect scorers: thin adapters from a task's state to a `Score`."""

from clinical_evals.scorers.grounding import grounding_scorer
from clinical_evals.scorers.ontology import code_set_scorer, decomposition_scorer, retrieval_scorer
from clinical_evals.scorers.summary import calibration_scorer, summary_scorer

__all__ = [
    "calibration_scorer",
    "code_set_scorer",
    "decomposition_scorer",
    "grounding_scorer",
    "retrieval_scorer",
    "summary_scorer",
]
