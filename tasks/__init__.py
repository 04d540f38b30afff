"""Inspect tasks: what is asked, of which data, and by which scorer the answer is judged."""

from clinical_evals.tasks.grounding import grounding

__all__ = ["grounding"]
