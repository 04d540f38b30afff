"""Within one sentence: which stretches of it are negated, doubted, conditional, stopped or a relative's."""

from __future__ import annotations

import re

from clinical_evals.grounding.forms import find_forms
from clinical_evals.grounding.reach import Line, Mark, begin_of_scope, end_of_scope, is_condition
from clinical_evals.grounding.triggers import MARKS, Kind, Scope, look_up

_FOLLOWED = re.compile(
    r"['\"]?\s*(?:$|[.,;()\]!?|]|-+ |[–—]|(?:and|but|once|or|due|d/t|because|secondary|2/2|for|by|on|in|at"
    r"|after|last|yesterday|today|until|prior|pending|since|per|as|while|when|if|ago|now|currently|during|before|with"
    r"|without|from|upon|based|two|three|several|a (?:few|week|month|year)"
    r"|this (?:week|month|morning|admission)|\d+\s*[a-z]*\s+(?:ago|prior|earlier)|\d+/\d"
    r"|(?:19|20)\d\d|x\s?\d|x\d|~|over|earlier|previously|w/|early"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\b)"
)
# What follows a trigger that speaks of the words before it, by the direction named in the table.
_BACKWARD_IF: dict[str, re.Pattern[str]] = {
    "auto": _FOLLOWED,
    "auto_doubt": re.compile(
        r"['\"]?\s*(?:$|[.,;()\]!?|]|[–—]|(?:given|because|based|as|but|however|though|although"
        r"|at (?:this|present)|on (?:ct|mri|imaging|exam|x-?ray|cxr|us|the)|per|by|in view|without)\b)"
    ),
    "auto_answer": re.compile(
        r"\s*(?:$|[.,;)\]|!]|-+ |[–—]|(?:reported|noted)?\s*(?:$|[.,;])|x ?\d|on \d"
        r"|(?:last|today|yesterday|recently)\b)"
    ),
    "auto_label": re.compile(r"\s*(?:$|[.,;)\]])"),
}
_DOER_BEFORE = re.compile(r"\b(?:she|he|they|we|i|pt|patient|to|will|should|please|must|can|may) *$")
_WORD_BEFORE = re.compile(r"[a-z0-9]")
# "Ondansetron helped but she quit taking it": the subject at the head of the sentence is meant.
_STOPPED_IT = re.compile(
    r"\b(?:quit|stopped|discontinued|came off|dropped|held|d/c'd)(?: taking| using| giving)? (?:it|them)\b"
)
_RESTARTED = re.compile(
    r"\b(?:resumed|restarted|re-started|reinitiated)\b(?=\s*(?:$|[.,;)]|it\b|on\b|at\b|in\b|after|once|when|before"
    r"|by\b|yesterday|today|this|last|now|\d))"
)
_ORDERS = ("stop", "hold", "discontinue", "d/c", "dc")


def _read_marks(folded: str, start: int, end: int, tasks: bool) -> tuple[list[Mark], list[Scope]]:
    """The marks of a segment with their directions settled, and the scopes of its checkboxes."""
    marks = [
        Mark(found.start(), found.end(), *look_up(found[0])) for found in MARKS.finditer(folded, start, end)
    ]
    forms, scopes = find_forms(folded, start, end, tasks=tasks)
    if forms:
        taken = {at for form in forms for at in range(form.start, form.end)}
        marks = [mark for mark in marks if taken.isdisjoint(range(mark.start, mark.end))]
        marks.extend(Mark(*form) for form in forms)
        marks.sort()
    marks = [_directed(mark, folded, start, end) if mark.effects else mark for mark in marks]
    _drop_cancelled_stops(marks, folded, start, end)
    return marks, scopes


def _directed(mark: Mark, folded: str, start: int, end: int) -> Mark:
    """The mark with its "auto" directions settled by what stands around it."""
    if not any(effect.direction in _BACKWARD_IF for effect in mark.effects):
        return mark
    effects = []
    for effect in mark.effects:
        pattern = _BACKWARD_IF.get(effect.direction)
        if pattern is None:
            effects.append(effect)
        elif pattern.match(folded, mark.end, end) is None or (
            effect.direction == "auto" and not _WORD_BEFORE.search(folded, start, mark.start)
        ):
            effects.append(effect._replace(direction="forward"))
        # "She quit." has nothing before it that could be stopped.
        elif effect.direction != "auto" or not _DOER_BEFORE.search(
            folded, max(start, mark.start - 24), mark.start
        ):
            effects.append(effect._replace(direction="backward"))
    return mark._replace(effects=tuple(effects), kind=mark.kind if effects else Kind.HARMLESS)


def _drop_cancelled_stops(marks: list[Mark], folded: str, start: int, end: int) -> None:
    """Take the effect from stops that did not last or did not happen.

    "Stop ibuprofen if it burns" has not stopped it, and what was "held, then resumed" is taken.
    """
    stops = [n for n, mark in enumerate(marks) if any(e.assertion == "discontinued" for e in mark.effects)]
    if not stops:
        return
    restarted = _RESTARTED.search(folded, start, end)
    conditional = any(is_condition(mark) for mark in marks)
    for number in stops:
        mark = marks[number]
        ordered = folded[mark.start : mark.end] in _ORDERS
        if (ordered and conditional) or (restarted and restarted.start() > mark.start):
            marks[number] = mark._replace(kind=Kind.HARMLESS, effects=())


def read_scopes(folded: str, start: int, end: int, *, tasks: bool = False) -> list[Scope]:
    """Find every scope in one segment.

    Args:
        folded: The whole text, lower case, all whitespace spaces.
        start: Offset of the segment's first character.
        end: Offset behind its last one.
        tasks: The segment stands in a list of things to do, where an empty checkbox denies nothing.

    Returns:
        Scopes in no particular order; they may overlap.
    """
    marks, scopes = _read_marks(folded, start, end, tasks)
    runs_on = end - start > 300 and not any(mark.kind in (Kind.COMMA, Kind.COLON) for mark in marks)
    line = Line(folded, start, end, marks, runs_on)
    for number, mark in enumerate(marks):
        for effect in mark.effects:
            if effect.direction == "forward":
                left, right = mark.end, end_of_scope(line, number, effect)
            else:
                left, right = begin_of_scope(line, number, effect), mark.start
            if right > left:
                scopes.append(Scope(left, right, effect.assertion))
    if _STOPPED_IT.search(folded, start, end):
        scopes.append(Scope(start, _end_of_subject(line), "discontinued"))
    return scopes


def _end_of_subject(line: Line) -> int:
    """The end of the words before the sentence's first mark, five at most."""
    first = line.marks[0].start if line.marks else line.end
    words = line.folded[line.start : first].split()[:5]
    return min(first, line.start + len(" ".join(words)))
