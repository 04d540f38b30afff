"""Whether a rating that was read is really the one that the judge gave.

The words around it must present it as the judge's own (`presented`), and nothing else in the answer may
refuse or grade otherwise (`judge_prose`).

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

from .fields import criterion_at_end, criterion_values, is_score_key, listed_values, read_score
from .judge_prose import grades_otherwise, refuses
from .presented import is_inside_quotation, is_own_key, leads_in, leads_out
from .rubric import CRITERIA

__all__ = ["is_doubtful", "stands_under_foreign_key"]

_KEY_AND_VALUE = re.compile(
    r"(?P<key>[^\s:,{}\[\]][^:,{}\[\]\n]{0,99}+)\s{0,20}+:\s{0,20}+"
    r"(?=(?P<value>[^\s{\[][^,}\]\n]{0,99}+)?)"
)
_UNESCAPED_QUOTE = re.compile(r"""(?<!\\)["'”]\s*$""")
_COMMENT = re.compile(r"(?://|\#|/\*).*")
_QUOTED = re.compile(r"""(?P<mark>["'“])(?P<inside>[^"'”]*)(?:["'”](?P<tail>.*))?""")


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
    if is_inside_quotation(before[thoughts:]) or not (leads_in(before) and leads_out(after)):
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
            pending += [(inner, foreign or not is_own_key(key)) for key, inner in item.items()]
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
