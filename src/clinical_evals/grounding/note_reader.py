"""A note made ready for every check, so that each part of it is read once."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from clinical_evals.language.quantities import Quantity, quantities
from clinical_evals.language.wording import Token, tokenize

from .context import ContextReader
from .spans import FoldedNote

__all__ = ["NoteReader", "Stretch"]


class Stretch(NamedTuple):
    """A stretch of the note, read: its text, its tokens, all their words, its quantities."""

    text: str
    tokens: list[Token]
    words: frozenset[str]
    numbers: list[Quantity]


class NoteReader:
    """A note made ready for every check: folded for search, split for context.

    Args:
        note: The note as given.
    """

    def __init__(self, note: str) -> None:
        self.note = note
        self.folded = FoldedNote(note)
        self.context = ContextReader(note)
        self._stretches: dict[tuple[int, int], Stretch] = {}

    def stretch(self, start: int, end: int) -> Stretch:
        """Read one stretch of the note; read once, however many claims ask for it."""
        found = self._stretches.get((start, end))
        if found is None:
            text = self.note[start:end]
            tokens = tokenize(text, start)
            words = frozenset(word for token in tokens for word in token.words)
            found = Stretch(text, tokens, words, quantities(text, tokens, start))
            self._stretches[(start, end)] = found
        return found

    @cached_property
    def tokens(self) -> list[Token]:
        """The whole note's tokens."""
        return tokenize(self.note)
