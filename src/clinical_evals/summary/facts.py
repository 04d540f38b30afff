"""Do the numbers of a summary stand in the dialogue it was made from?

A check by code on what a judge says: each dose, frequency, date, age, duration, vital sign and lab value
of the summary is looked up among those that were said. It knows values and units, not whose they are: a dose
given to the wrong drug passes here.

* A number with a unit is supported by the same quantity (0.5 g and 500 mg, 2 weeks and 14 days), or by the
  bare number where speech leaves the unit out ("metformin, five hundred, twice a day"). "20 years" does not
  support "20 mg".
* A bare number needs the value only.
* Where a speaker takes a number back ("ten, no sorry, twenty"), the number taken back supports nothing.
  When another speaker corrects it, both were said and both support.
* A fact inside a run of at least `COPIED_WORDS` words of the dialogue is `copied`: neither supported nor
  found, so that pasting the dialogue earns nothing.
* A fact counts once however often it is repeated, so that repeating a true one dilutes no false one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from .dates import Date, GivenDates
from .fact_reading import Fact, Reading, fact_at, read_facts, read_text, stated
from .spoken import plain_number, rewrite, same_length_lower

__all__ = [
    "COPIED_WORDS",
    "CheckedFact",
    "Fact",
    "FactCheck",
    "check_facts",
    "fact_f1",
    "fact_recall",
    "found_facts",
    "read_facts",
]

COPIED_WORDS = 12
"""Length in words from which a verbatim run of the dialogue is a copy."""

_PAIR_REACH = (
    160  # characters within which speech may part a blood pressure: "120 for the top, the bottom is 80"
)
_CONVERSIONS = (
    ("kg", "lb", Decimal("0.45359237")),
    ("lb", "kg", Decimal("2.20462262")),
    ("cm", "inch", Decimal("2.54")),
    ("inch", "cm", Decimal("0.39370079")),
)
_COUNTED = frozenset("tablet puff drop spray patch".split())  # "two of them", "two Tylenol"
_LABEL = re.compile(r"^[ \t]*(?:\[[^\]\n]{1,30}\]|[A-Za-z][A-Za-z .'_-]{0,24}:)[ \t]*", re.MULTILINE)
_COPY_WORD = re.compile(r"(?<![^\W_])(?!(?:uh|um|er|erm|hmm|mm)(?!\w))[^\W_]+(?:[.'/][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class CheckedFact(Fact):
    """A fact of a summary and what the dialogue says of it.

    Attributes:
        supported: The dialogue gives it. Never true of a copied one.
        copied: It stands inside a run of the dialogue's own words.
    """

    supported: bool
    copied: bool


@dataclass(frozen=True, slots=True)
class FactCheck:
    """The facts of a summary, checked against its dialogue.

    Attributes:
        facts: Every place that states a fact, in order.
    """

    facts: tuple[CheckedFact, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many different facts: `facts` = `supported` + `unsupported` + `copied`.

        A fact that stands in several places is copied only if it is copied in all of them.
        """
        standing: dict[tuple[str, str | None], str] = {}
        for fact in self.facts:
            state = "copied" if fact.copied else "supported" if fact.supported else "unsupported"
            if standing.get((fact.value, fact.unit), "copied") == "copied":
                standing[fact.value, fact.unit] = state
        states = list(standing.values())
        return {
            "facts": len(states),
            **{state: states.count(state) for state in ("supported", "unsupported", "copied")},
        }

    @property
    def support(self) -> float | None:
        """Share of the facts in words of the summary's own that the dialogue supports; None without any."""
        counts = self.counts
        own = counts["supported"] + counts["unsupported"]
        return counts["supported"] / own if own else None


class _Dialogue:
    """What a dialogue says, ready to be asked."""

    def __init__(self, text: str) -> None:
        written = rewrite(text)
        readings = read_text(written, speech=True)
        self.quantities: set[tuple[str, str | None]] = set()
        self.bare: set[str] = set()
        self.open: set[str] = set()
        dates: list[Date] = []
        self.places: dict[str, list[int]] = {}
        self.scales: set[str] = set()
        for reading in readings:
            self.quantities.add((reading.value, reading.unit))
            dates += reading.dates
            if reading.unit == "date":
                continue
            if reading.unit == "pair":
                self.scales.add(reading.value.partition("/")[2])
                self.places.setdefault(reading.value.partition("/")[2], []).append(reading.start)
            if reading.written:
                self.bare.add(reading.written)
                self.places.setdefault(reading.written, []).append(reading.start)
                if reading.unit not in ("pair", "time"):
                    self.bare.add(reading.value)
            if reading.open:
                self.open.add(reading.written)
        for places in self.places.values():
            places.sort()
        self._by_unit = {
            other: sorted({Decimal(value) for value, unit in self.quantities if unit == other})
            for _, other, _ in _CONVERSIONS
        }
        if re.search(r"\bscale\b|\b10 being\b|\bpain\b", written.text):
            self.scales.add("10")
        self.years = {date.year for date in dates if date.year}
        self.years |= {int(number) for number in self.bare if re.fullmatch(r"(?:19|20)\d\d", number)}
        self.dates = GivenDates(dates, self.years)

    def supports(self, reading: Reading) -> bool:
        """Say whether the dialogue gives what a note's reading says."""
        if any(map(self.dates.hold, reading.dates)):
            return True
        if (reading.value, reading.unit) in self.quantities:
            return True
        if reading.unit is None:
            if reading.kind == "date" and int(reading.value) in self.years:
                return True
            return reading.value in self.bare
        if reading.unit in ("between", "date"):
            return False
        if reading.unit == "pair":
            return self._has_pair(reading)
        if reading.unit in _COUNTED and (reading.written, None) in self.quantities:
            return True
        if reading.unit == "time":
            return reading.written in self.open or reading.value.replace(":", "") in self.bare
        return reading.written in self.open or reading.value in self.open or self._converted(reading)

    def _converted(self, reading: Reading) -> bool:
        """Say whether the dialogue gives the quantity in the other system, rounded as the note rounds."""
        places = len(reading.written.partition(".")[2])
        for unit, other, factor in _CONVERSIONS:
            if reading.unit == unit:
                wanted = Decimal(reading.value)
                known = self._by_unit.get(other, [])
                # A step of the last place around it, so that only a few are rounded.
                step = Decimal(1).scaleb(-places)
                first = bisect_left(known, (wanted - step) / factor)
                last = bisect_right(known, (wanted + step) / factor)
                if any(round(value * factor, places) == wanted for value in known[first:last]):
                    return True
        return False

    def _has_pair(self, reading: Reading) -> bool:
        above, _, below = reading.value.partition("/")
        if reading.kind == "ratio":
            if below in self.scales and (above in self.open or above in self.bare):
                return True
            fraction = plain_number(round(Decimal(above) / Decimal(below), 2)) if int(below) else ""
            return int(below) in (2, 4) and fraction in self.bare
        seconds = self.places.get(below, [])
        for first in self.places.get(above, ()):
            at = bisect_right(seconds, first)
            if at < len(seconds) and seconds[at] - first < _PAIR_REACH:
                return True
        return False


@lru_cache(maxsize=4)
def _dialogue(text: str) -> _Dialogue:
    """A summary and its reference are checked against the same dialogue, one after the other."""
    return _Dialogue(text)


def check_facts(dialogue: str, summary: str) -> FactCheck:
    """Check the facts of a summary against the dialogue.

    Args:
        dialogue: The dialogue, with or without speaker labels.
        summary: The summary, any text.

    Returns:
        The summary's facts, each supported, unsupported or copied.
    """
    given = _dialogue(dialogue)
    written = rewrite(summary)
    copies = _Copies(dialogue, summary)
    facts = []
    for reading in stated(written):
        fact = fact_at(reading, written)
        copy = copies.hold(fact.start, fact.end)
        facts.append(
            CheckedFact(
                fact.kind,
                fact.start,
                fact.end,
                fact.value,
                fact.unit,
                not copy and given.supports(reading),
                copy,
            )
        )
    return FactCheck(tuple(facts))


class _Copies:
    """Which places of a summary stand inside a run of the dialogue's own words."""

    def __init__(self, dialogue: str, summary: str) -> None:
        self._said = f" {' '.join(match.group() for match in _copy_words(dialogue))} "
        found = list(_copy_words(summary))
        self._words = [match.group() for match in found]
        self._ends = [match.end() for match in found]

    def hold(self, start: int, end: int) -> bool:
        """Say whether a run of at least `COPIED_WORDS` words around [start, end) is in the dialogue."""
        first = bisect_right(self._ends, start)
        last = max(first, bisect_left(self._ends, end))
        half = COPIED_WORDS // 2  # a long enough run holds this many from the fact on, or up to it
        if not (self._has(first, first + half) or self._has(last + 1 - half, last + 1)):
            return False
        starts = range(last + 1 - COPIED_WORDS, first + 1)
        return any(self._has(at, at + COPIED_WORDS) for at in starts)

    def _has(self, first: int, last: int) -> bool:
        if first < 0 or last > len(self._words):
            return False
        return f" {' '.join(self._words[first:last])} " in self._said


def _copy_words(text: str) -> Iterator[re.Match[str]]:
    """The words of a text without speaker labels and hesitations, in their places."""
    blank = _LABEL.sub(lambda match: " " * len(match.group()), same_length_lower(text))
    return _COPY_WORD.finditer(blank)


def found_facts(reference: str, summary: str, dialogue: str) -> dict[str, int]:
    """Count the reference's facts that the summary states too.

    Only facts that the dialogue supports are asked for, each once, and none that the reference itself
    copies from it; a fact that the summary copies is not found.

    Args:
        reference: A note that is held to be complete.
        summary: The summary.
        dialogue: The dialogue that both were made from.

    Returns:
        `reference_facts` and `found`.
    """
    return _recall(check_facts(dialogue, reference), check_facts(dialogue, summary))


def fact_recall(reference: FactCheck, summary: FactCheck) -> dict[str, int]:
    """As `found_facts`, for texts that are checked already."""
    return _recall(reference, summary)


def _recall(reference: FactCheck, summary: FactCheck) -> dict[str, int]:
    wanted = {(fact.value, fact.unit) for fact in reference.facts if fact.supported}
    stated_values = [fact for fact in summary.facts if not fact.copied]
    exact = {(fact.value, fact.unit) for fact in stated_values}
    bare = {fact.value for fact in stated_values if fact.unit is None}
    values = {fact.value for fact in stated_values}
    found = sum(
        (value, unit) in exact or value in bare or (unit is None and value in values)
        for value, unit in wanted
    )
    return {"reference_facts": len(wanted), "found": found}


def fact_f1(check: FactCheck, recall: dict[str, int]) -> float | None:
    """The harmonic mean of support and recall, so that neither silence nor invention pays.

    Args:
        check: The summary's check.
        recall: What `found_facts` counted.

    Returns:
        0 to 1: 0 where the reference has facts and the summary states none in words of its own; None
        where the reference has no fact to be found.
    """
    if not recall["reference_facts"]:
        return None
    share = recall["found"] / recall["reference_facts"]
    support = check.support
    if not support or not share:
        return 0.0
    return 2 * support * share / (support + share)
