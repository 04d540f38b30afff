"""What phrases alone cannot tell: checkboxes, question marks, answers, relatives, "should", "when"."""

from __future__ import annotations

import re
from typing import NamedTuple

from clinical_evals.grounding.triggers import Effect, Kind, Scope


class Form(NamedTuple):
    """A mark found by its form at [start, end); it replaces the phrases it overlaps."""

    start: int
    end: int
    kind: Kind
    effects: tuple[Effect, ...] = ()


_NO_FORWARD = (Effect("negated", "forward", "phrase"),)
_NO_BACKWARD = (Effect("negated", "backward", "phrase"),)
_NO_LABEL = (Effect("negated", "backward", "list"),)
_DOUBT_FORWARD = (Effect("uncertain", "forward", "phrase"),)
_DOUBT_BACKWARD = (Effect("uncertain", "backward", "phrase"),)
_IF_FORWARD = (Effect("hypothetical", "forward", "sentence"),)
_IF_BOTH = (*_IF_FORWARD, Effect("hypothetical", "backward", "sentence"))
_WARNING = (Effect("hypothetical", "forward", "list"),)
_COURSE_TAKEN = (Effect("discontinued", "forward", "coordinated"),)
_STOPPED_BACKWARD = (Effect("discontinued", "backward", "coordinated"),)
_KIN_FORWARD = (Effect("family_history", "forward", "list"),)
_KIN_BACKWARD = (Effect("family_history", "backward", "list"),)

_BOX = re.compile(
    r"(?P<off>\[[ \-_]?\]|\([ ]+\)|\(-+\)|\u2610)|(?P<on>\[[x\u2713\u2714+*]\]|\([x+]\)"
    r"|[\u2611\u2612\u2713\u2714])"
)
_BOX_END = re.compile(r"[;|]|\bbut\b|$")
_ANSWER = re.compile(
    r"(?<=[a-z)])(?:\s*[:=?]\s*|\s+[-\u2013\u2014]+\s+|\s*\()(?P<word>n|no|none|neg|negative|nil|never|denied"
    r"|denies|absent|nope|not present|0)(?:\s+(?:reported|noted|known|now|currently|today|appreciated|seen"
    r"|heard|found|palpated|recently|recent|at this time|at present))?\)?(?=\s*(?:[,.;|)\]]|$|\s-\s))"
)
_MAY_ANSWER = re.compile(r"[:=?(\u2013\u2014]| -")
_YES = re.compile(r"[:=?]\s*(?:y|yes|present|positive|pos)\b")
_MINUS = re.compile(r"(?:^|(?<=[\s,;/(]))-(?=[a-z])")
_SIGNED = re.compile(r"(?:^|[\s,;/(])\+[a-z]|(?:^|[\s,;/(])-[a-z][^-+]*[\s,;/(]-[a-z]")
_QUESTION = re.compile(r"\(\?+\)|\?+")
_FREE = re.compile(
    r"(?<=[a-z])[ \-]free(?=\s*(?:$|[.,;)]|for\b|since\b|x ?\d|at\b|on\b|now\b|today\b|currently\b|and\b"
    r"|but\b))"
)
_SHOULD = re.compile(
    r"\bshould (?=(?!(?:be|not|take|avoid|have|continue|call|return|also)\b)(?:[a-z\-/]+ ){1,5}(?:occur|recur"
    r"|develop|worsen|return|persist|arise"
    r"|happen|fail|become|spread|progress|appear|increase|come back|change)\b)"
)
_WHEN = re.compile(
    r"\bwhen(?:ever)? (?=[^.;,]{0,40}\b(?:recurs?|returns?|worsens?|flares?|develops?|occurs?|reappears?"
    r"|comes? back|starts? again|arises?)\b)"
)
_CARE = (
    r" (?:to|into|at)(?: the| our| your| an)? ?(?:nearest )?(?:ed|er|clinic|office|emergency department"
    r"|emergency room|emergency"
    r"|hospital|urgent care|us|pcp)"
)
_AT_ONCE = r"(?: back| immediately| sooner| promptly| right away| again| urgently| asap)*"
_GO = (
    rf"\b(?:(?:return|come back|come in|call|call us|call 911|call clinic){_AT_ONCE}(?:{_CARE})?"
    rf"|(?:go|present|report|proceed){_AT_ONCE}{_CARE}"
    rf"|seek(?: (?:medical|emergency|immediate|urgent))? (?:care|attention|help)){_AT_ONCE}"
)
# A visit that is planned anyway is no condition.
_NO_VISIT = (
    r"(?: any| new| worsening| signs of| symptoms of)*(?=[ :])"
    r"(?! (?:a |an |his |her |their |the |routine |post-?op |repeat )*(?:follow|f/u|recheck|repeat|labs?\b"
    r"|visit|appointment|bp\b|blood pressure|suture|wound check|check|eval|re-?eval|next|result|refill"
    r"|questions"
    r"|nurse|physical|well|vaccin|routine|imaging|mri\b|ct\b))"
)
_RETURN_FOR = re.compile(rf"{_GO} for{_NO_VISIT}")
_RETURN_WITH = re.compile(rf"{_GO} with{_NO_VISIT}")
_COURSE = re.compile(
    r"\b(?:completed|finished)(?: (?:an?|her|his|their|the|full|prescribed))*"
    r"(?: \d+[ \-](?:days?|weeks?|wks?|months?|d|doses?|cycles?)(?: course)?(?: of)?\b"
    r"|(?= (?:antibiotic|abx|steroid|chemo|taper|[a-z]*(?:cillin|mycin|cycline|oxacin|azole|sone|lone|vir)\b"
    r"|cef)))"
)
_VERSUS_NUMBER = re.compile(r"\bvs\.? (?=\d)")
_TAKEN_IN_PAST = re.compile(
    r"\b(?:took|taken|tried|used|treated with|received|been on|was on"
    r"|failed)\b[^.;]{0,120}?(\bin the (?:remote |distant )?past\b)"
    r"(?! (?:\d|few|two|three|four|several|couple|week|month|year|day))"
)

# Where the needle is in the sentence, the pattern is looked for; its only group, if any, is the mark.
_BY_NEEDLE: tuple[tuple[str, re.Pattern[str], Kind, tuple[Effect, ...]], ...] = (
    ("free", _FREE, Kind.TRIGGER, _NO_BACKWARD),
    ("should", _SHOULD, Kind.TRIGGER, _IF_BOTH),
    ("when", _WHEN, Kind.TRIGGER, _IF_BOTH),
    (" for", _RETURN_FOR, Kind.TRIGGER, _WARNING),
    (" with", _RETURN_WITH, Kind.TRIGGER, _WARNING),
    (" vs", _VERSUS_NUMBER, Kind.HARMLESS, ()),
    ("the past", _TAKEN_IN_PAST, Kind.TRIGGER, _STOPPED_BACKWARD),
    ("complet", _COURSE, Kind.TRIGGER, _COURSE_TAKEN),
    ("finish", _COURSE, Kind.TRIGGER, _COURSE_TAKEN),
)
_KIN_WORDS = (
    r"(?:(?:great[ \-])?grand(?:mother|father|parents?|ma|pa)s?|(?:step)?(?:mother|father)|mom|mum|dad"
    r"|(?:half[ \-])?(?:brother|sister|sibling)s?|aunts?|uncles?|cousins?"
    r"|nieces?|nephews?|parents?|sons?|daughters?|children|twin|mgm|mgf|pgm|pgf|wife|husband|spouse"
    r"|partner|roommate|girlfriend|boyfriend|maternal side|paternal side)"
)
_KIN = re.compile(rf"\b{_KIN_WORDS}\b")
_KIN_QUICK = re.compile(
    r"mother|father|mom|mum|dad|sist|broth|sibl|aunt|uncle|cousin|niece|neph|parent|son|daught|child|twin"
    r"|mg[mf]|pg[mf]|wife|husb|spous|partn|mate|friend|grandma|grandpa|ternal side"
)
_INFORMANT = re.compile(
    r"(?:\s*,?\s*(?:who|also|has|had|have|is|was|are|were|been|then|today|now|both|again"
    r"|\(?via phone\)?))*\s*(?:report|advis|recommend|counsel|inform|instruct|educat|stat(?:es?|ed|ing)\b|say"
    r"|said|tell|told|not(?:es?|ed|ing|ic\w+)\b"
    r"|den(?:y|ies|ied|ying)\b|think|thought|brought|bring|describ|concern|worri|endors|mention|call|request"
    r"|gave|giv|help|assist|manag|accompan|liv(?:es?|ing) (?!with [a-z]*itis)|interpret|translat"
    r"|confirm|observ|witness|feel|felt|ask|want|work|driv|dropped|agree|understand|verbali|wonder|believe"
    r"|suspect|at bedside|at the bedside|present|here|in (?:the )?room|on (?:the )?phone|able|unable|aware"
    r"|comfortable"
    r"|providing|provided|supplement|corroborat|administer|prefer|refus|declin|insist|admit|explain|recall"
    r"|remember|attribut|took (?:him|her)|check|measur|record|stay|visit|care|with (?:him|her|patient|pt)\b"
    r"|to (?:bring|call|help|monitor|assist|watch|give)"
    r"|being (?!treated|evaluated|followed|worked)|trying|using)"
)
_KIN_VERB = re.compile(
    r"(?:'s?)?(?:\s*\([^)]{0,20}\))?(?:\s*,?\s*(?:age[d]?\s*)?\d+(?:\s*(?:yo|y/o|y|yrs?)\b)?,?)?(?:\s+(?:who|also|both"
    r"|each|recently|likely|possibly|and (?:his|her|their)?\s*(?:maternal|paternal)?\s*" + _KIN_WORDS + r"))*"
    r"\s*(?:has\b|had\b|have\b|with\b|w/|died\b|dies\b|deceased|passed\b|being|treated|diagnosed|dx'?d?\b|was\b|is\b|are\b"
    r"|were\b|suffer|developed|h/o|hx\b|history|positive|takes\b|took\b|on\b|got\b|:|=|- |-+\s|\u2013|\u2014"
    r"|\()"
)
_NOT_PATIENTS_KIN = re.compile(
    r"\b(?:new|expectant|first[ \-]time|single|nursing|breastfeeding|young|working|teen|surrogate"
    r"|stay[ \-]at[ \-]home|day|person|mr\.?|business) +$"
)
_IN_KIN = re.compile(
    r"\b(?:in|on|from) (?:(?:his|her|their|the|a|an|both|one|two|pt's|patient's|several|multiple|biological"
    r"|maternal|paternal|older|younger|half|great|1st|first|second|degree|(?:[a-z]+ )?and)[ \-])*$"
)
_HEAD = re.compile(
    r"(?:^|[,;:(/&]|\band|\bor|-)[ \-]*(?:(?:maternal|paternal|his|her|pt's|patient's|older|younger|elder|the"
    r"|one)[ \-])*$"
)
_WITH_KIN = re.compile(
    r"\b(?:with|by|to|from|per|of|for|via|lives|see)\b(?: (?:his|her|their|the|pt's|patient's|both"
    r"|elderly))* *$"
)
_CLOSED = re.compile(r"\s*(?:$|[,;.)]|\d|at\b|age|@|and\b|\()")
_FOLLOWED_WORD = re.compile(
    r"\s+(?!of\b|in\b|at\b|and\b|or\b|to\b|who\b|for\b|as\b|from\b|by\b|will\b|can\b|may\b)[a-z]"
)


def _kin(folded: str, start: int, end: int) -> list[Form]:
    """Relatives as the ones who have the disease, not as those who tell of it."""
    forms = []
    for match in _KIN.finditer(folded, start, end):
        left, right = match.span()
        before = folded[max(start, left - 40) : left]
        if _INFORMANT.match(folded, right, end) or _NOT_PATIENTS_KIN.search(before):
            continue
        if folded[max(start, left - 1) : left] == "(" and _CLOSED.match(folded, right, end):
            forms.append(Form(left - 1, right, Kind.TRIGGER, _KIN_BACKWARD))
        elif _IN_KIN.search(before) and not folded.startswith(" with", right):
            forms.append(Form(left, right, Kind.TRIGGER, _KIN_BACKWARD))
        elif _KIN_VERB.match(folded, right, end):
            forms.append(Form(left, right, Kind.TRIGGER, _KIN_FORWARD))
        elif _WITH_KIN.search(before):
            continue
        elif re.search(r"(?:[:\u2013\u2014]| -+|,) *(?:(?:maternal|paternal) )?$", before) and _CLOSED.match(
            folded, right, end
        ):
            forms.append(Form(left, right, Kind.TRIGGER, _KIN_BACKWARD))
        elif _HEAD.search(before) and _FOLLOWED_WORD.match(folded, right, end):
            forms.append(Form(left, right, Kind.TRIGGER, _KIN_FORWARD))
    return forms


def _questions(folded: str, start: int, end: int) -> list[Form]:
    forms = []
    for match in _QUESTION.finditer(folded, start, end):
        left, right = match.span()
        following = folded[right:end].lstrip(" ")
        attached = left > start and folded[left - 1] not in " ,(/:;-["
        if match[0][0] == "(" or attached or not following:
            forms.append(Form(left, right, Kind.TRIGGER, _DOUBT_BACKWARD))
        elif following[0].isalnum():
            forms.append(Form(left, right, Kind.TRIGGER, _DOUBT_FORWARD))
    return forms


def _boxes(folded: str, start: int, end: int, tasks: bool) -> tuple[list[Form], list[Scope]]:
    boxes = list(_BOX.finditer(folded, start, end))
    if not boxes:
        return [], []
    head = folded[start : boxes[0].start()].rstrip()
    trailing = bool(head) and head[-1] not in ":-*\u2022,;" and not head[-1:].isdigit()
    if boxes[0].end() == end:
        trailing = bool(head)
    forms = [Form(b.start(), b.end(), Kind.STOP) for b in boxes]
    scopes = []
    for number, box in enumerate(boxes):
        if tasks or box["off"] is None:
            continue
        if trailing:
            left = boxes[number - 1].end() if number else start
            comma = folded.rfind(",", left, box.start())
            label = folded.rfind(": ", left, box.start())
            scopes.append(Scope(max(left, comma + 1, label + 1), box.start(), "negated"))
        else:
            right = boxes[number + 1].start() if number + 1 < len(boxes) else end
            stop = _BOX_END.search(folded, box.end(), right)
            scopes.append(Scope(box.end(), stop.start() if stop else right, "negated"))
    return forms, scopes


def find_forms(folded: str, start: int, end: int, *, tasks: bool) -> tuple[list[Form], list[Scope]]:
    """Find marks and scopes by their form in one segment.

    Args:
        folded: The whole text, lower case, all whitespace spaces.
        start: Offset of the segment's first character.
        end: Offset behind its last one.
        tasks: The segment stands in a list of things to do, where an empty box denies nothing.

    Returns:
        Marks to be read together with the phrases, and scopes that are final.
    """
    text = folded[start:end]
    forms: list[Form] = []
    scopes: list[Scope] = []
    if "[" in text or "(" in text or "\u2610" in text or "\u2611" in text:
        forms, scopes = _boxes(folded, start, end, tasks)
    if _MAY_ANSWER.search(text):
        forms.extend(
            Form(*match.span(), Kind.TRIGGER, _NO_LABEL) for match in _ANSWER.finditer(folded, start, end)
        )
        forms.extend(Form(*match.span(), Kind.STOP) for match in _YES.finditer(folded, start, end))
    if "?" in text:
        answered = {at for form in forms for at in range(form.start, form.end)}
        forms.extend(form for form in _questions(folded, start, end) if form.start not in answered)
    if "-" in text and _SIGNED.search(text):
        forms.extend(
            Form(*match.span(), Kind.TRIGGER, _NO_FORWARD) for match in _MINUS.finditer(folded, start, end)
        )
    for needle, pattern, kind, effects in _BY_NEEDLE:
        if needle in text:
            forms.extend(
                Form(*match.span(match.lastindex or 0), kind, effects)
                for match in pattern.finditer(folded, start, end)
            )
    if _KIN_QUICK.search(text):
        forms.extend(_kin(folded, start, end))
    return forms, scopes
