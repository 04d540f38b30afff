"""Span search against a plain definition written apart from it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinical_evals.grounding.spans import FoldedNote, fold


def plain_fold(text: str) -> str:
    return " ".join("".join(character.lower() for character in text).split())


def plain_places(note: str, quote: str) -> set[tuple[int, int]]:
    """Every stretch of the note, trimmed of white space, that folds to what the quote folds to."""
    wanted = plain_fold(quote)
    return {
        (start, end)
        for start in range(len(note))
        for end in range(start + 1, len(note) + 1)
        if wanted
        and not note[start].isspace()
        and not note[end - 1].isspace()
        and plain_fold(note[start:end]) == wanted
    }


# Letters whose lower case is longer or hangs on its neighbours, and every kind of white space.
ALPHABET = st.sampled_from(
    [*"aAbB15/.-İıΣσςßi\u0307\ufeff", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2003", "\u2028"]
)
NOTES = st.lists(ALPHABET, max_size=14).map("".join)


@settings(max_examples=400, deadline=None)
@given(note=NOTES, quote=st.lists(ALPHABET, max_size=4).map("".join))
def test_any_quote_is_found_where_the_plain_definition_finds_it(note: str, quote: str) -> None:
    folded = FoldedNote(note)
    expected = plain_places(note, quote)
    assert set(folded.find_all(quote)) == expected
    first = folded.find(quote)
    assert first in expected if expected else first is None


@settings(max_examples=400, deadline=None)
@given(note=NOTES, data=st.data())
def test_every_stretch_of_the_note_is_a_real_span(note: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(note)))
    end = data.draw(st.integers(start, len(note)))
    stretch = note[start:end]
    span = FoldedNote(note).find(stretch.upper() if fold(stretch.upper()) == fold(stretch) else stretch)
    if not stretch.strip():
        assert span is None
    elif plain_places(note, stretch):
        assert span is not None
        assert plain_fold(note[span.start : span.end]) == plain_fold(stretch)


@given(st.text())
def test_folding_is_what_the_plain_definition_says(text: str) -> None:
    assert fold(text) == plain_fold(text)


@pytest.mark.parametrize(
    ("note", "quote", "found"),
    [
        ("BP 138/86 today", "138/86", "138/86"),
        ("BP 138/86 today", "13886", None),
        (
            "Takes  METFORMIN\r\n500\u00a0mg\tdaily.",
            "metformin 500 mg daily",
            "METFORMIN\r\n500\u00a0mg\tdaily",
        ),
        ("\ufeffChest pain", "chest pain", "Chest pain"),
        ("İstanbul clinic: fever", "FEVER", "fever"),
        ("İstanbul", "i\u0307stanbul", "İstanbul"),
        ("İstanbul", "istanbul", None),  # half of a character is no stretch of the note
        ("ΟΔΟΣ ΟΔΟΣΑ", "οδοσα", "ΟΔΟΣΑ"),
        ("does not use insulin", "does ... use insulin", None),
        ("Pt’s BP 150–160", "Pt's BP 150-160", None),
        ("fever", "  \n ", None),
        ("", "fever", None),
    ],
)
def test_named_corners(note: str, quote: str, found: str | None) -> None:
    span = FoldedNote(note).find(quote)
    assert (note[span.start : span.end] if span else None) == found


def test_a_quote_in_several_places_is_found_in_all_of_them() -> None:
    note = "No chest pain.\nAdmitted with  CHEST\n PAIN."
    assert [note[start:end] for start, end in FoldedNote(note).find_all("chest pain")] == [
        "chest pain",
        "CHEST\n PAIN",
    ]
