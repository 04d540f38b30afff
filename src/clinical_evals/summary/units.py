"""Units of measure and how often something is done, each in one base form."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

__all__ = [
    "FREQUENCY",
    "RATE",
    "UNIT",
    "every",
    "in_words",
    "kind_of_unit",
    "minutes_between",
    "to_base",
    "unit_of",
]

_UNITS: dict[str, tuple[str, str, str]] = {}
for _kind, _base, _factor, _names in (
    ("dose", "mg", "1", "mg mgs milligram milligrams millgram millgrams milligramme milligrammes"),
    ("dose", "mg", "1000", "g gm gms gram grams gramme grammes"),
    ("dose", "mg", "0.001", "mcg mcgs ug µg μg microgram micrograms microgramme mics"),
    ("dose", "ng", "1", "ng nanogram nanograms"),
    ("dose", "ml", "1", "ml mls cc ccs milliliter milliliters millilitre millilitres mil mils"),
    ("dose", "ml", "10", "dl deciliter"),
    ("dose", "ml", "1000", "l liter liters litre litres"),
    ("dose", "unit", "1", "unit units u iu ius"),
    ("dose", "meq", "1", "meq meqs milliequivalent milliequivalents"),
    ("dose", "mmol", "1", "mmol millimole millimoles"),
    ("dose", "tablet", "1", "tab tabs tablet tablets pill pills cap caps capsule capsules"),
    ("dose", "puff", "1", "puff puffs inhalation inhalations"),
    ("dose", "drop", "1", "drop drops gtt gtts"),
    ("dose", "spray", "1", "spray sprays"),
    ("dose", "patch", "1", "patch patches"),
    ("dose", "teaspoon", "1", "tsp teaspoon teaspoons"),
    ("dose", "teaspoon", "3", "tbsp tablespoon tablespoons"),
    ("duration", "minute", "1/60", "sec secs second seconds"),
    ("duration", "minute", "1", "min mins minute minutes"),
    ("duration", "minute", "60", "h hr hrs hour hours"),
    ("duration", "minute", "1440", "d day days night nights"),
    ("duration", "minute", "10080", "w wk wks week weeks"),
    ("duration", "minute", "20160", "fortnight fortnights"),
    ("duration", "month", "1", "mo mos month months mth mths"),
    ("duration", "month", "12", "y yr yrs year years"),
    ("duration", "month", "120", "decade decades"),
    ("percent", "%", "1", "% percent pct"),
    ("vital", "degree", "1", "° °f °c degree degrees deg f c fahrenheit celsius"),
    ("vital", "beat", "1", "bpm beat beats"),
    ("vital", "breath", "1", "breath breaths"),
    ("vital", "mmhg", "1", "mmhg"),
    ("measure", "kg", "1", "kg kgs kilogram kilograms kilo kilos"),
    ("measure", "lb", "1", "lb lbs pound pounds #"),
    ("measure", "oz", "1", "oz ounce ounces"),
    ("measure", "stone", "1", "stone"),
    ("measure", "cm", "1", "cm cms centimeter centimeters centimetre centimetres"),
    ("measure", "cm", "0.1", "mm mms millimeter millimeters millimetre millimetres"),
    ("measure", "cm", "100", "m meter meters metre metres"),
    ("measure", "inch", "1", "inch inches"),
    ("measure", "inch", "12", "ft foot feet"),
    ("measure", "mile", "1", "mile miles mi"),
    ("measure", "mile", "0.621371", "km kilometer kilometers kilometre kilometres"),
    ("measure", "pack", "1", "pack packs ppd packet packets"),
    ("measure", "packyear", "1", "packyear"),
    ("measure", "cigarette", "1", "cigarette cigarettes cig cigs"),
    ("measure", "drink", "1", "drink drinks beer beers glass glasses"),
    ("measure", "cup", "1", "cup cups"),
    ("measure", "dollar", "1", "dollar dollars bucks"),
    ("measure", "step", "1", "step steps"),
    ("measure", "stair", "1", "stair stairs flight flights"),
    ("measure", "block", "1", "block blocks"),
    ("measure", "time", "1", "time times x"),
    ("measure", "plus", "1", "+ plus"),
    ("measure", "o'clock", "1", "o'clock"),
):
    for _name in _names.split():
        _UNITS[_name] = (_base, _factor, _kind)

_NAMES = "|".join(re.escape(name) for name in sorted(_UNITS, key=len, reverse=True))
_SPELLED = "|".join(" ".join(name) for name in "mcg mg ml cc cm mm kg meq".split())  # "ten m g"
_MORE = r"(?:more|full|straight|whole|extra|additional|solid|good)"  # "two more weeks"
_PACK_YEARS = r"(?:pack|pk)[ -]?y(?:ea)?rs?"
_DIVISORS = (
    r"dl|l|ml|kg|m2|hr|h|hpf|ul|deciliters?|liter|litre|milliliters?|kilogram|minute|min"  # of "mg/dl"
)
UNIT = re.compile(
    rf"[ \t]*-?[ \t]*(?:{_MORE}[ \t]+)?"
    rf"(?:({_PACK_YEARS}|mm ?hg|{_SPELLED}|{_NAMES})(?!\w)"
    rf"(?:[ \t]*(?:/|per(?!\w))[ \t]*({_DIVISORS})(?!\w)(?:[ \t]*/[ \t]*(day|d|h|hr|min))?)?"
    r"|([%+°#])(?:[ \t]*([fc])(?!\w))?)"
)
"""What follows a number and is its unit: the name, and what it is divided by."""

_SAME_DIVISORS = {
    "deciliter": "dl", "deciliters": "dl", "liter": "l", "litre": "l", "milliliter": "ml",
    "milliliters": "ml", "kilogram": "kg", "h": "hr", "minute": "min",
}  # fmt: skip


def unit_of(match: re.Match[str]) -> str:
    """Give the name of the unit that `UNIT` matched, "mg/dl" for a quotient."""
    name = (match[1] or match[4]).replace(" ", "").replace("-", "")
    name = "packyear" if name.startswith(("packy", "pky")) else name
    if match[2]:
        return f"{name}/{_SAME_DIVISORS.get(match[2], match[2])}"
    return name


def to_base(value: str, name: str | None) -> tuple[Decimal, str | None]:
    """Bring a number to its unit's base: 0.5 g is 500 mg, 2 weeks are 20160 minutes.

    A quotient keeps its parts' names and is not converted, except per minute: beats and breaths.
    """
    number = Decimal(value)
    if name is None:
        return number, None
    if "/" in name:
        above, below = name.split("/")
        if below == "min" and _UNITS[above][0] in ("beat", "breath"):
            return number, _UNITS[above][0]
        return number, f"{_UNITS[above][0] if above not in ('g', 'l') else above}/{below}"
    base, factor, _ = _UNITS[name]
    share = Fraction(number) * Fraction(factor)
    return Decimal(share.numerator) / Decimal(share.denominator), base


def kind_of_unit(name: str) -> str:
    """Say whether a unit measures a dose, a duration, a vital sign, a share or something else."""
    if "/" in name:
        return "dose" if name.endswith("/kg") else "vital" if name.endswith("/min") else "lab"
    return _UNITS[name][2]


_PERIODS = {
    "minute": Fraction(1), "hour": Fraction(60), "day": Fraction(1440), "week": Fraction(10080),
}  # fmt: skip
_PERIOD_OF = {
    "min": "minute", "mins": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "wk": "week",
    "wks": "week", "w": "week", "mo": "month", "yr": "year", "daily": "day", "weekly": "week",
    "monthly": "month", "yearly": "year", "night": "day", "morning": "day", "evening": "day",
    "afternoon": "day", "bedtime": "day", "nightly": "day", "annually": "year", "y": "year", "meal": "meal",
}  # fmt: skip

_PERIOD = (
    r"(minute|min|hour|hr|h|day|d|night|morning|evening|afternoon|bedtime|week|wk|w|month|mo|year|yr|meal)s?"
)
_BARE = (
    r"daily|nightly|weekly|monthly|yearly|annually|hourly|b\.?i\.?d|t\.?i\.?d|q\.?i\.?d|q\.?o\.?d"
    r"|q\.?d|q\.?h\.?s"
    r"|q\.? ?a\.?m|q\.? ?p\.?m|q\.? ?day|q\.? ?daily|q\.? ?nightly|o\.d|bd|tds|qds|nocte|mane"
)
_ADVERB = r"(?:daily|nightly|weekly|monthly|yearly|annually)"
_TO = r"[ \t]*(?:-|–|to|or|,|maybe|[ \t])+[ \t]*"
_STOP = r"(?:(?<=\.[a-z])\.)?"  # of an abbreviation, not of the sentence
_A = r"[ \t]*(?:/|,?[ \t]*(?<!\w)(?:an?|per|each|every|in an?|in the|at|during the)(?!\w))[ \t]*"
FREQUENCY = re.compile(
    # "twice a day", "3 times weekly", "3x/week", "2-3 times a day"
    rf"(?<![\w./])(?:(?:(?P<word>once|twice|thrice)"
    rf"|(?P<low>\d{{1,2}})(?:{_TO}(?P<high>\d{{1,2}}))?[ \t-]*(?:times?(?!\w)|x(?![\w])))"
    rf"(?:(?:{_A}|[ \t-]+)(?:{_PERIOD.replace('(', '(?P<period>', 1)})|[ \t-]+(?P<adverb>{_ADVERB}))(?!\w)"
    # "x6/day"
    rf"|x[ \t]?(?P<times>\d{{1,2}})(?:{_A}{_PERIOD.replace('(', '(?P<period2>', 1)}"
    rf"|[ \t]+(?P<adverb2>{_ADVERB}))(?!\w)"
    # "5 days a week", "3 nights weekly"
    rf"|(?P<days>\d)(?:{_TO}(?P<days2>\d))?[ \t]+(?:days|nights|mornings|evenings)"
    rf"(?:(?:{_A}|[ \t]+out(?: of |ta )the[ \t]+)(?:week|wk)|[ \t]+weekly)(?!\w)"
    r"|(?P<hourly>\d{1,2})[ \t-]hourly(?!\w)"
    # "every 4-6 hours", "q6h", "every other day"
    rf"|(?:q\.?|every|each)[ \t-]*(?:(?P<every>other|single"
    rf"|\d{{1,2}})(?:{_TO}(?P<upper>\d{{1,2}}))?[ \t-]*)?{_PERIOD.replace('(', '(?P<unit>', 1)}"
    rf"{_STOP}(?!\w)|(?P<bare>{_BARE}){_STOP}(?!\w))"
)
"""How often: "twice a day", "3x/week", "every 4-6 hours", "BID", "daily". Read by `minutes_between`."""

RATE = re.compile(
    r"(?<!\w)(?!an hour)(?:an?|per|each)[ \t]+(day|night|week|month|year|hour)"
    r"(?!\w|[ \t]+(?:of|ago|later|and a half|or (?:2|two|so)|off|before|from)(?!\w))|/[ \t]*(day|d|wk|week"
    r"|month|year|night)(?!\w)"
)
"""For each of which period: "a day", "/week"."""

_LATIN = {
    "bid": 2, "bd": 2, "tid": 3, "tds": 3, "qid": 4, "qds": 4, "qd": 1, "qhs": 1, "qam": 1, "qpm": 1,
    "qday": 1, "qdaily": 1, "qnightly": 1, "od": 1, "nocte": 1, "mane": 1,
}  # fmt: skip


def every(count: Fraction | int, period: str) -> str:
    """Name the frequency "every `count` periods": minutes between two times, or "N month"."""
    period = _PERIOD_OF.get(period, period)
    if period in _PERIODS:
        return f"{_PERIODS[period] * count}"
    if period == "year":
        count, period = count * 12, "month"
    return f"{count} {period}"


def minutes_between(match: re.Match[str]) -> list[str]:
    """Give the time between two doses for what `FREQUENCY` matched: minutes, or "N month".

    "Twice a day", "BID" and "every 12 hours" are all "720"; a range gives two.
    """
    if bare := match["bare"]:
        short = bare.replace(".", "").replace(" ", "")
        if short == "qod":
            return [every(2, "day")]
        if short in _LATIN:
            return [every(Fraction(1, _LATIN[short]), "day")]
        return [every(1, "hour" if short == "hourly" else short)]
    if hours := match["hourly"]:
        return [every(int(hours), "hour")] if int(hours) else []
    if unit := match["unit"]:
        count = match["every"]
        low = 2 if count == "other" else int(count) if count and count != "single" else 1
        return [every(number, unit) for number in (low, int(match["upper"] or 0)) if number]
    if match["days"]:
        counts, period = (match["days"], match["days2"]), "week"
    elif match["times"]:
        counts, period = (match["times"], None), match["period2"] or match["adverb2"]
    else:
        word = {"once": "1", "twice": "2", "thrice": "3"}.get(match["word"], match["low"])
        counts, period = (word, match["high"]), match["period"] or match["adverb"]
    return [every(Fraction(1, int(count)), period) for count in counts if count and int(count)]


_SYMBOLS = frozenset("mg ng ml meq mmol mmhg kg lb oz cm % plus stone o'clock".split())


def in_words(value: str, unit: str | None) -> str:
    """Write a fact's value for a person: "every 12 hours" for 720 between, "2 weeks" for 20160 minute.

    Args:
        value: As in `Fact`, in the unit's base.
        unit: As in `Fact`.
    """
    if unit == "between":
        number, _, period = value.partition(" ")
        length = _length(Fraction(number), period) if period else _minutes(Fraction(number))
        return f"every {length.removeprefix('1 ')}"
    if unit == "minute":
        return _minutes(Fraction(value))
    if unit == "month":
        months = Fraction(value)
        return _length(months, "month") if months % 12 else _length(months / 12, "year")
    if unit == "date":
        return "-".join(part.zfill(2) for part in value.split("-") if part != "?")
    if unit and unit.endswith(" of age"):
        return f"{_length(Fraction(value), unit.removesuffix(' of age'))} of age"
    if unit == "decade":
        return f"{value}s"
    if unit is None or unit in ("pair", "time", "th"):
        return value
    if unit in _SYMBOLS or "/" in unit:
        return f"{value}{'' if unit == '%' else ' '}{unit}"
    return f"{value} {unit}{'' if value == '1' else 'es' if unit.endswith('ch') else 's'}"


def _minutes(minutes: Fraction) -> str:
    """Write a length in the longest period that goes into it a whole number of times."""
    for period in ("week", "day", "hour"):
        if minutes and not minutes % _PERIODS[period]:
            return _length(minutes / _PERIODS[period], period)
    return _length(minutes, "minute")


def _length(count: Fraction, period: str) -> str:
    return f"{float(count):g} {period}{'s' if count != 1 else ''}"
