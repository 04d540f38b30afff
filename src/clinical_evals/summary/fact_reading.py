"""Read the facts of a text that can be checked by number: doses, vitals, dates, ages, durations.

Numbers that are part of a name ("COVID-19", "B12", "C5-C6", "type 2 diabetes"), number a list or identify
something are no facts. Nor are a bare 0 or 1: "an injection" is as often written "1 injection".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from . import fact_patterns as patterns
from .dates import Date, century, read_dates, read_times
from .readings import Fact, Reading
from .speech_readings import habits, hours, without_withdrawn
from .spoken import OtherReading, Rewritten, plain_number, rewrite
from .units import FREQUENCY, RATE, UNIT, every, kind_of_unit, minutes_between, to_base, unit_of

__all__ = ["Fact", "Reading", "fact_at", "read_facts", "read_text", "stated"]


class _Text:
    """The reader's state: the rewritten text and which of its characters are spoken for."""

    def __init__(self, written: Rewritten) -> None:
        self.text = written.text
        self.taken = bytearray(len(written.text))

    def take(self, start: int, end: int) -> None:
        self.taken[start:end] = b"\x01" * (end - start)

    def free(self, start: int, end: int) -> bool:
        return self.taken.find(1, start, end) < 0


def read_text(written: Rewritten, *, speech: bool) -> list[Reading]:
    """Read a rewritten text.

    Args:
        written: The text with spoken numbers as digits.
        speech: Read generously, as the side that supports: "in the morning" is once a day, "a week"
            both a duration and a rate, and a number takes the unit of the next one in "six, seven days".

    Returns:
        Readings in order of place.
    """
    if speech:  # places do not matter here, so what can hold no fact is left out
        lines = [line for line in written.text.split("\n") if patterns.MAY_STATE.search(line)]
        written = written._replace(text="\n".join(lines), others=_others_of(lines, written))
    state = _Text(written)
    for pattern in (patterns.NAMES,) if speech else (patterns.NAMES, patterns.NUMBERING, patterns.SCALE):
        for match in pattern.finditer(state.text):
            state.take(*match.span())
    found: list[Reading] = []
    for reader in (_dates, _ages, _heights, _frequencies, _times, _pairs, _articles, _numbers):
        found.extend(reader(state, speech))
    found += _other_readings(written, state)
    found.sort(key=lambda reading: (reading.start, reading.end))
    found = _units_of_ranges(found, state.text, speech)
    if speech:
        found += habits(state.text) + hours(state.text)
        found = without_withdrawn(found, state.text)
    return found


def _others_of(lines: list[str], written: Rewritten) -> list[OtherReading]:
    """Move the other readings to where their lines stand once the lines between are left out."""
    kept = []
    at = 0
    old = 0
    wanted = iter(lines)
    line = next(wanted, None)
    places = []  # old start, old end, new start of each kept line
    for each in written.text.split("\n"):
        if each == line:
            places.append((old, old + len(each), at))
            at += len(each) + 1
            line = next(wanted, None)
        old += len(each) + 1
    ahead = iter(written.others)
    other = next(ahead, None)
    for start, end, new in places:
        while other and other.start < end:
            if start <= other.start and other.end <= end:
                kept.append(other._replace(start=other.start - start + new, end=other.end - start + new))
            other = next(ahead, None)
    return kept


def _dates(state: _Text, speech: bool) -> Iterator[Reading]:
    for date in read_dates(state.text):
        if state.free(date.start, date.end):
            state.take(date.start, date.end)
            yield Reading(date.start, date.end, "date", str(date), "date", "", dates=(date,))
    for match in patterns.DURATION.finditer(state.text):
        if state.free(*match.span()):
            if not speech:
                state.take(*match.span())
            unit = {"7": "day", "52": "week", "12": "month"}[match[3]]
            for number in (match[1], match[2]):
                if number:
                    value, base = to_base(number, unit)
                    yield Reading(*match.span(), "duration", plain_number(value), base, number)


def _ages(state: _Text, speech: bool) -> Iterator[Reading]:
    for match in patterns.AGE.finditer(state.text):
        number = match[1] or match[4]
        likely = int(number) < (95 if match[3] else 121)  # "101F" is a temperature
        if likely and state.free(*match.span()):
            state.take(*match.span())
            unit = match[2] if match[2] not in (None, "yr") else "year"
            yield Reading(*match.span(), "age", number, f"{unit} of age", number)
            if unit != "year" and speech:  # "when she is three months old" is also at three months
                value, base = to_base(number, unit)
                yield Reading(*match.span(), "duration", plain_number(value), base, number, other=True)
    for match in patterns.SAID_AGE.finditer(state.text) if speech else ():
        if state.free(*match.span()):
            unit = "month of age" if match[2] else "year of age"
            yield Reading(*match.span(), "age", match[1], unit, match[1])
    for match in patterns.SAID_AGE_THEN.finditer(state.text) if speech else ():
        for group, number in enumerate(match.groups(), 1):
            if number and state.free(*match.span()):
                yield Reading(*match.span(group), "age", number, "year of age", number)


def _heights(state: _Text, speech: bool) -> Iterator[Reading]:
    for match in patterns.HEIGHT.finditer(state.text):
        if state.free(*match.span()) and int(match[2]) < 12:
            state.take(*match.span())
            yield Reading(*match.span(), "measure", str(int(match[1]) * 12 + int(match[2])), "inch", match[1])


def _frequencies(state: _Text, speech: bool) -> Iterator[Reading]:
    for match in FREQUENCY.finditer(state.text):
        if not state.free(*match.span()):
            continue
        if match["bare"] == "daily" and patterns.DAILY_LIFE.match(state.text, match.end()):
            continue
        state.take(*match.span())
        for value in minutes_between(match):
            yield Reading(*match.span(), "frequency", value, "between", "")
    for match in patterns.BEFORE_RATE.finditer(state.text):  # "2-3 per week"; said, it may be a dose as well
        if not state.free(*match.span()):
            continue
        if not speech:
            state.take(match.start(), max(match.end(3), match.end(4)))
        for count in (match[1], match[2]):
            if count and int(count):
                value = every(Fraction(1, int(count)), match[3] or match[4])
                yield Reading(*match.span(), "frequency", value, "between", "", other=speech)
    for match in RATE.finditer(state.text):
        if not state.free(*match.span()):
            continue
        if match[1] and patterns.NOT_A_RATE.search(state.text, max(0, match.start() - 12), match.start()):
            continue
        state.take(*match.span())
        yield Reading(*match.span(), "frequency", every(1, match[1] or match[2]), "between", "")


def _times(state: _Text, speech: bool) -> Iterator[Reading]:
    for start, end, value in read_times(state.text):
        if state.free(start, end):
            if not speech or ":" in state.text[start:end]:
                state.take(start, end)
            yield Reading(start, end, "time", value, "time", value.removesuffix(":00"))


def _pairs(state: _Text, speech: bool) -> Iterator[Reading]:
    for match in patterns.PAIR.finditer(state.text):
        if not state.free(*match.span()):
            continue
        state.take(*match.span())
        first, second, sign, below, unit = match.groups()
        pressure = float(first) > 50 and 20 < int(below) < 180 and float(first) > int(below)
        kind = "vital" if unit or (pressure and not second) else "ratio"
        dates = []
        if sign == "/" and not second and first.isdigit() and 0 < int(first) <= 31 and 0 < int(below) <= 31:
            dates.append(Date(*match.span(), None, int(first), int(below), swapped=True))
            kind = (
                "date" if patterns.ON.search(state.text, max(0, match.start() - 14), match.start()) else kind
            )
        if patterns.MONTH_AND_YEAR.fullmatch(match.group()):
            dates.append(Date(*match.span(), century(below), int(first), None))
            kind = "date" if state.text.endswith(" in ", 0, match.start()) else kind
        for number in (first, second):
            if number:
                pair = f"{plain_number(number)}/{below}"
                yield Reading(*match.span(), kind, pair, "pair", plain_number(number), dates=tuple(dates))


def _articles(state: _Text, speech: bool) -> Iterator[Reading]:
    for match in patterns.ARTICLE.finditer(state.text):
        word, name = match.groups()
        dose = kind_of_unit(name) == "dose"
        before = patterns.NOT_A_RATE.search(state.text, max(0, match.start() - 12), match.start())
        if not speech and (word not in ("a", "an") or (not before and not dose)):
            continue
        if not speech and kind_of_unit(name) == "measure":
            continue  # "under a glass"
        if state.free(*match.span()) or speech:
            value, unit = to_base("1", name)
            yield Reading(*match.span(), kind_of_unit(name), plain_number(value), unit, "1")


def _numbers(state: _Text, speech: bool) -> Iterator[Reading]:
    text = state.text
    for match in patterns.ORDINAL.finditer(text):
        if state.free(*match.span()):
            state.take(*match.span())
            unit = "th" if match[1] else "decade"
            yield Reading(*match.span(), "number", match[1] or match[2], unit, match[1] or match[2])
    for match in patterns.NUMBER.finditer(text):
        if state.free(*match.span()):
            yield _number(text, match.start(), match.end(), match[1], speech)


def _number(text: str, start: int, end: int, number: str, speech: bool, *, other: bool = False) -> Reading:
    number = plain_number(number)
    before = text[max(0, start - 50) : start]
    if (unit_match := UNIT.match(text, end)) and text[start] != "$":
        name = unit_of(unit_match)
        value, unit = to_base(number, name)
        kind = kind_of_unit(name)
        if kind == "percent" and not speech and patterns.LAB.search(before):
            kind = "lab"
        return Reading(start, unit_match.end(), kind, plain_number(value), unit, number, other=other)
    if text[start] == "$":
        return Reading(start, end, "measure", number, "dollar", number, other=other)
    kind = (
        "number"
        if speech
        else "vital"
        if patterns.VITAL.search(before)
        else "lab"
        if patterns.LAB.search(before)
        else "number"
    )
    if kind == "number" and len(number) == 4 and number[:2] in ("19", "20"):
        kind = "date"
    if match := re.search(r"(?<![\w])x[ \t]?$", before):
        start = start - len(match.group())
    word = patterns.NEXT_WORD.match(text, end)
    free = word is None or word[1] in patterns.MINUTE_WORDS or float(number) > 12 or "." in number
    is_open = free and number != "1" and not patterns.NOT_OPEN_AFTER.search(before)
    return Reading(start, end, kind, number, None, number, is_open, other)


def _other_readings(written: Rewritten, state: _Text) -> list[Reading]:
    return [
        _number(written.text, other.start, other.end, other.value, speech=True, other=True)
        for other in written.others
        if state.free(other.start, other.end)
    ]


def _units_of_ranges(found: list[Reading], text: str, speech: bool) -> list[Reading]:
    """Give a number without a unit that of the next one in "4-6 weeks", "six, maybe seven days"."""
    pattern = patterns.RANGE if speech else patterns.STRICT_RANGE
    result = list(found)
    following: Reading | None = None
    for at in range(len(found) - 1, -1, -1):
        reading = found[at]
        if reading.other:
            continue
        if reading.unit is None and following and following.start - reading.end < 30:
            given = following.unit and following.kind not in ("date", "time", "frequency", "age")
            if given and pattern.fullmatch(text, reading.end, following.start):
                reading = _same_unit(reading, following, text)
                result[at] = reading
        following = reading
    return result


def _same_unit(reading: Reading, following: Reading, text: str) -> Reading:
    if following.unit == "pair":
        below = following.value.partition("/")[2]
        return reading._replace(
            kind=following.kind, value=f"{reading.value}/{below}", unit="pair", open=False
        )
    factor = Decimal(following.value) / Decimal(following.written) if Decimal(following.written) else 1
    value = plain_number(Decimal(reading.written) * factor)
    return reading._replace(kind=following.kind, value=value, unit=following.unit, open=False)


def read_facts(text: str) -> list[Fact]:
    """Read the facts of a note or of speech.

    Args:
        text: Any text.

    Returns:
        Its facts in order of place; an empty list where there is none.
    """
    written = rewrite(text)
    return [fact_at(reading, written) for reading in stated(written)]


def stated(written: Rewritten) -> list[Reading]:
    """The readings of a note that are facts: no second readings, no bare 0 or 1, no words such as "first"."""
    return [
        reading
        for reading in read_text(written, speech=False)
        if not reading.other
        and not (reading.unit in (None, "th") and reading.value in ("0", "1"))
        and not (reading.unit in ("th", "decade") and written.is_spoken(reading.start))
    ]


def fact_at(reading: Reading, written: Rewritten) -> Fact:
    start, end = written.original(reading.start, reading.end)
    return Fact(reading.kind, start, end, reading.value, reading.unit)
