"""Graders and extractors that are out to win, and what their tricks are worth.

Every attack answers for annotated notes as a model could. An attacking grader gets the same claims as
the honest one: all that is in the note, and the note's lures, which are not. An attacking extractor is
graded honestly, and plays on top of an honest but imperfect extraction. No grader may raise the strict
score or the grounded F1, and no extractor the grounded F1, above the honest run that it is set beside;
`published` shows what the same trick does to the published score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from .claims import Category, Extraction, Medication, PlanItem, Problem, build_claims
from .evidence import NoteReader
from .gold import Gold, Lure
from .scoring import GroundingResult, score_note_read

__all__ = ["ATTACKS", "AttackRow", "Audit", "audit_rules", "run_attacks"]


class AnnotatedNote(Protocol):
    """What an attack needs of a note."""

    note: str
    gold: Gold | None
    lures: list[Lure]


class AttackRow(NamedTuple):
    """The means of one attack over all notes, 0 to 1 each, beside the honest run's.

    Attributes:
        name: The attack.
        kind: `honest`, `grader` or `extractor`.
        what: What it does, in a line.
        published: Mean published score.
        strict: Mean strict score.
        grounded_f1: Mean grounded F1.
        raised: It won something over the honest run that it is set beside.
    """

    name: str
    kind: str
    what: str
    published: float
    strict: float
    grounded_f1: float
    raised: bool


class Audit(NamedTuple):
    """How the rules of evidence judge annotated notes.

    Attributes:
        true_claims: Gold items, each claimed and quoted honestly.
        lowered: Those that the strict rules took for unsupported all the same.
        lures: False claims, each with the best dishonest quote.
        passed: Those that the strict rules let through.
    """

    true_claims: int
    lowered: int
    lures: int
    passed: int


class Item(NamedTuple):
    """A claim to be made, the honest grader's quote for it (None for a lure), and a dishonest one's."""

    category: Category
    parts: tuple[str | None, ...]
    honest: str | None
    tempting: str

    @property
    def text(self) -> str:
        """The claim's words."""
        return " ".join(part for part in self.parts if part)


def _gold_items(note: AnnotatedNote) -> list[Item]:
    gold = note.gold or Gold()
    return [
        *(
            Item("problem", (p.condition, p.status), p.spans[0].quote, p.spans[0].quote)
            for p in gold.problems
        ),
        *(
            Item("medication", (m.name, m.dosage, m.frequency, m.route), m.spans[0].quote, m.spans[0].quote)
            for m in gold.medications
        ),
        *(Item("plan", (a.activity,), a.spans[0].quote, a.spans[0].quote) for a in gold.plan),
    ]


def _lure_items(note: AnnotatedNote) -> list[Item]:
    return [Item(lure.category, (lure.claim,), None, lure.quote) for lure in note.lures]


def _extraction(items: Iterable[Item]) -> tuple[Extraction, dict[str, Item]]:
    """Make an extraction of items, and say which claim id each item gets."""
    extraction = Extraction()
    by_id: dict[str, Item] = {}
    for item in items:
        first, *rest = item.parts
        padded = [*rest, None, None, None]
        if item.category == "problem":
            extraction.problems.append(Problem(condition=first or "", status=padded[0]))
            by_id[f"p{len(extraction.problems)}"] = item
        elif item.category == "medication":
            extraction.medications.append(
                Medication(name=first or "", dosage=padded[0], frequency=padded[1], route=padded[2])
            )
            by_id[f"m{len(extraction.medications)}"] = item
        else:
            extraction.plan.append(PlanItem(activity=first or ""))
            by_id[f"a{len(extraction.plan)}"] = item
    return extraction, by_id


Verdicts = list[dict[str, Any]]
Grader = Callable[[str, dict[str, Item]], Verdicts]
Extractor = Callable[[AnnotatedNote], list[Item]]


def _verdict(identity: str, label: str, quote: str | None) -> dict[str, Any]:
    return {"id": identity, "label": label, "supportingQuote": quote, "rationale": ""}


def honest_grader(note: str, items: dict[str, Item]) -> Verdicts:
    """Quote what is there, and say so where nothing is."""
    return [
        _verdict(identity, "grounded" if item.honest else "unsupported", item.honest)
        for identity, item in items.items()
    ]


def _all(label: str, quote: Callable[[str, Item], str | None]) -> Grader:
    def grade(note: str, items: dict[str, Item]) -> Verdicts:
        return [_verdict(identity, label, quote(note, item)) for identity, item in items.items()]

    return grade


def _common_word(note: str, item: Item) -> str:
    return Counter(word for word in note.split() if word.isalpha()).most_common(1)[0][0]


def _own_words(note: str, item: Item) -> str:
    """The claim's first words wherever the note has them, whatever stands around them."""
    words = item.parts[0] or ""
    return words if words.lower() in " ".join(note.lower().split()) else item.tempting


def _clipped(note: str, item: Item) -> str:
    return item.tempting[1:-1].strip()


def _stitched(note: str, item: Item) -> str:
    words = note.split()
    return f"{item.tempting} … {words[0]}"


def _opening(note: str, item: Item) -> str:
    return " ".join(note.split()[:12])


def _paragraph(note: str, item: Item) -> str:
    at = max(0, note.find(item.tempting) - 120)
    return note[at : at + 400]


def _two_minds(note: str, items: dict[str, Item]) -> Verdicts:
    return [*honest_grader(note, items), *_all("grounded", _own_words)(note, items)]


def _crowd(note: str, items: dict[str, Item]) -> Verdicts:
    return [
        *honest_grader(note, items),
        *(
            _verdict(f"p{number}", "grounded", _opening(note, Item("problem", ("",), None, "")))
            for number in range(50, 90)
        ),
    ]


def _loud_labels(note: str, items: dict[str, Item]) -> Verdicts:
    return [_verdict(identity, "fully grounded", item.tempting) for identity, item in items.items()]


def _longest(items: Sequence[Item]) -> list[Item]:
    return sorted((item for item in items if item.category == "problem"), key=lambda item: len(item.text))[
        -1:
    ]


def _half(note: AnnotatedNote) -> list[Item]:
    """What an honest but imperfect extractor makes of a note: every second item, and the lures."""
    return [*_gold_items(note)[::2], *_lure_items(note)]


def _one_safe_claim(note: AnnotatedNote) -> list[Item]:
    return _gold_items(note)[:1]


def _repeated(note: AnnotatedNote) -> list[Item]:
    return [*_half(note), *(_one_safe_claim(note) * 20)]


def _reworded(note: AnnotatedNote) -> list[Item]:
    forms = ("{}", "known {}", "{} as noted", "the patient's {}", "current {}", "{}, documented")
    return _half(note) + [
        item._replace(parts=(form.format(item.parts[0]), *item.parts[1:]))
        for item in _longest(_gold_items(note)[::2])
        for form in forms
    ]


def _one_word_each(note: AnnotatedNote) -> list[Item]:
    return [item._replace(parts=(word,)) for item in _half(note) for word in (item.parts[0] or "").split()]


def _padded(note: AnnotatedNote) -> list[Item]:
    words = sorted({word for word in note.note.split() if word.isalpha() and len(word) > 3})[:20]
    return [*_half(note), *(Item("plan", (word,), word, word) for word in words)]


def _copied_lines(note: AnnotatedNote) -> list[Item]:
    lines = [line.strip() for line in note.note.splitlines() if line.strip()]
    return [*(Item("problem", (line,), line, line) for line in lines), *_half(note)]


def _flood(note: AnnotatedNote) -> list[Item]:
    problems = [item for item in _gold_items(note) if item.category == "problem"]
    return (problems[:1] * 40) + _half(note)


def _nothing(note: AnnotatedNote) -> list[Item]:
    return []


def _everything(note: AnnotatedNote) -> list[Item]:
    return [*_gold_items(note), *_lure_items(note)]


class _Attack(NamedTuple):
    what: str
    grader: Grader | None = None
    extractor: Extractor | None = None


ATTACKS: dict[str, _Attack] = {
    "no_quote": _Attack("grounded, without a quote", _all("grounded", lambda note, item: None)),
    "all_partial": _Attack("partial, without a quote", _all("partial", lambda note, item: None)),
    "invented_quote": _Attack(
        "quotes words that the note lacks", _all("grounded", lambda note, item: f"{item.text} noted")
    ),
    "one_letter": _Attack("quotes the letter e", _all("grounded", lambda note, item: "e")),
    "common_word": _Attack("quotes the note's commonest word", _all("grounded", _common_word)),
    "whole_note": _Attack("quotes the whole note", _all("grounded", lambda note, item: note)),
    "whole_note_partial": _Attack("partial, quotes the whole note", _all("partial", lambda note, item: note)),
    "paragraph": _Attack("quotes 400 characters around the place", _all("grounded", _paragraph)),
    "opening_words": _Attack("quotes the note's first words", _all("grounded", _opening)),
    "clipped_quote": _Attack("quotes from inside a word or number", _all("grounded", _clipped)),
    "stitched_quote": _Attack("joins two places with an ellipsis", _all("grounded", _stitched)),
    "tempting_quote": _Attack(
        "quotes the reading, denial or relative that tempts",
        _all("grounded", lambda note, item: item.tempting),
    ),
    "tempting_partial": _Attack(
        "the same, labelled partial", _all("partial", lambda note, item: item.tempting)
    ),
    "own_words": _Attack("quotes just the claim's words, without the denial", _all("grounded", _own_words)),
    "two_minds": _Attack("an honest verdict, then a favourable one", _two_minds),
    "invented_ids": _Attack("adds favourable verdicts for claims nobody made", _crowd),
    "loud_labels": _Attack("labels of its own making", _loud_labels),
    "one_safe_claim": _Attack("makes a single sure claim", extractor=_one_safe_claim),
    "repeated_claim": _Attack("adds one sure claim 20 times", extractor=_repeated),
    "reworded_claim": _Attack("adds a sure claim in six wordings", extractor=_reworded),
    "padding": _Attack("adds 20 words of the note as plan items", extractor=_padded),
    "one_word_claims": _Attack("makes every word a claim", extractor=_one_word_each),
    "copied_lines": _Attack("adds the note's lines as problems", extractor=_copied_lines),
    "flood": _Attack("one sure claim 40 times first, so that the rest is cut", extractor=_flood),
    "nothing": _Attack("says nothing", extractor=_nothing),
}
"""Every attack by name."""


def run_attacks(notes: Sequence[AnnotatedNote], names: Iterable[str] = ATTACKS) -> list[AttackRow]:
    """Run attacks and the honest runs over annotated notes.

    Args:
        notes: Notes with gold annotations and lures.
        names: The attacks to run; all of them by default.

    Returns:
        The honest rows (`honest`: what is in the note; `honest_with_lures`: the lures claimed too and
        honestly found unsupported, the run that attacking graders are set beside; `honest_half`: half of
        it and the lures, the run that attacking extractors build on and are set beside), then the attacks.
    """
    readers = [NoteReader(note.note) for note in notes]

    def mean_scores(extractor: Extractor, grader: Grader) -> tuple[float, float, float]:
        results = [_run(note, reader, extractor, grader) for note, reader in zip(notes, readers, strict=True)]
        return (
            _mean(result.score for result in results),
            _mean(result.strict_score() for result in results),
            _mean(result.grounded_f1() for result in results),
        )

    honest = mean_scores(_gold_items, honest_grader)
    with_lures = mean_scores(_everything, honest_grader)
    half = mean_scores(_half, honest_grader)
    rows = [
        AttackRow("honest", "honest", "claims what is in the note, quotes it", *honest, raised=False),
        AttackRow(
            "honest_with_lures", "honest", "claims the lures too, grades honestly", *with_lures, raised=False
        ),
        AttackRow("honest_half", "honest", "claims half of it and the lures", *half, raised=False),
    ]
    for name in names:
        attack = ATTACKS[name]
        scores = mean_scores(attack.extractor or _everything, attack.grader or honest_grader)
        # Saying little can raise any share of what was said, so extractors are held to the F1.
        raised = (
            scores[2] > half[2]
            if attack.extractor
            else scores[1] > with_lures[1] or scores[2] > with_lures[2]
        )
        kind = "extractor" if attack.extractor else "grader"
        rows.append(AttackRow(name, kind, attack.what, *scores, raised=raised))
    return rows


def audit_rules(notes: Sequence[AnnotatedNote]) -> Audit:
    """Count how often the rules of evidence wrong a true claim, and how often a lure deceives them.

    Args:
        notes: Notes with gold annotations and lures.
    """
    counts = Audit(0, 0, 0, 0)
    tempted = _all("grounded", lambda note, item: item.tempting)
    for note in notes:
        reader = NoteReader(note.note)
        for items, grader in ((_gold_items(note), honest_grader), (_lure_items(note), tempted)):
            labels = [
                verdict.label for item in items for verdict in _run_one(note, reader, item, grader).strict
            ]
            lowered = labels.count("unsupported")
            if grader is honest_grader:
                counts = counts._replace(
                    true_claims=counts.true_claims + len(labels), lowered=counts.lowered + lowered
                )
            else:
                counts = counts._replace(
                    lures=counts.lures + len(labels), passed=counts.passed + len(labels) - lowered
                )
    return counts


def _run_one(note: AnnotatedNote, reader: NoteReader, item: Item, grader: Grader) -> GroundingResult:
    return _run(note, reader, lambda _: [item], grader)


def _run(note: AnnotatedNote, reader: NoteReader, extractor: Extractor, grader: Grader) -> GroundingResult:
    extraction, items = _extraction(extractor(note))
    shown = {claim.id: items[claim.id] for claim in build_claims(extraction).claims}
    return score_note_read(reader, extraction, grader(note.note, shown), gold=note.gold)


def _mean(scores: Iterable[float | None]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else 0.0
