"""What phrases alone cannot tell: checkboxes, question marks, answers, relatives, "should", "when"."""

from __future__ import annotations

import re
from typing import NamedTuple

from clinical_evals.grounding.context.triggers import Effect, Kind, Scope


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
_KIN_OWNS = (Effect("family_history", "forward", "phrase"),)

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

_UNLIKELY_CAUSE = re.compile(
    r"\b(?:(?:un|less |not )?likely|possibly|probably|presumably) (?:to be |to |the |a )*(?:driving"
    r"|caus(?:e|ing)|contribut\w+|explain\w*"
    r"|explanation|account\w*|responsible|culprit|behind|reason|relevant|play\w*)\b"
)
_DRUG_ENDING = (
    r"(?:cillin|mycin|cycline|oxacin|azole|sone|lone|vir|lutamide|relin|platin|taxel|rubicin|mab|nib"
    r"|parin|xaban"
    r"|triptan|setron|profen|oxone|antibiotics?|abx|steroids?|chemo(?:therapy)?|taper)"
)
_COURSE_OVER = re.compile(
    rf"{_DRUG_ENDING}(?: course)?( (?:was |is |has been |now )?(?:completed|finished))\b"
    r"(?= *(?:$|[.,;()\-\u2013]|on\b|in\b|last\b|yesterday|today|\d))"
)

_ALLERGY_ADDED = re.compile(
    r"\b[a-z][a-z0-9\-]+ ((?:(?:rash|hives|reaction|anaphylaxis|angioedema|itch(?:ing)?|swelling) )?"
    r"(?:-+>|\u2192|[,:\-]|is|was|now| )*(?:added|add|put|entered) (?:to|on|in|as)(?: the"
    r"| an)? allerg(?:y|ies))\b"
)
_SENT_NEGATIVE = re.compile(
    r"\b(?:sent|drawn|collected|done|checked|swabbed)\b[,;]? *(?:and )?(?:(?:the|it|is|was|result(?:s"
    r"|ed)?|came|now"
    r"|back|final|returned) *)*[:\-]? *(?:neg|negative)\b"
)
_GONE = re.compile(
    r" ((?:is|are|all|now|has|have|completely|entirely| )*gone(?= *(?:$|[.,;)]|now|today|since|but"
    r"|and|on (?:repeat|exam|ct|mri|us|imaging))))"
)
_ONCE_WELL = re.compile(
    r"\b(?:switch|change|transition|convert|step down|de-?escalate)(?: (?:her|him|pt|back|down))* to\b"
    r"[^.;]{2,60}?\b(when|once|as soon as)\b"
)
_LINE_OF_NEED = re.compile(r"therapy (line)(?= (?:is |of |at )?\d)")

_NOT_NOW = re.compile(r"[a-z0-9)] +(not (?:now|yet|today|at this (?:time|point|stage)))(?= *(?:$|[.,;)]))")

_DROPPED = re.compile(
    r"\b(?:we|i|gp|he|she|pt|they)(?: have| had| has| just)? (dropped)(?= [a-z])"
    r"(?! (?:to|from|by|off|out|an?|it|weight|(?:the |his |her |their )?(?:dose|weight|bp))\b)"
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
    ("complet", _COURSE_OVER, Kind.TRIGGER, _STOPPED_BACKWARD),
    ("finish", _COURSE_OVER, Kind.TRIGGER, _STOPPED_BACKWARD),
    (" neg", _SENT_NEGATIVE, Kind.TRIGGER, _NO_LABEL),
    (" gone", _GONE, Kind.TRIGGER, _NO_LABEL),
    ("when", _ONCE_WELL, Kind.TRIGGER, _IF_BOTH),
    ("once", _ONCE_WELL, Kind.TRIGGER, _IF_BOTH),
    ("dropped", _DROPPED, Kind.TRIGGER, _COURSE_TAKEN),
    (" not ", _NOT_NOW, Kind.TRIGGER, _NO_BACKWARD),
    ("allerg", _ALLERGY_ADDED, Kind.TRIGGER, (Effect("discontinued", "backward", "compound"),)),
    ("therapy line", _LINE_OF_NEED, Kind.TRIGGER, (Effect("hypothetical", "backward", "compound"),)),
    ("likely", _UNLIKELY_CAUSE, Kind.TRIGGER, _DOUBT_BACKWARD),
    ("bly ", _UNLIKELY_CAUSE, Kind.TRIGGER, _DOUBT_BACKWARD),
)
_KIN_WORDS = (
    r"(?:(?:great[ \-])?grand(?:mother|father|parents?|ma|pa)s?|(?:step)?(?:mother|father)|mom|mum|dad"
    r"|(?:half[ \-])?(?:brother|sister|sibling)s?|aunts?|uncles?|cousins?"
    r"|nieces?|nephews?|parents?|sons?|daughters?|children|twin|mgm|mgf|pgm|pgf|wife|husband|spouse"
    r"|partner|(?:room|flat|class|house)mates?|(?:girl|boy)?friends?|neighbou?rs?|co-?workers?"
    r"|fianc[e\u00e9]e?"
    r"|maternal side|paternal side|(?:his|her|their) \d{1,2}[ \-]?(?:yo|y/o|mo|m/o|(?:year|month"
    r"|week)[ \-]olds?)"
    r"(?: (?:son|daughter|child|boy|girl|kid|niece|nephew))?)"
)
_KIN = re.compile(rf"\b{_KIN_WORDS}\b")
_KIN_QUICK = re.compile(
    r"mother|father|mom|mum|dad|sist|broth|sibl|aunt|uncle|cousin|niece|neph|parent|son|daught|child|twin"
    r"|mg[mf]|pg[mf]|wife|husb|spous|partn|mate|friend|grandma|grandpa|ternal side|neighb|worker|fianc"
    r"|(?:his|her|their) \d"
)
_INFORMANT = re.compile(
    r"(?::(?! (?:liv|work)))?(?:\s*,?\s*(?:who|also|has|had|have|is|was|are|were|been|then|today|now"
    r"|both|again"
    r"|\(?via phone\)?))*\s*(?:report|advis|recommend|counsel|inform|instruct|educat|stat(?:es?|ed|ing)\b|say"
    r"|said|tell|told|not(?:es?|ed|ing|ic\w+)\b"
    r"|den(?:y|ies|ied|ying)\b|think|thought|brought|bring|describ|concern|worri|endors|mention|call|request"
    r"|gave|giv|help|assist|manag|accompan|liv(?:es?|ing) (?!with [a-z]*itis)|interpret|translat"
    r"|confirm|observ|heard|saw\b|found|witness|feel|felt|ask|want|work|driv|dropped|agree|understand"
    r"|verbali|wonder|believe"
    r"|suspect|at bedside|at the bedside|present|here|in (?:the )?room|on (?:the )?phone|able|unable|aware"
    r"|comfortable"
    r"|providing|provided|supplement|corroborat|administer|prefer|refus|declin|insist|admit|explain|recall"
    r"|remember|attribut|took (?:him|her)|check|measur|record|stay|visit|care|with (?:him|her|patient|pt)\b"
    r"|to (?:bring|call|help|monitor|assist|watch|give)"
    r"|being (?!treated|evaluated|followed|worked)|trying|using)"
)
_KIN_VERB = re.compile(
    r"(?:'s?)?(?:\s*\([^)]{0,20}\))?(?:\s*,?\s*(?:age[d]?\s*)?\d+(?:\s*(?:yo|y/o|y"
    r"|yrs?)\b)?,?)?(?:\s+(?:who|also|both"
    r"|each|just|recently|already|currently|once|apparently|likely|possibly|and (?:his|her"
    r"|their)?\s*(?:maternal|paternal)?\s*" + _KIN_WORDS + r"))*"
    r"\s*(?:has\b|had\b|have\b|with\b|w/|died\b|dies\b|deceased|passed\b|being|treated|diagnosed"
    r"|dx'?d?\b|was\b|is\b|are\b"
    r"|were\b|suffer|developed|h/o|hx\b|history|positive|takes\b(?! care)|took\b|on\b|got\b"
    r"|(?:needed|required)\b(?! to\b)|:|=|- |-+\s|\u2013|\u2014"
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
# "Neighbor's Norco" is theirs; "mother's report" is about the patient.
_OWNS = re.compile(
    r"'s (?!(?:side|family|house|home|phone|number|place|reports?|accounts?|concerns?|history|request"
    r"|observ\w*"
    r"|descri\w*|words?|name|wish\w*|prefer\w*|help|care|visit|death|funeral|wedding|birthday|opinion"
    r"|view|milk"
    r"|day|presence|permission|consent|assist\w*|support|arms?|lap|car|advice|suggestion|urging"
    r"|questions?)\b)"
)
# "His daughter who is with him has ...": she does not only tell of him.
_IS_HERE = re.compile(
    r",? who(?:'s| is| was)? (?:with (?:him|her|them|us)|here|present|at (?:the )?bedside|in the room"
    r"|(?:accompanie[sd]|came with|lives with|brought) (?:him|her|them))(?: today)?,?"
    r"(?= (?:also |now )?(?:has|had|takes|is on|was diagnosed)\b)"
)
# "Wife at bedside, she has ..."; "husband (he takes ...)".
_WHO_HAS = re.compile(
    r"(?P<aside>(?: [a-z/'\-]+){0,5}) ?(?P<bracket>[,;(]) ?(?P<who>he|she)"
    r"(?= (?:also |now |just )?(?:has|had|is|was|takes|uses|needs|got)\b)"
)
_TELLS = re.compile(
    r"\b(?:report|say|said|stat|tell|told|think|feel|note|notic|concern|worri|den(?:y|ies)|ask"
    r"|br(?:ought|ing)|call"
    r"|descri|confirm|that\b|him\b)"
)
_WOMAN = re.compile(r"(?:wife|.*mother|mom|mum|.*sister|aunt|niece|daughter|girlfriend|.*ma)$")
_MAN = re.compile(r"(?:husband|.*father|dad|.*brother|uncle|nephew|son|boyfriend|.*pa)$")
_PATIENT_IS = re.compile(
    r"\b\d{1,3}[ \-]?(?:yo|y/o|y|yr[ \-]old|year[ \-]old)?[ \-]?(?:[a-z\-]+ ){0,3}?"
    r"(?:(?P<he>m|male|man|boy|gentleman)|f|female|woman|girl|lady)\b"
)
_VITAL_SIGN = re.compile(
    r"\b(?:pulse|pressure|bp|weight|temp(?:erature)?|hr|spo2|sats?)(?= (?:today |is )?\d)"
)
_FOLLOWED_WORD = re.compile(
    r"\s+(?!of\b|in\b|at\b|and\b|or\b|to\b|who\b|for\b|as\b|from\b|by\b|will\b|can\b|may\b)[a-z]"
)


def _kin(folded: str, start: int, end: int) -> list[Form]:
    """Other persons as the ones who have the disease or drug, not as those who tell of the patient's."""
    forms = [Form(*match.span(), Kind.STOP) for match in _VITAL_SIGN.finditer(folded, start, end)]
    for match in _KIN.finditer(folded, start, end):
        left, right = match.span()
        before = folded[max(start, left - 40) : left]
        here, who = _IS_HERE.match(folded, right, end), _WHO_HAS.match(folded, right, end)
        if who is not None and _of_other_person(folded, match[0], who, end):
            forms.append(Form(*who.span("who"), Kind.TRIGGER, _KIN_FORWARD))
        if here is not None:
            forms.append(Form(left, here.end(), Kind.TRIGGER, _KIN_FORWARD))
            continue
        if _OWNS.match(folded, right, end):
            forms.append(Form(left, right + 2, Kind.TRIGGER, _KIN_OWNS))
            continue
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


def _of_other_person(folded: str, person: str, who: re.Match[str], end: int) -> bool:
    """Whether the "he" or "she" behind a relative means the relative, not the patient."""
    if _TELLS.search(who["aside"]) or _INFORMANT.match(folded, who.end(), end):
        return False
    if who["bracket"] == "(" and not who["aside"]:
        return True
    pattern = _WOMAN if who["who"] == "she" else _MAN
    patient = _PATIENT_IS.search(folded, 0, 2_000)
    if pattern.match(person) is None:
        return False
    if patient is None:
        return person in ("wife", "husband")
    return (who["who"] == "she") == (patient["he"] is not None)


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
