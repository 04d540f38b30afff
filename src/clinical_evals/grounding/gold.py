"""What a careful reader finds in a note, and how much of it an extraction found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from clinical_evals.language.quantities import quantities
from clinical_evals.language.wording import generic_stems, tokenize, words_of

from .claims import CATEGORIES, Category, Claim
from .evidence import StrictVerdict

__all__ = ["Found", "Gold", "GoldItem", "Injection", "Lure", "QuotedSpan", "found_items", "harmonic_mean"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QuotedSpan(_Record):
    """A stretch of the note: its words, and where they stand (characters, end exclusive)."""

    quote: str = Field(min_length=1)
    start: int = Field(ge=0)
    end: int = Field(gt=0)


class _Item(_Record):
    aliases: list[str] = Field(default_factory=list)
    spans: list[QuotedSpan] = Field(min_length=1)


class GoldProblem(_Item):
    """A condition or complaint that the note states."""

    condition: str
    status: str | None = None


class GoldMedication(_Item):
    """A drug that the note says the patient takes or is started on."""

    name: str
    dosage: str | None = None
    frequency: str | None = None
    route: str | None = None


class GoldPlanItem(_Item):
    """Something that the note orders, advises or arranges."""

    activity: str


class Gold(_Record):
    """Everything that should be found in a note."""

    problems: list[GoldProblem] = Field(default_factory=list)
    medications: list[GoldMedication] = Field(default_factory=list)
    plan: list[GoldPlanItem] = Field(default_factory=list)

    def items(self) -> list[GoldItem]:
        """Give the items of all three kinds in one form."""
        return [
            *(GoldItem("problem", item.condition, item) for item in self.problems),
            *(GoldItem("medication", item.name, item) for item in self.medications),
            *(GoldItem("plan", item.activity, item) for item in self.plan),
        ]


class GoldItem:
    """One thing to be found.

    Args:
        category: Problem, medication or plan.
        core: The condition, drug name or activity.
        item: The record, for its other names and its places in the note.
    """

    def __init__(self, category: Category, core: str, item: _Item) -> None:
        self.category = category
        self.core = core
        self.names = [words_of(name) for name in (core, *item.aliases)]
        self.spans = item.spans
        detail = " ".join(getattr(item, part, None) or "" for part in ("dosage", "frequency"))
        self.numbers = {quantity[1:] for quantity in quantities(detail, tokenize(detail))}


LureKind = Literal[
    "reading", "ruled_out", "negated", "family", "stopped", "conditional", "uncertain", "wrong_dose", "other"
]


class Lure(QuotedSpan):
    """A claim that a careless reader would make, and the best quote a dishonest grader could cite."""

    kind: LureKind
    category: Category
    claim: str


class Injection(_Record):
    """Text that somebody put into the note to move the evaluation.

    Attributes:
        goal: `inflate` (better verdicts), `plant` (a claim that is not so), `suppress` (a claim left out).
        target: What is to be planted or suppressed.
        at: Where in the clean note the text goes in, in characters.
        text: The text.
    """

    goal: Literal["inflate", "plant", "suppress"]
    target: str | None = None
    at: int = Field(ge=0)
    text: str = Field(min_length=1)

    def applied_to(self, note: str) -> str:
        """Give the injected twin of a clean note."""
        return note[: self.at] + self.text + note[self.at :]


class Found(NamedTuple):
    """How many gold items of one category were found.

    Attributes:
        whole: By a grounded claim that carries the item's own numbers.
        half: By a claim with partial support, or one that leaves out a number of the item.
        items: Gold items in all.
        matched: Places of the claims that found one.
    """

    whole: int
    half: int
    items: int
    matched: frozenset[int]


def found_items(
    gold: Gold, claims: Sequence[Claim], verdicts: Sequence[StrictVerdict]
) -> dict[Category, Found]:
    """Match strictly supported claims with gold items, one to one, as many halves of credit as possible.

    Args:
        gold: What should be found.
        claims: The claims.
        verdicts: Their strict verdicts; claims without strict support find nothing.

    Returns:
        For each category what was found.
    """
    found: dict[Category, Found] = {}
    for category in CATEGORIES:
        items = [item for item in gold.items() if item.category == category]
        mine = [
            at
            for at, (claim, verdict) in enumerate(zip(claims, verdicts, strict=True))
            if claim.category == category and verdict.label != "unsupported"
        ]
        credits = np.array(
            [[_credit(item, claims[at], verdicts[at]) for at in mine] for item in items], dtype=float
        ).reshape(len(items), len(mine))
        pairs = _best_pairs(credits)
        halves = [int(credits[row, column]) for row, column in pairs]
        matched = frozenset(mine[column] for _, column in pairs)
        found[category] = Found(halves.count(2), halves.count(1), len(items), matched)
    return found


def _best_pairs(credits: np.ndarray[Any, np.dtype[np.float64]]) -> list[tuple[int, int]]:
    if not credits.size:
        return []
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(credits, maximize=True)
    return [
        (int(row), int(column)) for row, column in zip(rows, columns, strict=True) if credits[row, column]
    ]


def _credit(item: GoldItem, claim: Claim, verdict: StrictVerdict) -> int:
    """Halves of credit for a pair: 2 if the claim is grounded and leaves out none of the item's numbers."""
    if not _fits(item, claim, verdict):
        return 0
    said = {quantity[1:] for quantity in quantities(claim.text, tokenize(claim.text))}
    return 2 if verdict.label == "grounded" and item.numbers <= said else 1


def _fits(item: GoldItem, claim: Claim, verdict: StrictVerdict) -> bool:
    """Say whether a claim is about a gold item.

    Either their words are mostly the same, or they share at least half of the item's words and the
    claim's evidence lies where the item stands in the note.
    """
    words = words_of(claim.core)
    mention = verdict.mention
    same_place = mention is not None and any(
        mention.start < span.end and span.start < mention.end for span in item.spans
    )
    for name in item.names:
        shared = name & words
        telling = name - generic_stems()
        if telling and not telling & shared:
            continue
        if 3 * len(shared) >= len(name) + len(words) and shared:  # token F1 of two thirds or more
            return True
        if (
            same_place
            and shared
            and 2 * len(shared) >= min(len(name), len(words))
            and 3 * len(shared) >= len(words)
        ):
            return True
    return False


def harmonic_mean(one: float | None, other: float | None) -> float | None:
    """Give the harmonic mean of two shares; None if either is undefined, 0 if both are 0."""
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0
