"""Calendar dates and times of day as notes and speech give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from itertools import product
from typing import NamedTuple

__all__ = ["Date", "GivenDates", "century", "read_dates", "read_times"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_NAME = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
# "2004", "'04", "january oh four", "march of 99"
_YEAR = r"(?:19|20)\d\d|'\d\d|oh?[ \t]\d|(?<=[ \t](?:of|in)[ \t])(?:3[2-9]|[4-9]\d)"
_SECOND = r"20[ \t-]second\b"  # the 22nd; elsewhere it is how long: "a twenty second test"
_MONTH = re.compile(
    rf"""(?<!\w)(?:
      (?:( {_SECOND}(?=[ \t]+of\b) | \d{{1,2}} )
         (?:(?<=second)[ \t]+of|(?:st|nd|rd|th)(?:[ \t]+of)?)? [ \t]+)?
      {_NAME}\b\.?
      (?:[ \t]+(?:the[ \t]+)? ( {_SECOND} | \d{{1,2}} ) (?:st|nd|rd|th)?
         (?!\d|[:./]\d|[ \t]*(?:mg|%|years?|days?|weeks?|months?|times?|out)\b) )?
      (?:(?:,|[ \t]of|[ \t]in)*[ \t]* ({_YEAR})\b (?![ \t]*(?:mg|mcg|ml|units?|years?|percent|%|pounds?)\b) )?
      | ({_DAYS})s?\b )""",
    re.VERBOSE,
)
_NUMERIC = re.compile(
    r"(?<![\w/.-])(?:(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})([/.-])(\d{1,2})\5(\d{4}|\d{2})"
    r"|(\d{1,2})/((?:19|20)\d{2}))(?![\w/]|[.-]\d)"
)
# Short forms and words that mean something else unless a day, a year or one of these stands beside them.
_DOUBTFUL = {"jan", "mar", "march", "may", "dec", "sep", "nov", "oct", "apr", "jun", "jul", "feb", "aug"}
_BEFORE = re.compile(r"(?<!\w)(?:in|since|of|until|till|by|early|late|mid|back in|around)[ \t-]+$")
_TIME = re.compile(
    r"(?<![\w:./])(\d{1,2})(?:[:. ]([0-5]\d))?[ \t]*(?:([ap])\.?[ \t]?m\b\.?|o'? ?clock\b)"
    r"|(?<![\w:./])([01]?\d|2[0-3]):([0-5]\d)(?![\w:])"
    r"|(?<=\bat )(\d{1,2})(?=[ \t]+(?:in the (?:morning|afternoon|evening)|at night|this morning|tonight)\b)"
    r"|(?<![\w:./])(\d{1,2})(?=[ \t]+in the (?:morning|afternoon|evening)\b)"
)


_PAST = re.compile(r"(?<!\w)(half|quarter) (past|to|of) (\d{1,2})(?!\w)")


class Date(NamedTuple):
    """A date at [start, end), as far as it is given.

    Attributes:
        start: Where it begins.
        end: Where it ends, exclusive.
        year: Four digits, or None.
        month: 1 to 12, or None.
        day: Day of the month, or None.
        weekday: Name of a day of the week, or None.
        swapped: Written in digits, so that day and month may stand the other way round.
    """

    start: int
    end: int
    year: int | None
    month: int | None
    day: int | None
    weekday: str | None = None
    swapped: bool = False

    def __str__(self) -> str:
        if self.weekday:
            return self.weekday
        return "-".join(str(part) if part else "?" for part in (self.year, self.month, self.day))


def read_dates(text: str) -> Iterator[Date]:
    """Read the dates of a rewritten text: "3/3/2021", "march 3rd", "the 3rd of march", "10/2019"."""
    for match in _NUMERIC.finditer(text):
        iso, month, day, first, _, second, year, only_month, its_year = match.groups()
        if iso:
            parts = int(iso), int(month), int(day)
        elif only_month:
            parts = int(its_year), int(only_month), 0
        else:
            parts = century(year), int(first), int(second)
            if parts[1] > 12 >= parts[2]:
                parts = parts[0], parts[2], parts[1]
        if 0 < parts[1] <= 12 and parts[2] <= 31:
            yield Date(*match.span(), parts[0], parts[1], parts[2] or None, None, bool(first))
    for match in _MONTH.finditer(text):
        before, name, after, year, weekday = match.groups()
        if weekday:
            yield Date(*match.span(), None, None, None, weekday)
            continue
        day = _day(before or after or "0")
        sure = (
            name not in _DOUBTFUL
            or day
            or year
            or _BEFORE.search(text, max(0, match.start(2) - 12), match.start(2))
        )
        if sure and day <= 31:
            start = match.start() if before else match.start(2)
            yield Date(start, match.end(), century(year) if year else None, _MONTHS[name], day or None)


def _day(said: str) -> int:
    return 22 if said.endswith("second") else int(said)


def century(year: str) -> int:
    """Give the four digits of a year that may have lost the first two: "'94" and "94" are 1994."""
    digits = int(year.strip("' \toh"))
    return digits if digits > 99 else digits + (2000 if digits < 40 else 1900)


class GivenDates:
    """The dates that a dialogue gives, ready to be asked for those of a note.

    Args:
        dates: The dialogue's dates.
        years: The years that it names anywhere; a date said without a year may be of any of them.
    """

    def __init__(self, dates: Iterable[Date], years: Set[int]) -> None:
        self._years = years
        self._weekdays: set[str] = set()
        # Each date with and without each of its parts, since a note may give fewer; the first says if a year
        # was said.
        self._parts: set[tuple[bool, int | None, int | None, int | None]] = set()
        for date in dates:
            if date.weekday:
                self._weekdays.add(date.weekday)
                continue
            for month, day in _orders(date):
                self._parts |= {
                    (date.year is not None, *parts)
                    for parts in product({date.year, None}, {month, None}, {day, None})
                }

    def hold(self, claimed: Date) -> bool:
        """Say whether one of the dates gives all that a note's date says."""
        if claimed.weekday:
            return claimed.weekday in self._weekdays
        any_year = claimed.year is None or claimed.year in self._years
        return any(
            (True, claimed.year, month, day) in self._parts
            or (any_year and (False, None, month, day) in self._parts)
            for month, day in _orders(claimed)
        )


def _orders(date: Date) -> list[tuple[int | None, int | None]]:
    """Month and day, and the other way round where both are digits."""
    return [(date.month, date.day), (date.day, date.month)] if date.swapped else [(date.month, date.day)]


def read_times(text: str) -> Iterator[tuple[int, int, str]]:
    """Read times of day on a twelve-hour clock: start, end, "2:00"."""
    for match in _TIME.finditer(text):
        hour = int(match[1] or match[4] or match[6] or match[7])
        if hour < 24:
            yield *match.span(), f"{(hour - 1) % 12 + 1}:{match[2] or match[5] or '00'}"
    for match in _PAST.finditer(text):
        minutes = {"half past": 30, "quarter past": 15, "quarter to": -15, "quarter of": -15}
        away = minutes.get(f"{match[1]} {match[2]}")
        if away and 0 < int(match[3]) < 13:
            hour = int(match[3]) - (away < 0)
            yield *match.span(), f"{(hour - 1) % 12 + 1}:{away % 60}"
