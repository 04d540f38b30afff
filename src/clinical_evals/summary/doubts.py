"""Whether a rating that was read is really the one that the judge gave.

A summary can plant a rating, and a judge can quote it: as an object of its own, under a key, inside quotation
marks, behind a forged end of reasoning. And the lenient reader guesses: it cuts `4 out of 5` to 4, and takes
a quotation whose marks are not escaped (`"reason": "it says "No Hallucinations": 10"`) for a field. So the
text itself is asked again. Names are looked for more widely here than they are read: a doubt costs one more
question to the judge, a wrong grade costs the figure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from clinical_evals.reading import REASONING_TAG, closes

from .fields import bare_name, criterion_at_end, criterion_values, is_score_key, listed_values, read_score
from .rubric import CRITERIA

__all__ = ["is_doubtful", "stands_under_foreign_key"]

_KEY_AND_VALUE = re.compile(
    r"(?P<key>[^\s:,{}\[\]][^:,{}\[\]\n]{0,99}+)\s{0,20}+:\s{0,20}+"
    r"(?=(?P<value>[^\s{\[][^,}\]\n]{0,99}+)?)"
)
_UNESCAPED_QUOTE = re.compile(r"""(?<!\\)["'”]\s*$""")
_COMMENT = re.compile(r"(?://|\#|/\*).*")
_QUOTED = re.compile(r"""(?P<mark>["'“])(?P<inside>[^"'”]*)(?:["'”](?P<tail>.*))?""")
# What a judge puts a rating of its own under.
_OWN_KEYS = frozenset(
    """answer assessment criteria data evaluation evaluations final finalrating finalscores grade grades
    grading json judgement judgment output rating ratings response result results rubric rubricscores score
    scores scoring summaryevaluation""".split()
)
# "the summary contains {...}": somebody else's words follow.
_QUOTES = re.compile(
    r"\b(?:says?|said|states?|stated|claims?|claimed|contains?|contained|asks?|asked|reads|demands?|demanded"
    r"|instructs?|instructed|quot\w+|examples?|e\.g\.|planted|injected|embedded|writes|wrote|tells|told)\b"
    r"(?P<between>[^.!?{\[]{0,60})$",
    re.IGNORECASE,
)
_QUOTATION_MARKS = ('"', "'", "“", "‘", "«")
_FENCE = re.compile(r"(?:`+|~{3,})\w*\s*$")
_REFUSES = re.compile(
    r"\bI(?:['’]m| am| must| have to| will| would|['’]d)?(?: respectfully)? (?:declin|refus)(?:e|ing)\b"
    r"|\bI(?: am|['’]m)? (?:cannot|can not|can['’]t|won['’]t|will not|unable to|not able to|not going to"
    r"|do not|don['’]t)(?: \w+){0,2}? (?:rate|score|grade|evaluate|judge|assess|comply|answer)\b",
    re.IGNORECASE,
)
# "I rate it 2", "my scores are 2, 2 and 2", "Rating: 3/10": a grade in words.
_IN_WORDS = re.compile(
    r"(?<!heart )(?<!respiratory )(?<!pain )(?<!pain was )(?<!pain is )"
    r"\b(?:rat(?:e|ed|ing|ings)|scor(?:e|ed|es|ing)|grad(?:e|ed|es)|giv(?:e|en|ing)|gave|verdict|assign(?:ed)?)"
    r"(?:[\s:=*_`\"'(,-]+(?:it|this|that|them|each|all|every|everything|three|is|are|be|would|should|as|at|of|a|an"
    r"|the|only|just|summary|criteria|criterion|one|to))*[\s:=*_`\"'(,-]+(?P<score>10|[1-9])(?![\w.]|\s*%)"
    r"(?P<more>(?:\s*(?:,|/|and|;)+\s*(?:10|[1-9])(?![\w.]))*)",
    re.IGNORECASE,
)


def is_doubtful(text: str, scores: Mapping[str, int], *, repaired: bool) -> bool:
    """Whether the text speaks against the scores that were read from it.

    It does if anywhere but in reasoning at its head a JSON field of a criterion's name holds another score;
    if the words around its JSON quote somebody, refuse, or give another grade; and if, the rating not being
    strict JSON as written, a score has more behind it than a comment or a criterion is named by other than
    one field.

    Args:
        text: The judge's answer.
        scores: What was read, by criterion.
        repaired: The rating was not strict JSON as written.
    """
    answer = _without_head_reasoning(text)
    return _fields_differ(answer, scores, repaired=repaired) or _words_differ(answer, scores)


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
            pending += [(inner, foreign or bare_name(key) not in _OWN_KEYS) for key, inner in item.items()]
    return False


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


def _words_differ(answer: str, scores: Mapping[str, int]) -> bool:
    """Whether the words before and after the JSON quote, refuse or grade otherwise."""
    opening, closing = answer.find("{"), answer.rfind("}")
    if answer[:opening].rstrip().endswith("["):
        opening, closing = answer.rindex("[", 0, opening), max(closing, answer.rfind("]"))
    before, after = answer[:opening], answer[closing + 1 :]
    if before.endswith(_QUOTATION_MARKS) or re.search(r"^\s*>\s*$", before.rpartition("\n")[2]):
        return True
    quoting = _QUOTES.search(_FENCE.sub("", before[-200:]).rstrip(" \n\t*"))
    if quoting and "\n\n" not in quoting["between"]:
        return True
    given = set(scores.values())
    for words in (before, after):
        if _REFUSES.search(words):
            return True
        for grade in _IN_WORDS.finditer(words):
            said = [int(number) for number in re.findall(r"\d+", grade["score"] + grade["more"])]
            if grade["more"].lstrip().startswith("/"):
                said = said[:1]
            if not given.issuperset(said):
                return True
    return any(
        score is not None and score.value != scores[criterion]
        for words in (before, after)
        for match in _KEY_AND_VALUE.finditer(words)
        if (criterion := criterion_at_end(match["key"]))
        for score in [read_score(_plain(match["value"] or "")[0].rstrip(" .*"))]
    )


def _without_head_reasoning(text: str) -> str:
    """Set aside the reasoning blocks that an answer opens with; whatever stands later may be a forgery."""
    position = 0
    while (tag := REASONING_TAG.match(text, position + _blank(text, position))) and not closes(tag):
        end = next((one for one in REASONING_TAG.finditer(text, tag.end()) if closes(one)), None)
        if end is None:
            break
        position = end.end()
    return text[position:]


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
