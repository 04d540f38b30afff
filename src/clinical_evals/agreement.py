"""How far two raters agree, such as people and a judge: chance-corrected, by rank, and in points.

Each figure comes with a seeded bootstrap interval that draws whole families. What the data cannot say is NaN,
never 0 or 1: fewer than two rated items, or ratings that are all alike, where agreement by chance is certain
and nothing can tell it from skill. Bias and distance need one item only.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .statistics import bootstrap_ends

__all__ = [
    "SCALE",
    "Agreement",
    "Figure",
    "Level",
    "agreement",
    "bias",
    "confusion_matrix",
    "krippendorff_alpha",
    "mean_absolute_error",
    "quadratic_weighted_kappa",
    "spearman",
]

Level = Literal["ordinal", "interval"]
Floats = NDArray[np.float64]

SCALE = (1, 10)
"""Lowest and highest rating in whole points, unless told otherwise."""

# Bootstrap draws are made in blocks of at most this many weights, to bound memory (8 bytes each).
_WEIGHTS_PER_BLOCK = 1_000_000
# An interval stands on all draws but a few: with more undefined ones it would be that of another sample.
_MOST_UNDEFINED = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its bootstrap interval.

    Attributes:
        value: The figure; NaN if undefined.
        lower: Lower end of the interval; NaN if the figure is, with fewer than two clusters, or if the figure
            is undefined in more than 5% of the draws.
        upper: Upper end.
    """

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a judge with people.

    Attributes:
        quadratic_weighted_kappa: Cohen's kappa with squared weights, at most 1; 0 is what chance gives. NaN
            unless all ratings are whole numbers.
        krippendorff_ordinal: Krippendorff's alpha over the order of the ratings, at most 1.
        krippendorff_interval: Krippendorff's alpha over squared differences, at most 1.
        spearman: Spearman's rank correlation, -1 to 1.
        bias: Mean of judge minus human, in points: positive if the judge is lenient.
        mean_absolute_error: Mean distance between judge and human, in points; lower is better.
        n: Number of items that both rated; the other figures are over these.
        clusters: Number of families that these items come from.
        human_missing: Items that the human did not rate.
        judge_missing: Items that the judge did not rate.
        confusion: Row human, column judge, both from the lowest rating to the highest: number of items. None
            unless all ratings are whole numbers of a known scale.
    """

    quadratic_weighted_kappa: Figure
    krippendorff_ordinal: Figure
    krippendorff_interval: Figure
    spearman: Figure
    bias: Figure
    mean_absolute_error: Figure
    n: int
    clusters: int
    human_missing: int
    judge_missing: int
    confusion: tuple[tuple[int, ...], ...] | None

    def figures(self) -> dict[str, Figure]:
        """Return each figure by its name, in the order above."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.type is Figure}


def agreement(
    human: Sequence[float] | Floats,
    judge: Sequence[float] | Floats,
    clusters: Sequence[str] | None = None,
    *,
    scale: tuple[int, int] | None = SCALE,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """Compare a judge's ratings with human ratings of the same items.

    Items that one of the two did not rate (NaN) are left out in pairs and counted. The order of the items
    does not matter.

    Args:
        human: Human ratings, NaN if missing.
        judge: The judge's, as long as `human`.
        clusters: The family of each item. Default: each item on its own.
        scale: Lowest and highest rating; None for ratings without a scale of whole numbers, such as shares.
        level: Coverage of the intervals, between 0 and 1.
        resamples: Number of bootstrap draws, at least 1.
        seed: Seed of the bootstrap.

    Raises:
        ValueError: Lengths differ, a rating is infinite or off the scale, or an option is out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    people, machine = _ratings(human, "human", scale), _ratings(judge, "judge", scale)
    if len(people) != len(machine):
        raise ValueError(f"judge must be as long as human: got {len(machine)} for {len(people)}")
    if clusters is not None and len(clusters) != len(people):
        raise ValueError(f"clusters must be as long as human: got {len(clusters)} for {len(people)}")
    no_human, no_judge = np.isnan(people), np.isnan(machine)
    kept = ~(no_human | no_judge)
    people, machine = people[kept], machine[kept]
    labels = None if clusters is None else np.asarray(clusters, dtype=np.str_)[kept]

    families = np.arange(len(people)) if labels is None else np.unique(labels, return_inverse=True)[1]
    order = np.lexsort((machine, people, families)) if labels is not None else np.lexsort((machine, people))
    people, machine = people[order], machine[order]
    families = families[order] if labels is not None else families
    whole = scale is not None and bool((people % 1 == 0).all() and (machine % 1 == 0).all())
    pair = _Pair(people, machine)
    measures: dict[str, Callable[[Floats], Floats]] = {
        "quadratic_weighted_kappa": pair.kappa if whole else lambda weights: np.full(len(weights), np.nan),
        "krippendorff_ordinal": pair.alpha_ordinal,
        "krippendorff_interval": pair.alpha_interval,
        "spearman": pair.spearman,
        "bias": pair.bias,
        "mean_absolute_error": pair.mean_absolute_error,
    }
    count = int(families.max()) + 1 if len(families) else 0
    drawn: dict[str, list[Floats]] = {name: [] for name in measures}
    if count > 1:
        for weights in _draws(families, count, resamples, seed):
            for name, measure in measures.items():
                drawn[name].append(measure(weights))
    once = np.ones((1, len(people)))
    return Agreement(
        **{
            name: _figure(float(measure(once)[0]), drawn[name], count, level)
            for name, measure in measures.items()
        },
        n=len(people),
        clusters=count,
        human_missing=int(no_human.sum()),
        judge_missing=int(no_judge.sum()),
        confusion=confusion_matrix(people, machine, *scale) if whole and scale and len(people) else None,
    )


def quadratic_weighted_kappa(
    a: Sequence[float], b: Sequence[float], low: int = SCALE[0], high: int = SCALE[1]
) -> float:
    """Cohen's weighted kappa with squared weights (Cohen 1968, Psychological Bulletin 70:213).

    One minus the observed mean of (a - b)^2 over the one expected if the two were independent. The size of
    the scale cancels out, so `low` and `high` only say which ratings are possible.

    Args:
        a: Whole ratings; NaN is left out in pairs.
        b: The same of the other rater.
        low: Lowest rating.
        high: Highest rating.

    Returns:
        At most 1; NaN with fewer than two pairs or if every rating is the same.

    Raises:
        ValueError: Lengths differ, or a rating is not a whole number of the scale.
    """
    pair = _pairs(a, b, (low, high))
    if (pair.a % 1 != 0).any() or (pair.b % 1 != 0).any():
        raise ValueError("kappa needs whole ratings")
    return float(pair.kappa(np.ones((1, len(pair.a))))[0])


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation, ties at their mean rank.

    Returns:
        -1 to 1; NaN with fewer than two pairs or if a rater gave one rating only.
    """
    pair = _pairs(a, b)
    return float(pair.spearman(np.ones((1, len(pair.a))))[0])


def bias(human: Sequence[float], judge: Sequence[float]) -> float:
    """Mean of judge minus human; NaN without pairs. Positive: the judge is lenient."""
    pair = _pairs(human, judge)
    return float(np.mean(pair.b - pair.a)) if len(pair.a) else math.nan


def mean_absolute_error(a: Sequence[float], b: Sequence[float]) -> float:
    """Mean distance of two ratings of an item; NaN without pairs."""
    pair = _pairs(a, b)
    return float(np.mean(np.abs(pair.b - pair.a))) if len(pair.a) else math.nan


def krippendorff_alpha(ratings: ArrayLike, level: Level = "ordinal") -> float:
    """Krippendorff's alpha of any number of raters (Krippendorff 2011, "Computing Krippendorff's Alpha").

    Args:
        ratings: One row a rater, one column an item; NaN where a rater did not rate. Items with fewer than
            two ratings are left out.
        level: `interval` weighs squared differences; `ordinal` squared differences of rank, where the
            ratings between two count.

    Returns:
        At most 1; NaN if fewer than two items have two ratings, or if every rating is the same.

    Raises:
        ValueError: `ratings` is not a matrix, holds an infinite value, or `level` is none of the two.
    """
    matrix = np.asarray(ratings, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"ratings must be a matrix of raters and items, got {matrix.ndim} dimension(s)")
    if np.isinf(matrix).any():
        raise ValueError("ratings must be finite or NaN")
    if level not in ("ordinal", "interval"):
        raise ValueError(f"level must be one of: ordinal, interval; got {level!r}")
    matrix = matrix[:, (~np.isnan(matrix)).sum(axis=0) >= 2]
    if matrix.shape[1] < 2:
        return math.nan
    if level == "ordinal":
        # The number of ratings below, and half of those alike: its squared differences are Krippendorff's.
        given = np.sort(matrix[~np.isnan(matrix)])
        middle = (np.searchsorted(given, matrix, "left") + np.searchsorted(given, matrix, "right")) / 2
        matrix = np.where(np.isnan(matrix), np.nan, middle)
    rated = ~np.isnan(matrix)
    sizes = rated.sum(axis=0)
    values = matrix[rated]
    # The sum over ordered pairs of (x - y)^2 is 2n times the sum of squares about the mean.
    spread = 2 * sizes * np.nanvar(matrix, axis=0) * sizes
    observed = float((spread / (sizes - 1)).sum()) / len(values)
    expected = 2 * len(values) * float(np.var(values)) / (len(values) - 1)
    return 1 - observed / expected if len(np.unique(values)) > 1 else math.nan


def confusion_matrix(
    a: Sequence[float] | Floats, b: Sequence[float] | Floats, low: int = SCALE[0], high: int = SCALE[1]
) -> tuple[tuple[int, ...], ...]:
    """Count the items of each pair of whole ratings: row `a`, column `b`, from `low` to `high`.

    Raises:
        ValueError: Lengths differ, or a rating is not a whole number of the scale.
    """
    pair = _pairs(a, b, (low, high))
    if (pair.a % 1 != 0).any() or (pair.b % 1 != 0).any():
        raise ValueError("a confusion matrix needs whole ratings")
    size = high - low + 1
    cells = (pair.a.astype(int) - low) * size + pair.b.astype(int) - low
    counted = np.bincount(cells, minlength=size * size).reshape(size, size)
    return tuple(tuple(int(cell) for cell in row) for row in counted)


class _Pair:
    """Two raters of the same items; each measure takes weights, one row a draw, one column an item."""

    def __init__(self, a: Floats, b: Floats) -> None:
        self.a, self.b = a, b
        # Moments are taken about one value of the data, which keeps them small.
        origin = a[0] if len(a) else 0.0
        self._centred = a - origin, b - origin

    def kappa(self, weights: Floats) -> Floats:
        a, b = self._centred
        total = weights.sum(axis=1)
        expected = weights @ (a**2 + b**2) - 2 * _ratio((weights @ a) * (weights @ b), total)
        value = 1 - _ratio(weights @ (a - b) ** 2, expected)
        return np.where((total > 1) & self._varied(weights), value, np.nan)

    def alpha_interval(self, weights: Floats) -> Floats:
        a, b = self._centred
        total = weights.sum(axis=1)
        value = _alpha(weights @ (a - b) ** 2, weights @ (a**2 + b**2), weights @ (a + b), total)
        return np.where(self._varied(weights), value, np.nan)

    def alpha_ordinal(self, weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        both = _middles(np.concatenate([weights, weights], axis=1), np.concatenate([self.a, self.b]))
        # Their mean is half of the number of ratings, exactly.
        a, b = np.hsplit(both - total[:, None], 2)
        squares = (weights * (a**2 + b**2)).sum(axis=1)
        return _alpha((weights * (a - b) ** 2).sum(axis=1), squares, np.zeros_like(total), total)

    def spearman(self, weights: Floats) -> Floats:
        total = weights.sum(axis=1)
        a, b = (_middles(weights, values) - total[:, None] / 2 for values in (self.a, self.b))
        product = (weights * a**2).sum(axis=1) * (weights * b**2).sum(axis=1)
        return np.where(total > 1, _ratio((weights * a * b).sum(axis=1), np.sqrt(product)), np.nan)

    def bias(self, weights: Floats) -> Floats:
        return _ratio(weights @ (self.b - self.a), weights.sum(axis=1))

    def mean_absolute_error(self, weights: Floats) -> Floats:
        return _ratio(weights @ np.abs(self.b - self.a), weights.sum(axis=1))

    def _varied(self, weights: Floats) -> NDArray[np.bool_]:
        """Say of each draw whether it holds more than one rating."""
        drawn = weights > 0
        highest = np.where(drawn, np.maximum(self.a, self.b), -np.inf).max(axis=1, initial=-np.inf)
        lowest = np.where(drawn, np.minimum(self.a, self.b), np.inf).min(axis=1, initial=np.inf)
        return np.asarray(highest > lowest)


def _middles(weights: Floats, values: Floats) -> Floats:
    """Return for each draw and item the ratings below its own and half of those that are alike."""
    if not len(values):
        return weights
    _, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return np.asarray((np.cumsum(counts, axis=1) - counts / 2)[:, codes])


def _alpha(differences: Floats, squares: Floats, sums: Floats, pairs: Floats) -> Floats:
    """Alpha of two raters from sums over items: squared differences, squares and values."""
    ratings = 2 * pairs
    expected = 2 * _ratio(squares - _ratio(sums**2, ratings), ratings - 1)
    return np.where(pairs > 1, 1 - _ratio(_ratio(differences, pairs), expected), np.nan)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _draws(families: NDArray[np.intp], count: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each draw of `count` families holds each item, in blocks of draws."""
    generator = np.random.default_rng(seed)
    block = max(1, _WEIGHTS_PER_BLOCK // max(count, len(families)))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        chosen = generator.integers(0, count, size=(size, count))
        chosen += np.arange(size)[:, None] * count
        times = np.bincount(chosen.ravel(), minlength=size * count).reshape(size, count)
        yield times[:, families].astype(np.float64)


def _figure(value: float, drawn: list[Floats], count: int, level: float) -> Figure:
    draws = np.concatenate(drawn) if drawn else np.empty(0)
    defined = draws[~np.isnan(draws)]
    if math.isnan(value) or len(defined) < max(1, (1 - _MOST_UNDEFINED) * len(draws)):
        return Figure(value, math.nan, math.nan)
    return Figure(value, *bootstrap_ends(defined, count, level))


def _ratings(given: Sequence[float] | Floats, name: str, scale: tuple[int, int] | None) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if np.isinf(values).any():
        raise ValueError(f"{name}: rating {int(np.isinf(values).argmax())} is infinite")
    if scale:
        off = (values < scale[0]) | (values > scale[1])
        if off.any():
            raise ValueError(f"{name}: rating {int(off.argmax())} is not from {scale[0]} to {scale[1]}")
    return values


def _pairs(
    a: Sequence[float] | Floats, b: Sequence[float] | Floats, scale: tuple[int, int] | None = None
) -> _Pair:
    first, second = _ratings(a, "first rater", scale), _ratings(b, "second rater", scale)
    if len(first) != len(second):
        raise ValueError(f"both raters must rate the same items: got {len(first)} and {len(second)}")
    kept = ~(np.isnan(first) | np.isnan(second))
    return _Pair(first[kept], second[kept])
