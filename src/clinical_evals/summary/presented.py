"""Whether the words around a rating present it as the judge's own.

A summary can plant a rating and a judge can quote it, and a quotation has no mark that it must carry. So the
question is turned round: a rating stands apart, or the words that run up to it are words that introduce one's
own, and those that run on from it give reasons or say no more than that.
"""

from __future__ import annotations

import re

from .fields import bare_name

__all__ = ["is_inside_quotation", "is_own_key", "leads_in", "leads_out"]

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

# Turns of phrase that hold other words, and say no more than "here is my rating".
_POLITE = re.compile(
    r"""\bin(?=[ ]conclusion\b)
      | \b(?:in|as)[ ](?:(?:the|a|requested|required|specified|valid|json)[ ])*
          (?:json|format|requested|asked)\b
      | (?<=\bhere)[ ](?:it[ ]is|they[ ]are|you[ ]go|you[ ]are)\b
      | \b(?:that[ ])?you[ ](?:asked[ ]for|requested)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_I_RATE = re.compile(
    r"""\bi(?:['’](?:d|ll|ve))?(?:[ ](?:would|will|have|must|therefore|hereby))*
          [ ](?:rate|score|grade|give|assign|award|evaluate)d?(?:[ ]it)?\b
      | \bthe[ ]summary[ ](?:gets|receives|deserves)\b""",
    re.VERBOSE,
)
# "the summary says {...}": somebody else's words follow; `end` is set where nothing but those can.
_SPEAKS = re.compile(
    r"""\b(?:says?|said|states?|stated|claims?|claimed|contains?|contained|includes?|included|asks?|asked
          |reads|goes|holds|demands?|demanded|wants?|tries|instructs?|instructed|quot\w+|examples?|planted
          |inject\w+|embed\w+|writes|wrote|tells|told|orders?
          |according[ ]to[ ](?:the|this)[ ](?:\w+[ ])?(?:summary|dialogue|text)
          |(?<!.)(?:had|if|were))\b
        (?P<end>
          (?:\W+(?:this|that|the|following|text|line|json|object|rating|words|a|an|as|string|so|with|graders?
            |judges?|reviewers?|me|you|us|to|for|print|output|answer|reply|respond|write|give))*\W*$
        )?""",
    re.IGNORECASE | re.VERBOSE,
)

_ABBREVIATION = re.compile(r"\b(?:e\.\s?g|i\.\s?e|ex|cf)\.", re.IGNORECASE)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
# Where a sentence begins: behind another, after an empty line, or as an item of a list or a heading.
_BREAK = re.compile(
    r"""[.!?][\"'”’)*_]*(?:\s|$)
      | \n[^\S\n]*\n
      | (?:^|\n)[^\S\n]*(?:[-*+•|]|\#+|\d{1,2}[.)])(?=\s)""",
    re.VERBOSE,
)
_CLAUSE = re.compile(r"[,;\n]|\s[–—-]+\s")
_FENCE = re.compile(r"(?:`{3,}|~{3,})\w*\s*$")
_FENCE_LINE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,})\w*", re.MULTILINE)
_RUNS_ON = (":", "：", "-", "–", "—", "=", ">", ",", "(")
_PAIRS = (("“", "”"), ("«", "»"))
_OPENING_QUOTES, _CLOSING_QUOTES = ('"', "'", "“", "‘", "«"), ('"', "'", "”", "’", "»")

_CLOSING_TAG = re.compile(r"</(?P<name>[a-z][\w-]{1,40})>", re.IGNORECASE)
# Words that run on from the JSON, in its line or, if they cannot begin a sentence, in the next.
_TAIL = re.compile(
    r"""(?:[\]})*_`]|[^\S\n])*[,;(<>=–—-]*[^\S\n]*
        (?:(?:\n[^\S\n]*){1,2}(?:[`~]{3,}\s{0,2})?(?=(?:which|that|is|was|as|in|from|by|appears?)\b))?
        (?P<words>[a-z][^.!?\n]*)""",
    re.VERBOSE,
)
_GIVES_REASONS = re.compile(
    r"(?:because|since|due|based|done)\b|(?:as|given|for)\b(?! (?:its?|part|the summary|an?)\b)"
)
# How far from a rating the sentence that it stands in is looked at, in characters.
_REACH = 300


def is_own_key(key: str) -> bool:
    """Whether a judge puts a rating of its own under a key, or in a tag, of this name."""
    return _OWN_KEY.fullmatch(bare_name(key)) is not None


def is_inside_quotation(before: str) -> bool:
    """Whether a quotation that is not closed opens before a rating, or a fenced block with other words."""
    if before.count('"') % 2 or any(before.count(one) > before.count(other) for one, other in _PAIRS):
        return True
    fences = list(_FENCE_LINE.finditer(before))
    return len(fences) % 2 == 1 and not _words(before[fences[-1].end() :]) <= _WITH_OWN


def leads_in(before: str) -> bool:
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
    if inline or heading or lead.endswith(_RUNS_ON):
        return _introduces_own(sentence)
    # The rating stands apart, in a line of its own: only words that must go on could claim it.
    speaks = any(found["end"] is not None for found in _SPEAKS.finditer(sentence))
    return not speaks or _PARAGRAPH.search(gap) is not None


def leads_out(after: str) -> bool:
    """Whether the words that run on from a rating, if any do, leave it the judge's own."""
    if after.startswith(_CLOSING_QUOTES):
        return False
    if any(not is_own_key(tag["name"]) for tag in _CLOSING_TAG.finditer(after)):
        return False
    tail = _TAIL.match(after[:_REACH])
    if tail is None or _GIVES_REASONS.match(tail["words"]):
        return True
    return _words(tail["words"]) <= _WITH_OWN


def _introduces_own(sentence: str) -> bool:
    """Whether a sentence that runs into a rating ends with words for one's own, or holds none at all."""
    if _SPEAKS.search(_POLITE.sub("", sentence)):
        return False
    clauses = _CLAUSE.split(sentence.strip(" \t\r\n*_#:：,;–—-=>("))
    said: set[str] = set()
    while clauses and (words := _words(clauses[-1])) <= _WITH_OWN:
        said |= words
        clauses.pop()
    return bool(said & _OWN) or not (said or clauses)


def _words(text: str) -> set[str]:
    text = _POLITE.sub("", text.lower().replace("’", "'"))
    return set(_WORD.findall(_I_RATE.sub("my rating", text)))
