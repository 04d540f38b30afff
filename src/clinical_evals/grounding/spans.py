"""Where in the note a quote stands.

A quote is real when it equals a stretch of the note after both are *folded*: every character
lower-cased by itself, every run of white space made one space, the ends trimmed. Nothing else is
forgiven: no punctuation, no ellipsis, no look-alike character.

The note is made ready once; every quote is then one `str.find`, and only the place of a hit is mapped
back to the note as it was given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

__all__ = ["FoldedNote", "Span", "fold"]

# What str.split() and str.isspace() call white space, beyond the plain space.
_ODD_SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_ASCII_SPACES = tuple(space for space in _ODD_SPACES if space.isascii())


class Span(NamedTuple):
    """A stretch of the original note: `note[start:end]`, character offsets, end exclusive."""

    start: int
    end: int


def _lower(text: str) -> str:
    # str.lower() reads capital sigma by its neighbours; a quote has other neighbours than the note.
    return text.lower() if text.isascii() else text.replace("Σ", "σ").lower()


def fold(text: str) -> str:
    """Fold `text` as quotes and notes are folded before they are compared.

    Args:
        text: Any text.

    Returns:
        The text lower-cased character by character, each run of white space one space, trimmed.
    """
    return " ".join(_lower(text).split())


class FoldedNote:
    """A note made ready for looking up many quotes.

    Args:
        note: The note as given; every offset this class returns counts its characters.
    """

    def __init__(self, note: str) -> None:
        self.note = note

    def find(self, quote: str) -> Span | None:
        """Find a place where a quote stands in the note.

        Args:
            quote: The quote as the model gave it.

        Returns:
            The first place that is the quote to the letter if there is one, else the first with single
            spaces between the words, else the first; None when the note does not hold the quote or the
            quote is blank.
        """
        # Most quotes are copied to the letter, most others stand on one line: both spare the note's folding.
        exact = quote.strip()
        at = self.note.find(exact) if exact else -1
        if at >= 0:
            return Span(at, at + len(exact))
        if not self._stretched:
            wanted = fold(quote)
            at = self._spaced.find(wanted) if wanted else -1
            if at >= 0:
                return Span(at, at + len(wanted))
        return next(self.find_all(quote), None)

    def find_all(self, quote: str) -> Iterator[Span]:
        """Yield every place where a quote stands, from left to right, overlapping ones too.

        Args:
            quote: The quote as the model gave it.

        Yields:
            Spans of the original note whose folded text equals the folded quote.
        """
        wanted = fold(quote)
        if not wanted:
            return
        at = self._folded.text.find(wanted)
        while at >= 0:
            span = self._folded.original(at, at + len(wanted))
            if span is not None:
                yield span
            at = self._folded.text.find(wanted, at + 1)

    @cached_property
    def _spaced(self) -> str:
        spaced = _lower(self.note)
        for space in _ASCII_SPACES if spaced.isascii() else _ODD_SPACES:
            spaced = spaced.replace(space, " ")
        return spaced

    @cached_property
    def _stretched(self) -> bool:
        return len(self._spaced) != len(self.note)  # only "İ" lower-cases to two characters

    @cached_property
    def _folded(self) -> _ShiftedText | _StretchedText:
        return _StretchedText(self.note) if self._stretched else _ShiftedText(self._spaced)


class _ShiftedText:
    """Folded text that differs from the note only by left-out spaces."""

    def __init__(self, spaced: str) -> None:
        pieces: list[str] = []
        self._at: list[int] = []  # folded index where a piece starts
        self._shift: list[int] = []  # what to add there to get the index in the note
        place = folded = 0
        for part in spaced.split("  "):
            piece = part.strip(" ")
            if piece:
                self._at.append(folded)
                self._shift.append(place + part.index(piece[0]) - folded)
                pieces.append(piece)
                folded += len(piece) + 1
            place += len(part) + 2
        self.text = " ".join(pieces)

    def original(self, start: int, end: int) -> Span:
        first = self._shift[bisect_right(self._at, start) - 1]
        last = self._shift[bisect_right(self._at, end - 1) - 1]
        return Span(start + first, end + last)


class _StretchedText:
    """Folded text of a note in which lower-casing made some character longer."""

    def __init__(self, note: str) -> None:
        self.text, self._offsets = _fold_with_offsets(note)

    def original(self, start: int, end: int) -> Span | None:
        offsets = self._offsets
        # Half of a stretched character is not a stretch of the note.
        cuts_first = start > 0 and offsets[start] == offsets[start - 1]
        cuts_last = end < len(offsets) and offsets[end] == offsets[end - 1]
        return None if cuts_first or cuts_last else Span(offsets[start], offsets[end - 1] + 1)


def _fold_with_offsets(note: str) -> tuple[str, list[int]]:
    """Fold character by character, keeping for each folded character where it came from."""
    folded: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(note):
        for part in " " if character.isspace() else _lower(character):
            folded.append(part)
            offsets.append(at)
    blank = [part == " " for part in folded]
    keep = [not blank[0], *(not (here and before) for before, here in pairwise(blank))] if folded else []
    while keep and blank[len(keep) - 1]:
        keep.pop()
    kept = [index for index, kept_here in enumerate(keep) if kept_here]
    return "".join(folded[index] for index in kept), [offsets[index] for index in kept]
