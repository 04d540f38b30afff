"""Strict evidence: does the quote show what the claim says?

The published rule asks only whether a quote is somewhere in the note. Here every quote that backs
`grounded` or `partial` is read: it must be made of whole words, be short enough to point at
something, speak of the claim, carry the claim's numbers, and stand in a place that says the same of
the patient as the claim does. Each failing has a name, and a claim with any failing is unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, get_args

from clinical_evals.language.quantities import Quantity, quantities
from clinical_evals.language.wording import (
    DECISIVE,
    KIN,
    OPPOSITES,
    Token,
    content_words,
    filler_stems,
    generic_stems,
    head_stems,
    tokenize,
    weight,
)

from .claims import Claim
from .context import Assertion, ContextReader
from .doses import numbers_agree
from .note_reader import NoteReader, Stretch
from .spans import FoldedNote, Span
from .verdicts import CheckedVerdict, Label

__all__ = [
    "MAX_QUOTE_WORDS",
    "REASONS",
    "NoteReader",
    "Reason",
    "StrictVerdict",
    "check_evidence",
    "mark_duplicates",
]

Reason = Literal[
    "fake_span",
    "no_span",
    "mid_token_span",
    "broad_span",
    "off_claim_span",
    "number_mismatch",
    "opposite_word",
    "negated",
    "family_history",
    "uncertain",
    "hypothetical",
    "discontinued",
    "duplicate_claim",
]
REASONS: tuple[Reason, ...] = get_args(Reason)

MAX_QUOTE_WORDS = 40
MAX_CLAIM_CHARACTERS = 600
_MOST_PLACES = 25  # of one quote in one note; more would only be a very common word
_WIDEST_GAP = 5  # tokens between two words of one mention


class Mention(NamedTuple):
    """A place in the note that uses the claim's words."""

    start: int
    end: int
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class StrictVerdict:
    """A claim's label once its evidence has been read.

    Attributes:
        label: The grader's label, or unsupported if any reason holds.
        reasons: Why the label was lowered, in the order of `REASONS`; empty if it was not.
        span: The place of the quote that was judged, None without a real quote.
        mention: The place inside it that speaks of the claim, None if no place does.
    """

    label: Label
    reasons: tuple[Reason, ...]
    span: Span | None
    mention: Mention | None


@dataclass(frozen=True, slots=True)
class _ClaimWords:
    core: frozenset[str]
    least: float  # the weight that a mention must exceed; for half credit a third is enough
    telling: frozenset[str]  # the core words that are not shared by many unlike things
    said_in_full: frozenset[str]  # all words that a grounded claim's place must say
    heads: frozenset[str]  # those that name what is wrong, for a problem
    one_phrase: bool  # a problem named without a comma or "and": its words must not come from two
    every: frozenset[str]
    numbers: tuple[Quantity, ...]
    assertions: frozenset[Assertion]


@lru_cache(maxsize=4096)
def _claim_words(claim: Claim) -> _ClaimWords:
    tokens = tokenize(claim.text)
    core_tokens = tokenize(claim.core)
    core = frozenset(content_words(core_tokens)) or frozenset(
        word for token in core_tokens for word in token.words
    )
    assertions = _assertions_by_word(ContextReader(claim.text), tokens)
    return _ClaimWords(
        core=core,
        # Half of a drug's name is still its name ("insulin glargine"); half of "chest pain" is not.
        least=weight(core) * (0.49 if claim.category == "medication" else 0.5),
        telling=core - generic_stems(),
        said_in_full=frozenset(content_words(tokens))
        - filler_stems()
        - (KIN if "family_history" in assertions else frozenset()),
        heads=head_stems(core, frozenset(word for token in core_tokens for word in token.plain))
        if claim.category == "problem"
        else frozenset(),
        every=frozenset(word for token in tokens for word in token.words),
        one_phrase=claim.category == "problem" and not _BREAK.search(claim.core),
        numbers=tuple(quantities(claim.text, tokens)),
        assertions=assertions,
    )


def _assertions_by_word(reader: ContextReader, tokens: Sequence[Token]) -> frozenset[Assertion]:
    found: frozenset[Assertion] = frozenset()
    for token in tokens:
        found |= reader.assertions(token.start, token.end)
    return found


def check_evidence(
    note: NoteReader, verdict: CheckedVerdict, equals: Sequence[CheckedVerdict] = ()
) -> StrictVerdict:
    """Read the evidence for one verdict.

    Args:
        note: The note.
        verdict: The verdict as the published rules left it.
        equals: The grader's other verdicts for the same claim with the same label; the worst counts.

    Returns:
        The strict verdict. A quote that stands in several places is judged at the most favourable.
    """
    if equals:
        judged = [check_evidence(note, one) for one in (verdict, *equals)]
        return max(judged, key=lambda one: len(one.reasons))
    if verdict.claimed in (None, "unsupported"):
        return StrictVerdict("unsupported", (), None, None)
    if verdict.quote is None:
        return StrictVerdict("unsupported", ("fake_span" if verdict.fake_quote else "no_span",), None, None)
    best: StrictVerdict | None = None
    for span in islice(note.folded.find_all(verdict.quote), _MOST_PLACES):
        reasons, mention = _judge_place(note, verdict.claim, verdict.claimed, span)
        if best is None or len(reasons) < len(best.reasons):
            label = "unsupported" if reasons else verdict.claimed
            best = StrictVerdict(label or "unsupported", reasons, span, mention)
        if not reasons:
            break
    assert best is not None  # a kept quote stands somewhere
    return best


def _judge_place(
    note: NoteReader, claim: Claim, claimed: Label | None, span: Span
) -> tuple[tuple[Reason, ...], Mention | None]:
    if len(text := note.note[span.start : span.end]) > 40 * MAX_QUOTE_WORDS or _is_broad(note, span, text):
        return ("broad_span",), None  # it points at nothing, whatever it holds
    if len(claim.text) > MAX_CLAIM_CHARACTERS:
        return ("off_claim_span",), None  # no sentence of a note says all that
    quoted = note.stretch(*span)
    words = _claim_words(claim)
    general: set[Reason] = set()
    if _cuts_token(note.note, span.start) or _cuts_token(note.note, span.end):
        general.add("mid_token_span")
    least = words.least if claimed == "grounded" else weight(words.core) / 3
    mentions = _mentions(note, words, quoted.tokens, least) or _copied(claim, words, quoted.text, span.start)
    if not mentions:
        general.add("off_claim_span")
        if not numbers_agree(words.numbers, quoted.numbers, (), note.note, span.start, own_clause=False):
            general.add("number_mismatch")
        return _ordered(general), None
    judged = [(_judge_mention(note, claim, words, claimed, mention, quoted), mention) for mention in mentions]
    reasons, mention = min(judged, key=lambda pair: len(pair[0]))
    return _ordered(general | reasons), mention


def _ordered(reasons: set[Reason]) -> tuple[Reason, ...]:
    return tuple(reason for reason in REASONS if reason in reasons)


def _cuts_token(note: str, at: int) -> bool:
    """Say whether the border before character `at` runs through a word or a number."""
    if not 0 < at < len(note):
        return False
    before, after = note[at - 1], note[at]
    if before.isalnum() and after.isalnum():
        return True
    if before.isdigit() and after in ".,/" and note[at + 1 : at + 2].isdigit():
        return True
    return before in ".,/" and after.isdigit() and at > 1 and note[at - 2].isdigit()


def _is_broad(note: NoteReader, span: Span, text: str) -> bool:
    if len(text.split()) > MAX_QUOTE_WORDS:
        return True
    _, first_end = note.context.segment(span.start, span.start + 1)
    return first_end < span.end and len(text) > 0.8 * len(note.note.strip())


def _mentions(note: NoteReader, words: _ClaimWords, tokens: Sequence[Token], least: float) -> list[Mention]:
    """Find the places in a quote whose words of the claim outweigh `least`, a telling one among them."""
    runs: list[list[Token]] = []
    last = 0
    segment_end = -1
    for index, token in enumerate(tokens):
        if not words.core.intersection(token.words):
            continue
        near = (
            runs
            and token.start < segment_end
            and index - last <= _WIDEST_GAP + 1
            and not (words.one_phrase and _BREAK.search(note.note, tokens[last].end, token.start))
        )
        # A list may break its line between two words of one name.
        broken = runs and index - last == 1 and not note.note[tokens[last].end : token.start].strip()
        if not (near or broken):
            runs.append([])
        runs[-1].append(token)
        segment_end = note.context.segment(token.start, token.end)[1]
        last = index
    found = []
    for run in runs:
        said = words.core.intersection(word for token in run for word in token.words)
        told = all(not needed or needed & said for needed in (words.telling, words.heads))
        if told and weight(said) > least:
            found.append(Mention(run[0].start, run[-1].end, said))
    most = max((len(mention.words) for mention in found), default=0)
    return [mention for mention in found if len(mention.words) == most]


def _copied(claim: Claim, words: _ClaimWords, quote: str, offset: int) -> list[Mention]:
    """A claim copied out of the quote speaks of it, over however many clauses its words are spread."""
    place = FoldedNote(quote).find(claim.core)
    whole = place and not (_cuts_token(quote, place.start) or _cuts_token(quote, place.end))
    return [Mention(place.start + offset, place.end + offset, words.core)] if place and whole else []


def _judge_mention(
    note: NoteReader,
    claim: Claim,
    words: _ClaimWords,
    claimed: Label | None,
    mention: Mention,
    quoted: Stretch,
) -> set[Reason]:
    reasons: set[Reason] = set()
    around = note.stretch(*note.context.segment(mention.start, mention.end))
    said = around.words
    drug = claim.category == "medication"
    if not numbers_agree(
        words.numbers, quoted.numbers, around.numbers, note.note, mention.start, own_clause=drug
    ):
        reasons.add("number_mismatch")
    denied = {word for word in words.every - said if OPPOSITES.get(word, frozenset()) & said}
    clause = note.stretch(*_clause(note, around, mention)).words
    denied |= {word for word in words.every & _SIDES - clause if OPPOSITES[word] & clause}
    if denied:
        reasons.add("opposite_word")
    if any(not DECISIVE[word] & said for word in words.every - denied if word in DECISIVE):
        reasons.add("off_claim_span")
    if claimed == "grounded" and words.said_in_full - said - quoted.words - denied:
        reasons.add("off_claim_span")
    of_note = note.context.assertions(mention.start, mention.end)
    of_words = of_note | _assertions_by_word(
        note.context, [token for token in around.tokens if mention.start <= token.start < mention.end]
    )
    reasons.update(of_note - words.assertions)
    # A claim that denies, or speaks of a relative or a stopped drug, needs a place that does too.
    reasons.update(words.assertions.intersection(("negated", "family_history", "discontinued")) - of_words)
    if claim.category == "problem" and "allergi" in words.every:
        reasons.discard("discontinued")
    if drug and "discontinued" not in words.assertions and _ended(note, words, mention):
        reasons.add("discontinued")
    return reasons


_SIDES = frozenset(OPPOSITES).intersection(("left", "right"))
_BREAK = re.compile(r"[,;]|\band\b")


def _clause(note: NoteReader, around: Stretch, mention: Mention) -> tuple[int, int]:
    """The part of a sentence between commas that a mention stands in: a side belongs to its own part."""
    start = around.tokens[0].start if around.tokens else mention.start
    end = around.tokens[-1].end if around.tokens else mention.end
    breaks = [match.start() for match in _BREAK.finditer(note.note, start, end)]
    before = [at for at in breaks if at < mention.start]
    after = [at for at in breaks if at >= mention.end]
    return (before[-1] if before else start), (after[0] if after else end)


_STOP = re.compile(r"\b(?:stop|quit|discontinu\w*|d/?c)(?:p?ed|'?d)?\b", re.IGNORECASE)


def _ended(note: NoteReader, words: _ClaimWords, mention: Mention) -> bool:
    """Say whether the note's last word on a drug, somewhere behind the mention, is that it is stopped."""
    named = words.telling or words.core
    last = next((token for token in reversed(note.tokens) if named.intersection(token.words)), None)
    if last is None or last.start < mention.end:
        return False
    start, end = note.context.segment(last.start, last.end)
    # A drug on hold for a day is still the patient's drug.
    return bool(_STOP.search(note.note, start, end)) and "discontinued" in note.context.assertions(
        last.start, last.end
    )


def mark_duplicates(claims: Sequence[Claim], verdicts: Sequence[StrictVerdict]) -> list[StrictVerdict]:
    """Lower every supported claim that says again what an earlier supported claim said.

    A claim repeats another of its category when both have the same words and numbers, or when all
    words of one are among the other's and both point to the same place in the note.

    Args:
        claims: The claims in order.
        verdicts: Their strict verdicts.

    Returns:
        The verdicts with `duplicate_claim` added where it applies.
    """
    kept: list[tuple[Claim, StrictVerdict]] = []
    marked: list[StrictVerdict] = []
    for claim, verdict in zip(claims, verdicts, strict=True):
        if verdict.label == "unsupported":
            marked.append(verdict)
        elif any(_repeats(claim, verdict, *earlier) for earlier in kept):
            marked.append(StrictVerdict("unsupported", ("duplicate_claim",), verdict.span, verdict.mention))
        else:
            kept.append((claim, verdict))
            marked.append(verdict)
    return marked


def _repeats(claim: Claim, verdict: StrictVerdict, other_claim: Claim, other: StrictVerdict) -> bool:
    if claim.category != other_claim.category:
        return False
    mine, theirs = _claim_words(claim), _claim_words(other_claim)
    same_numbers = {number[1:] for number in mine.numbers} == {number[1:] for number in theirs.numbers}
    if mine.core == theirs.core and same_numbers and mine.assertions == theirs.assertions:
        return True
    if verdict.mention is None or other.mention is None:
        return False
    overlap = verdict.mention.start < other.mention.end and other.mention.start < verdict.mention.end
    return overlap and (mine.core <= theirs.core or theirs.core <= mine.core)
