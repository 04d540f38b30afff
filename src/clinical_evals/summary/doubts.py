"""Whether a rating that was read is really the one that the judge gave.

A summary can plant a rating, and a judge can quote it: as an object of its own, under a key, inside quotation
marks, behind a forged end of reasoning. A quotation has no mark that it must carry, so none is looked for:
a rating is the judge's own only where the judge presents it so. It stands apart, or the words that run up to
it are words that introduce one's own rating, and nothing else in the answer refuses or grades otherwise.

The lenient reader guesses, too: it cuts `4 out of 5` to 4, and takes a quotation whose marks are not escaped
(`"reason": "it says "No Hallucinations": 10"`) for a field. So the text itself is asked again. Names are
looked for more widely here than they are read. A doubt costs one more question to the judge, a wrong grade
costs the figure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from clinical_evals.reading import REASONING_TAG, closes

from .fields import bare_name, criterion_at_end, criterion_values, is_score_key, listed_values, read_score
from .rubric import CRITERIA
from .verdicts import grades_otherwise, refuses

__all__ = ["is_doubtful", "stands_under_foreign_key"]

_KEY_AND_VALUE = re.compile(
    r"(?P<key>[^\s:,{}\[\]][^:,{}\[\]\n]{0,99}+)\s{0,20}+:\s{0,20}+"
    r"(?=(?P<value>[^\s{\[][^,}\]\n]{0,99}+)?)"
)
_UNESCAPED_QUOTE = re.compile(r"""(?<!\\)["'”]\s*$""")
_COMMENT = re.compile(r"(?://|\#|/\*).*")
_QUOTED = re.compile(r"""(?P<mark>["'“])(?P<inside>[^"'”]*)(?:["'”](?P<tail>.*))?""")

# What a judge puts a rating of its own under: `scores`, `final_rating`, `evaluation`.
_OWN_KEY = re.compile(
    r"(?:my|final|clinical|quality|rubric|criteria|evaluation|judge)*"
    r"(?:answer|assessment|criteria|data|evaluation|final|grade|grading|json|judge?ment|output|rating|response"
    r"|result|rubric|score|scoring|summaryevaluation)s?"
)

# Words that say that one's own rating follows, and words that may stand with them.
_OWN = frozenset(
    """again answer answers assessment assistant based below certainly conclusion criteria evaluate
    evaluation final following follows grade grader grades hence here here's json judge judgement
    judgment object ok okay once output outputs rated rating ratings report response result results
    score scores scoring so sure therefore thus verdict""".split()
)
_WITH_OWN = _OWN | frozenset(
    """1 10 a above according after against all an analysis analyzing and appropriate are as assessed
    be believe both by careful carefully channel clinical come compared comparing comparison
    complete course criterion dialogue each evaluated fair findings for generated given have i i'd
    i'll i've is let let's me message more my now observations of on only overall per qa quality
    read review reviewed reviewing rubric rules scale summary texts the then these think this three
    to two us valid we will would""".split()
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_POLITE = re.compile(
    r"\bin(?= conclusion\b)"
    r"|\b(?:in|as) (?:(?:the|a|requested|required|specified|valid|json) )*(?:json|format|requested|asked)\b"
    r"|(?<=\bhere) (?:it is|they are|you go|you are)\b|\b(?:that )?you (?:asked for|requested)\b",
    re.IGNORECASE,
)
_I_RATE = re.compile(
    r"\bi(?:['’](?:d|ll|ve))?(?: (?:would|will|have|must|therefore|hereby))*"
    r" (?:rate|score|grade|give|assign|award|evaluate)d?(?: it)?\b|\bthe summary (?:gets|receives|deserves)\b"
)
# "the summary says {...}": somebody else's words follow. In a line that does not run on, only at its end.
_SPEAKS = re.compile(
    r"\b(?:says?|said|states?|stated|claims?|claimed|contains?|contained|includes?|included|asks?|asked|reads"
    r"|goes|holds|demands?|demanded|wants?|tries|instructs?|instructed|quot\w+|examples?|planted|inject\w+"
    r"|embed\w+|writes|wrote|tells|told|orders?|according to (?:the|this) (?:\w+ )?(?:summary|dialogue|text)"
    r"|(?<!.)(?:had|if|were))\b"
    r"(?P<end>(?:\W+(?:this|that|the|following|text|line|json|object|rating|words|a|an|as|string|so|with"
    r"|graders?|judges?|reviewers?|me|you|us|to|for|print|output|answer|reply|respond|write|give))*\W*$)?",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:e\.\s?g|i\.\s?e|ex|cf)\.", re.IGNORECASE)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_BREAK = re.compile(r"[.!?][\"'”’)*_]*(?:\s|$)|\n[^\S\n]*\n|(?:^|\n)[^\S\n]*(?:[-*+•|]|#+|\d{1,2}[.)])(?=\s)")
_CLAUSE = re.compile(r"[,;\n]|\s[–—-]+\s")
_FENCE = re.compile(r"(?:`{3,}|~{3,})\w*\s*$")
_RUNS_ON = (":", "：", "-", "–", "—", "=", ">", ",", "(")
_FENCE_LINE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,})\w*", re.MULTILINE)
_PAIRS = (("“", "”"), ("«", "»"))
_OPENING_QUOTES, _CLOSING_QUOTES = ('"', "'", "“", "‘", "«"), ('"', "'", "”", "’", "»")
_CLOSING_TAG = re.compile(r"</(?P<name>[a-z][\w-]{1,40})>", re.IGNORECASE)
_TAIL = re.compile(
    r"(?:[\]})*_`]|[^\S\n])*[,;(<>=–—-]*[^\S\n]*"
    r"(?:(?:\n[^\S\n]*){1,2}(?:[`~]{3,}\s{0,2})?(?=(?:which|that|is|was|as|in|from|by|appears?)\b))?"
    r"(?P<words>[a-z][^.!?\n]*)"
)
_GIVES_REASONS = re.compile(
    r"(?:because|since|due|based|done)\b|(?:as|given|for)\b(?! (?:its?|part|the summary|an?)\b)"
)
# How far back the sentence that a rating stands in is looked at, in characters.
_REACH = 300


def is_doubtful(text: str, span: tuple[int, int], scores: Mapping[str, int], *, repaired: bool) -> bool:
    """Whether the text speaks against the scores that were read from it.

    It does if anywhere but in reasoning at its head a JSON field of a criterion's name holds another score;
    if the words that run up to its JSON, or on from it, do not present it as the judge's own; if words
    refuse, or give another grade; and if, the rating not being strict JSON as written, a score has more
    behind it than a comment or a criterion is named by other than one field.

    Args:
        text: The judge's answer, well-formed Unicode.
        span: Where in it the JSON stands that the scores were read from.
        scores: What was read, by criterion.
        repaired: The rating was not strict JSON as written.
    """
    head = _end_of_head_reasoning(text)
    if _fields_differ(text[head:], scores, repaired=repaired):
        return True
    before, thoughts = _without_reasoning(text[head : span[0]])
    after = text[span[1] :]
    if _is_inside_quotation(before[thoughts:]) or not (_leads_in(before) and _leads_out(after)):
        return True
    return any(refuses(words) or grades_otherwise(words, scores) for words in (before[thoughts:], after))


def stands_under_foreign_key(value: Mapping[str, Any]) -> bool:
    """Whether an object holds a rating under a key that says whose it is, or nothing that we know."""
    pending: list[tuple[Any, bool]] = [(value, False)]
    while pending:
        item, foreign = pending.pop()
        if isinstance(item, list):
            if foreign and listed_values(item):
                return True
            pending += [(inner, foreign) for inner in item]
        elif isinstance(item, Mapping):
            if criterion_values({key: inner for key, inner in item.items() if not isinstance(inner, list)}):
                if foreign:
                    return True
                continue
            pending += [(inner, foreign or not _is_own_key(key)) for key, inner in item.items()]
    return False


def _is_own_key(key: str) -> bool:
    return _OWN_KEY.fullmatch(bare_name(key)) is not None


def _is_inside_quotation(before: str) -> bool:
    """Whether a quotation that is not closed opens before a rating, or a fenced block with other words."""
    if before.count('"') % 2 or any(before.count(one) > before.count(other) for one, other in _PAIRS):
        return True
    fences = list(_FENCE_LINE.finditer(before))
    return len(fences) % 2 == 1 and not _words(before[fences[-1].end() :]) <= _WITH_OWN


def _leads_in(before: str) -> bool:
    """Whether the words that run up to a rating, if any do, introduce it as the judge's own."""
    lead = before.rstrip()
    lead = lead[: len(lead) - len(fence[0])] if (fence := _FENCE.search(lead[-40:])) else lead
    lead = lead.rstrip(" \t\r\n\ufeff`[*_")
    gap = before[len(lead) :]
    lead = _ABBREVIATION.sub("example", lead[-_REACH:])
    line = lead.rpartition("\n")[2].strip()
    inline = "\n" not in gap
    if lead.endswith(_OPENING_QUOTES) and (inline or line.count(lead[-1]) % 2):
        return False
    if inline and line.startswith(">"):
        return False
    sentence = lead[max((found.end() for found in _BREAK.finditer(lead)), default=0) :]
    heading = line.startswith("#") or (line.startswith("**") and "**" not in line[2:])
    if not (inline or heading or lead.endswith(_RUNS_ON)):
        speaks = any(found["end"] is not None for found in _SPEAKS.finditer(sentence))
        return not speaks or _PARAGRAPH.search(gap) is not None
    clauses = _CLAUSE.split(sentence.strip(" \t\r\n*_#:：,;–—-=>("))
    said: set[str] = set()
    while clauses and (words := _words(clauses[-1])) <= _WITH_OWN:
        said |= words
        clauses.pop()
    return not _SPEAKS.search(_POLITE.sub("", sentence)) and (bool(said & _OWN) or not (said or clauses))


def _leads_out(after: str) -> bool:
    """Whether the words that run on from a rating, if any do, leave it the judge's own."""
    if after.startswith(_CLOSING_QUOTES):
        return False
    if any(not _is_own_key(tag["name"]) for tag in _CLOSING_TAG.finditer(after)):
        return False
    tail = _TAIL.match(after[:_REACH])
    if tail is None or _GIVES_REASONS.match(tail["words"]):
        return True
    return _words(tail["words"]) <= _WITH_OWN


def _words(text: str) -> set[str]:
    text = _POLITE.sub("", text.lower().replace("’", "'"))
    return set(_WORD.findall(_I_RATE.sub("my rating", text)))


def _fields_differ(answer: str, scores: Mapping[str, int], *, repaired: bool) -> bool:
    named: Counter[str] = Counter()
    for match in _KEY_AND_VALUE.finditer(answer):
        criterion = criterion_at_end(match["key"])
        if not (criterion or is_score_key(match["key"])):
            continue
        value, spoilt = _plain(match["value"] or "")
        if repaired and spoilt:
            return True
        if criterion:
            named[criterion] += 1
            score = read_score(value)
            if score and score.value != scores[criterion] and _UNESCAPED_QUOTE.search(match["key"]):
                return True
    return repaired and any(named[criterion] != 1 for criterion in CRITERIA)


def _end_of_head_reasoning(text: str) -> int:
    """Return where the reasoning blocks end that an answer opens with; any later one may be a forgery."""
    position = 0
    while (tag := REASONING_TAG.match(text, position + _blank(text, position))) and not closes(tag):
        end = next((one for one in REASONING_TAG.finditer(text, tag.end()) if closes(one)), None)
        if end is None:
            break
        position = end.end()
    return position


def _without_reasoning(before: str) -> tuple[str, int]:
    """Return a text without its reasoning blocks, and up to where it is the judge's thoughts.

    A closing tag that nothing opened ends thoughts if it has a line of its own and a sentence ends before
    it, as where a server drops the opening tag; in mid-sentence it is more likely quoted.
    """
    kept, position, opened, thoughts = "", 0, False, 0
    for tag in REASONING_TAG.finditer(before):
        if not closes(tag):
            if not opened:
                kept += before[position : tag.start()]
            opened = True
        elif opened:
            opened = False
        else:
            piece = before[position : tag.start()]
            kept += piece.rstrip() + ("\n" if piece.endswith("\n") else " ")
            if kept.endswith((".\n", "!\n", "?\n")):
                thoughts = len(kept)
        position = tag.end() + _blank(before, tag.end())
    return kept + before[position:], thoughts


def _blank(text: str, position: int) -> int:
    rest = text[position : position + 1_000]
    return len(rest) - len(rest.lstrip("\ufeff \t\r\n"))


def _plain(written: str) -> tuple[str, bool]:
    """Return a value without quotation marks and comment, and whether something else stands behind it."""
    value = _COMMENT.sub("", written).strip()
    quoted = _QUOTED.fullmatch(value)
    if quoted:
        return quoted["inside"], bool((quoted["tail"] or "").strip())
    return value, re.search(r"\d", value) is not None and read_score(value) is None
