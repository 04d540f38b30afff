"""How far a judge's ratings agree with people's: what is counted for each summary, and what follows.

Human ratings stand on one of two scales (`human_ratings`): the rubric's points, or shares from 0 to 1, on
which a judge's score is put first (1 is 0, 10 is 1). Counts are whole numbers, so both are counted in parts
of a point: `unit` parts make one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .figures import OVERALL, SHORT
from .rubric import CRITERIA, HIGHEST, LOWEST, Rating

__all__ = ["Scale", "calibration_counts", "calibration_facts", "calibration_figures", "targets", "unit_of"]

Scale = Literal["rubric", "share"]

_OVERALL = "overall"
_SHARE_UNIT = 1_000_000
_FRACTION_UNIT = 1_000
_STATISTICS = {
    "kappa": "quadratic_weighted_kappa",
    "alpha": "krippendorff_alpha",
    "spearman": "spearman",
}


def unit_of(scale: Scale, ratings: Iterable[float | None]) -> int:
    """Say how many parts of a point human ratings are counted in: 1 if all are whole points."""
    if scale == "share":
        return _SHARE_UNIT
    whole = all(rating is None or rating == int(rating) for rating in ratings)
    return 1 if whole else _FRACTION_UNIT


def targets(scale: Scale, criteria: Iterable[str]) -> dict[str, str]:
    """Name what is compared, the headline first: Overall Quality where people rated all three, then each.

    Returns:
        What its counts are called, by its full name.
    """
    rated = set(criteria)
    overall = {OVERALL: _OVERALL} if scale == "rubric" and rated == set(CRITERIA) else {}
    return overall | {criterion: SHORT[criterion] for criterion in CRITERIA if criterion in rated}


def calibration_counts(
    human: Mapping[str, float | None], rating: Rating, scale: Scale, unit: int
) -> dict[str, int]:
    """Count a person's and a judge's rating of one summary.

    Args:
        human: By criterion; None where the person gave none.
        rating: The judge's.
        scale: The scale of the human ratings.
        unit: Parts of a point; see `unit_of`.

    Returns:
        For each criterion that the person rated `human_…` and `judge_…`, and `rated_…` = 1. The same of
        `overall`, by the rubric's formula, if all three were rated on the rubric's scale.
    """
    given = {name: value for name, value in human.items() if value is not None}
    people = {SHORT[name]: round(value * unit) for name, value in given.items()}
    judge = {SHORT[name]: _judged(rating.scores[name], scale, unit) for name in given}
    if scale == "rubric" and len(given) == len(CRITERIA):
        weighted = 40 * people["factual"] + 40 * people["hallucinations"] + 20 * people["tone"]
        people[_OVERALL] = (weighted + 50 * unit) // (100 * unit) * unit
        judge[_OVERALL] = rating.overall * unit
    counts: dict[str, int] = {}
    for name, value in people.items():
        counts |= {f"human_{name}": value, f"judge_{name}": judge[name], f"rated_{name}": 1}
    return counts


def calibration_figures(
    counts: Mapping[str, int], names: Mapping[str, str], unit: int
) -> dict[str, float | None]:
    """Compute how far one rating lies from the other, in points or shares; None where the person gave none.

    Args:
        counts: The counts of `calibration_counts`.
        names: What is compared; see `targets`.
        unit: Parts of a point.
    """
    figures: dict[str, float | None] = {}
    for name, short in names.items():
        rated = counts.get(f"rated_{short}")
        off = (counts[f"judge_{short}"] - counts[f"human_{short}"]) / unit if rated else None
        figures[f"{name} absolute error"] = None if off is None else abs(off)
        figures[f"{name} bias"] = off
    return figures


def calibration_facts(names: Mapping[str, str], scale: Scale, unit: int) -> dict[str, dict[str, Any]]:
    """Declare each figure of a run, the headline first.

    The agreement of a whole run is declared by a `statistic` of two counts over the samples that have both.
    Kappa needs whole points.

    Args:
        names: What is compared; see `targets`.
        scale: The scale of the human ratings.
        unit: Parts of a point.
    """
    widest = HIGHEST - LOWEST if scale == "rubric" else 1
    facts: dict[str, dict[str, Any]] = {}
    for name, short in names.items():
        human, judge = f"human_{short}", f"judge_{short}"
        for label, statistic in _STATISTICS.items():
            if statistic != "quadratic_weighted_kappa" or unit == 1:
                facts[f"{name} {label}"] = {
                    "range": [-1, 1],
                    "higher_is_better": True,
                    "statistic": statistic,
                    "of": [human, judge],
                }
        rated = f"rated_{short} * {unit}"
        error = f"ratio(max({judge} - {human}, {human} - {judge}), {rated})"
        facts[f"{name} absolute error"] = {
            "range": [0, widest],
            "higher_is_better": False,
            "formula": error,
        }
        facts[f"{name} bias"] = {
            "range": [-widest, widest],
            "higher_is_better": False,
            "formula": f"ratio({judge} - {human}, {rated})",
        }
    return facts


def _judged(score: int, scale: Scale, unit: int) -> int:
    return score * unit if scale == "rubric" else round((score - LOWEST) * unit / (HIGHEST - LOWEST))
