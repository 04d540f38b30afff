"""How one summary is scored: `score_summary`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .facts import FactCheck, check_facts, fact_recall, read_facts
from .figures import SHORT, code_figures, rubric_figures
from .judge import RatingReading
from .rubric import Rating, rating_json
from .sections import COMPARED
from .token_f1 import soap_f1, token_f1

__all__ = ["SummaryResult", "panel_counts", "rating_counts", "score_summary", "undefined_as_nan"]

_FLAGS = ("out of range", "overall ignored")


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """Everything that code found out about one summary.

    Attributes:
        rating: What the judge or panel gave; None if there is no rating.
        check: The facts of the summary, checked against the dialogue.
        counts: Whole numbers from which every figure follows; no text.
        has_reference: Whether there is a reference to compare with.
    """

    rating: Rating | None
    check: FactCheck
    counts: dict[str, int]
    has_reference: bool

    def figures(self, *, judged: bool = True, references: bool | None = None) -> dict[str, float | None]:
        """Give each figure by its name; None where it is not defined.

        Args:
            judged: Give the rubric's figures too.
            references: Give those that need a reference. Default: if there is one.
        """
        wanted = self.has_reference if references is None else references
        rubric = rubric_figures(self.counts) if judged else {}
        return rubric | code_figures(self.counts, references=wanted)

    def as_json(self) -> dict[str, Any]:
        """Give `scores`, `overall`, `flags`, `facts` with their counts, and with a reference `tokenF1`.

        Offsets in `facts` are characters of the summary.
        """
        figures = self.figures()
        names = ("facts", "supported", "unsupported", "copied", "reference_facts", "found")
        result = rating_json(self.rating) | {
            "facts": [
                {
                    "kind": fact.kind,
                    "value": fact.value,
                    "unit": fact.unit,
                    "words": fact.in_words,
                    "start": fact.start,
                    "end": fact.end,
                    "supported": fact.supported,
                    "copied": fact.copied,
                }
                for fact in self.check.facts
            ],
            "factCounts": {camel_case(name): self.counts[name] for name in names if name in self.counts},
            "factSupport": figures["fact_support"],
        }
        if self.has_reference:
            shown = ("fact_f1", "token_f1", "token_precision", "token_recall", "soap_f1")
            result |= {camel_case(name): figures[name] for name in shown}
        return result


def camel_case(name: str) -> str:
    """Write a name of counts or figures as JSON has it: `token_f1` as `tokenF1`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def score_summary(
    dialogue: str, summary: str, reference: str | None = None, rating: Rating | None = None
) -> SummaryResult:
    """Score a summary: its facts against the dialogue, its words against the reference, its rating.

    Args:
        dialogue: The dialogue.
        summary: The summary; an empty one earns 0 wherever there is something to find.
        reference: A summary that a person wrote, if there is one.
        rating: What a judge or panel gave, if one was asked.

    Returns:
        The counts and what follows from them. A note without headings scores 0 in each section of a
        reference that has them.
    """
    check = check_facts(dialogue, summary)
    counts = dict(check.counts)
    if rating is not None:
        counts |= rating_counts(rating)
    if reference is None:
        counts["dialogue_facts"] = len({(fact.value, fact.unit) for fact in read_facts(dialogue)})
        return SummaryResult(rating, check, counts, has_reference=False)
    counts |= fact_recall(check_facts(dialogue, reference), check)
    tokens = token_f1(reference, summary)
    counts |= {
        "token_overlap": tokens.overlap,
        "reference_tokens": tokens.reference,
        "candidate_tokens": tokens.candidate,
    }
    sections = soap_f1(reference, summary)
    counts["without_headings"] = int(sections.undefined == "candidate")
    if sections.undefined == "candidate":
        sections = soap_f1(reference, "")
    for name in COMPARED:
        scored = sections.sections.get(name)
        counts[f"{name}_overlap"] = scored.overlap if scored else 0
        counts[f"{name}_reference"] = scored.reference if scored else 0
        counts[f"{name}_candidate"] = scored.candidate if scored else 0
    return SummaryResult(rating, check, counts, has_reference=True)


def rating_counts(rating: Rating, prefix: str = "") -> dict[str, int]:
    """Give a rating's three scores as counts: `factual`, `hallucinations`, `tone`."""
    return {f"{prefix}{short}": rating.scores[criterion] for criterion, short in SHORT.items()}


def panel_counts(readings: Sequence[RatingReading]) -> dict[str, int]:
    """Count a panel: how many judges were asked and read, the scores of each, and their flags.

    Args:
        readings: One reading a judge, in the panel's order; a judge without a rating has no scores.
    """
    rated = {number: reading.value for number, reading in enumerate(readings, 1) if reading.value is not None}
    counts = {"judges": len(readings), "judges_rated": len(rated)}
    for number, rating in rated.items():
        counts |= rating_counts(rating, f"judge{number}_")
    for flag in _FLAGS:
        raised = sum(any(given.startswith(flag) for given in rating.flags) for rating in rated.values())
        counts[f"flag_{flag.replace(' ', '_')}"] = raised
    return counts


def undefined_as_nan(figures: dict[str, float | None]) -> dict[str, float]:
    """Write what is not defined as NaN, as Inspect has it."""
    return {name: math.nan if figure is None else figure for name, figure in figures.items()}
