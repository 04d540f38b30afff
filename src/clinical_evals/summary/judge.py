"""Read a judge's rating out of what it wrote, or say why there is none.

JSON only. A rating in plain lines (`Factual Completeness: 8`) is not read, because that is how a summary
plants a verdict and how a judge quotes it. Of several objects the last that names a criterion decides, and
nothing stands in for it when it, or the last object of all, is cut off or cannot be read. If another one
differs, or the words around it do not present it as the judge's own, refuse, or grade otherwise, there is no
rating: a draft, a quotation and a correction look alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from clinical_evals.reading import read_array, read_object, well_formed

from .doubts import is_doubtful, stands_under_foreign_key
from .fields import (
    Score,
    criterion_values,
    listed_values,
    names_overall,
    other_scale,
    read_score,
)
from .rubric import CRITERIA, HIGHEST, LOWEST, Rating

__all__ = ["PROBLEMS", "JudgeProblem", "RatingReading", "Wording", "read_rating"]

JudgeProblem = Literal[
    "empty", "unreadable", "incomplete", "duplicate_keys", "ambiguous", "missing", "no_score",
    "other_scale", "refused",
]  # fmt: skip
"""Why there is no rating. `unreadable`: no JSON object that can be read. `incomplete`: cut off.
`duplicate_keys`: two values for one criterion. `ambiguous`: another rating, or words that make it doubtful
whose it is, stand beside it.
`missing`: a criterion without a value. `no_score`: a value that is no score. `other_scale`: the answer names
or uses another scale than ours. `refused`: the provider says so."""


class Wording(NamedTuple):
    """How a problem is told.

    Attributes:
        phrase: For people.
        reason: For the log and for counting.
        hint: For the repair turn; says nothing of the answer's text.
    """

    phrase: str
    reason: str
    hint: str


_UNREADABLE = ("judge answer unreadable", "judge_answer_unreadable")
PROBLEMS: dict[JudgeProblem, Wording] = {
    "empty": Wording("judge answer empty", "judge_answer_empty", "it was empty"),
    "unreadable": Wording(*_UNREADABLE, "it held no JSON object that can be read"),
    "incomplete": Wording("judge answer incomplete", "judge_answer_incomplete", "it was cut off"),
    "duplicate_keys": Wording(*_UNREADABLE, "it gave two values for one field"),
    "ambiguous": Wording(
        *_UNREADABLE, "it held another rating, or words around its own, that leave open which one counts"
    ),
    "missing": Wording(
        "judge answer lacks a field", "judge_answer_lacks_a_field", "no whole number from 1 to 10"
    ),
    "no_score": Wording(*_UNREADABLE, "no whole number from 1 to 10"),
    "other_scale": Wording(*_UNREADABLE, "its scores are on another scale than 1 to 10"),
    "refused": Wording("judge refused", "judge_refused", "it was refused"),
}
_FROM_READING: dict[str, JudgeProblem] = {
    "empty": "empty",
    "no_object": "unreadable",
    "incomplete": "incomplete",
    "duplicate_keys": "duplicate_keys",
}


@dataclass(frozen=True, slots=True)
class RatingReading:
    """What was read from a judge's answer.

    Attributes:
        value: The rating, or None.
        problem: None if there is a rating, else why not.
        fields: The criteria without a score, where that is the problem.
        repaired: The rating was not strict JSON as written.
    """

    value: Rating | None
    problem: JudgeProblem | None = None
    fields: tuple[str, ...] = ()
    repaired: bool = False

    @property
    def phrase(self) -> str | None:
        """The problem in words for people, for example `judge answer incomplete`."""
        return PROBLEMS[self.problem].phrase if self.problem else None

    @property
    def detail(self) -> str | None:
        """The problem with what it concerns: `judge answer lacks a field: No Hallucinations`."""
        if self.problem == "missing":
            return f"{self.phrase}: {', '.join(self.fields)}"
        return f"{self.phrase}: {self.hint}" if self.reason == _UNREADABLE[1] else self.phrase

    @property
    def reason(self) -> str | None:
        """The problem as a word for the log, for example `judge_answer_incomplete`."""
        return PROBLEMS[self.problem].reason if self.problem else None

    @property
    def hint(self) -> str | None:
        """What to tell the judge in the repair turn, in our words alone."""
        if self.problem is None:
            return None
        hint = PROBLEMS[self.problem].hint
        return f"it gave {hint} for {', '.join(self.fields)}" if self.fields else hint


def read_rating(text: str, *, cut_off: bool = False, refused: bool = False) -> RatingReading:
    """Read a judge's rating.

    Args:
        text: The answer as the judge wrote it.
        cut_off: The provider says that it stopped the answer (`max_tokens`). It is then read only if it
            ends with its JSON: what would have followed could have been the answer.
        refused: The provider says that the judge would not answer (`content_filter`).

    Returns:
        The rating, whose flags name each criterion that was out of range (`out of range: ...`) and an overall
        grade of the judge's own (`overall ignored`); or the problem.
    """
    if refused:
        return RatingReading(None, "refused")
    text = well_formed(text)
    seen: list[Mapping[str, Any]] = []  # every object that can be read, last one first

    def note(value: Mapping[str, Any]) -> bool:
        seen.append(value)
        return False

    problem = read_object(text, note).problem
    if cut_off and (problem != "misfit" or not text.rstrip().rstrip("`~").rstrip().endswith(("}", "]"))):
        return RatingReading(None, "incomplete")
    if problem is not None and problem in _FROM_READING:
        return RatingReading(None, _FROM_READING[problem])
    if any(criterion_values(item) for item in seen):
        decisive = read_object(text, lambda value: bool(criterion_values(value)))
        reading, span = _rated(criterion_values(decisive.value or {}), seen, decisive.repaired), decisive.span
    else:
        listed = read_array(text, lambda items: bool(listed_values(items)))
        if listed.problem == "incomplete":
            return RatingReading(None, "incomplete")
        reading, span = _rated(listed_values(listed.value or []), seen, listed.repaired), listed.span
    if reading.value is None:
        return reading
    scores = reading.value.scores
    if any(_differs(item, scores) or stands_under_foreign_key(item) for item in seen) or is_doubtful(
        text, span, scores, repaired=reading.repaired
    ):
        return RatingReading(None, "ambiguous")
    return reading


def _rated(values: list[tuple[str, Any]], seen: list[Mapping[str, Any]], repaired: bool) -> RatingReading:
    if any(other_scale(item) for item in seen):
        return RatingReading(None, "other_scale")
    scores = _scores(values)
    if isinstance(scores, RatingReading):
        return scores
    if _on_other_scale(list(scores.values())):
        return RatingReading(None, "other_scale")
    flags = [f"out of range: {criterion}" for criterion in CRITERIA if not scores[criterion].in_range]
    if any(names_overall(item) for item in seen):
        flags.append("overall ignored")
    rating = Rating({criterion: score.value for criterion, score in scores.items()}, tuple(flags))
    return RatingReading(rating, repaired=repaired)


def _differs(value: Mapping[str, Any], scores: Mapping[str, int]) -> bool:
    """Whether an object gives a criterion another value than was read."""
    given = ((criterion, read_score(item)) for criterion, item in criterion_values(value))
    return any(score is None or score.value != scores[criterion] for criterion, score in given)


def _on_other_scale(scores: list[Score]) -> bool:
    """Whether the numbers show it: two of 11 or more (85, 9, 70), or none above 1 and a fraction (0.8, 1)."""
    numbers = [score.written for score in scores]
    shares = all(0 <= number <= LOWEST for number in numbers) and any(number % 1 for number in numbers)
    return shares or sum(number >= HIGHEST + 1 for number in numbers) > 1


def _scores(values: list[tuple[str, Any]]) -> dict[str, Score] | RatingReading:
    """Return a score for each criterion, or the problem."""
    given = {criterion: [item for name, item in values if name == criterion] for criterion in CRITERIA}
    read = {criterion: {read_score(item) for item in items} for criterion, items in given.items()}
    if any(len(scores) > 1 for scores in read.values()):
        return RatingReading(None, "duplicate_keys")
    found = {criterion: score for criterion, scores in read.items() for score in scores if score is not None}
    without = tuple(criterion for criterion in CRITERIA if criterion not in found)
    if without:
        null = any(all(item is None for item in given[criterion]) for criterion in without)
        return RatingReading(None, "missing" if null else "no_score", without)
    return found
