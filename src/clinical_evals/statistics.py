"""Means with honest uncertainty: cluster-robust standard errors and seeded bootstrap intervals.

A mean over samples that come in families (variants of one note) is less certain than their number
suggests, so both the standard error and the interval treat a family as one draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Bootstrap draws are made in blocks of at most this many cluster indices, to bound memory (8 bytes each).
_DRAWS_PER_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True)
class Summary:
    """A mean and how far it can be trusted.

    Attributes:
        mean: Mean of the values that are not NaN; NaN if there are none.
        stderr: Cluster-robust standard error of the mean; NaN with fewer than two clusters.
        lower: Lower end of the bootstrap interval; NaN with fewer than two clusters.
        upper: Upper end of the bootstrap interval; NaN with fewer than two clusters.
        n: Number of values that entered the mean.
        clusters: Number of clusters that those values came from.
    """

    mean: float
    stderr: float
    lower: float
    upper: float
    n: int
    clusters: int


def summarise(
    values: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Summary:
    """Summarise values by their mean, standard error and bootstrap interval.

    The standard error is the cluster-robust one of Miller, "Adding Error Bars to Evals" (2024,
    arXiv:2411.00640), with the small-sample factor C/(C-1):
    ``sqrt(C/(C-1) * sum_c(sum_i(x_ci - mean))^2) / n``. With one value a cluster it is the ordinary
    ``s / sqrt(n)``. The interval resamples whole clusters; see `bootstrap_ends`. The order of the values does
    not matter, not even to the last digit.

    Args:
        values: Finite numbers; NaN means undefined and is left out.
        clusters: The family each value belongs to, as long as ``values``. Default: each value on its own.
        limits: Least and greatest possible value. Where all values are equal, no draw can show how far the
            mean could be from them; the interval is then that of `interval_of_equals`.
        level: Coverage of the interval, between 0 and 1. Defaults to 0.95.
        resamples: Number of bootstrap draws, at least 1. Defaults to 2000.
        seed: Seed of the bootstrap; the same seed gives the same interval.

    Returns:
        The summary. Standard error and interval are NaN with fewer than two clusters, because one family
        says nothing about how families differ.

    Raises:
        ValueError: If lengths differ, a value is infinite, or ``level`` or ``resamples`` is out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    array = np.asarray(values, dtype=np.float64)
    if clusters is not None and len(clusters) != len(array):
        raise ValueError(f"clusters must be as long as values: got {len(clusters)} for {len(array)}")
    if np.isinf(array).any():
        raise ValueError(f"values must be finite or NaN: value {int(np.isinf(array).argmax())} is infinite")
    kept = ~np.isnan(array)
    array = array[kept]
    if not len(array):
        return Summary(math.nan, math.nan, math.nan, math.nan, 0, 0)

    # fsum is exact, so the mean does not depend on order; the clip undoes rounding outside the data's range.
    mean = min(max(math.fsum(array.tolist()) / len(array), float(array.min())), float(array.max()))
    labels = None if clusters is None else np.asarray(clusters, dtype=np.str_)[kept]
    sums, sizes = _deviations_by_cluster(array - mean, labels)
    count = len(sums)
    if count < 2:
        return Summary(mean, math.nan, math.nan, math.nan, len(array), count)
    stderr = math.sqrt(count / (count - 1) * math.fsum((sums**2).tolist())) / len(array)
    if limits is not None and array.min() == array.max():
        return Summary(mean, stderr, *interval_of_equals(mean, limits, count, level), len(array), count)
    means = mean + _bootstrap_deviations(sums, sizes, resamples, seed)
    return Summary(mean, stderr, *bootstrap_ends(means, count, level), len(array), count)


def interval_of_equals(
    value: float, limits: tuple[float, float], clusters: int, level: float = 0.95
) -> tuple[float, float]:
    """Give the interval of a mean of which only one value was seen, without any assumption.

    If more than a share ``q = 1 - ((1 - level) / 2)^(1/C)`` of all clusters were otherwise, C that are not
    would be rarer than the interval's risk on one side; and the others could lie at either limit. For 0 or C
    of C labels this is the interval of Clopper and Pearson.

    Args:
        value: The value.
        limits: Least and greatest possible value.
        clusters: Number of clusters that were seen.
        level: Coverage, between 0 and 1.
    """
    others = 1 - ((1 - level) / 2) ** (1 / clusters)
    low, high = min(limits), max(limits)
    return value - others * (value - low), value + others * (high - value)


def bootstrap_ends(draws: NDArray[np.float64], clusters: int, level: float = 0.95) -> tuple[float, float]:
    """Give the ends of a bootstrap interval: percentiles, expanded for small numbers of clusters.

    Plain percentiles cover too seldom where there are some twenty clusters. So ``Φ(-√(C/(C-1))·t)`` of the
    draws are left out at either end, instead of half of what `level` leaves (Hesterberg, The American
    Statistician 69, 2015).

    Args:
        draws: The figure in each draw, at least one, none of them NaN.
        clusters: Number of clusters that are drawn, at least two.
        level: Coverage, between 0 and 1.
    """
    from scipy.special import ndtr, stdtrit

    reach = math.sqrt(clusters / (clusters - 1)) * float(stdtrit(clusters - 1, (1 + level) / 2))
    tail = float(ndtr(-reach))
    lower, upper = np.quantile(draws, [tail, 1 - tail])
    return float(lower), float(upper)


def _deviations_by_cluster(
    deviations: NDArray[np.float64], labels: NDArray[np.str_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of deviations and the size of each cluster, in an order set by the data alone."""
    if labels is None:
        return np.sort(deviations), np.ones(len(deviations))
    _, codes = np.unique(labels, return_inverse=True)
    order = np.lexsort((deviations, codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    sizes = np.diff(starts, append=len(order)).astype(np.float64)
    sums = np.add.reduceat(deviations[order], starts)
    by_data = np.lexsort((sums, sizes))  # what families are called must not move the interval
    return sums[by_data], sizes[by_data]


def _bootstrap_deviations(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], resamples: int, seed: int
) -> NDArray[np.float64]:
    """Return the mean deviation of each draw of ``len(sums)`` clusters with replacement."""
    generator = np.random.default_rng(seed)
    count = len(sums)
    block = max(1, _DRAWS_PER_BLOCK // count)
    equal_sizes = bool((sizes == sizes[0]).all())
    result = np.empty(resamples)
    for start in range(0, resamples, block):
        draws = generator.integers(0, count, size=(min(block, resamples - start), count), dtype=np.int32)
        totals = sums[draws].sum(axis=1)
        drawn = count * sizes[0] if equal_sizes else sizes[draws].sum(axis=1)
        result[start : start + block] = totals / drawn
    return result
