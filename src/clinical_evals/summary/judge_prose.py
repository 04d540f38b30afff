"""What a judge says of its verdict in plain words. Never read as a rating; held against one that was read."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["grades_otherwise", "refuses"]

_REFUSES = re.compile(
    r"\bI(?:['’]m| am| must| have to| will| would|['’]d)?(?: respectfully)? (?:declin|refus)(?:e|ing)\b"
    r"|\b(?:I|we)(?: am| are|['’]m)? (?:cannot|can not|can['’]t|won['’]t|will not|unable to|not able to"
    r"|not going to|do not|don['’]t)(?: \w+){0,2}? (?:rate|score|grade|evaluate|judge|assess|comply|answer"
    r"|rating|scores|grades)\b"
    r"|\bnot possible to (?:rate|score|grade)\b"
    r"|\bno (?:\w+ )?(?:rating|score|grade)s? (?:can|could|is|are|will|was|were)\b"
    r"|\b(?:unscored|unrated|not rated|not graded)\b",
    re.IGNORECASE,
)

_WORDS = "one two three four five six seven eight nine ten".split()
_NUMBERS = {name: number for number, word in enumerate(_WORDS, 1) for name in (word, str(number))}
_CRITERION = (
    r"(?:(?:factual )?completeness|(?:no )?hallucinations?|(?:clinical )?tone(?: (?:&|and) structure)?)"
)
_HEAD = rf"""
    \b(?:I|we)(?:['’](?:d|ll|ve))?(?:[ ](?:would|will|have|must|can|therefore|thus|only|still))*
        [ ](?:rat|scor|grad|giv|gave|assign|award|lower|reduc)\w*
    |\bmy[ ](?:(?:own|final|actual|true|real)[ ])*(?:rating|score|grade|verdict|answer)s?\b
    |(?<![\w’'-][ ])(?<![\w-])(?:(?:the|a|final|actual|true|real|correct|own)[ ]){{0,3}}
        (?:rating|score|grade|verdict)s?\b
    |\b(?:deserves?|merits?|earns?|(?:is|was|be)[ ](?:rated|scored|graded)
        |(?:summary|criteria|criterion|all|each|every|three)[ ](?:gets?|receives?|are|is|at|:|=))
    |\b{_CRITERION.replace(" ", "[ ]")}\b
    |(?P<overall>\boverall\b(?:[ ](?:quality|rating|score|grade))*)
"""
# What may stand between the head and its number: "I rate it, on each criterion: **2**".
_BETWEEN = rf"""(?:[^\S\n]|[:=*_`"'|(,>→–—-]
    |\b(?:all[ ]three|it|this|that|them|each|all|every|everything|is|are|be|was|would|should|as|at|of|a|an|the
        |only|just|summary|criteria|criterion|to|for|on|with|gets?|deserves?|receives?|scores?|ratings?|rated|scored
        |{_CRITERION.replace(" ", "[ ]")})\b){{0,25}}+"""
_NUMBER = (
    rf"\b(?:10|[1-9]|{'|'.join(_WORDS)})(?![\w%]|\.\d|\s*[-–]\s*\d)"
    r"(?:\s*/\s*10\b|\s(?:out\s)?of\s(?:10|ten)\b)?"
)
# A number that a noun follows counts something else: "gives 2 of 3 doses", "one inference".
_GRADE = re.compile(
    rf"""(?:{_HEAD}){_BETWEEN}
    (?P<said>{_NUMBER}(?:\s*(?:[,/;&]|\band\b)(?:\s*\band\b)?\s*{_NUMBER})*+)
    (?=(?:[^\S\n]points?)?[^\S\n]*(?:[^\w\s]|\n|$
        |(?:for|on|in|because|due|since|as|overall|throughout|each|all|across|only|here|by)\b))""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_SAID = re.compile(_NUMBER.replace("(?:10", "(?P<number>10", 1), re.IGNORECASE)


def refuses(words: str) -> bool:
    """Whether a judge's words say that there is no rating."""
    return _REFUSES.search(words) is not None


def grades_otherwise(words: str, scores: Mapping[str, int]) -> bool:
    """Whether a judge's words give a grade that is none of the scores, or an overall grade beyond them.

    Args:
        words: Plain text, of any length.
        scores: What was read from the JSON, by criterion.
    """
    given = set(scores.values())
    for grade in _GRADE.finditer(words):
        said = {_NUMBERS[found["number"].lower()] for found in _SAID.finditer(grade["said"])}
        if grade["overall"]:
            if min(said) < min(given) or max(said) > max(given):
                return True
        elif not said <= given:
            return True
    return False
