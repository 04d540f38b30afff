"""How far a trigger works: the walk over the marks to its right or left until something ends its scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from clinical_evals.grounding.context.triggers import Assertion, Effect, Kind, Reach


class Mark(NamedTuple):
    """A phrase found at [start, end); ``effects`` is empty unless it is a trigger."""

    start: int
    end: int
    kind: Kind
    effects: tuple[Effect, ...] = ()


class Line(NamedTuple):
    """One segment [start, end) of the folded text, with its marks in order."""

    folded: str
    start: int
    end: int
    marks: Sequence[Mark]
    runs_on: bool = False  # long dictation without a comma: an "if" is believed over fewer words

    def between(self, left: int, right: int) -> str:
        """The words of a gap, without surrounding spaces."""
        return self.folded[left:right].strip()


CONDITION = Effect("hypothetical", "forward", "sentence")
"""What "if" does to the words behind it."""

# Words that may stand between a trigger and what it speaks of.
_FILLER = re.compile(
    r"(?:[\s\-:(\"'.]|\b(?:that|the|any|of|a|an|his|her|their|this|it|he|she|they|there|to|be|been|having|some"
    r"|such|significant|prior|past|recent|current|currently|acute|definite|clear|obvious|overt|other|new|known"
    r"|strong|further|about|all|home|patient|pt|taking|also|both|either|him|whether|if|for|possibly|mild|severe"
    r"|active|previous|use|patient's|pt's|own)\b)*"
)
_TOLD = re.compile(r"(?:he|she)\b|(?!f)[a-z]+:")
_BOTH = re.compile(r"(?:very |highly )?unlikely|less likely")
_PLURAL = re.compile(r"(?:are|were|have|all)\b")
_SINGULAR = re.compile(r"(?:is|was|has)\b")
_OWN_VERB = re.compile(
    r"\s*(?:also |now |currently |himself |herself )*(?:has|is|denies|reports|takes|does|states|presents"
    r"|continues|complains|feels|smokes|drinks|will|had)\b"
)
_DESCRIPTIVE = frozenset(
    "is are was were has had gets worsens improves feels worse better".split()
)  # "The pain is worse if he bends" is no plan
_CLOSING_A_CONDITION = (";", "|", "but", "however", "otherwise")
_RELATIVES_TOO = ("who", "which", "positive", "positive for", "pos", "pos for", "+", "also has")
_COMPOUND = re.compile(
    r"(?<![a-z0-9'/\-])(?:(?!(?:the|a|an|of|to|for|and|or|over|with|on|in|as|is|was|at|by|no|any|his|her|their|has"
    r"|have|high|low|increased|average)\b)[a-z0-9][a-z0-9'/\-]* +){0,3}$"
)
_BULLETS = " -*•>#"
# Adverbs between a verb and what it speaks of, to its left: "X had already been stopped".
_ADVERBS = re.compile(
    r"(?:[\s\-:(\"'.?=]|\b(?:already|also|just|since|then|both|all|now|again|subsequently|temporarily|initially"
    r"|previously|recently|later|finally)\b)*"
)
_WORD = re.compile(r"[a-z0-9]\S*")
# Dictation runs on without punctuation: more words than this in a row are not believed to be one scope.
_MOST_WORDS: dict[Reach, int] = {"compound": 3, "list": 10, "coordinated": 9, "phrase": 7, "sentence": 30}
_OPENERS = (Kind.VERB, Kind.BE_VERB, Kind.WEAK_VERB, Kind.SUBJECT, Kind.TRIGGER, Kind.HARMLESS, Kind.STOP)
# Nor does any real sentence need a longer look; the bounds keep the time linear in the text's length.
_MOST_MARKS = 120
_MOST_LETTERS = 3_000
# Which scopes a preposition ends, beside those of one noun phrase: "stopped X for Y", "monitor for X on Y".
_ENDED_BY: dict[Kind, tuple[Assertion, ...]] = {
    Kind.PREPOSITION: ("discontinued", "hypothetical"),
    Kind.FOR: ("discontinued", "negated"),
}
# "As needed, and ..." or "stopped, ..." speak of nothing to their right.
_NEEDS_OBJECT: tuple[Assertion, ...] = ("hypothetical", "discontinued")


class _Forward:
    """The walk to the right of one trigger."""

    def __init__(self, line: Line, number: int, effect: Effect) -> None:
        self.line, self.number = line, number
        self.reach, self.assertion = effect.reach, effect.assertion
        self.kin = effect.assertion == "family_history"
        self.at = self.counted = line.marks[number].end
        # "Mom: O pos, takes ...", "(he takes ...": all verbs are the relative's.
        self.told = self.kin and _TOLD.match(line.folded, line.marks[number].start, line.end) is not None
        self.limit = _limit(line, self.at, effect.reach)
        self.content = False  # the scope already holds a word of its own
        self.cut: int | None = None  # the last comma or "and", where a new clause may have begun
        self.before = Kind.TRIGGER
        self.blank = self.behind_cut = False
        self.gap = ""

    def end(self) -> int:
        """Where the scope ends."""
        if self.reach == "sentence":
            return self._end_of_condition()
        marks, folded = self.line.marks, self.line.folded
        most = _MOST_WORDS[self.reach]
        for follower in range(self.number + 1, min(len(marks), self.number + _MOST_MARKS)):
            mark = marks[follower]
            if mark.start >= self.limit:
                break
            self.gap = folded[self.at : mark.start]
            self.blank = not self.gap or self.gap.isspace()
            if not self.content and not self.blank:
                self.content = _FILLER.fullmatch(self.gap) is None
            self.behind_cut = self.blank and self.cut is not None and self.before in (Kind.COMMA, Kind.AND)
            if mark.start - self.counted > 30 and len(folded[self.counted : mark.start].split()) > most:
                break
            stop = _ON_MARK[mark.kind](self, follower, mark)
            if stop is not None:
                return stop
            self.at, self.before = mark.end, mark.kind
        return _drawn_in(self.line.folded, self.counted, self.limit, most, from_left=True)

    def _end_of_condition(self) -> int:
        for mark in self.line.marks[self.number + 1 : self.number + _MOST_MARKS]:
            if mark.kind is Kind.STOP and self.line.folded[mark.start : mark.end] in _CLOSING_A_CONDITION:
                return min(mark.start, self.limit)
        most = 8 if self.line.runs_on else _MOST_WORDS["sentence"]
        return _drawn_in(self.line.folded, self.at, self.limit, most, from_left=True)

    def _cut_or(self, start: int) -> int:
        return self.cut if self.behind_cut and self.cut is not None else start

    def _on_stop(self, _: int, mark: Mark) -> int | None:
        runs_on = self.kin and self.line.folded[mark.start : mark.end] in _RELATIVES_TOO
        return None if runs_on else mark.start

    def _on_soft_stop(self, _: int, mark: Mark) -> int | None:
        return None if self.kin or not (self.content or self.behind_cut) else self._cut_or(mark.start)

    def _on_verb(self, _: int, mark: Mark) -> int | None:
        if self.told:
            return None
        runs_on = self.kin and mark.kind is Kind.BE_VERB
        if runs_on and self.behind_cut and self.line.folded[mark.start : mark.end] in ("has", "is", "have"):
            runs_on = False
        if runs_on or not (self.content or self.behind_cut) or (self.blank and self.before is Kind.OR):
            return None
        # "No fever, cough is productive": the clause with the verb began at the comma.
        return mark.start if self.cut is None else self.cut

    def _on_weak_verb(self, _: int, mark: Mark) -> int | None:
        return self.cut if self.behind_cut else None

    def _on_preposition(self, _: int, mark: Mark) -> int | None:
        ends = self.reach == "phrase" or self.assertion in _ENDED_BY[mark.kind]
        if self.reach == "coordinated" and self.assertion == "negated":
            # "Migraine without aura with overuse headache"
            ends = ends or self.line.folded[mark.start : mark.end] in ("with", "w/")
        missing = self.assertion == "hypothetical" and mark.kind is Kind.PREPOSITION
        if ends and (self.content or missing):
            return mark.start
        return self.cut if self.behind_cut and not self.kin else None

    def _on_subject(self, _: int, mark: Mark) -> int | None:
        if not (self.content or self.behind_cut):
            return None
        folded = self.line.folded
        patient = not self.kin or folded[mark.start] == "p" or folded.startswith("the", mark.start)
        if patient or _OWN_VERB.match(folded, mark.end, self.limit):
            return self._cut_or(mark.start)
        return None

    def _on_trigger(self, _: int, mark: Mark) -> int | None:
        other = mark.effects[0]
        if not (self.content or self.behind_cut) or other.direction != "forward":
            return None
        if other.assertion == self.assertion or (self.kin and other.assertion in ("negated", "uncertain")):
            return None
        if self.assertion == "hypothetical" and not self.behind_cut:
            return None
        return self._cut_or(mark.start)

    def _on_harmless(self, _: int, mark: Mark) -> int | None:
        if self.behind_cut and not self.kin:
            return self.cut
        self.content = True
        return None

    def _on_comma(self, follower: int, mark: Mark) -> int | None:
        if not self.content:
            return mark.start if self.assertion in _NEEDS_OBJECT else None
        leader = self.line.marks[self.number - 1] if self.number else None
        in_condition = leader is not None and is_condition(leader) and self.assertion == "negated"
        if self.reach == "phrase" or in_condition:
            return mark.start
        if self.reach == "coordinated" and not _coordinated(self.line, follower):
            return mark.start
        self.cut, self.counted = mark.start, mark.end
        return None

    def _on_and(self, _: int, mark: Mark) -> int | None:
        if not self.content:
            return mark.start if self.assertion in _NEEDS_OBJECT else None
        if self.reach == "phrase":
            return mark.start
        self.cut, self.counted = mark.start, mark.end
        return None

    def _on_or(self, _: int, mark: Mark) -> int | None:
        self.cut, self.counted = None, mark.end
        return None

    def _on_colon(self, _: int, mark: Mark) -> int | None:
        heads = self.assertion != "negated" and not self.line.between(
            self.line.start, self.line.marks[self.number].start
        ).strip(_BULLETS)
        if not self.content or heads:  # "Stopped at hospital: X"
            return None
        # "no fever lungs: clear": the label in front of the colon is not in the scope either.
        words = self.gap.split()
        return self.cut if self.cut is not None else mark.start - len(words[-1] if words else "")


_ON_MARK: dict[Kind, Callable[[_Forward, int, Mark], int | None]] = {
    Kind.TRIGGER: _Forward._on_trigger,
    Kind.HARMLESS: _Forward._on_harmless,
    Kind.STOP: _Forward._on_stop,
    Kind.SOFT_STOP: _Forward._on_soft_stop,
    Kind.BE_VERB: _Forward._on_verb,
    Kind.VERB: _Forward._on_verb,
    Kind.WEAK_VERB: _Forward._on_weak_verb,
    Kind.PREPOSITION: _Forward._on_preposition,
    Kind.FOR: _Forward._on_preposition,
    Kind.SUBJECT: _Forward._on_subject,
    Kind.COMMA: _Forward._on_comma,
    Kind.AND: _Forward._on_and,
    Kind.OR: _Forward._on_or,
    Kind.COLON: _Forward._on_colon,
}


def is_condition(mark: Mark) -> bool:
    """Whether the mark is an "if"."""
    return bool(mark.effects) and mark.effects[0] == CONDITION


def end_of_scope(line: Line, number: int, effect: Effect) -> int:
    """Where the scope to the right of mark ``number`` ends."""
    return _Forward(line, number, effect).end()


def begin_of_scope(line: Line, number: int, effect: Effect) -> int:
    """Where the scope to the left of mark ``number`` begins."""
    trigger = line.marks[number]
    if effect.reach == "sentence":
        return _begin_of_main_clause(line, number)
    if effect.reach == "compound":
        compound = _COMPOUND.search(line.folded, max(line.start, trigger.start - 60), trigger.start)
        return compound.start() if compound else trigger.start
    begin = _opening_bracket(line, trigger.start)
    words = line.folded[trigger.start : trigger.end]
    joined, phrase = _PLURAL.match(words) is not None, effect.reach == "phrase"
    one_noun = _SINGULAR.match(words) is not None or (phrase and _BOTH.match(words) is None)
    aside = _aside_before(line, begin, trigger.start)
    content = labelled = elided = False

    at = counted = trigger.start
    for mark in reversed(line.marks[max(0, number - _MOST_MARKS) : number]):
        content = content or _ADVERBS.fullmatch(line.folded, mark.end, max(mark.end, at)) is None
        if mark.kind is Kind.AND and not content and effect.assertion == "discontinued":
            elided = True  # "was tried last year and stopped"
        passes = elided and mark.kind in (Kind.AND, Kind.BE_VERB, Kind.VERB, Kind.FOR)
        passes = passes or aside[0] <= mark.start < aside[1]
        ends = _ends_leftward(mark, line.folded, content, joined=joined, one_noun=one_noun, phrase=phrase)
        if ends and not passes:
            return max(begin, mark.end)
        if mark.kind is Kind.COLON:
            labelled = joined = True
        elif mark.kind in (Kind.AND, Kind.OR):
            joined, counted = True, mark.start
        elif mark.kind is Kind.COMMA and content:
            counted = mark.start
        at = mark.start
    if labelled:
        return begin
    return _drawn_in(line.folded, begin, counted, _MOST_WORDS[effect.reach], from_left=False)


def _ends_leftward(
    mark: Mark, folded: str, content: bool, *, joined: bool, one_noun: bool, phrase: bool
) -> bool:
    """Whether a backward scope begins behind this mark."""
    kind = mark.kind
    if kind is Kind.STOP:
        return content or folded[mark.start : mark.end] != "which"
    if kind in (Kind.HARMLESS, Kind.SUBJECT):
        return True
    if kind is Kind.TRIGGER:
        return content or mark.effects[0].direction == "backward"
    if kind is Kind.COMMA:
        return content and not joined
    if kind is Kind.AND:
        return not content or one_noun
    if kind is Kind.PREPOSITION:
        return content and phrase
    return content and kind in (Kind.BE_VERB, Kind.VERB, Kind.SOFT_STOP, Kind.FOR, Kind.COLON)


def _begin_of_main_clause(line: Line, number: int) -> int:
    """Where the clause begins that an "if" behind it makes conditional ("CT head if headache recurs")."""
    trigger, folded = line.marks[number], line.folded
    content = joined = False
    at = trigger.start
    for leader in range(number - 1, max(0, number - _MOST_MARKS) - 1, -1):
        mark = line.marks[leader]
        content = content or bool(folded[mark.end : at].strip(" -:("))
        described = mark.kind in (Kind.BE_VERB, Kind.VERB) and folded[mark.start : mark.end] in _DESCRIPTIVE
        separates = mark.kind in (Kind.COMMA, Kind.AND)
        as_needed = mark.kind is Kind.TRIGGER and mark.effects[0].assertion == "hypothetical"
        if described or as_needed or (separates and not content):
            return trigger.start
        if mark.kind in (Kind.STOP, Kind.VERB, Kind.SUBJECT, Kind.COLON, Kind.TRIGGER, Kind.SOFT_STOP):
            return mark.end
        if separates:
            follower = line.marks[leader + 1]
            clause = follower.kind in (Kind.VERB, Kind.WEAK_VERB) and not line.between(
                mark.end, follower.start
            )
            if clause or (mark.kind is Kind.COMMA and not joined):
                return mark.end
        joined = joined or separates or mark.kind is Kind.OR
        at = mark.start
    most = 3 if line.runs_on else _MOST_WORDS["list"]
    return _drawn_in(folded, line.start, trigger.start, most, from_left=False)


def _coordinated(line: Line, number: int) -> bool:
    """Whether the comma at this mark stands in a list that "and" or "or" closes."""
    at, content = line.marks[number].end, False
    for follower in range(number + 1, min(len(line.marks), number + _MOST_MARKS)):
        mark = line.marks[follower]
        content = content or bool(line.between(at, mark.start))
        if mark.kind is Kind.OR:
            return True
        if mark.kind is Kind.AND:
            after = line.marks[follower + 1] if follower + 1 < len(line.marks) else None
            opens = after is not None and after.kind in _OPENERS
            return not (opens and after is not None and not line.between(mark.end, after.start))
        passes = mark.kind in (Kind.PREPOSITION, Kind.FOR, Kind.WEAK_VERB) and content
        if mark.kind is not Kind.COMMA and not passes:
            return False
        at = mark.end
    return False


def _limit(line: Line, at: int, reach: Reach) -> int:
    """The end of the bracket that ``at`` stands in, else of the segment; a noun phrase ends at a bracket."""
    limit = min(line.end, at + _MOST_LETTERS)
    closing = line.folded.find(")", at, limit)
    if closing >= 0 and line.folded.find("(", at, closing) < 0:
        limit = closing
    if reach == "phrase":
        bracket = line.folded.find("(", at, limit)
        if bracket > 0 and line.between(at, bracket):
            limit = bracket
    return limit


def _opening_bracket(line: Line, at: int) -> int:
    """Where the words begin that a trigger may speak of: its own bracket's, if it has any before it there."""
    opening = line.folded.rfind("(", max(line.start, at - _MOST_LETTERS), at)
    if opening < 0 or line.folded.find(")", opening, at) >= 0 or not line.between(opening + 1, at):
        return line.start
    return opening + 1


def _aside_before(line: Line, begin: int, end: int) -> tuple[int, int]:
    """The last bracket that opens and closes in [begin, end), behind other words; else an empty stretch."""
    closing = line.folded.rfind(")", max(begin, end - _MOST_LETTERS), end)
    opening = line.folded.rfind("(", begin, max(begin, closing))
    return (opening, closing) if opening > 0 and line.between(begin, opening) else (end, end)


def _drawn_in(folded: str, start: int, end: int, most: int, *, from_left: bool) -> int:
    """The far end of [start, end), nearer if it holds too many words in a row to be believed."""
    far = end if from_left else start
    if end - start <= 30:
        return far
    if from_left:
        words = list(islice(_WORD.finditer(folded, start, end), most + 1))
        return far if len(words) <= most else words[most - 1].end()
    words = list(_WORD.finditer(folded, max(start, end - _MOST_LETTERS), end))
    return far if len(words) <= most else words[-most].start()
