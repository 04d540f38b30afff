"""Calendar dates and times of day as notes and speech give them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Date", "agrees", "read_dates", "read_times"]

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
_YEAR = r"((?:19|20)\d\d|'\d\d)"
_MONTH = re.compile(
    rf"(?<!\w)(?:(?:(\d{{1,2}})(?:(?:st|nd|rd|th)(?:[ \t]+of)?)?[ \t]+)?{_NAME}\b\.?"
    rf"(?:[ \t]+(?:the[ \t]+)?(\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[:./]\d|[ \t]*(?:mg|%|years?|days?"
    rf"|weeks?|months?|times?|out)\b))?"
    rf"(?:(?:,|[ \t]of|[ \t]in)*[ \t]*{_YEAR}\b(?![ \t]*(?:mg|mcg|ml|units?)\b))?"
    rf"|({_DAYS})s?\b)"
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
            parts = _century(year), int(first), int(second)
            if parts[1] > 12 >= parts[2]:
                parts = parts[0], parts[2], parts[1]
        if 0 < parts[1] <= 12 and parts[2] <= 31:
            yield Date(*match.span(), parts[0], parts[1], parts[2] or None, None, bool(first))
    for match in _MONTH.finditer(text):
        before, name, after, year, weekday = match.groups()
        if weekday:
            yield Date(*match.span(), None, None, None, weekday)
            continue
        day = int(before or after or 0)
        sure = (
            name not in _DOUBTFUL
            or day
            or year
            or _BEFORE.search(text, max(0, match.start(2) - 12), match.start(2))
        )
        if sure and day <= 31:
            start = match.start() if before else match.start(2)
            yield Date(start, match.end(), _century(year) if year else None, _MONTHS[name], day or None)


def _century(year: str) -> int:
    digits = int(year.strip("'"))
    return digits if digits > 99 else digits + (2000 if digits < 40 else 1900)


def agrees(claimed: Date, given: Date, years: set[int]) -> bool:
    """Say whether a dialogue's date gives all that a note's date says.

    Args:
        claimed: The note's date.
        given: A date of the dialogue; without a year it may take any of `years`.
        years: The years that the dialogue names anywhere.
    """
    if claimed.weekday or given.weekday:
        return claimed.weekday == given.weekday
    if claimed.year and claimed.year != given.year and (given.year or claimed.year not in years):
        return False
    wanted = [(claimed.month, claimed.day)]
    if claimed.swapped or given.swapped:
        wanted.append((claimed.day, claimed.month))
    return any(
        (month is None or month == given.month) and (day is None or day == given.day) for month, day in wanted
    )


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
