"""Decide whether a note asserts a mention of this patient, now and without doubt.

A rule-based reading after NegEx (Chapman et al. 2001, "A simple algorithm for identifying negated findings
and diseases in discharge summaries", doi:10.1006/jbin.2001.1029) and ConText (Harkema et al. 2009, "ConText:
an algorithm for determining negation, experiencer, and temporal status from clinical reports",
doi:10.1016/j.jbi.2009.05.002): trigger phrases open a scope to their right or left, terminators close it, and
longer harmless phrases hide the triggers inside them. What goes beyond the papers: sections, forms and
checkboxes, conditions that reach back over the plan they condition, and drugs that are no longer taken.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from clinical_evals.grounding.context.scopes import read_scopes, scopes_of_next
from clinical_evals.grounding.context.segmentation import HEADING, Segment, fold, segment_text
from clinical_evals.grounding.context.triggers import MARKS, Assertion, Scope

__all__ = ["Assertion", "ContextReader"]

_NOTHING: frozenset[Assertion] = frozenset()
_SECTIONS: tuple[tuple[re.Pattern[str], Assertion], ...] = (
    (re.compile(r"fam|f(?:m)?hx?$"), "family_history"),
    (re.compile(r".*allerg"), "discontinued"),
    (
        re.compile(
            r"(?:discontinued|stopped|held|past|previous|prior|former|inactive)\b.*(?:meds?|medications?)$"
            r"|.*(?:discontinued|stopped|held|on hold)$"
        ),
        "discontinued",
    ),
    (re.compile(r".*precautions"), "hypothetical"),
    (re.compile(r"differential|ddx"), "uncertain"),
    (re.compile(r".*negatives|not active|not present|excluded|ruled out"), "negated"),
)
# The patient is back: what was said of relatives or allergies ends here.
_PATIENT_AGAIN = re.compile(
    r"(?:the )?(?:patient|pt|she|he|they|takes|taking|denies|reports|presents|currently|today|continue|start"
    r"|will|plan|bp|vitals?|exam|on exam|lungs|labs)\b"
)
_TO_DO = re.compile(r"plan|to[ -]?do|tasks|orders|a/p|a&p|a and p|assessment.*plan|follow")
_NO_ALLERGY = re.compile(
    r"\b(?:nkda|nka|no known (?:drug )?allerg\w+|none(?: known| reported)?|no known|nil|denies|negative)\b"
)
_KIN_LINE = re.compile(
    r"(?:maternal|paternal|mother|father|brother|sister|sibling|aunt|uncle|grand|son|daughter|parents?|mgm"
    r"|pgm|mgf|pgf|cousin|mom|dad)\b"
)
_BRACKETED = re.compile(
    r"\([^)]*\)|[-\u2013:] *(?:rash|hives|anaphylaxis|swelling|itching|nausea|gi upset|cough|angioedema)\b"
)


class ContextReader:
    """Reads the context of mentions in one text; nothing is computed before the first question.

    Args:
        text: A clinical note or a short claim. Offsets everywhere are into exactly this string.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded: str | None = None
        self._flat = ""
        self._segments: list[Segment] = []
        self._starts: list[int] = []
        self._carried: dict[int, tuple[Assertion, ...]] = {}
        self._tasks: set[int] = set()
        self._scopes: dict[int, list[Scope]] = {}

    def segment(self, start: int, end: int) -> tuple[int, int]:
        """Offsets of the sentence or list item that holds the mention (of all of them, if it spans several).

        Args:
            start: Offset of the mention's first character, 0 <= start <= end.
            end: Offset behind its last character, at most the length of the text.

        Raises:
            ValueError: The offsets are not within the text.
        """
        first, last = self._held_by(start, end)
        if not self._segments:
            return start, end
        return min(start, self._segments[first].start), max(end, self._segments[last].end)

    def assertions(self, start: int, end: int) -> frozenset[Assertion]:
        """What the text says about the mention besides plainly asserting it of the patient, now.

        Args:
            start: Offset of the mention's first character, 0 <= start <= end.
            end: Offset behind its last character, at most the length of the text.

        Returns:
            Empty for a plain assertion. An assertion counts when it holds for at least half of the mention's
            own letters, so that "ibuprofen 400 mg as needed for pain" as a whole is no hypothesis.

        Raises:
            ValueError: The offsets are not within the text.
        """
        first, last = self._held_by(start, end)
        if not self._segments or start == end:
            return _NOTHING
        found: set[Assertion] = set()
        partly: dict[Assertion, list[tuple[int, int]]] = {}
        for number in range(first, last + 1):
            for left, right, assertion in self._scopes_of(number):
                if left <= start and end <= right:
                    found.add(assertion)
                elif left < end and start < right:
                    partly.setdefault(assertion, []).append((max(left, start), min(right, end)))
        for assertion, pieces in partly.items():
            if assertion not in found and self._mostly(start, end, pieces):
                found.add(assertion)
        return frozenset(found)

    def _held_by(self, start: int, end: int) -> tuple[int, int]:
        """Numbers of the first and last segment that the mention touches."""
        if not 0 <= start <= end <= len(self._text):
            raise ValueError(
                f"mention [{start}, {end}) is not within the text; "
                f"allowed: 0 <= start <= end <= {len(self._text)}"
            )
        if self._folded is None:
            self._folded = fold(self._text)
            self._flat = self._folded.replace("\n", " ")
            self._segments = segment_text(self._folded, self._text)
            self._starts = [segment.start for segment in self._segments]
            self._read_sections()
        first = max(0, bisect_right(self._starts, start) - 1)
        last = max(first, bisect_right(self._starts, end - 1) - 1) if end > start else first
        return first, last

    def _scopes_of(self, number: int) -> list[Scope]:
        """The scopes of one segment, its section's included."""
        scopes = self._scopes.get(number)
        if scopes is None:
            segment = self._segments[number]
            scopes = read_scopes(self._flat, segment.start, segment.end, tasks=number in self._tasks)
            if number + 1 < len(self._segments) and not self._segments[number + 1].item:
                following = self._segments[number + 1]
                scopes += scopes_of_next(
                    self._flat, segment.start, segment.end, (following.start, following.end)
                )
            for assertion in self._carried.get(number, ()):
                scopes.extend(self._section_scopes(segment, assertion))
            self._scopes[number] = scopes
        return scopes

    def _section_scopes(self, segment: Segment, assertion: Assertion) -> list[Scope]:
        """A section's assertion over one segment; an allergy's reaction in brackets is not the drug."""
        begin = segment.start
        heading = HEADING.match(self._folded or "", segment.start, segment.end)
        if heading is not None:
            begin = heading.end()
        if assertion != "discontinued":
            return [Scope(begin, segment.end, assertion)]
        if _NO_ALLERGY.search(self._flat, begin, segment.end):
            return []
        scopes = []
        for bracket in _BRACKETED.finditer(self._flat, begin, segment.end):
            scopes.append(Scope(begin, bracket.start(), assertion))
            begin = bracket.end()
        return [*scopes, Scope(begin, segment.end, assertion)]

    def _read_sections(self) -> None:
        """Note which segments stand under a heading (or a line ending in ":") that says something of them."""
        folded = self._folded or ""
        carried: tuple[Assertion, ...] = ()
        alone = filled = lead_in = tasks = False
        for number, segment in enumerate(self._segments):
            heading = HEADING.match(folded, segment.start, segment.end)
            ends_open = folded[segment.end - 1] == ":"
            if heading is not None and (folded[heading.end() - 1] in ":*_" or heading.end() == segment.end):
                carried = self._section_assertion(heading[1])
                tasks = _TO_DO.match(heading[1]) is not None
                alone, filled, lead_in = heading.end() == segment.end, False, False
            elif heading is None and ends_open and segment.opens_line:
                carried = self._open_assertions(number)
                alone, filled, lead_in = True, False, True
                continue
            elif carried and self._section_over(segment, alone, filled, lead_in):
                carried = ()
            if tasks:
                self._tasks.add(number)
            if carried:
                self._carried[number] = carried
                filled = filled or heading is None

    def _section_over(self, segment: Segment, alone: bool, filled: bool, lead_in: bool) -> bool:
        """Whether this segment no longer belongs to the section above it."""
        folded = self._folded or ""
        kin = _KIN_LINE.match(folded, segment.start)
        if _PATIENT_AGAIN.match(folded, segment.start):
            return not lead_in or not segment.item
        if segment.opens_block and (filled or not alone):
            return not (segment.item or kin)
        if segment.opens_line and not alone:
            # The section began on its heading's line: another line belongs to it only as an item of its own.
            return not (segment.item or kin)
        return False

    @staticmethod
    def _section_assertion(heading: str) -> tuple[Assertion, ...]:
        name = heading.strip()
        return next(((assertion,) for pattern, assertion in _SECTIONS if pattern.match(name)), ())

    def _open_assertions(self, number: int) -> tuple[Assertion, ...]:
        """What a lead-in such as "She denies:" says of the list under it."""
        segment = self._segments[number]
        probe = self._flat[segment.start : segment.end] + " zzz"
        scopes = read_scopes(probe, 0, len(probe))
        return tuple({scope.assertion for scope in scopes if scope.end == len(probe)})

    def _mostly(self, start: int, end: int, pieces: list[tuple[int, int]]) -> bool:
        """Whether the pieces hold at least half of the mention's letters that belong to no trigger."""
        own = [True] * (end - start)
        for mark in MARKS.finditer(self._flat, start, end):
            own[mark.start() - start : mark.end() - start] = [False] * (mark.end() - mark.start())
        for offset in range(end - start):
            if not self._flat[start + offset].isalnum():
                own[offset] = False
        covered = list(own)
        for offset in range(end - start):
            inside = any(left <= start + offset < right for left, right in pieces)
            covered[offset] = own[offset] and inside
        return 2 * sum(covered) >= max(1, sum(own))
