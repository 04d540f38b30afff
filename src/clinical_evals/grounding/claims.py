"""What was extracted from a note, and the claims it makes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

__all__ = [
    "CATEGORIES",
    "MAX_CLAIMS",
    "Category",
    "Claim",
    "ClaimList",
    "Extraction",
    "Medication",
    "PlanItem",
    "Problem",
    "build_claims",
]

Category = Literal["problem", "medication", "plan"]
CATEGORIES: tuple[Category, ...] = ("problem", "medication", "plan")
MAX_CLAIMS = 40


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class Problem(_Item):
    """A condition or complaint and, when the note says so, how it stands."""

    condition: str
    status: str | None = None


class Medication(_Item):
    """A drug and, as far as the note states them, dosage, frequency and route."""

    name: str
    dosage: str | None = None
    frequency: str | None = None
    route: str | None = None


class PlanItem(_Item):
    """Something ordered, advised or arranged."""

    activity: str


class Extraction(_Item):
    """The structured reading of one note. A list that is missing is empty."""

    problems: list[Problem] = Field(default_factory=list)
    medications: list[Medication] = Field(default_factory=list)
    plan: list[PlanItem] = Field(default_factory=list)

    @field_validator("problems", "medications", "plan", mode="before")
    @classmethod
    def _as_meant(cls, value: object, info: ValidationInfo) -> object:
        """Read `null` as no items, and a bare string as an item that has nothing but its name."""
        core = {"problems": "condition", "medications": "name", "plan": "activity"}[info.field_name or ""]
        if value is None:
            return []
        if not isinstance(value, list):
            return value
        items = ({core: item} if isinstance(item, str) else item for item in value)
        return [item for item in items if not (isinstance(item, dict) and item.get(core, "") is None)]


class Claim(NamedTuple):
    """One thing an extraction says about the patient.

    Attributes:
        id: `p1…`, `m1…`, `a1…`: the kind and the place in the extraction's own list.
        category: Problem, medication or plan.
        text: What is shown to the grader, built here and never by a model.
        core: The condition, drug name or activity alone.
    """

    id: str
    category: Category
    text: str
    core: str


class ClaimList(NamedTuple):
    """The claims to grade, and how many were cut at the limit."""

    claims: tuple[Claim, ...]
    truncated: int


def build_claims(extraction: Extraction, max_claims: int = MAX_CLAIMS) -> ClaimList:
    """Flatten an extraction into claims, problems first, then medications, then the plan.

    Args:
        extraction: The extraction. Parts are trimmed, empty items are skipped (their number is not
            given to another claim).
        max_claims: How many claims are graded at most; the rest is cut from the end and counted.

    Returns:
        The claims and the number cut.

    Raises:
        ValueError: `max_claims` is below 1.
    """
    if max_claims < 1:
        raise ValueError(f"max_claims must be 1 or more, got {max_claims}")
    claims: list[Claim] = []

    def add(prefix: str, number: int, category: Category, core: str, text: str) -> None:
        if text:
            claims.append(Claim(f"{prefix}{number}", category, text, core or text))

    for number, problem in enumerate(extraction.problems, 1):
        condition, status = _trim(problem.condition), _trim(problem.status)
        if condition and status:
            add("p", number, "problem", condition, f"{condition} ({status})")
        else:
            add("p", number, "problem", condition, condition)
    for number, drug in enumerate(extraction.medications, 1):
        parts = [_trim(part) for part in (drug.name, drug.dosage, drug.frequency, drug.route)]
        add("m", number, "medication", parts[0], " ".join(part for part in parts if part) if parts[0] else "")
    for number, item in enumerate(extraction.plan, 1):
        activity = _trim(item.activity)
        add("a", number, "plan", activity, activity)
    return ClaimList(tuple(claims[:max_claims]), max(0, len(claims) - max_claims))


def _trim(part: str | None) -> str:
    return (part or "").strip()
