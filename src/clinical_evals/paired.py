"""Two runs over the same samples: how far they differ, how surely, and whether one may replace the other.

Pure NumPy and SciPy. Samples are paired by the caller; pairs that come in families count as one draw each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clinical_evals.statistics import summarise

Floats = NDArray[np.float64]

_EXACT_FLIPS = 12
"""With at most so many families every assignment of signs is tried."""
_DRAWS_PER_BLOCK = 4_000_000
_POWER = 0.8
_CAUTION = 0.9
"""The share of alpha that is used, so that an approximate bound stays below what it promises."""

Verdict = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True, slots=True)
class Difference:
    """What the second run has over the first, on the samples that both scored.

    Attributes:
        mean: Mean of second minus first; NaN without a pair.
        stderr: Cluster-robust standard error of `mean`; NaN with fewer than two families.
        lower: Lower end of the bootstrap interval; NaN with fewer than two families.
        upper: Its upper end.
        p: Two-sided permutation p of "no difference"; NaN without a pair.
        n: Number of pairs.
        clusters: Number of families.
        higher: Pairs in which the second is higher.
        lower_count: Pairs in which it is lower.
        equal: Pairs in which both are equal.
    """

    mean: float
    stderr: float
    lower: float
    upper: float
    p: float
    n: int
    clusters: int
    higher: int
    lower_count: int
    equal: int


@dataclass(frozen=True, slots=True)
class Gate:
    """Answer of a non-inferiority test.

    Attributes:
        verdict: `pass`: worse by less than the margin, shown. `fail`: worse by more, shown. Else `undecided`.
        bound: The candidate is worse by at most so much, at level 1 − alpha (negative: it is better); NaN
            with fewer than two families.
        least: It is worse by at least so much, at the same level.
        needed: About so many pairs would decide with 80% power if the difference stayed what it is; None
            where the verdict is given, or no number would.
        missing: Pairs without a value of the candidate; `bound` takes the worst of them, `least` the best.
    """

    verdict: Verdict
    bound: float
    least: float
    needed: int | None
    missing: int = 0


def compare_paired(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    width: float | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Compare paired values.

    The interval is the bootstrap over families of `summarise`. The p-value flips the sign of whole families
    at random (all ways if there are few), for without a difference a family's runs could be swapped.

    Args:
        first: Finite values of the first run.
        second: Those of the second, in the same order.
        clusters: Family of each pair. Default: each on its own.
        width: The metric's range, its highest less its lowest value, by which pairs that are all equal have
            an interval too; see `summarise`.
        level: Coverage of the interval.
        resamples: Number of draws, for the interval and for p.
        seed: Seed of both.

    Raises:
        ValueError: If lengths differ or a value is not finite.
    """
    differences = _differences(first, second, clusters)
    sums = _by_cluster(differences, clusters)
    limits = None if width is None else (-width, width)
    summary = summarise(
        differences.tolist(), clusters, limits=limits, level=level, resamples=resamples, seed=seed
    )
    return Difference(
        summary.mean,
        summary.stderr,
        summary.lower,
        summary.upper,
        sign_flip_p(sums, resamples=resamples, seed=seed),
        summary.n,
        summary.clusters,
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
    )


def sign_flip_p(sums: Floats, *, resamples: int = 10_000, seed: int = 0) -> float:
    """Give the two-sided p of a sum whose terms could as well have the other sign.

    Args:
        sums: One sum of differences a family.
        resamples: Number of random sign assignments where not all are tried; p is then at least
            1 / (resamples + 1), for the assignment seen counts as one of them.
        seed: Seed of the assignments.
    """
    kept = sums[sums != 0]
    if not len(sums):
        return math.nan
    if not len(kept):
        return 1.0
    # Sums that differ only by rounding are equal.
    seen = abs(math.fsum(kept.tolist())) - 1e-9 * float(np.abs(kept).sum())
    if len(kept) <= _EXACT_FLIPS:
        bits = (np.arange(2 ** len(kept))[:, None] >> np.arange(len(kept))) & 1
        return float((np.abs((1 - 2 * bits) @ kept) >= seen).mean())
    generator = np.random.default_rng(seed)
    as_extreme = 0
    block = max(1, _DRAWS_PER_BLOCK // len(kept))
    for start in range(0, resamples, block):
        signs = generator.integers(0, 2, size=(min(block, resamples - start), len(kept)), dtype=np.int8)
        as_extreme += int((np.abs((1 - 2 * signs) @ kept) >= seen).sum())
    return (as_extreme + 1) / (resamples + 1)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Give the exact two-sided McNemar p of labels that only one of two runs got right."""
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values by Holm's step-down method (1979), in the order given; NaN stays NaN."""
    known = sorted((p, at) for at, p in enumerate(ps) if not math.isnan(p))
    adjusted = [math.nan] * len(ps)
    running = 0.0
    for rank, (p, at) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[at] = running
    return adjusted


def gate_paired(
    baseline: Sequence[float],
    candidate: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    margin: float,
    width: float,
    alpha: float = 0.05,
) -> Gate:
    """Test whether a candidate is worse than a baseline by less than a margin; higher values are better.

    The bounds are one-sided t bounds on the cluster-robust standard error. To it is added what one more
    pair of either opposite change would add (`√2 · width / n`; as in Agresti and Min, Statistics in Medicine
    24, 2005, but without their shift of the mean): forty equal pairs are no proof that no pair can differ.

    Args:
        baseline: Finite values of the baseline.
        candidate: Those of the candidate, in the same order.
        clusters: Family of each pair. Default: each on its own.
        margin: The drop that would still be accepted, above 0, in units of the metric.
        width: The metric's range, its highest less its lowest value.
        alpha: Chance of passing a candidate that is worse by just the margin, at most 0.5.

    Raises:
        ValueError: If lengths differ, a value is not finite, `width` is not above 0, `margin` does not lie
            between 0 and `width`, or `alpha` is not above 0 and at most 0.5.
    """
    from scipy.stats import norm, t

    if not 0 < width < math.inf:
        raise ValueError(f"width must be above 0, got {width}")
    if not 0 < margin < width:
        raise ValueError(
            f"margin {margin:g}: choose one above 0 and below {width:g}, the metric's whole range"
        )
    if not 0 < alpha <= 0.5:
        raise ValueError(f"alpha {alpha:g}: choose a chance above 0 and at most 0.5")
    drops = -_differences(baseline, candidate, clusters)
    summary = summarise(drops.tolist(), clusters, resamples=1)
    if summary.clusters < 2:
        return Gate("undecided", math.nan, math.nan, None)
    stderr = math.hypot(summary.stderr, math.sqrt(2) * width / summary.clusters)
    reach = float(t.isf(_CAUTION * alpha, summary.clusters - 1)) * stderr
    bound, least = min(summary.mean + reach, width), max(summary.mean - reach, -width)
    if bound < margin:
        return Gate("pass", bound, least, None)
    if least > margin:
        return Gate("fail", bound, least, None)
    certainty = float(norm.isf(_CAUTION * alpha) + norm.ppf(_POWER))
    families = _families_that_decide(
        abs(margin - summary.mean) / certainty, summary.stderr**2 * summary.clusters, 2 * width**2
    )
    pairs = families * summary.n / summary.clusters
    return Gate("undecided", bound, least, math.ceil(pairs) if pairs < 10_000_000 else None)


def gate_with_gaps(
    baseline: Sequence[float],
    candidate: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    margin: float,
    limits: tuple[float, float],
    alpha: float = 0.05,
) -> Gate:
    """Test as `gate_paired` does, where the candidate may lack values that the baseline has.

    What a candidate leaves out are rarely the easy samples, so nothing is assumed of it: it passes only if it
    would with each lacking value the worst, and fails only if it would with each the best.

    Args:
        baseline: Finite values of the baseline.
        candidate: Those of the candidate, in the same order; NaN is lacking.
        clusters: Family of each pair. Default: each on its own.
        margin: The drop that would still be accepted, in units of the metric.
        limits: The metric's lowest and highest value; higher is better.
        alpha: Chance of passing a candidate that is worse by just the margin, at most 0.5.

    Returns:
        The answer; `needed` is for the pairs that have values, and None if these alone would decide.

    Raises:
        ValueError: As `gate_paired`.
    """
    known = [at for at, value in enumerate(candidate) if not math.isnan(value)]

    def ask(values: Sequence[float], at: Sequence[int]) -> Gate:
        return gate_paired(
            [baseline[one] for one in at],
            [values[one] for one in at],
            None if clusters is None else [clusters[one] for one in at],
            margin=margin,
            width=limits[1] - limits[0],
            alpha=alpha,
        )

    plain = ask(candidate, known)
    missing = len(candidate) - len(known)
    if not missing:
        return plain
    worst, best = (
        ask([end if math.isnan(value) else value for value in candidate], range(len(candidate)))
        for end in limits
    )
    verdict: Verdict = (
        "pass" if worst.verdict == "pass" else "fail" if best.verdict == "fail" else "undecided"
    )
    needed = plain.needed if verdict == "undecided" else None
    return Gate(verdict, worst.bound, best.least, needed, missing)


def _families_that_decide(reach: float, variance: float, prior: float) -> float:
    """Solve `variance / n + prior / n² = reach²` for n; infinite if nothing is to be reached."""
    if reach < 1e-12:
        return math.inf
    return (variance + math.sqrt(variance**2 + 4 * prior * reach**2)) / (2 * reach**2)


def _differences(first: Sequence[float], second: Sequence[float], clusters: Sequence[str] | None) -> Floats:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(a) != len(b) or (clusters is not None and len(clusters) != len(a)):
        raise ValueError("values and clusters must have one entry a pair")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("values must be finite: leave out pairs of which one is not scored")
    return b - a


def _by_cluster(values: Floats, clusters: Sequence[str] | None) -> Floats:
    """Give the sum of each family's values."""
    if clusters is None:
        return values
    _, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    return np.bincount(codes, values).astype(np.float64)
