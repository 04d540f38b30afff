"""What Inspect loads by entry point: the tasks with their scorers, the replay models, the registry hook."""

from clinical_evals.registry.hook import RegistryHook
from clinical_evals.replay import ReplayAPI
from clinical_evals.scorers import (
    calibration_scorer,
    code_set_scorer,
    decomposition_scorer,
    grounding_scorer,
    retrieval_scorer,
    summary_scorer,
)
from clinical_evals.tasks import (
    code_set,
    decomposition,
    grounding,
    judge_calibration,
    retrieval,
    summary,
)

__all__ = [
    "RegistryHook",
    "ReplayAPI",
    "calibration_scorer",
    "code_set",
    "code_set_scorer",
    "decomposition",
    "decomposition_scorer",
    "grounding",
    "grounding_scorer",
    "judge_calibration",
    "retrieval",
    "retrieval_scorer",
    "summary",
    "summary_scorer",
]
