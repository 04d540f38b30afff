"""Numbers as people say them, written as digits, so that one reader serves dialogue and summary.

"one thirty over eighty five" becomes "130 over 85", "two and a half weeks" "2.5 weeks", "twenty
twenty-one" "2021", "the third of march" "the 3rd of march". Hesitations, transcription marks and cut-off
words are blanked first ("fi- fifty, uh, milligrams"). Speech leaves some runs open: "ninety eight six"
may be 98 and 6 or 98.6. The likelier reading is written, the others are kept beside it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

__all__ = ["OtherReading", "Rewritten", "plain_number", "rewrite", "same_length_lower"]

_SMALL = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
} | {"fourty": 40}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split(),
        1,
    )
} | {"thirtieth": 30}
_DECADES = {f"{word[:-1]}ies": value for word, value in _TENS.items()}
_SCALES = {"hundred": 100, "thousand": 1000, "grand": 1000, "million": 1000000}
_MOST_SPOKEN_DIGITS = 12  # of one number, said digit by digit
_DIGITS = {word: value for word, value in _SMALL.items() if value < 10} | {"oh": 0, "o": 0}


def _alternatives(words: Iterable[str]) -> str:
    """A pattern for any of the words, longest first, grouped by first letter: it fails faster."""
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())


_PLAIN = _alternatives({*_SMALL, *_TENS, *_ORDINALS, *_DECADES})
_SCALE = "|".join(_SCALES)
_JOIN = r"(?:[ \t]{1,2}|-(?=[a-z])|(?<=hundred)[ \t]+|(?<=point)[ \t]+|(?<=and)[ \t]+|(?<=thousand)[ \t]+)"
_RUN = re.compile(
    rf"(?<![\w.-])(?:(?:a[ \t]+)?(?:{_SCALE})|(?:{_PLAIN})|(?:oh|o)[ \t]+(?=point[ \t])|(?:oh"
    rf"|o)(?=[ \t]+point)"
    rf"|point(?=[ \t]+(?:{_PLAIN}|oh|o|\d)\b)|\d+(?:\.\d+)?(?={_JOIN}(?:{_SCALE}"
    rf"|point[ \t]+(?:{_PLAIN}|\d)|and[ \t]+a[ \t]+(?:half|quarter))\b))"
    rf"(?![\w])(?:{_JOIN}?(?:and{_JOIN}(?:an?{_JOIN}(?=half|quarter))?)?"
    rf"(?:{_PLAIN}|{_SCALE}|point|dot|oh|o|half|quarters?|\d+)(?!\w))*"
)
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")

# Blanked, letter for letter: marks of the transcriber, hesitations, words that were cut off.
_NOISE = re.compile(
    r"</?(?:unsure|unin|inaudible_speech)\s*/?>"
    r"|(?:,[ \t]*)?(?<![\w'-])(?:uh+m?|um+|erm?|er+|hmm+|mmm+|you know)(?![\w'-])(?:[ \t]*(?:,|\.\.+|…))?"
    r"|(?<![\w'-])[a-z]{1,9}-(?=[ \t]+(?!to\b|or\b|and\b)\w)"
)

# No fact reaches across so many blanks, and no number of a note has so many digits; patterns that try every
# stretch of such a run would take the square or the cube of its length.
_LONGEST_GAP = 30
_ENDLESS = re.compile(rf"(?<=[ \t])[ \t]{{{_LONGEST_GAP},}}(?=[ \t])|\d{{31,}}")
_FILLER = "\x1f"

_HALVABLE = (
    r"(?:tab|tablet|pill|cap|capsule|pack|packet|dose|hour|mile|cup|glass|bottle|litre|liter"
    r"|year|month|week|minute|teaspoon|tablespoon|milligram|mg|gram|ml|milliliter|cc|inch"
    r"|centimeter|cm|block|patch|day|pint|dozen)s?(?!\w)"
)
_HALF = re.compile(
    rf"(?<![\w.])(?:(?:an?|one)[ \t-]+)?(half|quarter)(?:[ \t]+of)?[ \t-]+(?:an?[ \t]+)?(?={_HALVABLE})"
)
_AND_A_HALF = re.compile(r"(?<![\w.])(?:an?|one|last|past)[ \t]+([a-z]+)[ \t]+and[ \t]+a[ \t]+half(?!\w)")
_COUPLE = re.compile(
    r"(?<![\w])(?:an?[ \t]+)?couple(?!\w)(?:[ \t]+of(?!\w))?(?:[ \t]+more(?!\w))?|(?<!\w)a pair of(?!\w)"
)
_GLYPHS = {"½": "5", "¼": "25", "¾": "75"}
_GLYPH = re.compile(
    r"(?:(?<!\d)(\d+)[ \t]?)?([½¼¾])|(?<![\w./])(?:(\d+)[ \t-])?([1-3])/([24])(?=[ \t-]*(?:"
    + _HALVABLE
    + "))"
)
_HAS_GLYPH = re.compile(r"[/½¼¾]")  # to look for one is quicker
_DOTTED = re.compile(r"(?<![\w.])(\d{1,3})[ \t]+\.[ \t]*(0 \d|\d{1,2})(?![\w.])")
_SPLIT = re.compile(r"(?<![\w./])([12])[ \t](\d\d)(?=[ \t]*(?:over|/)(?!\w))")


class OtherReading(NamedTuple):
    """Another value that a place of the rewritten text may have meant: [start, end) there."""

    start: int
    end: int
    value: str


class Rewritten(NamedTuple):
    """A text in lower case with its spoken numbers as digits.

    Attributes:
        text: The rewritten text.
        others: Readings beside those written, in order of place.
        changes: Rewritten start, rewritten end, original start, original end of each changed place.
    """

    text: str
    others: list[OtherReading]
    changes: list[tuple[int, int, int, int]]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Map [start, end) of the rewritten text to the text it was made from."""
        return self._back(start, last=False), self._back(end, last=True)

    def is_spoken(self, start: int) -> bool:
        """Say whether the rewritten text was words, not digits, at `start`."""
        at = bisect_right(self.changes, (start, 1 << 60)) - 1
        return at >= 0 and self.changes[at][0] <= start < self.changes[at][1]

    def _back(self, place: int, *, last: bool) -> int:
        at = bisect_right(self.changes, (place - last, 1 << 60)) - 1
        if at < 0:
            return place
        _, new_end, old_start, old_end = self.changes[at]
        if place - last < new_end:
            return old_end if last else old_start
        return old_end + place - new_end


def plain_number(value: Decimal | str) -> str:
    """Write a number without trailing zeros, separators or exponent: "1,500.0" is "1500"."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return value.lstrip("0") or "0"
    number = Decimal(value.replace(",", "")) if isinstance(value, str) else value
    return f"{number.normalize():f}"


_PLAIN_MARKS = str.maketrans("’\xa0\u2007\u2009\u202f", "'    ")


def same_length_lower(text: str) -> str:
    """Give a text in lower case, with plain apostrophes and spaces; places do not move."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals grow when made small
        lowered = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    return lowered.translate(_PLAIN_MARKS)


def rewrite(text: str) -> Rewritten:
    """Write a text's spoken numbers as digits.

    Args:
        text: A dialogue or a note.

    Returns:
        The rewritten text, with the way back to places of `text`.
    """
    lowered = _NOISE.sub(lambda match: " " * len(match.group()), same_length_lower(text))
    lowered = _ENDLESS.sub(lambda match: _FILLER * len(match.group()), lowered)
    pieces: list[tuple[int, int, str]] = []  # original start, end, new text
    others: list[tuple[int, int, str]] = []  # first piece, last piece, value
    for match in _RUN.finditer(lowered):
        _read_run(match, pieces, others)
    starts = [start for start, _, _ in pieces]
    ends = [end for _, end, _ in pieces]
    for pattern, written in (
        *((_AND_A_HALF, _and_a_half), (_HALF, _half), (_COUPLE, _couple)),
        *([(_GLYPH, _glyph)] if _HAS_GLYPH.search(lowered) else []),
    ):
        for match in pattern.finditer(lowered):
            before = bisect_left(starts, match.end()) - 1  # the last piece that begins before its end
            if before < 0 or ends[before] <= match.start():
                pieces.append((match.start(), match.end(), written(match)))
    return _assemble(lowered, pieces, others)


def _and_a_half(match: re.Match[str]) -> str:
    return f"1.5 {match[1]}"


def _half(match: re.Match[str]) -> str:
    return "0.5 " if match[1] == "half" else "0.25 "


def _couple(match: re.Match[str]) -> str:
    return "2"


def _glyph(match: re.Match[str]) -> str:
    if match[2]:
        return f"{match[1] or 0}.{_GLYPHS[match[2]]}"
    return plain_number(Decimal(match[3] or 0) + Decimal(match[4]) / Decimal(match[5]))


def _assemble(
    lowered: str, pieces: list[tuple[int, int, str]], others: list[tuple[int, int, str]]
) -> Rewritten:
    order = sorted(range(len(pieces)), key=lambda index: pieces[index][0])
    parts: list[str] = []
    changes: list[tuple[int, int, int, int]] = []
    place_of: dict[int, tuple[int, int]] = {}
    at = length = 0
    for index in order:
        start, end, new = pieces[index]
        if start < at:
            continue
        parts += lowered[at:start], new
        length += start - at
        place_of[index] = length, length + len(new)
        changes.append((length, length + len(new), start, end))
        length += len(new)
        at = end
    text = "".join([*parts, lowered[at:]])
    found = [
        OtherReading(place_of[first][0], place_of[last][1], value)
        for first, last, value in others
        if first in place_of and last in place_of
    ]
    found += [
        OtherReading(match.start(), match.end(), plain_number(f"{match[1]}.{match[2].replace(' ', '')}"))
        for match in _DOTTED.finditer(text)
    ]
    found += [
        OtherReading(match.start(), match.end(), match[1] + match[2]) for match in _SPLIT.finditer(text)
    ]
    return Rewritten(text, sorted(found), changes)


def _read_run(
    match: re.Match[str], pieces: list[tuple[int, int, str]], others: list[tuple[int, int, str]]
) -> None:
    """Split a run of number words into numbers; add their pieces, and readings across them."""
    found = [
        (word.group(), word.start() + match.start(), word.end() + match.start())
        for word in _WORD.finditer(match.group())
    ]
    words = [word for word, _, _ in found]
    singles = 0  # numbers in a row, up to here, that are one spoken digit each
    before = ""  # the whole number just before, for "seven four" = 7.4
    at = 0
    while at < len(words):
        value, after = _number(words, at)
        if after == at or (words[at] == "second" and at):  # "a thirty second test"
            before, singles, at = "", 0, max(after, at + 1)
            continue
        index = len(pieces)
        pieces.append((found[at][1], found[after - 1][2], value))
        single = after == at + 1 and words[at] in _DIGITS
        if before and value.isdigit() and int(before) < 200 and (single or len(value) == 2):
            others.append((index - 1, index, plain_number(f"{before}.{value}" if single else before + value)))
        singles = min(singles + 1, _MOST_SPOKEN_DIGITS) if single else 0
        if singles > 2:
            digits = "".join(piece[2] for piece in pieces[-singles:])
            others.append((index + 1 - singles, index, plain_number(digits)))
        before = value if value.isdigit() else ""
        at = after


def _number(words: Sequence[str], at: int) -> tuple[str, int]:
    """Read the longest number that begins at `at`: its digits and where the next one may begin."""
    word = words[at]
    if word in _DECADES:
        return f"{_DECADES[word]}s", at + 1
    if word in _ORDINALS:
        return _ordinal(_ORDINALS[word]), at + 1
    if word == "one" and _at(words, at + 1) == "half":
        return "0.5", at + 2
    if (
        _at(words, at) in _TENS
        and _ORDINALS.get(_at(words, at + 1), 99) < 10
        and _at(words, at + 1) != "second"
    ):
        return _ordinal(_TENS[word] + _ORDINALS[words[at + 1]]), at + 2
    if word in ("oh", "o") and _at(words, at + 1) not in ("point", "dot"):
        return "", at
    value, after = (0, at) if word in ("point", "dot") else _integer(words, at)
    if after == at and word not in ("point", "dot"):
        return "", at
    decimals, end = _decimals(words, after)
    if decimals:
        return plain_number(f"{value}.{decimals}"), end
    if word in ("point", "dot"):
        return "", at
    for tail, fraction in _FRACTIONS:
        if tuple(words[after : after + len(tail)]) == tail:
            return plain_number(Decimal(value) + Decimal(fraction)), after + len(tail)
    return plain_number(Decimal(value)), after


_FRACTIONS = (
    (("and", "a", "half"), "0.5"),
    (("and", "one", "half"), "0.5"),
    (("and", "a", "quarter"), "0.25"),
    (("and", "three", "quarters"), "0.75"),
)


def _ordinal(value: int) -> str:
    return f"{value}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(value if value < 20 else value % 10, 'th') }"


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if place < len(words) else ""


def _decimals(words: Sequence[str], at: int) -> tuple[str, int]:
    if _at(words, at) not in ("point", "dot"):
        return "", at
    if _at(words, at + 1).isdigit():
        return words[at + 1], at + 2
    end = at + 1
    digits = ""
    while _at(words, end) in _DIGITS:
        digits += str(_DIGITS[words[end]])
        end += 1
    if not digits or set(digits) == {"0"}:
        value, after = _below_hundred(words, end)
        if after > end:
            return digits + str(value), after
    return digits, end


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int]:
    word = _at(words, at)
    if word in _TENS:
        ones = _SMALL.get(_at(words, at + 1), 0)
        repeated = words[at - 1 : at + 1] == words[at + 1 : at + 3] if at else False
        if 0 < ones < 10 and not repeated:
            return _TENS[word] + ones, at + 2
        return _TENS[word], at + 1
    if word in _SMALL:
        return _SMALL[word], at + 1
    return 0, at


def _integer(words: Sequence[str], at: int) -> tuple[Decimal | int, int]:
    word = words[at]
    value: Decimal | int
    if word[0].isdigit():
        value, after = Decimal(word), at + 1
    elif word == "a" or word in _SCALES:
        value, after = 1, at + (word == "a")
    else:
        value, after = _below_hundred(words, at)
        if after == at:
            return 0, at
        value, after = _without_hundred(words, at, value, after)
    if _at(words, after) == "hundred":
        value, after = value * 100, after + 1
        tail, after = _tail(words, after, hundreds=False)
        value += tail
    if _at(words, after) in ("thousand", "grand", "million"):
        value, after = value * _SCALES[words[after]], after + 1
        tail, after = _tail(words, after, hundreds=True)
        value += tail
    return value, after


def _without_hundred(words: Sequence[str], at: int, value: int, after: int) -> tuple[int, int]:
    """Read "one thirty two" as 132, "one oh five" as 105, "nineteen ninety eight" as 1998."""
    if not (0 < value < 10 or value in (19, 20)) or _at(words, after) in _SCALES:
        return value, after
    if _at(words, after) in ("oh", "o") and 0 < _SMALL.get(_at(words, after + 1), 99) < 10:
        return value * 100 + _SMALL[words[after + 1]], after + 2
    if _at(words, after) in ("oh", "o") and _at(words, after + 1) in ("oh", "o"):
        return value * 100, after + 2
    tail, end = _below_hundred(words, after)
    if tail < 10 or _at(words, end) in _SCALES or _ORDINALS.get(_at(words, end), 99) < 10:
        return value, after
    return value * 100 + tail, end


def _tail(words: Sequence[str], at: int, *, hundreds: bool) -> tuple[int, int]:
    """Read what follows "hundred" or "thousand" and belongs to it."""
    start = at + (_at(words, at) == "and")
    if _at(words, start) in ("oh", "o"):
        start += 1
    value, end = _below_hundred(words, start)
    if end == start:
        return 0, at
    if _at(words, end) == "hundred":
        if not hundreds:
            return 0, at
        more, end = _tail(words, end + 1, hundreds=False)
        return value * 100 + more, end
    if _at(words, end) in _SCALES:
        return 0, at
    return value, end
