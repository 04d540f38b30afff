"""Words as the best retriever compares them: one form for an organ's noun and adjective, singular, stemmed.

ICD-10-CM says "gastric" in one name and "stomach" in the next. Two small tables of ours bring such words
together: `best_words.csv` (one word for another, used on names and queries alike) and `best_terms.csv` (a
term that clinicians use and the wordings or the codes of the classification that it covers, used on queries
only). The abbreviations and lay terms of the grounding scorer's table are understood in queries as well.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import resources

from clinical_evals.language.wording import stem, tokenize

_RUN = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s\b")
_NON = re.compile(r"\bnon[- ](?=[a-z])", re.I)
_MENTION = re.compile(
    r"(?<=\w)[,;]?\s+(?:with|without|due to|in|following|complicating|associated with|not)\s", re.I
)
_LATIN_END = re.compile(r"(?:ium|eum|um|us|ia|a|i|e|o|y)$")
_LETTER_A = re.compile(r"\b(hepatitis|vitamin|influenza|group|hemophilia) a\b", re.I)
_SHORTEST_ROOT = 5

_JOINING_WORDS = """of the and or in to for by on a an at with from as not nor than any all both"""
_GENERIC_WORDS = """
    disorder disease condition other specify specified unspecified nonspecific certain elsewhere
    classified classification related type site part form due involving associated including include
    general miscellaneous various otherwise nos nec code system problem ill defined following during
    patient adult history mellitus
"""

# Words whose presence or absence leaves a term what it is.
_NEUTRAL_WORDS = "disorder disease condition illness unspecified nos type mellitus patient adult finding"
_DECISIVE_WORDS = """acute benign chronic congenital malignant primary secondary situ without"""


def name_words(text: str) -> list[str]:
    """Give the canonical words of a name in the classification, in order, repeats included."""
    # Thousands of names end alike (", initial encounter for closed fracture").
    return [word for phrase in text.split(", ") for word in _phrase_words(phrase)]


@lru_cache(maxsize=65536)
def _phrase_words(text: str) -> tuple[str, ...]:
    return tuple(word for run in _RUN.findall(_plain(text).lower()) for word in canonical(run))


def split_name(text: str) -> tuple[str, str]:
    """Split a name into what it is of and what it only mentions, such as "Cystitis" and "with hematuria"."""
    cut = _MENTION.search(text)
    return (text[: cut.start()], text[cut.start() :]) if cut else (text, "")


def query_words(text: str) -> list[str]:
    """Give the canonical words of a query; abbreviations and lay terms are spelled out first."""
    return [word for token in tokenize(_plain(text)) for plain in token.plain for word in canonical(plain)]


@lru_cache(maxsize=65536)
def canonical(word: str) -> tuple[str, ...]:
    """Give the canonical form of one lower-case word; none for a word that only joins others."""
    if word in _joining():
        return ()
    table = _table()
    for form in (word, word.removesuffix("s"), re.sub("ies$", "y", word)):
        if form in table:
            return (table[form],)
    if word.startswith("non") and len(word) > 7:
        # "noninfectious" is not "infectious", but is "noninfective".
        return tuple(f"non{part}" for part in canonical(word[3:]))
    if word.endswith("itides"):
        return (word.removesuffix("ides") + "is",)
    if word.endswith("itis"):
        return (word,)  # the stemmer would make "tonsil" of "tonsillitis"
    stemmed = stem(word)
    root = _LATIN_END.sub("", stemmed)
    return (root if len(root) >= _SHORTEST_ROOT else stemmed,)


@cache
def generic_words() -> frozenset[str]:
    """The canonical words that tell little of what is meant."""
    return frozenset(form for word in _GENERIC_WORDS.split() for form in canonical(word))


@cache
def _neutral_words() -> frozenset[str]:
    return frozenset(form for word in _NEUTRAL_WORDS.split() for form in canonical(word))


@cache
def decisive_words() -> frozenset[str]:
    """The canonical words that are common and yet decide what is meant."""
    return frozenset(form for word in _DECISIVE_WORDS.split() for form in canonical(word))


@cache
def known_terms() -> dict[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """For the canonical words of a term, those of the wordings that it covers."""
    return {
        tuple(name_words(term)): tuple(tuple(name_words(wording)) for wording in row["wordings"].split("|"))
        for row in read_terms()
        if row["wordings"]
        for term in row["term"].split("|")
    }


@cache
def known_sets() -> dict[frozenset[str], tuple[str, ...]]:
    """For the telling words of a term, the codes and ranges that it means; `!` marks what is not meant."""
    return {
        telling(words): tuple(row["codes"].split())
        for row in read_terms()
        if row["codes"]
        for term in row["term"].split("|")
        for words in (name_words(term), query_words(term))
    }


@cache
def spelled_terms() -> frozenset[frozenset[str]]:
    """The words of each term with codes, also those such as "disease"."""
    terms = [term for row in read_terms() if row["codes"] for term in row["term"].split("|")]
    return frozenset(frozenset(words(term)) for term in terms for words in (name_words, query_words))


def read_terms() -> list[dict[str, str]]:
    """Read the rows of `best_terms.csv`: `term` (several apart by a bar), `wordings`, `codes`."""
    return _rows("best_terms.csv")


def telling(words: Iterable[str]) -> frozenset[str]:
    """Leave out the words without which a term is still the same."""
    return frozenset(words) - _neutral_words()


def _plain(text: str) -> str:
    if not text.isascii():  # Ménière, Sjögren
        text = "".join(
            char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)
        )
    # The letter of "hepatitis A" is no article.
    return _LETTER_A.sub(r"\1 lettera", _NON.sub("non", _POSSESSIVE.sub("", text)))


@cache
def _joining() -> frozenset[str]:
    return frozenset(_JOINING_WORDS.split())


@cache
def _table() -> dict[str, str]:
    table: dict[str, str] = {}
    for row in _rows("best_words.csv"):
        table |= dict.fromkeys([row["canonical"], *row["words"].split()], row["canonical"])
    return table


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_text(name).splitlines()))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
