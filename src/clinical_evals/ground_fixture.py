"""The fixture of `clinical-evals ground`: what two models would have answered about one note."""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinical_evals.answers import NoteAnswers
from clinical_evals.files import InputError, field_name, read_text
from clinical_evals.grounding.claims import Extraction
from clinical_evals.reading import DuplicateKeyError, unique_keys


class _Exact(BaseModel):
    # A person writes this file, so a field that is misspelt is said, not passed over.
    model_config = ConfigDict(extra="forbid", strict=True)


class _Problem(_Exact):
    condition: str
    status: str | None = None


class _Medication(_Exact):
    name: str
    dosage: str | None = None
    frequency: str | None = None
    route: str | None = None


class _PlanItem(_Exact):
    activity: str


class _Extraction(_Exact):
    problems: list[_Problem] = Field(default_factory=list)
    medications: list[_Medication] = Field(default_factory=list)
    plan: list[_PlanItem] = Field(default_factory=list)


class _Verdict(_Exact):
    id: str
    label: str  # the grader's word: one that is no label is scored as no verdict, not refused
    supportingQuote: str | None = None
    rationale: str | None = None


class _Grounding(_Exact):
    verdicts: list[_Verdict]


class _Fixture(_Exact):
    extraction: _Extraction
    grounding: _Grounding
    extractedBy: str | None = None
    gradedBy: str | None = None


def read_ground_fixture(path: Path) -> NoteAnswers:
    """Read a fixture file.

    Raises:
        InputError: If it cannot be read or has a missing, unknown or wrong field, naming file and field.
    """
    text = read_text(path)
    try:
        value = json.loads(text, object_pairs_hook=unique_keys)
        fixture = _Fixture.model_validate(value)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON at line {error.lineno}, column {error.colno}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {_describe(error)}") from None
    except DuplicateKeyError as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON that can be read") from None
    return NoteAnswers(
        Extraction.model_validate(fixture.extraction.model_dump()),
        [verdict.model_dump() for verdict in fixture.grounding.verdicts],
        fixture.extractedBy or "fixture",
        fixture.gradedBy or "fixture",
    )


def _describe(error: ValidationError) -> str:
    """Name the first field that is wrong, and what is allowed, without its value."""
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    first = problems[0]
    field = "".join(
        f"[{part}]" if isinstance(part, int) else f".{field_name(part)}" for part in first["loc"]
    ).lstrip(".")
    says = {"missing": "is missing", "extra_forbidden": "is not known"}.get(
        first["type"], first["msg"][:1].lower() + first["msg"][1:]
    )
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"field '{field}' {says}{more}" if field else f"must be a JSON object{more}"
