"""Within one sentence: which stretches of it are negated, doubted, conditional, stopped or a relative's."""

from __future__ import annotations

import re

from clinical_evals.grounding.context.forms import Form, find_forms
from clinical_evals.grounding.context.reach import Line, Mark, begin_of_scope, end_of_scope, is_condition
from clinical_evals.grounding.context.triggers import MARKS, Kind, Scope, look_up

_FOLLOWED = re.compile(
    r"['\"]?\s*(?:$|[.,;()\]!?|]|-+ |[–—]|w/|(?:hr|hour|day|week|pod|hd) ?\d"
    r"|(?:and|but|once|or|due|d/t|because|secondary|2/2|for|by|on|in|at"
    r"|after|last|yesterday|today|until|prior|pending|since|per|as|while|when|if|ago|now|currently"
    r"|during|before|with"
    r"|without|from|upon|based|two|three|several|a (?:few|week|month|year)"
    r"|this (?:week|month|morning|admission)|\d+\s*[a-z]*\s+(?:ago|prior|earlier)|\d+/\d"
    r"|(?:19|20)\d\d|x\s?\d|x\d|~|over|earlier|previously|early"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
    r"|dec)[a-z]*)\b)"
)
# What follows a trigger that speaks of the words before it, by the direction named in the table.
_BACKWARD_IF: dict[str, re.Pattern[str]] = {
    "auto": _FOLLOWED,
    "auto_doubt": re.compile(
        r"['\"]?\s*(?:$|[.,;()\]!?|]|[–—]|(?:given|because|based|as|but|however|though|although"
        r"|at (?:this|present)|on (?:ct|mri|imaging|exam|x-?ray|cxr|us|the)|per|by|in view|without"
        r"|with)\b|w/ )"
    ),
    "auto_answer": re.compile(
        r"\s*(?:$|[.,;)\]|!]|-+ |[–—]|(?:reported|noted)?\s*(?:$|[.,;])|x ?\d|on \d"
        r"|(?:last|today|yesterday|recently)\b)"
    ),
    "auto_label": re.compile(r"\s*(?:$|[.,;)\]])"),
}
_REASON = re.compile(r" *(?:due to|because|d/t|2/2|secondary to|b/c|after|on (?:his|her|their) own)\b")
_DOER_BEFORE = re.compile(r"\b(?:she|he|they|we|i|pt|patient|to|will|should|please|must|can|may) *$")
_WORD_BEFORE = re.compile(r"[a-z0-9]")
# "Ondansetron helped but she quit taking it": the subject at the head of the sentence is meant.
_STOPPED_IT = re.compile(
    r"\b(?:quit|stopped|discontinued|came off|dropped|held|d/c'd)(?: taking| using| giving)? (?:it|them)\b"
)
_RESTARTED = re.compile(
    r"\b(?:resumed|restarted|re-started|reinitiated)\b(?=\s*(?:$|[.,;)]|it\b|on\b|at\b|in\b|after"
    r"|once|when|before"
    r"|by\b|yesterday|today|this|last|now|\d))"
)
_ORDERS = ("stop", "hold", "discontinue", "d/c", "dc")
_CLAUSE_ENDS = (Kind.STOP, Kind.COLON)

# A drug was tried, and the sentence (or the next one) goes on "..., stopped due to rash".
_TRIED = re.compile(
    r"\b(?:on|(?<!, )(?<!and )gave|given|tried|started(?: on)?|took|used|prescribed|put on|placed on"
    r"|began|trial+ed|trial of)\b"
    r"(?: (?:him|her|them|pt|a|an|some|the|taking|on|of|short|course|trial)\b)*"
)
_TRIED_OBJECT = re.compile(
    r" *(?!(?:for|by|at|from|and|but|which|who|with|in|on|due|after|then|last|to"
    r"|as)\b)(?P<drug>[a-z][^,;()|]{1,60}?)"
    r"(?= *(?:[,;()|]|\.(?: |$)|$|\b(?:for|by|at|from|and|but|which|who|with|without|in|on|due|after"
    r"|then|last|x ?\d"
    r"|\d+ (?:day|week|wk|month|mo|year|yr|d)s?|he|she)\b))"
)
_TRIED_SUBJECT = re.compile(
    r"(?:^|[,;.:(] *|\band |\bbut )(?P<drug>[a-z][a-z0-9 /\-]{2,40}?) (?:(?:has|had|have) (?:been )?"
    r"|was |were |been )?"
    r"(?:also |once |briefly )*$"
)
_AMOUNT = re.compile(r"(?:one|two|three|four|a few|several|half|only|his|her|their|it|them)\b")
_NO_DRUG = re.compile(r"(?:he|she|they|pt|patient|this|that|it)$")
_LEADING = (
    r"(?:(?:and|but|then|so|he|she|they|pt|patient|was|has|had|have|to|been|since|already|later|self"
    r"|eventually"
    r"|subsequently|soon|quickly)[ \-]+){0,6}"
)
_QUIT = (
    r"(?:quit|stopped|finished|completed|dropped|discontinued|d/c'?d|dc'd|came off|abandoned)"
    r"(?: (?:taking|using))?"
    r"(?: (?:it|them|that|these|this))?(?= *(?:$|[.,;)]|(?:due|d/t|2/2|because|b/c|after|on (?:his"
    r"|her|their) own"
    r"|also|too|since|when|within|by|at|in|last|today|yesterday|again|early)\b))"
)
_THEN_QUIT = re.compile(rf"(?:[,;.] *|\b(?=(?:and|but|then|so|which)\b)){_LEADING}{_QUIT}")
_NEXT_QUIT = re.compile(rf"{_LEADING}{_QUIT}")
_QUIT_QUICK = re.compile(r"quit|finished|completed|stopped|dropped|discontinued|d/?c'|came off|abandoned")
_WHICH_QUIT = re.compile(
    r"\b(?P<drug>[a-z][a-z\-]+(?: \d+ ?(?:mg|mcg|g|units?))?),? which (?:[a-z ]{3,40}? (?:so|and) )?"
    r"(?:he|she|they|pt|patient) (?:then |later )?(?:quit|stopped|dropped|discontinued)\b"
)


# A row's first cell, an item in front of its dash or arrow, a label in front of its colon.
_HEAD_OF_ROW = re.compile(
    r"[ \-*\u2022>#(]*(?:o +)?(?P<head>[a-z0-9][^|:;,()]{1,60}?) *(?:\||:(?= )|-+>|\u2192|--+|\u2013"
    r"|\u2014| - )"
)
_CROSSED_OUT = re.compile(r"~~[^~]{1,80}~~")
_STOP_CELL = re.compile(
    r"\| *(?:please )?(?:stop(?:ped)?|discontinued?|d/?c'?d?|held|hold|on hold|cease[d]?"
    r"|remove[d]?)(?= *(?:$|[|.,;()]"
    r"|due|d/t|because|on|by|since|from|today|now|\d))"
)
_NOT_TAKEN = re.compile(
    r" *(?:\||-+>|\u2192|--+|\u2013|\u2014|- )(?![^|]*\b(?:tried|given|gave|started|switched|resumed?"
    r"|re-?start(?:ed)?"
    r"|restarted)\b)"
    r"(?:[^|;]*(?:,|\band|\bbut|\bso))?\s*(?:(?:he|she|pt|patient|is|was|has|been|now|currently|since"
    r"|again) +)*"
    r"(?:not taking|no longer(?: tak(?:es|ing)| on)?|off|stopped taking)(?: +(?:it|this|them))?"
    r"(?= *(?:$|[|.,;)]|(?:per|since|now|currently|due|because|any ?more|at (?:this|present)"
    r"|for (?:now|\d))\b))"
)
_SHOWED_NONE = re.compile(
    r" *:[^:;]*\b(?:show(?:ed|s|n)?|reveal(?:ed|s)?|found|detected)\s+(?:none|no such"
    r"|nothing)(?= *(?:$|[.,;)]))"
)
_STATUS_QUICK = re.compile(
    r"\| *(?:please )?(?:stop|disc|d/?c|h[eo]ld|on hold|cease|remove)|not taking|no longer|\boff\b"
    r"|stopped taking"
    r"|none|nothing|no such"
)

# A dictated word takes back what was said directly before it.
_RETRACTION = re.compile(
    r"(?:\bno,? )?(?:\b(?:oh |wait |actually )*sorry,? )?\b(?:scratch|strike|delete|disregard|erase|cancel)"
    r" (?:that|the last)\b(?: (?:last )?(?:one|line|part|sentence|order))?(?! (?:is|was|has)\b)"
    r"|\bno,? (?:wait|sorry)\b(?! to)|(?<=[,;.] )correction(?=[,:.])|^correction(?=[,:.])|\bi misspoke\b"
)
_RETRACTION_QUICK = re.compile(r" that|the last|sorry|no,? wait|correction|misspoke")
_CLAUSE_HEAD = re.compile(
    r"[.,;:|]\s|\b(?:start|started|begin|add|give|increase|decrease|continue|order|switch to|refer to"
    r"|schedule|takes"
    r"|taking|has|had|is on|was on|with|for|reports|and|but|then|we will)\b"
)

# Dictation without punctuation: where a condition's own consequence stands, and where the next order begins.
_CONSEQUENCE = re.compile(r"\b(?:then )?(?:we|i)(?:'ll| will| would| can| could) [a-z]+")
_NO_ORDER = "".join(rf"(?<!\b{word} )" for word in "to will should can not she he they you we".split())
_NEXT_ORDER = re.compile(
    _NO_ORDER
    + r"\b(?:take|see (?:him|her|them|back)|refer|check|recheck|continue|start|stop|order|call|follow up"
    r"|repeat|schedule|return|plan|keep|review|increase|decrease|switch|add|come back|cbc|bmp|cmp|labs|x-?ray"
    r"|impression|assessment|rtc|end dictation|end of dictation|thank you|thanks|no more|no)\b"
)
_SETTLED = re.compile(
    r"\b(?:days?|weeks?|months?|years?|today|tomorrow|daily|nightly|placed|ordered|done|night|morning|clinic"
    r"|bedtime)\b"
)
# Where a denial is over though no comma says so: an order, a dosed drug, an item behind "ppx".
_NEW_ITEM = re.compile(
    r"(?<=[a-z0-9] )(?<!\bto )(?<!\bor )(?<!\band )(?<!\bnot )(?<!\bwill )(?<!\bdid )(?<!\bwe )(?<!\bshould )"
    r"(?:start|begin|continue|restart|resume|increase|decrease|switch to|refer)\b"
    r"(?= (?!of\b|date|time|up\b|the\b|in\b|from\b)[a-z])"
    r"|(?<=[b-hj-rtv-z]s )[a-z][a-z\-]{3,}(?= (?:(?:for|up|to|at|po|by|prn|the|his|her"
    r"|[a-z]+) ){0,5}\d+(?:\.\d+)? ?"
    r"(?:mg|mcg|g|grams?|units?)\b)"
    r"|(?<=ppx),(?![^.;]{0,80}\b(?:or|nor|and)\b)|(?<=prophylaxis),(?![^.;]{0,80}\b(?:or|nor|and)\b)"
)


def _read_marks(folded: str, start: int, end: int, tasks: bool) -> tuple[list[Mark], list[Scope]]:
    """The marks of a segment with their directions settled, and the scopes of its checkboxes."""
    marks = [
        Mark(found.start(), found.end(), *look_up(found[0])) for found in MARKS.finditer(folded, start, end)
    ]
    forms, scopes = find_forms(folded, start, end, tasks=tasks)
    if _RETRACTION_QUICK.search(folded, start, end):
        for found in _RETRACTION.finditer(folded, start, end):
            forms.append(Form(found.start(), found.end(), Kind.STOP))
            if found.start() > start:
                scopes.append(_retracted(folded, start, found.start()))
    if forms:
        taken = {at for form in forms for at in range(form.start, form.end)}
        marks = [mark for mark in marks if taken.isdisjoint(range(mark.start, mark.end))]
        marks.extend(Mark(*form) for form in forms)
        marks.sort()
    marks = [_directed(mark, folded, start, end) if mark.effects else mark for mark in marks]
    _drop_cancelled_stops(marks, folded, start, end)
    return marks, scopes


def _directed(mark: Mark, folded: str, start: int, end: int) -> Mark:
    """The mark with its "auto" directions settled by what stands around it."""
    if not any(effect.direction in _BACKWARD_IF for effect in mark.effects):
        return mark
    effects = []
    for effect in mark.effects:
        pattern = _BACKWARD_IF.get(effect.direction)
        if pattern is None:
            effects.append(effect)
        elif (
            effect.direction == "auto"
            and _REASON.match(folded, mark.end, end) is not None
            and (not _WORD_BEFORE.search(folded, start, mark.start))
        ):
            continue  # "Stopped due to cough.": what was stopped stands in the sentence before
        elif pattern.match(folded, mark.end, end) is None or (
            effect.direction == "auto" and not _WORD_BEFORE.search(folded, start, mark.start)
        ):
            effects.append(effect._replace(direction="forward"))
        # "She quit." has nothing before it that could be stopped.
        elif effect.direction != "auto" or not _DOER_BEFORE.search(
            folded, max(start, mark.start - 24), mark.start
        ):
            effects.append(effect._replace(direction="backward"))
    return mark._replace(effects=tuple(effects), kind=mark.kind if effects else Kind.HARMLESS)


def _drop_cancelled_stops(marks: list[Mark], folded: str, start: int, end: int) -> None:
    """Take the effect from stops that did not last or did not happen.

    "Stop ibuprofen if it burns" has not stopped it, and what was "held, then resumed" is taken.
    """
    stops = [n for n, mark in enumerate(marks) if any(e.assertion == "discontinued" for e in mark.effects)]
    if not stops:
        return
    restarted = _RESTARTED.search(folded, start, end)
    for number in stops:
        mark = marks[number]
        ordered = folded[mark.start : mark.end] in _ORDERS
        if (ordered and _conditional(marks, number)) or (restarted and restarted.start() > mark.start):
            marks[number] = mark._replace(kind=Kind.HARMLESS, effects=())


def _conditional(marks: list[Mark], number: int) -> bool:
    """Whether an "if" stands in the same clause as this mark."""
    for at in range(number - 1, -1, -1):
        leader = marks[at]
        if leader.kind in _CLAUSE_ENDS:
            break
        if is_condition(leader):
            return True
    for at in range(number + 1, len(marks)):
        follower = marks[at]
        if follower.kind in _CLAUSE_ENDS:
            return False
        if is_condition(follower):
            return True
    return False


def read_scopes(folded: str, start: int, end: int, *, tasks: bool = False) -> list[Scope]:
    """Find every scope in one segment.

    Args:
        folded: The whole text, lower case, all whitespace spaces.
        start: Offset of the segment's first character.
        end: Offset behind its last one.
        tasks: The segment stands in a list of things to do, where an empty checkbox denies nothing.

    Returns:
        Scopes in no particular order; they may overlap.
    """
    marks, scopes = _read_marks(folded, start, end, tasks)
    runs_on = end - start > 300 and not any(mark.kind in (Kind.COMMA, Kind.COLON) for mark in marks)
    line = Line(folded, start, end, marks, runs_on)
    for number, mark in enumerate(marks):
        for effect in mark.effects:
            if effect.direction == "forward":
                left, right = mark.end, end_of_scope(line, number, effect)
            else:
                left, right = begin_of_scope(line, number, effect), mark.start
            if runs_on and is_condition(mark):
                left, right = _dictated_condition(folded, mark, left, right, end)
            if effect.assertion == "negated" and effect.direction == "forward":
                item = _NEW_ITEM.search(folded, left, min(end, right + 60))
                right = min(right, item.start()) if item else right
                if runs_on and right > left:
                    order = _NEXT_ORDER.search(folded, left + 2, right)
                    right = order.start() if order else right
            if right > left:
                scopes.append(Scope(left, right, effect.assertion))
    if "~~" in folded[start:end]:
        scopes += [Scope(*m.span(), "discontinued") for m in _CROSSED_OUT.finditer(folded, start, end)]
    if _STATUS_QUICK.search(folded, start, end):
        scopes.extend(_tables(folded, start, end))
    if _QUIT_QUICK.search(folded, start, end):
        scopes.extend(_tried_and_quit(folded, start, end))
    if _STOPPED_IT.search(folded, start, end):
        scopes.append(Scope(start, _end_of_subject(line), "discontinued"))
    return scopes


def _end_of_subject(line: Line) -> int:
    """The end of the words before the sentence's first mark, five at most."""
    first = line.marks[0].start if line.marks else line.end
    words = line.folded[line.start : first].split()[:5]
    return min(first, line.start + len(" ".join(words)))


def _tables(folded: str, start: int, end: int) -> list[Scope]:
    """The drug at the head of a table's row, of a list's item or of a label whose last word on it is no."""
    scopes = []
    head = _HEAD_OF_ROW.match(folded, start, end)
    if head is not None:
        if _STOP_CELL.search(folded, head.end() - 1, end) or _NOT_TAKEN.match(folded, head.end("head"), end):
            scopes.append(Scope(*head.span("head"), "discontinued"))
        if _SHOWED_NONE.match(folded, head.end("head"), end):
            scopes.append(Scope(*head.span("head"), "negated"))
    return scopes


def _retracted(folded: str, start: int, end: int) -> Scope:
    """What a dictated "scratch that" behind [start, end) takes back: the last clause, a few words at most."""
    start = begin = max(start, end - 120)
    end = start + len(folded[start:end].rstrip(" ,;.-\u2013\u2014"))
    for clause in _CLAUSE_HEAD.finditer(folded, max(start, end - 80), end):
        begin = clause.end()
    words = list(re.finditer(r"\S+", folded[begin:end]))[-6:]
    return Scope(begin + (words[0].start() if words else 0), end, "negated")


def _dictated_condition(folded: str, mark: Mark, left: int, right: int, end: int) -> tuple[int, int]:
    """The scope of an "if" in dictation without punctuation, where the next order ends it."""
    consequence = _CONSEQUENCE.search(folded, mark.end, min(end, mark.end + 120))
    if left < mark.start:  # what stands before it is conditional only if no consequence stands behind it
        if consequence is not None:
            return right, right
        begin = max(left, right - 60)
        for settled in _SETTLED.finditer(folded, begin, right):
            begin = settled.end()
        words = folded[begin:right].split()[-3:]
        return max(left, begin, right - len(" ".join(words)) - 1), right
    if consequence is None:
        order = _NEXT_ORDER.search(folded, left, right)
        return left, order.start() if order else right
    end = min(end, consequence.end() + 120)
    order = _NEXT_ORDER.search(folded, consequence.end(), end)
    words = folded[consequence.end() : order.start() if order else end].split()[:5]
    return left, min(end, consequence.end() + 1 + len(" ".join(words)))


def _tried_and_quit(folded: str, start: int, end: int) -> list[Scope]:
    """The drugs that were tried and given up in this sentence."""
    scopes = [
        Scope(*match.span("drug"), "discontinued") for match in _WHICH_QUIT.finditer(folded, start, end)
    ]
    for quitting in _THEN_QUIT.finditer(folded, start, end):
        if not _RESTARTED.search(folded, quitting.end(), end):
            scopes.extend(_tried(folded, start, quitting.start()))
    return scopes


def _tried(folded: str, start: int, end: int) -> list[Scope]:
    """The drug that was tried last in [start, end)."""
    for trial in reversed(list(_TRIED.finditer(folded, max(start, end - 300), end))):
        drug = _TRIED_OBJECT.match(folded, trial.end(), end)
        if drug is None:
            begin = max(start, trial.start() - 60)
            drug = _TRIED_SUBJECT.search(folded[begin : trial.start()])
            if drug is not None and not _NO_DRUG.match(drug["drug"]):
                return [Scope(begin + drug.start("drug"), begin + drug.end("drug"), "discontinued")]
        elif not _AMOUNT.match(drug["drug"]):
            return [Scope(*drug.span("drug"), "discontinued")]
    return []


def scopes_of_next(folded: str, start: int, end: int, following: tuple[int, int]) -> list[Scope]:
    """What the next sentence says of this one: "Was given X. Stopped due to rash.", "Start X. Scratch that."

    Args:
        folded: The whole text, lower case, all whitespace spaces.
        start: Offset of the segment's first character.
        end: Offset behind its last one.
        following: The same of the segment behind it.

    Returns:
        Scopes within [start, end).
    """
    if _RETRACTION.match(folded, *following):
        return [_retracted(folded, start, end)]
    quitting = _NEXT_QUIT.match(folded, *following)
    if quitting is not None and not _RESTARTED.search(folded, quitting.end(), following[1]):
        return _tried(folded, start, end)
    return []
