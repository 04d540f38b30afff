"""The patterns that tell a fact's number from others, all for the rewritten text (see `spoken.py`).

They are written with blanks and comments (`re.VERBOSE`): `[ ]` is one blank, `{_}` any number of them on a
line, `{__}` at least one.
"""

from __future__ import annotations

import re

_ = r"[ \t]*"
__ = r"[ \t]+"
_START = r"(?<!\w)"  # no word or number goes on here
_END = r"(?!\w)"
_ALONE = r"(?<![\w.])"  # as _START, and not the decimals of a number
_OPENING = r"(?<![\w'])"  # as _START, and not the "s" of "it's"
_TO = rf"{_}(?:-|–|to|or){_}"
_COUNT = r"\d{1,2}"


def _any(*patterns: str) -> str:
    """Join alternatives; the first that fits is taken."""
    return "|".join(f"(?:{pattern})" for pattern in patterns)


def _compile(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | flags)


# How a note counts its own items; a speaker's "Forty. In the morning" is a dose.
_MARK = rf"\(?{_COUNT}[.)](?!\d)"  # "1." "2)" "(3)"
_NUMBER_SIGN = rf"\#[ \t]?{_COUNT}"
NUMBERING = _compile(
    _START
    + "(?:"
    + _any(
        rf"^{_}(?:[-•*]{_})?(?:{_MARK}|{_NUMBER_SIGN}[:.)]?)",  # opens a line, after a bullet or without
        rf"(?<=\n){_COUNT}(?=\t)",
        rf"(?<=[.;!?][ ]){_COUNT}[.)]{__}(?=[a-z])",  # "... rest. 2. Return ..."
        rf"(?<=:[ ])1[.)]{__}(?=[a-z])",  # "Plan: 1. Rest"
        rf"\({_COUNT}\){__}(?=[a-z])",
        rf"{_NUMBER_SIGN}(?!\d|{_}\()",
    )
    + ")",
    re.MULTILINE,
)

# Names that hold a number.
_COUNTED = rf"""(?:problem|number|no\.|step|item|question|option|visit|room|bed|chapter|figure|table)
    {__}\#?\d+\b(?!{_}-?{_}(?:min|hour|hr|day|week|month|year|time))"""  # but "in the room 45 minutes"
_VIRUS = r"(?:covid|sars)[ -]?(?:cov[ -]?)?\d+\b"
_DIABETES = _any(r"type[ -]?(?:1|2|i{1,2})\b", r"t[12][ -]?dm\b", r"dm[ -]?[12i]+\b")
_VITAMIN = rf"(?:vitamin|vit\.?){__}(?:[a-z]\d{{0,2}}|b[ -](?:12|6)|d[ -][23])\b(?![,.]\d)"
_BARE_VITAMIN = rf"{_OPENING}b[ \t](?:12|6)\b"
_VERTEBRAE = rf"{_OPENING}[clts][ \t]{_COUNT}(?={__}(?:[ctls]|and)[ \t]?{_COUNT}\b)"  # "T 4 and 5"
_VERTEBRA = rf"{_OPENING}[cls][ \t]{_COUNT}\b(?![.:/]\d)"
_MARKER = _any(
    rf"(?:phq|gad|omega|hsv|hpv|ca|cd|il|fev|free[ ]t|spo|sao|pao)[ -]?\d+\b(?!{_}%|\.\d)",
    r"her-?2\b",
    rf"her[ ]2{_}(?:/{_})?(?:neu|positive|negative|status)\b",  # but "her 2 sons"
    r"(?:co[ -]?)?(?:enzyme[ -])?q[ -]?10\b",
)
_LETTERS_AND_DIGITS = r"""(?!x\d|q\d)  # "x3" and "q6h" count
    [a-z]{1,5}\d+[a-z]?(?:[-/][a-z]?\d+[a-z]?)*(?![\w.]\d)\b"""
_TEST = _any(
    rf"(?<!\.){_COUNT}[ -]lead\b",
    r"""(?:12|24|48|72)[ -](?:hour|hr|h)[ -]+
        (?=urine|holter|monitor|ambulatory|blood|recall|shift|nurse|emergency|pharmac|hotline|care)""",
)
_IDIOM = r"(?<!/)(?:24/7|50/50|1/1|70/30|75/25|20[ /]20(?=[ ](?:vision|hindsight)))(?![\w/])"
_NERVE = r"(?:\d{1,2}|[ivx]+)"
_CRANIAL_NERVES = rf"(?:cn|cranial[ ]nerves?){__}{_NERVE}{_}(?:-|–|to|through|thru){_}{_NERVE}\b"
_ORIENTED = rf"""(?:a(?:nd|&|/|\+)?[ \t]?o|alert[ ]and[ ]oriented|oriented){_}(?:to[ ])?x?{_}[34]\b"""
_ALL_FOUR = r"(?:all[ ])?(?:four|4)[ ](?:quadrants|extremities)\b"
_PHONE = _any(
    r"(?<![.-])(?:\+?\d[ -]?)?(?:\(\d{3}\)|\d{3})[ -.]?\d{3}[ -]\d{4}\b",
    r"(?<![.-])\d{3}[ -]\d{4}\b",
    r"(?<!\.)\d{7,}\b",
    r"(?<!\.)(?:9[ -]?1[ -]?1|4[ -]1[ -]1)\b(?!/)",
)
_IDENTIFIER = _any(
    r"(?:mrn|id|acct|account|phone|tel|fax|ext|extension|zip|npi|icd|cpt)[ \t\#:.]*[\d-]+\b",
    r"\d{3}-\d{2}-\d{4}\b",
)
_TYLENOL = rf"(?:tylenol|t){_}(?:\#|number[ ]|no\.[ ])?[34]\b(?!{_}(?:tab|pill|times|x|/))"
NAMES = _compile(
    _START
    + "(?:"
    + _any(
        *(_COUNTED, _VIRUS, _DIABETES, _VITAMIN, _VERTEBRAE, _BARE_VITAMIN, _VERTEBRA, _MARKER),
        *(_LETTERS_AND_DIGITS, _TEST, _IDIOM, _CRANIAL_NERVES, _ORIENTED, _ALL_FOUR),
        *(_PHONE, _IDENTIFIER, _TYLENOL),
    )
    + ")"
)

NUMBER = _compile(
    r"""(?: (?<![\w.,$]) (?<![a-z]-) | (?<=\bx) ) \$?
    ( \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d+(?:\.\d+)? | \.\d+ ) (?!\d|\.\d)"""
)
ORDINAL = _compile(rf"{_ALONE}({_COUNT})(?:st|nd|rd|th){_END} | {_ALONE}(\d0)'?s{_END}")  # "3rd", "60s"
PAIR = _compile(  # "130/85", "130-140 over 85", "7 out of 10"
    rf"""(?<![\w./]) (\d{{1,3}}(?:\.\d+)?) (?:{_TO}(\d{{1,2}}))? {_}
    (/ | over{_END} | out{__}of(?:{__}a)?{_END}) {_}
    (\d{{1,3}}) (?![\w/]|\.\d) (?:{_}(mm[ ]?hg))?"""
)
AT_HOUR = _compile(  # "at four"
    rf"""\bat[ ](?:about[ ]|around[ ])?({_COUNT})
    (?!\w|[.:/]\d|{_}(?:mg|milli|%|percent|units?|years?|out|over))"""
)
BEFORE_RATE = _compile(  # the number in "2-3 per week", "4/day"
    rf"""(?<![\w.,/]) ({_COUNT}) (?:{_TO}({_COUNT}))? {_}
    (?= (?:an?|per|each){__}(day|night|week|month|year){_END}
      | /{_}(day|d|wk|week|month|year|night){_END} )"""
)
AGE = _compile(
    rf"""{_ALONE}(?:
      (\d{{1,3}}) [ \t-]*
        (?: (year|yr|month|week|day)s?[ \t-]*(?:old|of[ ]age)
          | y\.?[ \t]?/?o\b\.? | yrs?{_}o(?:ld)?\b
          | (?<=\d)([mf]){_END} )  # "64M"
      | (?:aged?|turn(?:ed|ing|s)?|age[ ]of|age[ ]is|aged[ ]about)[ \t:]+ (\d{{1,3}})
        (?!\w|\.\d|{_}(?:mg|%|years?[ ]ago))
    )"""
)
_HEDGE = r"(?:about[ ]|only[ ]|now[ ]|almost[ ]|like[ ]|maybe[ ])"
_NO_AGE = r"(?:mg|milli|%|percent|pounds?|lbs?|kilo|week|day|hour|minute|feet|foot|inch|out|over)"
SAID_AGE = _compile(  # "he's 63", "she is eighteen months": an age only where people talk
    rf"""{_START}(?:i'm|i[ ]am|he's|she's|he[ ]is|she[ ]is|is){__}
    {_HEDGE}? (\d{{1,3}}) {_}
    (?: (?:years?|(months?))(?![ ](?:ago|pregnant|out|in|post|clean|sober|into)) | (?=[.,?!\n]|$|and) )"""
)
SAID_AGE_THEN = _compile(  # "since i was like four, five", "my thirtieth birthday", "in my 78 years"
    rf"""{_START}(?: (?:when|since|until|till|before|after)[ ](?:i|he|she)[ ]was{__}{_HEDGE}?
        (\d{{1,3}}) (?:[ \t,]*(?:or{__})?(\d{{1,3}}))? (?!\w|[./]\d|{_}{_NO_AGE})
      | (\d{{1,3}})(?:st|nd|rd|th)[ ]birthday
      | in[ ](?:all[ ])?my{__}(\d{{2,3}})[ ]years(?![ ](?:of|as|at|with|in)){_END} )"""
)
WEEKDAYS = _compile(  # "on saturdays": once a week
    rf"""{_START}(?: (?:mon|tues|wednes|thurs|fri|satur|sun)days
      | (?:every|each)[ ](?:mon|tues|wednes|thurs|fri|satur|sun)day ){_END}"""
)
SCALE = _compile(  # of a note that explains it: "0-10 scale (0 = no pain, 10 = worst)"
    rf"""{_ALONE}(?: [01]{_TO}10(?=[ -](?:[a-z]+[ ]){{0,2}}scale)
      | (?:0|10){_}=(?={_}(?:no{_END}|(?:the[ ])?worst)) )"""
)
ON = _compile(r"(?:\b(?:on|since|from|until|till|by|dated|due|of|lmp|date)[: \t]+)$")
MONTH_AND_YEAR = _compile(r"(0?[1-9]|1[0-2])/(0\d|3[2-9]|[4-9]\d)")  # "9/03", "12/94"; "3/10" may be a scale
HEIGHT = _compile(  # 5'7", "5 feet 7 inches"
    rf"""{_ALONE}([3-7]){_}(?:'|′|ft\.?|feet|foot){_}(?:,{_}|and[ ])?
    ({_COUNT})(?:{_}(?:"|''|″|in(?:ches)?\b))?"""
)
DURATION = _compile(rf"(?<![\w./])({_COUNT})(?:-({_COUNT}))?/(7|52|12)(?![\w/])")  # "3/7" is three days
ARTICLE = _compile(  # "a tablet", "last week"
    rf"""{_START}(an?|last|past|next|this[ ]past|previous|each|per){__}
    (tablet|tab|pill|capsule|puff|beer|drink|glass|cup|pack|mile
     |minute|hour|day|week|fortnight|month|year|decade){_END}"""
)
NOT_A_RATE = _compile(  # before "a week": it is how long, not how often
    rf"""(?: \b(?:for|in|about|within|over|after|past|last|than|half|been|like|almost|under|around
              |only|just|took|every|such|what|have|had)
          | ^ | [.,?!] ){_}$"""
)
_BY_DAY = r"night|evening|bedtime|dinner|supper"
BY_HABIT = _compile(
    rf"""{_START}(?: in[ ]the[ ]mornings? | in[ ]the[ ]evenings? | at[ ]night | at[ ]bedtime | before[ ]bed
    | with[ ](?:breakfast|lunch|dinner|supper) | (?:every|each)[ ](?:morning|night|evening)
    | daily | once ){_END}"""
)
TWICE = _compile(rf"(?:morning|breakfast|a\.?m\b|noon)[^\n]{{1,70}}?(?:{_BY_DAY}|before[ ]bed|p\.?m\b)")
THRICE = _compile(
    rf"(?:morning|breakfast)[^\n]{{1,50}}?(?:noon|lunch|midday|afternoon)[^\n]{{1,50}}?(?:{_BY_DAY})"
)
BARE_TIMES = _compile(rf"{_START}(?:(once|twice)|({_COUNT}){__}times){_END}")
MAY_STATE = _compile(  # a line of speech without any of these states nothing
    r"""\d | daily | week | month | year | hour | minute | night | (?<!\w)(?:an?|per|each|every)[ ]day
    | morning | evening | bedtime | breakfast | dinner | once | twice | thrice
    | aspirin | scale | pain | [bqt]\.?[hi]\.?[ds]
    | monday | tuesday | wednesday | thursday | friday | saturday | sunday
    | january | february | march | april | may | june | july | august | september | october | november
    | december
    | tablet | pill | capsule | puff | beer | drink | glass | cup | pack | mile"""
)
BABY_ASPIRIN = _compile(r"\b(?:baby|low[ -]dose)[ ]aspirin")
DAILY_LIFE = _compile(r"[ -](?:living|life|lives|activit|routine|basis)")  # after "daily"
RANGE = _compile(  # between two numbers that share a unit, in speech
    rf"""{_}(?: - | – | to | or | through | and | maybe | , | \.\.+ | probably | like | about | actually | no
    | sorry | i[ ]mean | wait | [ \t] )+{_}$"""
)
STRICT_RANGE = _compile(rf"{_}(?:-|–|to|or|through){_}(?:about[ ]|maybe[ ])?$")
WITHDRAWN = _compile(  # between a number and the one that its speaker puts in its place
    r"""^[ \t,.?!…–-]*
    (?: (?:no|oh|well|uh|wait|but)[ \t,.]+ )*
    (?: no | sorry | i'm[ ]sorry | i[ ]mean | wait | make[ ]that | scratch[ ]that | correction | or[ ]rather
      | excuse[ ]me | my[ ]mistake | i[ ]meant | not[ ]\d+ )
    (?: [ \t,.]+
        (?: no | sorry | i[ ]mean | wait | i[ ]meant | it's | it[ ]is | that's | it[ ]was | make[ ]that
          | my[ ]mistake | actually | i[ ]should[ ]say | the | a ) )*
    [ \t,.…–-]*$"""
)
NEXT_WORD = _compile(r"[ \t,]*([a-z]+(?:'[a-z]+)?)")
MINUTE_WORDS = frozenset(
    """a about after again all also alright any are as at because before but by can daily do does each
    either every for from had has have he how i if in into is it it's i'm like maybe me more most my no
    not now of off okay on once or over per please plus right she since so that that's the them then
    there they this through to today together twice until up was we we're well were what when which
    while with without would yeah yep yes you you're your""".split()
)
NOT_OPEN_AFTER = _compile(  # a number after one of these has no unit that could be understood
    rf"""(?: \b(?:number|type|step|those|these|room|question|stage|phase|grade|the[ ]other|of){_} )$"""
)
_UP_TO_A_NUMBER = r"\b[^\d\n.;]{0,25}"
VITAL = _compile(
    rf"""(?: \b(?: bp | blood[ ]pressure | pulse | hr | heart[ ]rate | rr | resp\w* | respiratory[ ]rate
    | temp\w* | t | fever | spo2 | sats? | o2 | oxygen\w* | saturation | weight | wt | height | ht | bmi )
    {_UP_TO_A_NUMBER} )$"""
)
LAB = _compile(
    rf"""(?: \b(?: a1c | hba1c | hemoglobin | haemoglobin | hgb | hb | hematocrit | hct | wbc | platelets?
    | plt | creatinine | cr | bun | egfr | gfr | ldl | hdl | cholesterol | triglycerides? | tsh | t4 | psa
    | inr | glucose | sugars? | sodium | na | potassium | k | chloride | calcium | magnesium | crp | esr
    | ferritin | bnp | troponin | albumin | alt | ast | bilirubin | lipase | protein | ef
    | ejection[ ]fraction | uric[ ]acid | level ) {_UP_TO_A_NUMBER} )$"""
)
