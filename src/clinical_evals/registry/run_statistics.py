"""Figures that only a whole run has, such as the agreement of two raters, from the counts of its samples."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clinical_evals.agreement import SCALE, Agreement, agreement, krippendorff_alpha
from clinical_evals.registry.record import SampleRow, Statistic
from clinical_evals.statistics import bootstrap_ends

_PANEL_RESAMPLES = 500
_FIELDS: dict[Statistic, str] = {
    "quadratic_weighted_kappa": "quadratic_weighted_kappa",
    "krippendorff_alpha": "krippendorff_ordinal",
    "spearman": "spearman",
}


def run_statistic(statistic: Statistic, of: Sequence[str], rows: Sequence[SampleRow]) -> dict[str, float]:
    """Compute a statistic over the samples that have at least two of its counts.

    Args:
        statistic: Which.
        of: The counts, one a rater. Kappa and Spearman are of two raters; alpha of two or more.
        rows: The scored samples.

    Returns:
        The value (under the empty name), `lower` and `upper` end of its 95% bootstrap interval, `n`, and
        `undefined`, the samples that lack a rating. NaN where undefined; empty if no sample has a rating.
    """
    rated = [row for row in rows if sum(name in row.counts for name in of) >= 2]
    if len(of) < 2 or not rated:
        return {}
    ratings = tuple(tuple(float(row.counts.get(name, math.nan)) for row in rated) for name in of)
    families = tuple(row.family for row in rated)
    if len(of) == 2:
        found = getattr(_agree(*ratings, families), _FIELDS[statistic])
        value, lower, upper = found.value, found.lower, found.upper
    elif statistic == "krippendorff_alpha":
        value, lower, upper = _panel_alpha(np.array(ratings), families)
    else:
        return {}
    return {"": value, "lower": lower, "upper": upper, "n": len(rated), "undefined": len(rows) - len(rated)}


@lru_cache(maxsize=64)
def _agree(human: tuple[float, ...], judge: tuple[float, ...], families: tuple[str, ...]) -> Agreement:
    """Compare two raters once for all their statistics."""
    low, high = SCALE
    on_scale = all(low <= rating <= high for rating in (*human, *judge))
    # Whole ratings on the scale have a kappa; others are compared by rank and distance only.
    return agreement(human, judge, families, scale=SCALE if on_scale else None)


def _panel_alpha(ratings: NDArray[np.float64], families: Sequence[str]) -> tuple[float, float, float]:
    """Give the alpha of several raters and its interval, which draws whole families."""
    value = krippendorff_alpha(ratings)
    _, codes = np.unique(np.asarray(families, dtype=np.str_), return_inverse=True)
    columns = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    if len(columns) < 2 or math.isnan(value):
        return value, math.nan, math.nan
    generator = np.random.default_rng(0)
    draws = []
    for _ in range(_PANEL_RESAMPLES):
        drawn = generator.integers(0, len(columns), len(columns))
        draws.append(krippendorff_alpha(ratings[:, np.concatenate([columns[at] for at in drawn])]))
    known = np.array(draws)[~np.isnan(draws)]
    if len(known) < 0.95 * _PANEL_RESAMPLES:
        return value, math.nan, math.nan
    return value, *bootstrap_ends(known, len(columns))
