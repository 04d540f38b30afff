"""What the reader of facts gives: a fact of a text, and a number as it is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .dates import Date
from .units import in_words

__all__ = ["Fact", "Reading"]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something in a text that a number states.

    Attributes:
        kind: dose, frequency, duration, date, time, age, vital, lab, percent, ratio, measure or number.
        start: Where it begins in the text, in characters.
        end: Where it ends, exclusive.
        value: The value in its unit's base, such as "500" for 0.5 g; "130/85" for a pair.
        unit: The base unit, or None for a bare number.
    """

    kind: str
    start: int
    end: int
    value: str
    unit: str | None

    @property
    def in_words(self) -> str:
        """The value as a person writes it: "every 12 hours", "2 weeks", "500 mg"."""
        return in_words(self.value, self.unit)


class Reading(NamedTuple):
    """One number of a rewritten text, with what the check needs to compare it.

    Attributes:
        start: Where it begins in the rewritten text.
        end: Where it ends, its unit included.
        kind: As in `Fact`.
        value: As in `Fact`.
        unit: As in `Fact`.
        written: The number as it stands, before conversion.
        open: It has no unit and no word after it that could be its noun, so a unit may be understood.
        other: A second reading of a place; it supports a fact but is none.
        dates: For a date, its parts; "9/03" may be a day or a month of a year.
    """

    start: int
    end: int
    kind: str
    value: str
    unit: str | None
    written: str
    open: bool = False
    other: bool = False
    dates: tuple[Date, ...] = ()
