"""Readings that only the spoken side gets, which supports facts and states none.

People say how often by when ("in the morning", "on Saturdays"), and take a number back ("ten, no sorry,
twenty").
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from . import fact_patterns as patterns
from .readings import Reading
from .units import every

__all__ = ["habits", "hours", "without_withdrawn"]


def hours(text: str) -> list[Reading]:
    """Read "at four", as people name the hour."""
    return [
        Reading(*match.span(), "time", f"{int(match[1])}:00", "time", "", other=True)
        for match in patterns.AT_HOUR.finditer(text)
        if 0 < int(match[1]) < 13
    ]


def habits(text: str) -> list[Reading]:
    """Read how often from when: "in the morning" is daily, "morning and night" twice a day."""
    found = []
    for pattern, how_often in (
        (patterns.BY_HABIT, every(1, "day")),
        (patterns.WEEKDAYS, every(1, "week")),
        (patterns.TWICE, every(Fraction(1, 2), "day")),
        (patterns.THRICE, every(Fraction(1, 3), "day")),
    ):
        found += [_frequency(match, how_often) for match in pattern.finditer(text)]
    for match in patterns.BABY_ASPIRIN.finditer(text):
        found.append(Reading(*match.span(), "dose", "81", "mg", "81", other=True))
    for match in patterns.BARE_TIMES.finditer(text):
        count = 1 if match[1] == "once" else 2 if match[1] == "twice" else int(match[2])
        if count:
            found.append(_frequency(match, every(Fraction(1, count), "day")))
            found.append(Reading(*match.span(), "number", str(count), "time", str(count), other=True))
    return found


def _frequency(match: re.Match[str], how_often: str) -> Reading:
    return Reading(*match.span(), "frequency", how_often, "between", "", other=True)


def without_withdrawn(found: list[Reading], text: str) -> list[Reading]:
    """Drop a number that its speaker takes back: of "ten, no sorry, twenty milligrams" only 20 stands."""
    withdrawn = bytearray(len(text))
    numbers = sorted(
        (reading for reading in found if reading.written and not reading.other), key=lambda one: one.start
    )
    for former, latter in pairwise(numbers):
        gap = text[former.end : latter.start]
        if len(gap) < 60 and former.unit in (None, latter.unit) and patterns.WITHDRAWN.match(gap):
            withdrawn[former.start : former.end] = b"\x01" * (former.end - former.start)
    # An age is read twice, with "he's" and as a bare number: both go.
    return [reading for reading in found if withdrawn.find(1, reading.start, reading.end) < 0]
