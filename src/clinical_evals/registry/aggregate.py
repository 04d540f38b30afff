"""A run's rows summed up: the only place where aggregates are computed, for sending and for recounting."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from clinical_evals.registry.names import safe_name, stored_names
from clinical_evals.registry.record import MetricFacts, RunRecord, SampleRow
from clinical_evals.registry.run_statistics import run_statistic
from clinical_evals.statistics import summarise


@dataclass(frozen=True, slots=True)
class Aggregates:
    """What a run comes to.

    Attributes:
        metrics: Numbers by stored name, all finite.
        status: `FINISHED` if anything was scored, else `FAILED`.
        unscored: Number of samples by cause that the model under test did not cause.
        failed: Number of samples by cause that it did cause, and that count 0.
        attempted: Number of different samples that were attempted in every epoch.
    """

    metrics: dict[str, float]
    status: Literal["FINISHED", "FAILED"]
    unscored: dict[str, int]
    failed: dict[str, int]
    attempted: int


def aggregate(record: RunRecord) -> Aggregates:
    """Compute every aggregate of a run from its rows."""
    return aggregate_rows(record.rows, record.metrics, record.epochs, record.totals)


def aggregate_rows(
    rows: Sequence[SampleRow],
    facts_of: Mapping[str, MetricFacts],
    epochs: int,
    totals: Mapping[str, float],
) -> Aggregates:
    """Compute every aggregate from the rows of a run.

    Args:
        rows: The rows.
        facts_of: What is declared of each metric.
        epochs: How often each sample was asked.
        totals: Numbers of the whole run that follow from no row.
    """
    tried = [row for row in rows if row.status != "cancelled"]
    scored = [row for row in tried if row.status in ("scored", "failed")]
    unscored = Counter(row.cause or "not scored" for row in tried if row.status == "unscored")
    failed = Counter(row.cause or "other reason" for row in tried if row.status == "failed")
    metrics: dict[str, float] = {}
    # Figures come first and sums of counts last: MLflow shows metrics in the order in which they are logged.
    stored = stored_names(facts_of)
    for name, facts in facts_of.items():
        if facts.statistic is not None:
            figures = run_statistic(facts.statistic, facts.of, scored)
        else:
            figures = _around_mean(name, facts, scored, len(tried) - len(scored))
        metrics |= {stored[name, kind]: value for kind, value in figures.items()}
    metrics |= {
        "samples": len(tried),
        "scored": len(scored),
        "unscored": len(tried) - len(scored),
        **{f"unscored_{_slug(cause)}": number for cause, number in unscored.items()},
        **{f"failed_{_slug(cause)}": number for cause, number in failed.items()},
        **{safe_name(name): value for name, value in totals.items()},
    }
    if tried:
        metrics["unscored_rate"] = (len(tried) - len(scored)) / len(tried)
    if scored:
        metrics["model_failure_rate"] = failed.total() / len(scored)
    counts: Counter[str] = Counter()
    for row in scored:
        counts.update(row.counts)
    # And in its charts by name, hence one that sorts behind the figures.
    metrics |= {f"total_{safe_name(name)}": number for name, number in counts.items()}
    return Aggregates(
        metrics={name: float(value) for name, value in metrics.items() if math.isfinite(value)},
        status="FINISHED" if scored else "FAILED",
        unscored=dict(sorted(unscored.items())),
        failed=dict(sorted(failed.items())),
        attempted=_attempted(tried, epochs),
    )


def _around_mean(name: str, facts: MetricFacts, scored: list[SampleRow], unscored: int) -> dict[str, float]:
    """Return the mean of one metric and what surrounds it; what is undefined is NaN."""
    if not any(name in row.values for row in scored):
        return {}
    # A row without the metric is as undefined as one where it is null: a table of rows knows no difference.
    values = [math.nan if (value := row.values.get(name)) is None else float(value) for row in scored]
    # As in Inspect, the epochs of a sample are one value: asking again does not make more samples.
    epochs: dict[str, list[float]] = {}
    families: dict[str, str] = {}
    for row, value in zip(scored, values, strict=True):
        families[row.sample] = row.family
        epochs.setdefault(row.sample, [])
        if not math.isnan(value):
            epochs[row.sample].append(value)
    means = [
        math.fsum(of_sample) / len(of_sample) if of_sample else math.nan for of_sample in epochs.values()
    ]
    summary = summarise(means, list(families.values()), limits=facts.range)
    known = [value for value in values if not math.isnan(value)]
    figures = {
        "": summary.mean,
        "stderr": summary.stderr,
        "lower": summary.lower,
        "upper": summary.upper,
        "n": summary.n,
        "undefined": len(means) - summary.n,
    }
    if unscored and facts.range is not None and known:
        # Had the unscored samples been scored, the mean would lie between these.
        ends = [(math.fsum(known) + end * unscored) / (len(known) + unscored) for end in sorted(facts.range)]
        figures["worst"], figures["best"] = sorted(ends, key=facts.worth)
    return figures


def _attempted(tried: list[SampleRow], epochs: int) -> int:
    per_sample = Counter(row.sample for row in tried)
    return sum(number >= epochs for number in per_sample.values())


def _slug(cause: str) -> str:
    return cause.replace(" ", "_")
