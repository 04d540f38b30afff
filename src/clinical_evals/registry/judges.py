"""What a grader's word is worth: whose model it is, and how far it was found to agree with people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clinical_evals.registry.runs import RunView
from clinical_evals.signature import parse_signature

UNCALIBRATED = "uncalibrated"

# Providers that serve the models of others; a maker's name may follow.
_HOSTS = frozenset(
    "azureai bedrock cloudflare fireworks goodfire groq hf hf-inference-providers llama-cpp-python nebius "
    "nnterp ollama openai-api openrouter sagemaker sglang together transformer_lens vllm".split()
)
_NOBODYS = frozenset({"mockllm", "none", "replay"})
_JOINT = " + "


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far one judge agrees with people.

    Attributes:
        judge: The judge.
        metric: The measure of agreement.
        run: The run that says so; None if there is none, and the judge is uncalibrated.
    """

    judge: str
    metric: str
    run: RunView | None

    def __str__(self) -> str:
        if self.run is None:
            return UNCALIBRATED
        figure = self.run.figure(self.metric)
        interval = "" if math.isnan(figure.lower) else f" [{figure.lower:.2f}, {figure.upper:.2f}]"
        return f"{figure.mean:.2f}{interval}"


def calibrate(run: RunView, whole_runs: Sequence[RunView]) -> tuple[Calibration, ...]:
    """Find how far a run's judges were found to agree with people.

    Args:
        run: The run.
        whole_runs: Runs to look in, oldest first, only those that attempted every sample.

    Returns:
        One for each judge, by the latest run; none if the run declares nothing to be calibrated by.
    """
    if run.calibrated_by is None:
        return ()
    task, metric, key = (run.calibrated_by[name] for name in ("task", "metric", "signature_key"))
    setting = _setting(run, key)
    found = {
        other.model: other
        for other in whole_runs
        if other.task == task
        and setting is not None
        and _setting(other, key) == setting
        and not math.isnan(other.figure(metric).mean)
    }
    return tuple(Calibration(judge, metric, found.get(judge)) for judge in judges_of(run))


def judges_of(run: RunView) -> list[str]:
    """Name the models that graded a run."""
    return run.grader.split(_JOINT)


def remark(run: RunView) -> str:
    """Say if a run was graded by the very model it is about, or one of the same maker; else nothing."""
    if not run.graded_by:
        return ""
    judges = judges_of(run)
    if run.model in judges:
        return "graded by itself" if len(judges) == 1 else "graded by itself among others"
    own = maker(run.model)
    if own is not None and own in map(maker, judges):
        return f"graded by a model of its own maker ({own})"
    return ""


def maker(model: str) -> str | None:
    """Return who made a model, as far as its name says.

    `openrouter/acme/large` and `acme/small` have one maker; who only serves a model did not make it.
    """
    parts = model.lower().split("/")
    if len(parts) > 2 and parts[0] == "openai-api":
        parts = parts[1:]  # the service's own name follows
    if parts[0] in _HOSTS:
        parts = parts[1:]
        if len(parts) == 1 and "." in parts[0]:  # as in bedrock/acme.large-v1:0
            return _name(parts[0].split(".")[-2 if parts[0].split(".")[0] in ("us", "eu", "apac") else 0])
    return _name(parts[0]) if len(parts) > 1 else None


def _name(maker: str) -> str | None:
    return None if not maker or maker in _NOBODYS else maker


def _setting(run: RunView, key: str) -> str | None:
    return parse_signature(run.signature)[1].get(key)
