"""How one note is scored: `score_note`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clinical_evals.language.wording import synonyms_digest
from clinical_evals.signature import code_digest, signature

from .claims import CATEGORIES, MAX_CLAIMS, Category, Claim, Extraction, build_claims
from .evidence import MAX_QUOTE_WORDS, REASONS, NoteReader, StrictVerdict, check_evidence, mark_duplicates
from .gold import Gold, found_items, harmonic_mean
from .prompts import prompts_digest
from .verdicts import FORMULA, LABELS, CheckedVerdict, grounding_score, reconcile

# Counts of all claims, and of each category under its own prefix.
_BREAKDOWN: dict[str, tuple[Category, ...]] = {
    "": CATEGORIES,
    **{f"{category}_": (category,) for category in CATEGORIES},
}

__all__ = ["GroundingResult", "figure_formulas", "score_note", "score_note_read"]


@dataclass(frozen=True, slots=True)
class GroundingResult:
    """Everything that code found out about one extraction and its grading.

    Attributes:
        verdicts: The published verdict of each claim.
        strict: The strict verdict of each claim, in the same order.
        counts: Whole numbers from which every score follows; no text. Also per category
            (`problem_…`, `medication_…`, `plan_…`).
        has_gold: Whether the note has gold annotations.
    """

    verdicts: tuple[CheckedVerdict, ...]
    strict: tuple[StrictVerdict, ...]
    counts: dict[str, int]
    has_gold: bool

    @property
    def score(self) -> float | None:
        """The published score, 0 to 1; None with no claims."""
        return self.published()

    def published(self, prefix: str = "") -> float | None:
        """The published score of all claims, or of one category (`problem_` …)."""
        counts = self.counts
        return grounding_score(
            counts[f"{prefix}grounded"], counts[f"{prefix}partial"], counts[f"{prefix}claims"]
        )

    def strict_score(self, prefix: str = "") -> float | None:
        """The strict score of all claims or one category, 0 to 1.

        Where there are gold annotations, supported claims that are no gold item are left out of it (they
        are counted as `unlisted_…`): true words of the note that nobody asked for must not pay. With no
        claims left it is 0 where the gold annotations hold something (silence must not pay) and None
        where they hold nothing or there are none.
        """
        counts = self.counts
        unlisted = counts.get(f"{prefix}unlisted_grounded", 0), counts.get(f"{prefix}unlisted_partial", 0)
        score = grounding_score(
            counts[f"{prefix}strict_grounded"] - unlisted[0],
            counts[f"{prefix}strict_partial"] - unlisted[1],
            counts[f"{prefix}claims"] - sum(unlisted),
        )
        return 0.0 if score is None and counts.get(f"{prefix}gold") else score

    def recall(self, prefix: str = "") -> float | None:
        """The share of gold items that strictly supported claims found; None without gold items.

        An item counts half if its claim has partial support or leaves out one of the item's numbers.
        """
        total = self.counts.get(f"{prefix}gold", 0)
        found = self.counts.get(f"{prefix}found", 0) + 0.5 * self.counts.get(f"{prefix}half_found", 0)
        return found / total if total else None

    def grounded_f1(self, prefix: str = "") -> float | None:
        """The harmonic mean of strict score and recall; None where either is undefined."""
        return harmonic_mean(self.strict_score(prefix), self.recall(prefix))

    def as_json(self) -> dict[str, Any]:
        """Give the result under the published field names, with the strict figures beside them."""
        counts = self.counts
        result: dict[str, Any] = {
            "verdicts": [
                {
                    "id": verdict.claim.id,
                    "category": verdict.claim.category,
                    "text": verdict.claim.text,
                    "label": verdict.label,
                    "supportingQuote": verdict.quote,
                    "rationale": verdict.rationale,
                    "start": (strict.span or verdict.span).start if verdict.span else None,
                    "end": (strict.span or verdict.span).end if verdict.span else None,
                    "strictLabel": strict.label,
                    "reasons": list(strict.reasons),
                }
                for verdict, strict in zip(self.verdicts, self.strict, strict=True)
            ],
            "counts": {**{label: counts[label] for label in LABELS}, "total": counts["claims"]},
            "score": self.score,
            "formula": FORMULA,
            "strictScore": self.strict_score(),
            "strictCounts": {
                **{label: counts[f"strict_{label}"] for label in LABELS},
                "total": counts["claims"],
            },
            "truncated": counts["truncated"],
            "invalidLabels": counts["invalid_labels"],
            "unknownIds": counts["unknown_ids"],
        }
        if self.has_gold:
            result |= {"recall": self.recall(), "groundedF1": self.grounded_f1()}
        return result


def score_note(
    note: str,
    extraction: Extraction,
    verdicts: Sequence[object],
    *,
    max_claims: int = MAX_CLAIMS,
    gold: Gold | None = None,
) -> GroundingResult:
    """Score an extraction against its note from a grader's verdicts.

    Nothing a model says is taken on trust: quotes are looked up in the note, labels follow from what
    was found, and the figures are counted here.

    Args:
        note: The note.
        extraction: What was extracted.
        verdicts: The grader's verdicts, mappings with `id`, `label`, `supportingQuote`, `rationale`.
        max_claims: The most claims that are graded.
        gold: What should have been found, if known.

    Returns:
        The verdicts, their reasons and the counts.

    Raises:
        ValueError: `max_claims` is below 1.
    """
    return score_note_read(NoteReader(note), extraction, verdicts, max_claims=max_claims, gold=gold)


def score_note_read(
    note: NoteReader,
    extraction: Extraction,
    verdicts: Sequence[object],
    *,
    max_claims: int = MAX_CLAIMS,
    gold: Gold | None = None,
) -> GroundingResult:
    """Do as `score_note` with a note that is already made ready, for scoring it many times."""
    claims, truncated = build_claims(extraction, max_claims)
    checked = reconcile(note.folded, claims, verdicts)
    strict = mark_duplicates(
        claims,
        [
            check_evidence(note, verdict, checked.equals.get(verdict.claim.id, ()))
            for verdict in checked.verdicts
        ],
    )
    counts = {
        "truncated": truncated,
        "invalid_labels": checked.invalid_labels,
        "unknown_ids": checked.unknown_ids,
        "repeated_ids": checked.repeated_ids,
        "missing_verdicts": checked.missing,
    }
    for prefix, categories in _BREAKDOWN.items():
        chosen = [
            (verdict, lowered)
            for verdict, lowered in zip(checked.verdicts, strict, strict=True)
            if verdict.claim.category in categories
        ]
        counts[f"{prefix}claims"] = len(chosen)
        for label in LABELS:
            counts[f"{prefix}{label}"] = sum(verdict.label == label for verdict, _ in chosen)
            counts[f"{prefix}strict_{label}"] = sum(lowered.label == label for _, lowered in chosen)
    for reason in REASONS:
        counts[f"reason_{reason}"] = sum(reason in lowered.reasons for lowered in strict)
    if gold is not None:
        counts |= _gold_counts(gold, claims, strict)
    return GroundingResult(checked.verdicts, tuple(strict), counts, gold is not None)


def _gold_counts(gold: Gold, claims: Sequence[Claim], strict: Sequence[StrictVerdict]) -> dict[str, int]:
    found = found_items(gold, claims, strict)
    matched = frozenset().union(*(part.matched for part in found.values()))
    counts: dict[str, int] = {}
    for prefix, categories in _BREAKDOWN.items():
        parts = [found[category] for category in categories]
        counts[f"{prefix}found"] = sum(part.whole for part in parts)
        counts[f"{prefix}half_found"] = sum(part.half for part in parts)
        counts[f"{prefix}gold"] = sum(part.items for part in parts)
        unlisted = [
            verdict.label
            for at, (claim, verdict) in enumerate(zip(claims, strict, strict=True))
            if claim.category in categories and at not in matched
        ]
        counts[f"{prefix}unlisted_grounded"] = unlisted.count("grounded")
        counts[f"{prefix}unlisted_partial"] = unlisted.count("partial")
    return counts


def figure_formulas(gold: bool) -> dict[str, str]:
    """Say how each figure of a note follows from its counts, for whoever wants to count again.

    Args:
        gold: Whether the dataset has gold annotations.

    Returns:
        A formula for each figure of all claims and of each category; see `registry.formula`.
    """
    formulas = {}
    for prefix in _BREAKDOWN:
        unlisted, of_claims = "", f"{prefix}claims"
        if gold:
            unlisted = f" - {prefix}unlisted_grounded - 0.5 * {prefix}unlisted_partial"
            of_claims += f" - {prefix}unlisted_grounded - {prefix}unlisted_partial"
        strict = f"ratio({prefix}strict_grounded + 0.5 * {prefix}strict_partial{unlisted}, {of_claims})"
        formulas[f"{prefix}strict_score"] = f"first({strict}, zero_if({prefix}gold))" if gold else strict
        formulas[f"{prefix}published_score"] = (
            f"ratio({prefix}grounded + 0.5 * {prefix}partial, {prefix}claims)"
        )
        if gold:
            formulas[f"{prefix}recall"] = f"ratio({prefix}found + 0.5 * {prefix}half_found, {prefix}gold)"
            formulas[f"{prefix}grounded_f1"] = f"harmonic({prefix}strict_score, {prefix}recall)"
    return formulas


VERSION = 1
"""Raised with every release whose code comes to other numbers from the same answers."""


def scorer_signature(*, max_claims: int = MAX_CLAIMS, finished: bool = False) -> str:
    """Write the one line that names every setting that can change a grounding number.

    Args:
        max_claims: The most claims that are graded.
        finished: The extractions were given, so the extraction prompt was not used.
    """
    return signature(
        "grounding",
        VERSION,
        max_claims=max_claims,
        max_quote_words=MAX_QUOTE_WORDS,
        partial=0.5,
        prompts=prompts_digest(),
        rules=code_digest(
            "clinical_evals.grounding",
            "clinical_evals.grounding.context",
            "clinical_evals.language",
            leave_out=("attacks.py", "prompts.py"),
        ),
        answers="handed-in" if finished else "asked-for",
        synonyms=synonyms_digest(),
    )
