"""The words of a claim and of a quote, brought to one form so that they can be compared.

A token keeps its place in the text. Its words are lower-case, spelled as the synonym table's
canonical form says (`synonyms.csv`: abbreviations, brand names, lay terms and spellings, each with a
public source), and stemmed by the Snowball English stemmer. What the table does not know stays as
written: "high sugars" is not "hyperglycaemia" here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

import snowballstemmer

__all__ = ["DECISIVE", "KIN", "OPPOSITES", "Token", "content_words", "synonyms_digest", "tokenize"]

_RUN = re.compile(r"[^\W_]+")

# Words that say nothing about which condition, drug or activity is meant.
_STOP_WORDS = frozenset(
    """a an the of in on at to for from with without by and or nor but as is are was were be been being has
    have had do does did this that these those it its his her their our your my he she they we i you
    who which pt patient patients there here now then than so very also per via into about after
    before during over under up down out off will would should could can may might must no not none
    denies denied deny denying negative neg if when while s d t ll re ve both all any some other etc
    mellitus mg mcg g kg ml twice once x am pm two three four five six seven eight nine ten twelve
    twenty thirty forty fifty sixty isnt dont doesnt cant wont isn don doesn every until while because re
    due again still just only per q one""".split()
)

# Heads that many unlike things share: sharing one of these alone does not make a quote speak of a claim.
_SHARED_HEADS = frozenset(
    """pain failure infection injury fracture cancer carcinoma tumor mass lesion test lab blood scan study
    exam panel level visit appointment clinic""".split()
)
# Words around the heads: how much, how long, and what is done with it. They weigh half.
_FILLERS = frozenset(
    """disease disorder syndrome condition acute chronic severe mild moderate recurrent new old current
    stable left right bilateral upper lower history status symptom sign type stage grade high low
    increased decreased elevated abnormal normal daily dose tablet tab capsule medication drug therapy
    treatment check follow week month day year hour continue discontinue start stop increase decrease
    resume hold take give order repeat recheck monitor refer referral return call counsel discuss
    advise educate review obtain schedule arrange consider need use provide home today tomorrow well
    better worse possible likely plan""".split()
)

# A claim that says one of these is not supported by a place that says its opposite.
_OPPOSITE_PAIRS = (
    ("left", "right"),
    ("upper", "lower"),
    ("acute", "chronic"),
    ("controlled", "uncontrolled"),
    ("well", "poorly"),
    ("stable", "unstable"),
    ("improving", "worsening"),
    ("improved", "worsened"),
    ("better", "worse"),
    ("resolved", "active"),
    ("resolved", "ongoing"),
    ("mild", "severe"),
    ("mild", "moderate"),
    ("moderate", "severe"),
    ("benign", "malignant"),
    ("increase", "decrease"),
    ("start", "stop"),
    ("continue", "stop"),
    ("systolic", "diastolic"),
    ("hyperkalemia", "hypokalemia"),
    ("hypernatremia", "hyponatremia"),
    ("hyperthyroidism", "hypothyroidism"),
    ("hyperglycemia", "hypoglycemia"),
    ("hypertension", "hypotension"),
    ("tachycardia", "bradycardia"),
)

# Words that a quote cannot leave unsaid, and those that would say as much: "BP 134/86" does not say
# "elevated", and "knee pain" says of neither side.
_DECISIVE_WORDS = (
    "elevated high raised increased up above",
    "low decreased reduced down below",
    "abnormal",
    "uncontrolled",
    "active ongoing",
    "left",
    "right",
)

# One-letter sides, written large; an L behind a number is a litre.
_AFTER_NUMBER = re.compile(r"(?<!\w)\d(?:[\d.,/]*\d)?\s*$")
_SIDES = {"R": "right", "L": "left", "Rt": "right", "Lt": "left", "RT": "right", "LT": "left"}


class Token(NamedTuple):
    """A word or a known multi-word form of a text.

    Attributes:
        start: Where it begins in the text, in characters.
        end: Where it ends, exclusive.
        words: Its canonical words, stemmed; several for an abbreviation.
        plain: The canonical words before stemming.
    """

    start: int
    end: int
    words: tuple[str, ...]
    plain: tuple[str, ...]


@cache
def _stemmer() -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Bring one lower-case word to its stem."""
    return str(_stemmer().stemWord(word))


def _table() -> str:
    return resources.files(__package__).joinpath("synonyms.csv").read_text(encoding="utf-8")


@cache
def _synonyms() -> dict[tuple[str, ...], tuple[str, ...]]:
    return {
        tuple(_RUN.findall(row["form"].lower())): tuple(_RUN.findall(row["canonical"].lower()))
        for row in csv.DictReader(_table().splitlines())
    }


@cache
def _first_words() -> dict[str, int]:
    """For each word that begins a form, the number of words of the longest such form."""
    longest: dict[str, int] = {}
    for form in _synonyms():
        longest[form[0]] = max(len(form), longest.get(form[0], 0))
    return longest


def synonyms_digest() -> str:
    """Digest of the synonym table (12 hex digits): part of the scorer signature."""
    import hashlib

    return hashlib.sha256(_table().encode()).hexdigest()[:12]


def tokenize(text: str, offset: int = 0) -> list[Token]:
    """Split a text into canonical tokens; known multi-word forms become one token.

    Args:
        text: Any text.
        offset: Added to every place, for a text that is a part of a longer one.

    Returns:
        Tokens from left to right. Stop words are among them.
    """
    runs = [(match.start() + offset, match.end() + offset, _word(match)) for match in _RUN.finditer(text)]
    first_words, synonyms = _first_words(), _synonyms()
    tokens: list[Token] = []
    at = 0
    while at < len(runs):
        taken = 1
        plain: tuple[str, ...] = (runs[at][2],)
        for length in range(min(first_words.get(runs[at][2], 0), len(runs) - at), 0, -1):
            form = tuple(run[2] for run in runs[at : at + length])
            if form in synonyms:
                taken, plain = length, synonyms[form]
                break
        tokens.append(Token(runs[at][0], runs[at + taken - 1][1], tuple(stem(word) for word in plain), plain))
        at += taken
    return tokens


def _word(run: re.Match[str]) -> str:
    side = _SIDES.get(run.group())
    if side is not None and not _AFTER_NUMBER.search(run.string[max(0, run.start() - 12) : run.start()]):
        after = run.string[run.end() : run.end() + 1]
        return side if not after or after.isspace() or after in ".,)-" else run.group().lower()
    return run.group().lower()


def is_content(word: str) -> bool:
    """Say whether a plain word says what is meant: no stop word, no bare number."""
    return word not in _STOP_WORDS and not word[0].isdigit()


def content_words(tokens: Iterable[Token]) -> list[str]:
    """Give the stems that say what is meant, in order, without repeats."""
    return list(
        dict.fromkeys(
            stemmed
            for token in tokens
            for stemmed, plain in zip(token.words, token.plain, strict=True)
            if is_content(plain)
        )
    )


@lru_cache(maxsize=16384)
def words_of(text: str) -> frozenset[str]:
    """Give the stems that say what a short text means, such as a claim's core or a gold item's name."""
    return frozenset(content_words(tokenize(text)))


@cache
def generic_stems() -> frozenset[str]:
    """The stems of the words that many unlike things share."""
    return frozenset(stem(word) for word in _SHARED_HEADS | _FILLERS)


@cache
def head_stems(stems: frozenset[str], plain: frozenset[str]) -> frozenset[str]:
    """Give those stems of a claim that name what is wrong: "fracture", "failure", any "-itis" or "-emia".

    Args:
        stems: The claim's stems.
        plain: Its words before stemming.
    """
    shared = frozenset(stem(word) for word in _SHARED_HEADS)
    named = frozenset(stem(word) for word in plain if _DISEASE.search(word))
    return stems & (shared | named)


_DISEASE = re.compile(r"(?:itis|osis|emia|oma|opathy|uria|algia|plegia|sprain|tear|rupture|bleed)$")


@cache
def filler_stems() -> frozenset[str]:
    """The stems of the words that stand around a claim's heads."""
    return frozenset(stem(word) for word in _FILLERS)


def weight(stems: Iterable[str]) -> float:
    """Weigh stems by how much they tell: 1 each, one half for a filler."""
    fillers = filler_stems()
    return sum(0.5 if word in fillers else 1.0 for word in stems)


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for one, other in _OPPOSITE_PAIRS:
        table.setdefault(stem(one), set()).add(stem(other))
        table.setdefault(stem(other), set()).add(stem(one))
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites()
"""For a stem, the stems that contradict it."""

DECISIVE = {
    stem(word): frozenset(stem(other) for other in group.split())
    for group in _DECISIVE_WORDS
    for word in group.split()
    if word not in ("up", "down", "above", "below")
}
"""For the stem of a word that a quote cannot leave unsaid, the stems that say as much."""

KIN = frozenset(
    stem(word)
    for word in "family history fh relative parent mother father mom dad brother sister sibling".split()
)
"""Stems that only say whose condition it is; a note may name another relative's word for it."""
