"""The grader's verdicts, checked against the note: the published grounding score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict

from .claims import Claim
from .spans import FoldedNote, Span

__all__ = [
    "FORMULA",
    "LABELS",
    "MAX_RATIONALE",
    "CheckedVerdict",
    "GraderVerdict",
    "Label",
    "Reconciliation",
    "VerdictList",
    "grounding_score",
    "reconcile",
]

Label = Literal["grounded", "partial", "unsupported"]
LABELS: tuple[Label, ...] = ("grounded", "partial", "unsupported")
MAX_RATIONALE = 280
FORMULA = "(grounded + 0.5 * partial) / total"

_CREDIT: dict[Label, int] = {"grounded": 2, "partial": 1, "unsupported": 0}


class GraderVerdict(BaseModel):
    """The form of one verdict that the grader is asked for. Reading is more lenient than this."""

    model_config = ConfigDict(extra="forbid")

    id: str
    label: Label
    supportingQuote: str | None
    rationale: str


class VerdictList(BaseModel):
    """The form of the grader's whole answer."""

    model_config = ConfigDict(extra="forbid")

    verdicts: list[GraderVerdict]


@dataclass(frozen=True, slots=True)
class CheckedVerdict:
    """A claim with the label that is left once the note has been asked.

    Attributes:
        claim: The claim.
        claimed: The grader's own label, or None when it gave no readable one.
        label: The label by the published rules.
        quote: The quote, if it is a real stretch of the note.
        span: Where the quote first stands in the note, in characters.
        rationale: The grader's words, at most 280 characters.
        fake_quote: The grader gave a quote that the note does not hold.
    """

    claim: Claim
    claimed: Label | None
    label: Label
    quote: str | None
    span: Span | None
    rationale: str
    fake_quote: bool


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Every claim's verdict, and what in the grader's answer could not be used.

    Attributes:
        verdicts: One for each claim, in the order of the claims.
        equals: By claim id, further verdicts with the same label but another quote; the strict rules
            judge them too, and the worst counts, whatever the order.
        unknown_ids: Verdicts for ids that no graded claim has.
        invalid_labels: Verdicts whose label is not one of the three words.
        repeated_ids: Verdicts beyond the first for the same claim.
        missing: Claims without any verdict.
    """

    verdicts: tuple[CheckedVerdict, ...]
    equals: dict[str, tuple[CheckedVerdict, ...]]
    unknown_ids: int
    invalid_labels: int
    repeated_ids: int
    missing: int


def read_label(value: object) -> Label | None:
    """Read a label: the whole word, trimmed, in any case; anything else is no label."""
    word = value.strip().lower() if isinstance(value, str) else None
    return word if _is_label(word) else None


def _is_label(word: str | None) -> TypeGuard[Label]:
    return word in LABELS


def reconcile(note: FoldedNote, claims: Sequence[Claim], verdicts: Sequence[object]) -> Reconciliation:
    """Hold each verdict against the note.

    A claim without a verdict is unsupported. A quote that is not a stretch of the note is dropped,
    and `grounded` without a real quote becomes `unsupported`. Of several verdicts for one claim the
    least favourable counts. Verdicts for unknown ids are ignored and counted.

    Args:
        note: The note, made ready for search.
        claims: The claims that were put to the grader.
        verdicts: The grader's verdicts as read from its answer; anything that is not a mapping
            counts as a verdict for an unknown id.

    Returns:
        One checked verdict for each claim and the counts of what was set aside.
    """
    by_id = {claim.id: claim for claim in claims}
    best: dict[str, CheckedVerdict] = {}
    others: dict[str, list[CheckedVerdict]] = {}
    unknown = invalid = repeated = 0
    for verdict in verdicts:
        claim = by_id.get(_id_of(verdict))
        if claim is None or not isinstance(verdict, Mapping):
            unknown += 1
            continue
        checked = _check(note, claim, verdict)
        invalid += checked.claimed is None
        earlier = best.get(claim.id)
        if earlier is None:
            best[claim.id] = checked
            continue
        repeated += 1
        if _CREDIT[checked.label] < _CREDIT[earlier.label]:
            best[claim.id], checked = checked, earlier
        if checked.label == best[claim.id].label:
            others.setdefault(claim.id, []).append(checked)
    missing = [claim for claim in claims if claim.id not in best]
    for claim in missing:
        best[claim.id] = CheckedVerdict(claim, None, "unsupported", None, None, "", False)
    return Reconciliation(
        tuple(best[claim.id] for claim in claims),
        {identity: tuple(equal) for identity, equal in others.items()},
        unknown,
        invalid,
        repeated,
        len(missing),
    )


def _id_of(verdict: object) -> str:
    identity = verdict.get("id") if isinstance(verdict, Mapping) else None
    return identity.strip() if isinstance(identity, str) else ""


def _check(note: FoldedNote, claim: Claim, verdict: Mapping[str, Any]) -> CheckedVerdict:
    claimed = read_label(verdict.get("label"))
    quote = verdict.get("supportingQuote")
    quote = quote if isinstance(quote, str) and quote.strip() else None
    rationale = verdict.get("rationale")
    span = note.find(quote) if quote and claimed else None
    label: Label = claimed or "unsupported"
    if label == "grounded" and span is None:
        label = "unsupported"
    return CheckedVerdict(
        claim=claim,
        claimed=claimed,
        label=label,
        quote=quote if span else None,
        span=span,
        rationale=rationale[:MAX_RATIONALE] if isinstance(rationale, str) else "",
        fake_quote=bool(quote and claimed and span is None),
    )


def grounding_score(grounded: int, partial: int, total: int) -> float | None:
    """Compute `(grounded + 0.5 * partial) / total`.

    Args:
        grounded: Claims with full support.
        partial: Claims with partial support.
        total: All claims.

    Returns:
        A share from 0 to 1, or None when there are no claims.
    """
    return (grounded + 0.5 * partial) / total if total else None
