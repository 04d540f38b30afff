"""Does a quote give the claim's numbers, and give them to the claim's subject?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from clinical_evals.language.quantities import Quantity

from .spans import fold

__all__ = ["numbers_agree"]

_CHANGE = r"(?:increas|decreas|reduc|chang|titrat|uptitrat|adjust|switch|taper)\w*"
_CHANGED = re.compile(rf"\b(?:{_CHANGE}|from)\b")
_BREAK = re.compile(r",(?!\d)|;|\band\b", re.IGNORECASE)
_TO = re.compile(r"(?:\bto|->|→|-->|=>)$")
_CHANGE_TO = re.compile(rf"\b{_CHANGE}(?: (?:the )?(?:dose|it))? to$")


def numbers_agree(
    claimed: Sequence[Quantity],
    quoted: Sequence[Quantity],
    around: Sequence[Quantity],
    note: str,
    anchor: int,
    *,
    own_clause: bool,
) -> bool:
    """Say whether each number of a claim is the one that the quoted place gives for the claim's subject.

    It must be in the quote with its unit; and where the place holds several of one unit, it must be
    among the first of that unit after the mention, then the last before it: in "A 25 mg and
    B 10 mg" the dose of A is 25 mg. Of "from 500 mg to 1000 mg", and of "500 mg, increase to 1000 mg",
    the second counts.

    Args:
        claimed: The claim's quantities.
        quoted: The quantities inside the quote.
        around: Those of the sentence or list item that the mention stands in; may overlap the quote.
        note: The note that the places are in.
        anchor: Where the mention begins, in characters.
        own_clause: Numbers before the mention count only if no comma or "and" stands between: the dose
            of another drug in a list is not this one's.
    """
    place = sorted({*quoted, *around}, key=lambda quantity: quantity.start)
    for quantity in claimed:
        if not any(_same(other, quantity) for other in quoted):
            return False
        if quantity.unit is None:
            continue
        current = _without_former([other for other in place if other.unit == quantity.unit], note)
        wanted = sum(other.unit == quantity.unit for other in claimed)
        after = [other for other in current if other.start >= anchor]
        before = [
            other
            for other in reversed(current)
            if other.start < anchor and not (own_clause and _BREAK.search(note, other.start, anchor))
        ]
        near = (after + before)[:wanted]
        if all(other.value != quantity.value for other in near):
            return False
    return True


def _same(other: Quantity, quantity: Quantity) -> bool:
    return other.value == quantity.value and (quantity.unit is None or other.unit == quantity.unit)


def _without_former(alike: Sequence[Quantity], note: str) -> list[Quantity]:
    """Drop a number where the words up to the next one of its unit say that it was changed to that."""
    kept = list(alike)
    for former, latter in pairwise(alike):
        between = fold(note[former.start : latter.start])
        before = fold(note[max(0, former.start - 50) : former.start])
        if (_TO.search(between) and _CHANGED.search(before)) or _CHANGE_TO.search(between):
            kept.remove(former)
    return kept
