"""How sure a mean is: the metric that every scorer here adds to it."""

from __future__ import annotations

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from clinical_evals.statistics import summarise

__all__ = ["interval"]


@metric
def interval(cluster: str = "family") -> Metric:
    """Standard error, 95% bootstrap interval and number of samples, clustered by note family.

    Args:
        cluster: The sample metadata that names the family; a sample without one is its own.

    Returns:
        `stderr`, `lower`, `upper` (NaN with fewer than two families) and `n`.
    """

    def compute(scores: list[SampleScore]) -> Value:
        summary = summarise(
            [score.score.as_float() for score in scores],
            [str((score.sample_metadata or {}).get(cluster) or score.sample_id) for score in scores],
        )
        return {"stderr": summary.stderr, "lower": summary.lower, "upper": summary.upper, "n": summary.n}

    return compute
