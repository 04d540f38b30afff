"""Token F1: how many of the words of a reference a summary shares, and how many of its words are shared.

The measure of SQuAD (Rajpurkar et al. 2016, arXiv:1606.05250) on lower-cased words as a multiset, with two
differences that clinical text asks for. Articles are kept, because nothing is gained by leaving them out.
Punctuation separates words instead of being deleted, except inside a number: `7.5`, `130/85` and `3/7` are
one token each, so a wrong dose shares nothing with the right one, while `20mg` and `20 mg` are the same two.
"""

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from .sections import COMPARED, Section, split_soap

__all__ = ["F1", "SoapF1", "soap_f1", "token_f1", "tokens"]

_NUMBER = r"\d+(?:[.,:/]\d+)*"
# A word may hold digits (`b12`, `covid19`) and apostrophes (`don't`), and ends before an underscore.
_TOKEN = re.compile(rf"{_NUMBER}|[^\W\d_][^\W_]*(?:'[^\W_]+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class F1:
    """Precision, recall and F1, each from 0 to 1, or all NaN where both texts hold no word.

    Attributes:
        precision: Share of the candidate's tokens that the reference has too.
        recall: Share of the reference's tokens that the candidate has too.
        f1: Their harmonic mean.
        overlap: Tokens shared, as a multiset.
        reference: Tokens of the reference.
        candidate: Tokens of the candidate.
    """

    precision: float
    recall: float
    f1: float
    overlap: int
    reference: int
    candidate: int


@dataclass(frozen=True, slots=True)
class SoapF1:
    """Token F1 a section.

    Attributes:
        sections: `subjective`, `objective` and `assessment_plan`, as far as either note has them.
            `assessment` and `plan` are there too if both notes hold the two apart. A section that only one
            of the notes has is 0.
        precision: Mean over `subjective`, `objective` and `assessment_plan` as far as they are there; NaN if
            a note has no headings. `assessment` and `plan` do not enter, so that a note's choice to write
            them together or apart changes nothing.
        recall: The same of recall.
        f1: The same of F1.
        undefined: Which note has words but no headings, so that there is no figure: `reference` or
            `candidate`; None if there is one.
    """

    sections: dict[Section, F1]
    precision: float
    recall: float
    f1: float
    undefined: str | None


def tokens(text: str) -> list[str]:
    """Return the lower-cased words and numbers of a text, in order.

    Characters that only look different are made alike first (NFKC; curly apostrophes).
    """
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    return [word.replace(",", "") if _THOUSANDS.fullmatch(word) else word for word in _TOKEN.findall(plain)]


def token_f1(reference: str, candidate: str) -> F1:
    """Compare two texts by their words.

    Symmetric but for precision and recall, which change places. Both without words: NaN, there is nothing to
    compare. One without words: 0, so an empty summary loses to any other.

    Args:
        reference: The text that is taken to be right.
        candidate: The text that is graded.
    """
    wanted, given = Counter(tokens(reference)), Counter(tokens(candidate))
    return _f1((wanted & given).total(), wanted.total(), given.total())


def soap_f1(reference: str, candidate: str) -> SoapF1:
    """Compare two notes section by section.

    Sections are found by their headings; see `split_soap`. A candidate without any word has no headings to
    miss: each section of the reference is 0 then.

    Args:
        reference: The note that is taken to be right.
        candidate: The note that is graded.
    """
    wanted, given = split_soap(reference), split_soap(candidate)
    undefined = None
    if not wanted:
        undefined = "reference"
    elif not given and tokens(candidate):
        undefined = "candidate"
    if undefined:
        return SoapF1({}, math.nan, math.nan, math.nan, undefined)
    sections: dict[Section, F1] = {}
    for section, parts in COMPARED.items():
        mine, theirs = ("\n".join(note[part] for part in parts if part in note) for note in (wanted, given))
        scored = token_f1(mine, theirs)
        if not math.isnan(scored.f1):
            sections[section] = scored
    main = list(sections.values())
    apart: tuple[Section, ...] = ("assessment", "plan")
    if all(part in note for part in apart for note in (wanted, given)):
        sections |= {part: token_f1(wanted[part], given[part]) for part in apart}
    means = {name: _mean(main, name) for name in ("precision", "recall", "f1")}
    return SoapF1(sections, **means, undefined=None)


def _f1(overlap: int, reference: int, candidate: int) -> F1:
    if not reference and not candidate:
        return F1(math.nan, math.nan, math.nan, 0, 0, 0)
    precision = overlap / candidate if candidate else 0.0
    recall = overlap / reference if reference else 0.0
    return F1(precision, recall, 2 * overlap / (reference + candidate), overlap, reference, candidate)


def _mean(scored: list[F1], name: str) -> float:
    return math.fsum(getattr(one, name) for one in scored) / len(scored) if scored else math.nan
