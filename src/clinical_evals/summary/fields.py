"""How judges write the rubric's field names and its scores.

Names and keys match whole, after case, spaces and punctuation are set aside, and only those in the tables
here. A name that could mean the opposite (`Hallucinations`: 9 of 10 invented?), half a criterion (`Tone`) or
another criterion (`Accuracy`) is not read; the judge is asked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .rubric import CRITERIA, HIGHEST, LOWEST

__all__ = [
    "Score",
    "bare_name",
    "criterion_at_end",
    "criterion_named",
    "criterion_values",
    "is_score_key",
    "listed_values",
    "names_overall",
    "other_scale",
    "read_score",
]

_FACTUAL, _HALLUCINATIONS, _TONE = CRITERIA
_CRITERIA = {
    "factualcompleteness": _FACTUAL,
    "completeness": _FACTUAL,
    "nohallucinations": _HALLUCINATIONS,
    "nohallucination": _HALLUCINATIONS,
    "absenceofhallucinations": _HALLUCINATIONS,
    "hallucinationfree": _HALLUCINATIONS,
    "clinicaltoneandstructure": _TONE,
    "clinicaltonestructure": _TONE,
    "toneandstructure": _TONE,
    "tonestructure": _TONE,
}
_OVERALL = {"overall", "overallquality"}
_NAME_KEYS = {"criterion", "name", "field", "metric", "dimension"}
_SCORE_KEYS = {"score", "rating", "value"}
_SCALE_KEYS = {"scale", "scorescale", "ratingscale", "outof", "max", "maxscore", "maximum", "maximumscore"}
_OUR_SCALE = re.compile(r"(?:(?:1\s*(?:-|–|to|\.\.)\s*)|/\s*|out of\s*)?10", re.IGNORECASE)

_ENUMERATION = re.compile(r"\s*[0-9]{1,2}\s*[.)]")
_SCALE_IN_NAME = re.compile(r"[(\[]\s*(?:int(?:eger)?)?\s*1\s*[-–]\s*10\s*[)\]]\s*", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s_\-–—.:*`'\"“”]+")
_SCORE_SUFFIX = re.compile(r"(?<=.)(?:score|rating)$")
# ASCII digits only, and `/10` or `out of 10` alone: another scale is never converted.
_SCORE_TEXT = re.compile(
    r"(?P<number>[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?)(?:\s*(?:/|out of|of)\s*10)?", re.IGNORECASE
)


class Score(NamedTuple):
    """One score as read.

    Attributes:
        value: From 1 to 10.
        in_range: False if the judge's number lay outside and was clamped.
        written: The number before that.
    """

    value: int
    in_range: bool
    written: float


def criterion_named(name: str) -> str | None:
    """Return the criterion that a field name means, or None."""
    return _CRITERIA.get(_SCORE_SUFFIX.sub("", bare_name(name)))


def criterion_at_end(text: str) -> str | None:
    """Return the criterion whose name ends a text, for finding what may be a field; never for reading one."""
    compact = _SCORE_SUFFIX.sub("", bare_name(text.replace("\\", "")))
    return next((criterion for name, criterion in _CRITERIA.items() if compact.endswith(name)), None)


def is_score_key(name: str) -> bool:
    """Whether a key of an object within a rating holds the score (`{"score": 8, "reason": "..."}`)."""
    return bare_name(name) in _SCORE_KEYS


def criterion_values(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what an object gives for each criterion: by its keys, or else by a list of named scores.

    Args:
        value: An object such as `{"Factual Completeness": 8, ...}` or
            `{"ratings": [{"criterion": "Factual Completeness", "score": 8}, ...]}`.

    Returns:
        Criterion and value as written, in the order of the object; a criterion may come twice.
    """
    named = [(criterion, item) for key, item in value.items() if (criterion := criterion_named(key))]
    if named:
        return named
    for item in value.values():
        if isinstance(item, list) and (listed := listed_values(item)):
            return listed
    return []


def listed_values(items: list[Any]) -> list[tuple[str, Any]]:
    """Return criterion and item of a list of named scores; items that name no criterion are left out."""
    return [(criterion, item) for item in items if (criterion := criterion_named(_item_name(item)))]


def names_overall(value: Mapping[str, Any]) -> bool:
    """Whether an object holds an overall grade of the judge's own, as a key or as an item of a list."""
    names = [*value, _item_name(value)]
    names += [_item_name(item) for items in value.values() if isinstance(items, list) for item in items]
    return any(_SCORE_SUFFIX.sub("", bare_name(name)) in _OVERALL for name in names)


def other_scale(value: Mapping[str, Any]) -> bool:
    """Whether an object says that its scores lie on another scale than 1 to 10."""
    return any(
        bare_name(key) in _SCALE_KEYS and not (item is None or _OUR_SCALE.fullmatch(str(item).strip()))
        for key, item in value.items()
    )


def read_score(value: object) -> Score | None:
    """Read one score.

    A whole number, a fraction (rounded down), either of them as text, `8/10`, `8 out of 10`, or an object
    with one of these under `score`, `rating` or `value`. Not a boolean, `NaN`, `4/5`, `80%`, words, digits
    of other scripts, or a list.

    Args:
        value: The JSON value as read.

    Returns:
        The score, clamped to 1..10, or None if the value is no score.
    """
    if isinstance(value, Mapping):
        given = [item for key, item in value.items() if is_score_key(key)]
        alone = len(given) == 1 and not isinstance(given[0], Mapping) and not other_scale(value)
        return read_score(given[0]) if alone else None
    if isinstance(value, str):
        match = _SCORE_TEXT.fullmatch(value.strip())
        return _clamped(float(match["number"])) if match else None
    if type(value) is int or (isinstance(value, float) and math.isfinite(value)):
        return _clamped(value)
    return None


def _clamped(number: float) -> Score:
    in_range = LOWEST <= number <= HIGHEST
    return Score(math.floor(max(LOWEST, min(HIGHEST, number))), in_range, number)


def _item_name(item: object) -> str:
    if not isinstance(item, Mapping):
        return ""
    names = [name for key, name in item.items() if bare_name(key) in _NAME_KEYS]
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""


def bare_name(name: str) -> str:
    """Return a name without case, spaces, punctuation and numbering; nothing if it is too long for one."""
    if len(name) > 100:
        return ""
    text = name.strip().replace("&amp;", "&")
    enumeration = _ENUMERATION.match(text)
    text = _SCALE_IN_NAME.sub("", text[enumeration.end() if enumeration else 0 :])
    return _SEPARATORS.sub("", text.replace("&", "and")).lower()
