"""The rubric: three whole numbers from 1 to 10, and an overall grade that only code computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "CRITERIA",
    "EMPTY_RATING",
    "HIGHEST",
    "LOWEST",
    "Rating",
    "is_empty",
    "overall_quality",
    "rating_json",
]

CRITERIA = ("Factual Completeness", "No Hallucinations", "Clinical Tone & Structure")
LOWEST, HIGHEST = 1, 10


def overall_quality(factual: int, hallucinations: int, tone: int) -> int:
    """Weigh the three scores 40 : 40 : 20, round half up, and clamp; whole numbers throughout.

    Args:
        factual: Factual Completeness, 1 to 10.
        hallucinations: No Hallucinations, 1 to 10; 10 is none.
        tone: Clinical Tone & Structure, 1 to 10.

    Returns:
        `clamp(floor((40F + 40H + 20T + 50) / 100), 1, 10)`.
    """
    weighted = (40 * factual + 40 * hallucinations + 20 * tone + 50) // 100
    return max(LOWEST, min(HIGHEST, weighted))


@dataclass(frozen=True, slots=True)
class Rating:
    """What one judge, or a panel, gives one summary.

    Attributes:
        scores: By criterion, in the order of `CRITERIA`, whole numbers from 1 to 10.
        flags: What was odd about the judge's answer, for people and for counting.

    Raises:
        ValueError: A criterion is missing or unknown, or a score is no whole number from 1 to 10.
    """

    scores: dict[str, int]
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if set(self.scores) != set(CRITERIA):
            raise ValueError(f"a rating needs exactly these criteria: {', '.join(CRITERIA)}")
        for criterion, score in self.scores.items():
            if type(score) is not int or not LOWEST <= score <= HIGHEST:
                raise ValueError(f"{criterion} must be a whole number from {LOWEST} to {HIGHEST}")
        object.__setattr__(self, "scores", {criterion: self.scores[criterion] for criterion in CRITERIA})

    @classmethod
    def of(cls, scores: Sequence[int], flags: tuple[str, ...] = ()) -> Rating:
        """Make a rating of three scores in the order of `CRITERIA`."""
        return cls(dict(zip(CRITERIA, scores, strict=True)), flags)

    @property
    def overall(self) -> int:
        """Overall Quality, 1 to 10."""
        return overall_quality(*self.scores.values())

    def as_json(self) -> dict[str, Any]:
        """Give `scores` by their full names, `overall`, and `flags`."""
        return {"scores": dict(self.scores), "overall": self.overall, "flags": list(self.flags)}


EMPTY_RATING = Rating.of((LOWEST, LOWEST, LOWEST))
"""What an empty summary gets, without asking a judge."""


def is_empty(summary: str) -> bool:
    """Whether a summary says nothing: it holds no letter and no digit."""
    return not any(character.isalnum() for character in summary)


def rating_json(rating: Rating | None) -> dict[str, Any]:
    """Give `scores`, `overall` and `flags`; null where there is no rating, never 0."""
    return rating.as_json() if rating else {"scores": None, "overall": None, "flags": []}
