"""Inspect tasks: what is asked, of which data, and by which scorer the answer is judged."""

from clinical_evals.tasks.code_set import code_set
from clinical_evals.tasks.decomposition import decomposition
from clinical_evals.tasks.grounding import grounding
from clinical_evals.tasks.judge_calibration import judge_calibration
from clinical_evals.tasks.retrieval import retrieval
from clinical_evals.tasks.summary import summary

__all__ = ["code_set", "decomposition", "grounding", "judge_calibration", "retrieval", "summary"]
