"""Cut a clinical note into sentences and list items, and find where its sections begin.

Real notes are dictated, hard-wrapped, bulleted and pasted from forms, so a full stop is not always an end
("Dr.", "b.i.d.", "0.5 mg") and a line break sometimes is. Letter case helps where the note has both cases.
All offsets are into the original text: ``fold`` never changes its length.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_SPACES = dict.fromkeys(
    map(
        ord,
        "\t\x1f\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\ufeff",
    ),
    " ",
)
_BREAKS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_FOLDED = _SPACES | _BREAKS | {ord("\u2019"): "'", ord("\u2018"): "'"}


class Segment(NamedTuple):
    """One sentence or list item.

    Attributes:
        start: Offset of its first character that is no whitespace.
        end: Offset behind its last one.
        opens_line: It is the first of its line.
        opens_block: A blank line (or the text's beginning) stands before it.
        item: It opens with a bullet, number or checkbox.
    """

    start: int
    end: int
    opens_line: bool
    opens_block: bool
    item: bool


def fold(text: str) -> str:
    """Lower-case the text and reduce whitespace to spaces and line feeds, character by character.

    Returns:
        A string of exactly the same length; a letter whose lower case is longer (``İ``) stays as it is.
    """
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    return lower.replace("\r\n", " \n").translate(_FOLDED)


_MARKER = re.compile(
    r"[ ]*(?:[-*\u2022\u2023\u25aa\u25cf\u00b7\u2013\u2014>#\u2610\u2611\u2612\u2713]+(?=\s|[a-z\[(])"
    r"|\(?\d{1,2}[.)](?=\s|[a-z])|[a-h][.)] "
    r"|[\[(][ x+\-_]?[\])]|[+](?=\s|[a-z]))"
)
_LABEL = re.compile(r"[ ]*[a-z][a-z0-9 /&'()\-]{0,40}:(?=\s|$)")
_JOINING_END = re.compile(
    r"(?:,|(?<![:=?\-\u2013]) \b(?:a|an|the|and|or|nor|of|to|with|without|for|in|on|at|by|from|as|no|not|any"
    r"|his|her|their|is|are|was"
    r"|were|has|had|have|be|been|denies|denied|reports|shows|showed|revealed|possible|probable|likely|if|due|stopped|started|takes"
    r"|taking"
    r"|mother|father|than|that|which|who|recent|new|acute|chronic|mg|left|right|dr\.|vs\.?))[ ]*$"
)
_JOINING_START = re.compile(
    r"[ ]*(?:and|or|nor|of|to|with|but|for|in|on|than|which|who|that|due|if|as|because)\b"
)
_DRUG_LINE = re.compile(r" +[a-z][a-z/\-]+(?: [a-z/\-]+){0,2} \d[\d./,]* ?(?:mg|mcg|g|ml|units?|iu|%)\b")
_FIRST_WORD = re.compile(r"[ ]*\S+")

_NEVER_ENDS = frozenset(("dr mr mrs ms prof st vs v.s e.g eg i.e approx ca fig cf pt no. est").split())
_RARELY_ENDS = frozenset(
    (
        "mg mcg ml kg g gm cm mm hr hrs min mins sec wk wks mo mos yr yrs yo y.o b.i.d bid t.i.d tid "
        "q.i.d qid q.d qd q.h.s qhs q.o.d p.r.n prn p.o po i.v iv i.m im s.c sc a.m p.m am pm etc tab "
        "tabs cap caps temp resp approx inc jr sr lt rt wt ht hx dx rx tx sx fx neg pos max exam abd ext "
        "lab labs dept incl avg freq a.c p.c h.s u.s o.d o.s o.u"
    ).split()
)
_OPENERS = re.compile(
    r"\s*[\"'(]*(?:no|not|denies|denied|reports|she|he|they|we|pt|patient|the|there|this|his|her|has|had|will"
    r"|takes|taking"
    r"|continue|continues|start|started|stop|stopped|return|call|follow|if|family|mother|father|allerg\w+"
    r"|labs?|plan|also"
    r"|currently|discharge\w*|recheck|refer|consider|without|negative|positive|bp|exam)\b"
)
_STOP_MARK = re.compile(r"[.!?]+(?=[\"')\]]*(?:\s|$))|(?<=[a-z]{3})\.(?=[a-z]{2})|[\u2022\u25cf\u25aa]")
_TOKEN_BEFORE = re.compile(r"[a-z0-9](?:[a-z0-9.]*)$")
_TITLE = re.compile(r"\b(?:mr|mrs|ms|dr|pt|patient)\.? $")
_DICTATED_STOP = re.compile(r"\bperiod (?=[A-Z])")
_LETTER_ALONE = re.compile(r"\D\s$")
_NO_SPACE = re.compile(r"\S")
_ANSWER = re.compile(r"\s*(?:no|none|yes|denies|denied|n|y|nope|negative|positive)\b")
_NUMBERED = re.compile(r"\s*1[.)]\s")
_NUMBER = re.compile(r"(?<=\s)(\d{1,2})[.)](?=\s)")

HEADING_NAMES = (
    r"family (?:medical )?(?:history|hx)|fam(?:ily)? ?hx|f(?:m)?hx?|past (?:medical|surgical) (?:history|hx)"
    r"|pmhx?|pshx?|social (?:history|hx)|shx?"
    r"|soc ?hx|allerg(?:ies|y)(?: and intolerances| list)?|drug allergies|medication allergies|(?:current "
    r"|home |discharge |outpatient |active )?(?:meds|medications)(?: on admission| at home)?"
    r"|(?:discontinued|stopped|held|past|previous|prior|former|inactive)(?: home)? (?:meds|medications)"
    r"|past (?:meds|medications) ?/ ?discontinued(?: (?:meds|medications))?|discontinued|(?:meds|medications)"
    r"(?:/| )?(?:discontinued|stopped|held|on hold)|review of systems|ros|physical(?: exam(?:ination)?)?"
    r"|exam(?:ination)?|vitals?(?: signs)?|vs"
    r"|assessment(?: and plan| & plan|/plan)?|a/p|a&p|a and p|impression|plan"
    r"|to[ -]?do(?: list)?|tasks|orders|hpi"
    r"|history of present(?:ing)? illness|chief complaint|cc|subjective"
    r"|objective|labs?|laboratory(?: data)?|imaging|results|studies|procedures?|hospital course|disposition"
    r"|dispo|follow[ -]?up|diagnos[ie]s"
    r"|problem list|problems|active problems|return precautions|precautions|differential(?: diagnosis)?|ddx"
    r"|(?:pertinent )?negatives|(?:not active|not present|excluded|ruled out)"
    r"(?:[ ]*/[ ]*(?:not active|not present|excluded|ruled out))*|active|inactive|resolved"
    r"|(?:pertinent )?positives|immunizations?|immunisations?|health maintenance|instructions"
    r"|discharge instructions|ed course|mdm|medical decision making"
    r"|interval history|habits|tobacco|general|neuro|heent|cv|lungs|resp|abd(?:omen)?|ext|skin|psych|msk|gi"
    r"|gu|s|o|a|p"
)
HEADING = re.compile(rf"[ ]*[#*_=\-]*[ ]*({HEADING_NAMES})[ ]*[*_=]*(?::[*_]*|(?=[ ]*(?:\n|$)))")
_INLINE_HEADING = re.compile(
    r"(?<=\s)(?:(?:past|past medical|current|home|discharge|previous|prior|discontinued|stopped|held"
    r"|former) )?(?:family (?:history|hx)|fhx?|famhx|pmhx?|pshx?|shx?|social (?:history|hx)|allergies|meds"
    r"|medications|ros|hpi|assessment"
    r"|a/p|plan|labs|vitals|exam)[ ]?:"
)


def _ends_sentence(folded: str, original: str, at: int, stop: int, line_start: int, mixed: bool) -> bool:
    """Whether the mark at ``[at, stop)`` closes a sentence."""
    mark = folded[at]
    if mark == "?":
        # "? PE" puts a question to the word behind it; "Chest pain? No" is a form.
        return at > line_start and not folded[at - 1].isspace() and not _ANSWER.match(folded, stop)
    if mark != "." or stop - at > 1:
        return True
    before = _TOKEN_BEFORE.search(folded, max(line_start, at - 14), at)
    token = before[0] if before else ""
    if stop < len(folded) and not folded[stop].isspace() and folded[stop] not in "\"')]":
        # No space behind the stop: "pain.Denies" ends, "example.com" does not.
        return (mixed and original[stop].isupper()) or bool(_OPENERS.match(folded, stop))
    if token in _NEVER_ENDS:
        return False
    if (
        token.isdigit()
        and len(token) < 3
        and not folded[line_start : min(at - len(token), line_start + 20)].strip()
    ):
        return False
    if token in _RARELY_ENDS or (len(token) == 1 and token.isalpha()):
        following = _NO_SPACE.search(folded, stop)
        if following is None:
            return True
        if mixed:
            where = following.start()
            # "Mr. A. Smith" and "dad d. MI" go on, "vitamin D. Next" and "100/d. Next" do not.
            goes_on = token not in _RARELY_ENDS and (
                _TITLE.search(folded, max(line_start, at - 8), at - 1) is not None
                or (original[at - 1].islower() and _LETTER_ALONE.search(folded, at - 3, at - 1) is not None)
            )
            return original[where].isupper() and (not goes_on or _OPENERS.match(folded, where) is not None)
        return bool(_OPENERS.match(folded, stop))
    return True


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _joins(
    folded: str, original: str, line: tuple[int, int], nxt: tuple[int, int], width: int, mixed: bool
) -> bool:
    """Whether the next line goes on with the sentence of this one (a hard wrap)."""
    text, following = folded[line[0] : line[1]].rstrip(), folded[nxt[0] : nxt[1]]
    if _MARKER.match(following) or ("|" in text and "|" in following):
        return False
    if _JOINING_END.search(text):
        return True
    if text[-1] in ".!?:;" or _LABEL.match(following) or (HEADING.match(text) and HEADING.fullmatch(text)):
        return False
    if HEADING.match(following) and HEADING.fullmatch(following.rstrip()):
        return False
    if _DRUG_LINE.match(following) and _indent(text) == _indent(following):
        return False  # indented lines that open with a drug and its dose are a list
    if _JOINING_START.match(following) and len(text) >= 25:
        return True
    first = _FIRST_WORD.match(following)
    assert first is not None
    letter = original[nxt[0] + len(following) - len(following.lstrip())]
    if mixed and letter.isupper():
        return False
    if mixed and letter.islower() and len(text) >= 60:
        return True
    return width >= 45 and len(text) + 1 + len(first[0].strip()) > width


def _line_groups(folded: str, original: str, mixed: bool) -> list[tuple[int, int, bool]]:
    """Runs of lines that belong together, as (start, end, opens_block)."""
    lines: list[tuple[int, int]] = []
    start = 0
    for piece in folded.split("\n"):
        lines.append((start, start + len(piece)))
        start += len(piece) + 1
    groups: list[tuple[int, int, bool]] = []
    after_blank = True
    width = 0
    previous: tuple[int, int] | None = None
    for number, line in enumerate(lines):
        if not folded[line[0] : line[1]].strip():
            after_blank, previous = True, None
            continue
        if previous is None:
            width = 0
            for other in lines[number:]:
                if not folded[other[0] : other[1]].strip():
                    break
                width = max(width, len(folded[other[0] : other[1]].rstrip()))
        if previous is not None and _joins(folded, original, previous, line, width, mixed):
            groups[-1] = (groups[-1][0], line[1], groups[-1][2])
        else:
            groups.append((*line, after_blank))
        after_blank, previous = False, line
    return groups


def segment_text(folded: str, original: str) -> list[Segment]:
    """Cut the text into sentences and list items, in order.

    Args:
        folded: ``fold(original)``.
        original: The text itself, for its letter case.

    Returns:
        Segments that do not overlap; between them stands only whitespace.
    """
    mixed = not (original.isupper() or original.islower())
    segments: list[Segment] = []
    for start, end, opens_block in _line_groups(folded, original, mixed):
        opens_line = True
        for left, right in pairwise(sorted({start, end, *_cuts(folded, original, start, end, mixed)})):
            piece = folded[left:right]
            stripped = piece.strip()
            if not stripped:
                continue
            begin = left + len(piece) - len(piece.lstrip())
            item = _MARKER.match(stripped) is not None
            segments.append(
                Segment(begin, begin + len(stripped), opens_line, opens_line and opens_block, item)
            )
            opens_line = False
    return segments


def _cuts(folded: str, original: str, start: int, end: int, mixed: bool) -> list[int]:
    """Where the joined lines [start, end) are to be cut."""
    cuts = _numbered_cuts(folded, start, end)
    numbers = {at + offset for at in cuts for offset in (1, 2)}
    for mark in _STOP_MARK.finditer(folded, start, end):
        if mark[0] in "\u2022\u25cf\u25aa":
            cuts.append(mark.start())
        elif mark.start() not in numbers and _ends_sentence(
            folded, original, mark.start(), mark.end(), start, mixed
        ):
            closing = mark.end()
            while closing < end and folded[closing] in "\"')]":
                closing += 1
            cuts.append(closing)
    if mixed and folded.find("period ", start, end) >= 0:
        cuts.extend(match.end() for match in _DICTATED_STOP.finditer(original, start, end))
    if folded.find(":", start, end) >= 0:
        heading = HEADING.match(folded, start, end)
        after_heading = heading.end() if heading else start + 1
        cuts.extend(match.start() for match in _INLINE_HEADING.finditer(folded, after_heading, end))
    return cuts


def _numbered_cuts(folded: str, start: int, end: int) -> list[int]:
    """Cuts before "2.", "3." … of a numbered list that runs on in one line."""
    cuts: list[int] = []
    if not _NUMBERED.match(folded, start, end):
        return cuts
    for match in _NUMBER.finditer(folded, start + 2, end):
        if int(match[1]) == len(cuts) + 2:
            cuts.append(match.start())
    return cuts
