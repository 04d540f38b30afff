"""Two runs over the same samples, metric by metric and sample by sample."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clinical_evals.files import InputError
from clinical_evals.paired import Difference, Gate, compare_paired, gate_with_gaps, mcnemar_p
from clinical_evals.registry.leaderboard import conditions_that_differ, what_differs
from clinical_evals.registry.record import MetricFacts, SampleRow
from clinical_evals.registry.resolve import Results

Key = tuple[str, int]
"""A sample's id and epoch."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The samples of two runs, aligned by id and epoch.

    Attributes:
        both: Pairs that both runs scored.
        only_first: Samples that only the first run has.
        only_second: Samples that only the second has.
        unscored: Samples that both have and at least one did not score, with the causes of both.
    """

    both: list[tuple[SampleRow, SampleRow]]
    only_first: list[Key]
    only_second: list[Key]
    unscored: list[tuple[Key, str]]


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One metric of two runs.

    Attributes:
        metric: Its name.
        facts: Its range and direction.
        first: Mean of the first run over the pairs; NaN without one.
        second: Mean of the second run over the pairs.
        difference: Second minus first; see `Difference`.
        better: Pairs in which the second is better.
        worse: Pairs in which it is worse.
        undefined: Pairs for which at least one run's value is not defined.
        mcnemar: Exact McNemar p if all values are 0 or 1, else None.
    """

    metric: str
    facts: MetricFacts
    first: float
    second: float
    difference: Difference
    better: int
    worse: int
    undefined: int
    mcnemar: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A sample whose value of a metric differs between two runs."""

    sample: str
    epoch: int
    first: float
    second: float

    @property
    def by(self) -> float:
        """Second minus first."""
        return self.second - self.first


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two runs come to beside one another.

    Attributes:
        first: The first run.
        second: The second.
        differs: In which conditions they differ, so that their numbers are not on one scale; empty if none.
        pairs: How their samples align.
        metrics: Each metric that both have, the headline first.
        headline: The metric that `worse` is about.
        worse: Samples whose headline value is worse in the second run, worst first.
    """

    first: Results
    second: Results
    differs: str
    pairs: Pairs
    metrics: list[MetricComparison]
    headline: str
    worse: list[Change]

    @property
    def of_headline(self) -> MetricComparison | None:
        """The comparison by the headline; None if no pair has it."""
        return next((one for one in self.metrics if one.metric == self.headline), None)

    @property
    def is_one_run(self) -> bool:
        """Both are the same run."""
        return self.first.view.eval_id == self.second.view.eval_id


def compare_runs(first: Results, second: Results, *, metric: str | None = None, seed: int = 0) -> Comparison:
    """Compare two runs sample by sample.

    Args:
        first: The run that is compared with.
        second: The run that is compared.
        metric: The metric to list worse samples by. Default: the first run's headline.
        seed: Seed of intervals and permutations.

    Raises:
        InputError: If the runs are of different tasks, share no metric, or lack `metric`.
    """
    if first.view.task != second.view.task:
        raise InputError(
            f"cannot compare runs of two tasks: {first.name} is of {first.view.task}, "
            f"{second.name} of {second.view.task}"
        )
    facts = {name: fact for name, fact in first.view.facts.items() if name in second.view.facts}
    headline = first.view.headline if metric is None else metric
    if headline not in facts:
        raise InputError(f"metric {headline!r} is not in both runs. Both have: {', '.join(facts) or 'none'}")
    if metric is not None:
        _check_is_of_samples(metric, facts)
    pairs = align(first.rows, second.rows)
    names = [headline, *(name for name in facts if name != headline)]
    compared = [_compare_metric(name, facts[name], pairs, seed) for name in names]
    worth = facts[headline].worth
    changes = [
        Change(row.sample, row.epoch, a, b) for row, a, b in _values(headline, pairs) if worth(b) < worth(a)
    ]
    return Comparison(
        first=first,
        second=second,
        differs=conditions_that_differ(second.view, first.view),
        pairs=pairs,
        metrics=[one for one in compared if one.difference.n or one.undefined],
        headline=headline,
        worse=sorted(changes, key=lambda one: (worth(one.second) - worth(one.first), one.sample, one.epoch)),
    )


def gate_runs(
    baseline: Results, candidate: Results, *, margin: float, metric: str | None = None, alpha: float = 0.05
) -> tuple[Comparison, Gate]:
    """Test whether a candidate is worse than a baseline by less than a margin.

    Args:
        baseline: The run that is in use.
        candidate: The run that would replace it.
        margin: The drop that would still be accepted, in units of the metric, above 0.
        metric: The metric. Default: the baseline's headline.
        alpha: Chance of passing a candidate that is worse by just the margin.

    Returns:
        The comparison and the answer. Samples that the baseline did not score are in neither. Those that only
        the candidate did not score, or for which only its value is not defined, are between worst and best in
        the answer; so are those that it failed and whose value would then be better than the baseline's.

    Raises:
        InputError: If the runs cannot be compared: the same run twice, other tasks, data or scorer settings,
            a run that the leaderboard would not rank, a metric without a declared range or without values of
            samples.
        ValueError: If the margin or alpha is out of range; see `gate_paired`.
    """
    comparison = compare_runs(baseline, candidate, metric=metric)
    name = comparison.headline
    if comparison.is_one_run:
        raise InputError(f"baseline and candidate are the same run: {baseline.name}")
    if comparison.differs:
        raise InputError(f"these runs are not on one scale: the candidate has {comparison.differs}")
    for role, run in (("baseline", baseline), ("candidate", candidate)):
        why_not = what_differs(run.view)
        if why_not:
            raise InputError(f"the {role} is no run that the leaderboard would rank: {why_not}")
    _check_is_of_samples(name, baseline.view.facts)
    facts = baseline.view.facts[name]
    if facts.range is None:
        raise InputError(f"metric {name!r} declares no range, which the gate's bounds need")
    if facts.is_best_at_0:
        raise InputError(f"metric {name!r} is best at 0, so no change of it is a drop; choose another")
    low, high = sorted(facts.range)
    sign = 1 if facts.higher_is_better else -1
    values = _with_gaps(name, sign, baseline.rows, candidate.rows)
    if not values:
        raise InputError(f"no sample of the baseline has a value of {name!r}")
    answer = gate_with_gaps(
        [a for _, a, _ in values],
        [b for _, _, b in values],
        [family for family, _, _ in values],
        margin=margin,
        limits=(low, high) if sign > 0 else (-high, -low),
        alpha=alpha,
    )
    return comparison, answer


def _check_is_of_samples(metric: str, facts: Mapping[str, MetricFacts]) -> None:
    """Refuse a metric that only a whole run has."""
    if facts[metric].statistic is not None:
        others = [name for name, fact in facts.items() if fact.statistic is None]
        raise InputError(
            f"metric {metric!r} is computed from all samples together, so that there is nothing to pair. "
            f"Of single samples are: {', '.join(others) or 'none'}"
        )


def _with_gaps(
    metric: str, sign: int, first: Sequence[SampleRow], second: Sequence[SampleRow]
) -> list[tuple[str, float, float]]:
    """Return family and both values for each row of the first run that has one; NaN where the second has not.

    Values are turned so that higher is better. Epochs that only the first run has say nothing of the second.
    """
    other = {(row.sample, row.epoch): row for row in second}
    seen = {row.sample for row in second}
    values = []
    for row in first:
        a, found = row.values.get(metric), other.get((row.sample, row.epoch))
        if a is None or (found is None and row.sample in seen):
            continue
        b = None if found is None else found.values.get(metric)
        # Silence must not pay where less is better.
        failed = found is not None and found.status == "failed" and row.status != "failed"
        if b is None or (failed and sign * b > sign * a):
            b = math.nan
        values.append((row.family, sign * a, sign * b))
    return values


def align(first: Sequence[SampleRow], second: Sequence[SampleRow]) -> Pairs:
    """Align the samples of two runs by id and epoch; nothing is dropped without being named."""
    a = {(row.sample, row.epoch): row for row in first if row.status != "cancelled"}
    b = {(row.sample, row.epoch): row for row in second if row.status != "cancelled"}
    both: list[tuple[SampleRow, SampleRow]] = []
    unscored: list[tuple[Key, str]] = []
    for key in sorted(a.keys() & b.keys()):
        missing = [
            f"{name}: {row.cause or 'not scored'}"
            for name, row in (("first", a[key]), ("second", b[key]))
            if row.status not in ("scored", "failed")
        ]
        if missing:
            unscored.append((key, "; ".join(missing)))
        else:
            both.append((a[key], b[key]))
    return Pairs(both, sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys()), unscored)


def causes(unscored: Sequence[tuple[Key, str]]) -> dict[str, int]:
    """Count the causes of unscored pairs."""
    return dict(Counter(cause for _, cause in unscored).most_common())


def _values(metric: str, pairs: Pairs) -> list[tuple[SampleRow, float, float]]:
    """Return the pairs for which a metric is defined in both runs."""
    return [
        (row, float(a), float(b))
        for row, other in pairs.both
        if (a := row.values.get(metric)) is not None and (b := other.values.get(metric)) is not None
    ]


def _compare_metric(metric: str, facts: MetricFacts, pairs: Pairs, seed: int) -> MetricComparison:
    values = _values(metric, pairs)
    first, second = [a for _, a, _ in values], [b for _, _, b in values]
    families = [row.family for row, _, _ in values]
    difference = compare_paired(first, second, families, width=facts.width, seed=seed)
    labels = bool(values) and {*first, *second} <= {0.0, 1.0}
    mentioned = sum(metric in row.values or metric in other.values for row, other in pairs.both)
    return MetricComparison(
        metric=metric,
        facts=facts,
        first=math.fsum(first) / len(first) if first else math.nan,
        second=math.fsum(second) / len(second) if second else math.nan,
        difference=difference,
        better=sum(facts.worth(b) > facts.worth(a) for a, b in zip(first, second, strict=True)),
        worse=sum(facts.worth(b) < facts.worth(a) for a, b in zip(first, second, strict=True)),
        undefined=mentioned - len(values),
        mcnemar=mcnemar_p(difference.lower_count, difference.higher) if labels else None,
    )
