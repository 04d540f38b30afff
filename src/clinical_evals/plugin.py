"""What Inspect loads by entry point: the tasks with their scorers, the replay models, the registry hook."""

from clinical_evals.registry.hook import RegistryHook
from clinical_evals.replay import ReplayAPI
from clinical_evals.scorers import grounding_scorer
from clinical_evals.tasks import grounding

__all__ = ["RegistryHook", "ReplayAPI", "grounding", "grounding_scorer"]
