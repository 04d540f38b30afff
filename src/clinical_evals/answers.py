"""The two answers that the grounding method asks models for, read as `clinical_evals.reading` reads JSON."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from clinical_evals.grounding.claims import Extraction
from clinical_evals.reading import Problem, ReadResult, read_array, read_object

PHRASES: dict[Problem, str] = {
    "empty": "it was empty",
    "no_object": "it held no JSON object that can be read",
    "incomplete": "the JSON object was cut off",
    "duplicate_keys": "an object named the same key twice",
    "misfit": "the JSON object did not have the form asked for",
}
"""What was wrong with an answer, in words that say nothing of its text: for reports and the repair turn."""


class NoteAnswers(NamedTuple):
    """What two models answered about one note.

    Attributes:
        extraction: What was extracted.
        verdicts: What the grader said of it, as written.
        extracted_by: The name of the extracting model.
        graded_by: The name of the grader.
    """

    extraction: Extraction
    verdicts: list[dict[str, Any]]
    extracted_by: str
    graded_by: str


def read_extraction(text: str) -> ReadResult[Extraction]:
    """Return the extraction in a model's answer: an object with at least one of the three lists.

    A list that is missing or null is empty. One item of the wrong form makes the whole a misfit.
    """
    result = read_object(text, lambda value: _extraction(value) is not None)
    if result.value is None:
        return ReadResult(None, result.problem)
    return ReadResult(_extraction(result.value), None, result.repaired)


def read_verdicts(text: str) -> ReadResult[list[dict[str, Any]]]:
    """Return the verdicts in a grader's answer: the list under `verdicts`, or a list alone.

    Labels and quotes are left as they are; what they are worth is decided against the note.
    """
    result = read_object(text, lambda value: _all_objects(value.get("verdicts")))
    if result.value is not None:
        return ReadResult(result.value["verdicts"], None, result.repaired)
    alone = read_array(text, lambda value: _all_objects(value) and all("id" in item for item in value))
    if alone.value is not None:
        return ReadResult(alone.value, None, alone.repaired)
    return ReadResult(None, alone.problem if result.problem == "no_object" else result.problem)


def _extraction(value: Mapping[str, Any]) -> Extraction | None:
    given = {key: value[key] for key in Extraction.model_fields if value.get(key) is not None}
    if not given:
        return None
    try:
        return Extraction.model_validate(given)
    except ValidationError:
        return None


def _all_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
