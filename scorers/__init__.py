"""Inspect scorers: thin adapters from a task's state to a `Score`."""

from clinical_evals.scorers.grounding import grounding_scorer

__all__ = ["grounding_scorer"]
