"""Whether a rating that was read is really the one that the judge wrote.

The lenient reader guesses. It cuts `4 out of 5` to 4, and a quotation whose marks are not escaped
(`"reason": "it says "No Hallucinations": 10"`) becomes a field of the rating. So the text itself is asked
again. Names are looked for more widely here than they are read: a doubt costs one more question to the judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from .answers import without_reasoning
from .fields import criterion_at_end, is_score_key, read_score
from .rubric import CRITERIA

__all__ = ["is_doubtful"]

_KEY_AND_VALUE = re.compile(
    r"(?P<key>[^\s:,{}\[\]][^:,{}\[\]\n]{0,99}+)\s{0,20}+:\s{0,20}+"
    r"(?=(?P<value>[^\s{\[][^,}\]\n]{0,99}+)?)"
)
_UNESCAPED_QUOTE = re.compile(r'(?<!\\)"\s*$')
_COMMENT = re.compile(r"(?://|\#|/\*).*")
_QUOTED = re.compile(r"""(?P<mark>["'“])(?P<inside>[^"'”]*)(?:["'”](?P<tail>.*))?""")


def is_doubtful(text: str, scores: Mapping[str, int], *, repaired: bool) -> bool:
    """Whether the text speaks against the scores that were read from it.

    It does if the last JSON field of a criterion's name holds another score, wherever it stands; and if,
    the rating not being strict JSON as written, a score has more behind it than a comment or a criterion is
    named by other than one field.

    Args:
        text: The judge's answer.
        scores: What was read, by criterion.
        repaired: The rating was not strict JSON as written.
    """
    named: Counter[str] = Counter()
    last: dict[str, int] = {}
    for match in _KEY_AND_VALUE.finditer(without_reasoning(text) or ""):
        criterion = criterion_at_end(match["key"])
        if not (criterion or is_score_key(match["key"])):
            continue
        value, spoilt = _plain(match["value"] or "")
        if repaired and spoilt:
            return True
        if criterion:
            named[criterion] += 1
            score = read_score(value)
            if score and _UNESCAPED_QUOTE.search(match["key"]):
                last[criterion] = score.value
    if any(score != scores[criterion] for criterion, score in last.items()):
        return True
    return repaired and any(named[criterion] != 1 for criterion in CRITERIA)


def _plain(written: str) -> tuple[str, bool]:
    """Return a value without quotation marks and comment, and whether something else stands behind it."""
    value = _COMMENT.sub("", written).strip()
    quoted = _QUOTED.fullmatch(value)
    if quoted:
        return quoted["inside"], bool((quoted["tail"] or "").strip())
    return value, re.search(r"\d", value) is not None and read_score(value) is None
