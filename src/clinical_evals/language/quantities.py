"""Numbers with their units, and how often a drug is taken.

"500mg", "500 mg" and "0.5 g" are one quantity; "BID", "b.i.d." and "twice a day" are one frequency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import NamedTuple

from .wording import Token

__all__ = ["Quantity", "quantities"]


class Quantity(NamedTuple):
    """A number in a text.

    Attributes:
        start: Where it begins, in characters.
        value: Its value in the unit's base (masses in mg, volumes in ml), or the literal text of a
            pair such as `138/86`.
        unit: Base unit, or None for a bare number. `per_day` and the like are frequencies.
    """

    start: int
    value: str
    unit: str | None


_UNITS: dict[str, tuple[str, str]] = {}
for _names, _base, _factor in (
    ("mg mgs milligram milligrams", "mg", "1"),
    ("g gm gms gram grams", "mg", "1000"),
    ("mcg mcgs ug µg μg microgram micrograms", "mg", "0.001"),
    ("kg kgs kilogram kilograms", "kg", "1"),
    ("lb lbs pound pounds", "lb", "1"),
    ("ml mls cc milliliter milliliters millilitre millilitres", "ml", "1"),
    ("l liter liters litre litres", "ml", "1000"),
    ("unit units u iu", "unit", "1"),
    ("meq", "meq", "1"),
    ("mmol", "mmol", "1"),
    ("% percent", "%", "1"),
    ("min mins minute minutes", "minute", "1"),
    ("h hr hrs hour hours", "hour", "1"),
    ("day days", "day", "1"),
    ("wk wks week weeks", "day", "7"),
    ("mo mos month months", "month", "1"),
    ("yr yrs year years", "month", "12"),
    ("tab tabs tablet tablets pill pills", "tablet", "1"),
    ("cap caps capsule capsules", "tablet", "1"),
    ("puff puffs", "puff", "1"),
    ("drop drops gtt gtts", "drop", "1"),
    ("cm", "cm", "1"),
    ("mm", "cm", "0.1"),
):
    for _name in _names.split():
        _UNITS[_name] = (_base, _factor)

_WORDS = {
    word: str(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen""".split()
    )
} | {
    word: str(10 * value)
    for value, word in enumerate("""twenty thirty forty fifty sixty seventy eighty ninety""".split(), 2)
}

_TIMES = {
    "once": 1,
    "one time": 1,
    "twice": 2,
    "two times": 2,
    "three times": 3,
    "thrice": 3,
    "four times": 4,
}
_TIMES |= {f"{count} times": count for count in range(1, 7)} | {f"{count}x": count for count in range(1, 7)}
_TIMES |= {f"{count} x": count for count in range(1, 7)} | {f"x{count}": count for count in range(1, 7)}

_TIMES_A_DAY = {
    "bid": 2, "b i d": 2, "bd": 2, "tid": 3, "t i d": 3, "tds": 3, "qid": 4, "q i d": 4, "qds": 4,
    "qd": 1, "q d": 1, "qday": 1, "q day": 1, "daily": 1, "every day": 1, "each day": 1, "od": 1,
    "nightly": 1, "qhs": 1, "q hs": 1, "hs": 1, "at bedtime": 1, "every night": 1, "at night": 1, "nocte": 1,
    "qam": 1, "q am": 1, "every morning": 1, "each morning": 1, "in the morning": 1, "qpm": 1,
    "every evening": 1, "in the evening": 1, "mane": 1,
}  # fmt: skip
_OTHER_FREQUENCIES = {
    "every other day": ("every_days", "2"), "qod": ("every_days", "2"), "alternate days": ("every_days", "2"),
    "weekly": ("per_week", "1"), "every week": ("per_week", "1"), "qweek": ("per_week", "1"),
    "monthly": ("per_month", "1"), "every month": ("per_month", "1"),
}  # fmt: skip


@cache
def _frequency_forms() -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    forms: dict[str, tuple[str, str]] = dict(_OTHER_FREQUENCIES)
    for form, count in _TIMES_A_DAY.items():
        forms[form] = ("per_day", str(count))
    for words, count in _TIMES.items():
        for period, unit in (("day", "per_day"), ("week", "per_week"), ("month", "per_month")):
            adverb = {"day": "daily", "week": "weekly", "month": "monthly"}[period]
            for tail in (
                f"a {period}",
                f"per {period}",
                f"each {period}",
                f"every {period}",
                f"{period}",
                adverb,
            ):
                forms[f"{words} {tail}"] = (unit, str(count))
    alternatives = "|".join(
        re.escape(form).replace(r"\ ", r"[\s./-]*" if len(form.split()[0]) == 1 else r"[\s/-]+")
        for form in sorted(forms, key=len, reverse=True)
    )
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])", re.IGNORECASE), forms


_EVERY_HOURS = re.compile(
    r"(?<![^\W_])(?:q|every)[\s.]*(\d{1,2})(?:\s*-\s*(\d{1,2}))?[\s-]*(?:h|hr|hrs|hours?)(?![^\W_])", re.I
)
_NUMBER = re.compile(
    r"(?<![\w.])(?:(?P<pair>\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)+)|(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+))"
    r"(?:[\s-]*(?P<unit>%|[a-zA-Zµμ]+))?(?![0-9])"
)
_EVERY_DAYS = re.compile(r"(?<![^\W_])(?:q|every)[\s.]*(\d{1,2})[\s-]*(?:d|days?)(?![^\W_])", re.IGNORECASE)
# "4/52" is four weeks in British notes, "5/7" five days, "3/12" three months.
_DURATION = re.compile(r"(\d{1,2})/(7|52|12)")
_DURATIONS = {"7": ("day", 1), "52": ("day", 7), "12": ("month", 1)}
_NUMBER_WORD = re.compile(
    rf"(?<![^\W_])(?P<number>{'|'.join(_WORDS)})(?:[\s-]+(?P<ones>{'|'.join(list(_WORDS)[1:10])}))?"
    r"(?:[\s-]*(?P<unit>[a-zA-Zµμ]+))?(?![^\W_])",
    re.IGNORECASE,
)


def quantities(text: str, tokens: Iterable[Token], offset: int = 0) -> list[Quantity]:
    """Read every number, dose and frequency of a text.

    Args:
        text: The text.
        tokens: The text's tokens, for numbers that hide in abbreviations ("T2DM" holds a 2).
        offset: Added to every place.

    Returns:
        The quantities in order of place.
    """
    found: list[Quantity] = []
    taken = bytearray(len(text))  # a byte for each character that is part of a quantity already

    def take(first: int, last: int) -> None:
        taken[first:last] = b"\x01" * (last - first)

    def free_at(first: int, last: int) -> bool:
        return taken.find(1, first, last) < 0

    def free(match: re.Match[str]) -> bool:
        return free_at(*match.span())

    for every, unit_name in ((_EVERY_HOURS, "every_hours"), (_EVERY_DAYS, "every_days")):
        for match in every.finditer(text):
            found.append(Quantity(match.start() + offset, match[1], unit_name))
            take(*match.span())
    pattern, forms = _frequency_forms()
    for match in pattern.finditer(text):
        if free(match):
            unit, value = forms[_form_key(match.group(), forms)]
            found.append(Quantity(match.start() + offset, value, unit))
            take(*match.span())
    for match in _NUMBER.finditer(text):
        if free(match):
            found.append(_quantity(match, match["pair"] or match["number"], offset))
            whole = _unit(match["unit"]) is not None
            take(*match.span(0 if whole else "pair" if match["pair"] else "number"))
    for match in _NUMBER_WORD.finditer(text):
        if free(match):
            value = _WORDS[match["number"].lower()]
            if match["ones"]:
                value = str(int(value) + int(_WORDS[match["ones"].lower()])) if int(value) >= 20 else value
            if value != "1" or _unit(match["unit"]):  # "one" is as often a pronoun
                found.append(_quantity(match, value, offset))
    for token in tokens:
        if free_at(token.start - offset, token.end - offset):
            hidden = [word for word in token.plain if word.isdigit()]
            inside = text[token.start - offset : token.end - offset]
            found.extend(
                Quantity(token.start, word, None)
                for word in hidden
                if not re.search(rf"(?<![\w.]){word}(?![\w.])", inside)
            )
    return sorted(found, key=lambda quantity: quantity.start)


def _form_key(matched: str, forms: dict[str, tuple[str, str]]) -> str:
    spaced = " ".join(re.findall(r"[^\W_]+", matched.lower()))
    return spaced if spaced in forms else spaced.replace(" ", "")


def _unit(name: str | None) -> tuple[str, str] | None:
    return _UNITS.get(name.lower()) if name else None


def _quantity(match: re.Match[str], number: str, offset: int) -> Quantity:
    unit = _unit(match["unit"])
    if duration := _DURATION.fullmatch(number):
        unit_name, factor = _DURATIONS[duration[2]]
        return Quantity(match.start() + offset, str(int(duration[1]) * factor), unit_name)
    if "/" in number:
        return Quantity(match.start() + offset, number, unit[0] if unit else None)
    try:
        value = Decimal(number.replace(",", ""))
    except InvalidOperation:  # a digit of a script that Decimal does not read
        return Quantity(match.start() + offset, number, None)
    if unit:
        value *= Decimal(unit[1])
    return Quantity(match.start() + offset, f"{value.normalize():f}", unit[0] if unit else None)
