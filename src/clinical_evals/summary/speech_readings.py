"""Readings that only the spoken side gets, which supports facts and states none.

People say how often by when ("in the morning", "on Saturdays"), and take a number back ("ten, no sorry,
twenty").
"""

from __future__ import annotations

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
    found = [
        Reading(*match.span(), "frequency", every(1, "day"), "between", "", other=True)
        for match in patterns.BY_HABIT.finditer(text)
    ]
    found += [
        Reading(*match.span(), "frequency", every(1, "week"), "between", "", other=True)
        for match in patterns.WEEKDAYS.finditer(text)
    ]
    for pattern, count in ((patterns.TWICE, 2), (patterns.THRICE, 3)):
        found += [
            Reading(*match.span(), "frequency", every(Fraction(1, count), "day"), "between", "", other=True)
            for match in pattern.finditer(text)
        ]
    for match in patterns.BABY_ASPIRIN.finditer(text):
        found.append(Reading(*match.span(), "dose", "81", "mg", "81", other=True))
    for match in patterns.BARE_TIMES.finditer(text):
        count = 1 if match[1] == "once" else 2 if match[1] == "twice" else int(match[2])
        if count:
            span = match.span()
            found.append(
                Reading(*span, "frequency", every(Fraction(1, count), "day"), "between", "", other=True)
            )
            found.append(Reading(*span, "number", str(count), "time", str(count), other=True))
    return found


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
