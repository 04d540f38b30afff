"""Several judges' ratings of one summary made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .judge import JudgeProblem, RatingReading
from .rubric import CRITERIA, Rating

__all__ = ["PanelReading", "combine", "combine_readings"]


@dataclass(frozen=True, slots=True)
class PanelReading:
    """What a panel says of one summary.

    Attributes:
        value: The rating of the judges that gave one, or None if none did.
        judges: How many were asked.
        rated: How many gave a rating that could be read.
        problem: Why there is no rating: what all judges' answers had in common, else `unreadable`.
    """

    value: Rating | None
    judges: int
    rated: int
    problem: JudgeProblem | None

    @property
    def counts(self) -> dict[str, int]:
        """Judges asked and judges read, for the log."""
        return {"judges": self.judges, "judges_rated": self.rated}


def combine(ratings: Sequence[Rating]) -> Rating:
    """Combine ratings: the median of each criterion, with an even number the lower of the two middle ones.

    Each criterion on its own, so one judge with an odd view of one thing moves nothing else; the lower one
    because the rubric says so of any score between two.

    Args:
        ratings: One rating a judge, at least one, in any order.

    Returns:
        The medians, and every flag that any rating has, once.

    Raises:
        ValueError: There is no rating.
    """
    if not ratings:
        raise ValueError("a panel needs at least one rating")
    middle = (len(ratings) - 1) // 2
    scores = {
        criterion: sorted(rating.scores[criterion] for rating in ratings)[middle] for criterion in CRITERIA
    }
    flags = dict.fromkeys(flag for rating in ratings for flag in rating.flags)
    return Rating(scores, tuple(sorted(flags)))


def combine_readings(readings: Sequence[RatingReading]) -> PanelReading:
    """Combine what was read from each judge; the judges without a rating are left out and counted.

    Args:
        readings: One reading a judge, after its repair turn.

    Returns:
        The panel's rating, or the problem if no judge gave one.

    Raises:
        ValueError: There is no reading.
    """
    if not readings:
        raise ValueError("a panel needs at least one judge")
    ratings = [reading.value for reading in readings if reading.value is not None]
    if ratings:
        return PanelReading(combine(ratings), len(readings), len(ratings), None)
    problems = {reading.problem for reading in readings}
    return PanelReading(None, len(readings), 0, problems.pop() if len(problems) == 1 else "unreadable")
