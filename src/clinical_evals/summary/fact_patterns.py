"""The patterns that tell a fact's number from others, all for the rewritten text (see `spoken.py`)."""

from __future__ import annotations

import re

NUMBERING = re.compile(  # how a note counts its own items; a speaker's "Forty. In the morning" is a dose
    r"(?<!\w)(?:^[ \t]*(?:[-•*][ \t]*)?(?:\(?\d{1,2}[.)](?!\d)|#[ \t]?\d{1,2}[:.)]?)|(?<=\n)\d{1,2}(?=\t)"
    r"|(?<=[.;!?] )\d{1,2}[.)][ \t]+(?=[a-z])|(?<=: )1[.)][ \t]+(?=[a-z])|\(\d{1,2}\)[ \t]+(?=[a-z])"
    r"|#[ \t]?\d{1,2}(?!\d|[ \t]*\())",
    re.MULTILINE,
)
NAMES = re.compile(
    r"(?<!\w)(?:(?:problem|number|no\.|step|item|question|option|visit|room|bed"
    r"|chapter|figure|table)[ \t]+#?\d+\b"
    r"|(?:covid|sars)[ -]?(?:cov[ -]?)?\d+\b|(?<!\w)type[ -]?(?:1|2|i{1,2})\b"
    r"|(?<!\w)t[12][ -]?dm\b|\bdm[ -]?[12i]+\b"
    r"|(?:vitamin|vit\.?)[ \t]+(?:[a-z]\d{0,2}|b[ -](?:12|6)|d[ -][23])\b(?![,.]\d)|(?<![\w'])(?:c"
    r"|l|t|s)[ \t]\d{1,2}(?=[ \t]+(?:[ctls]|and)[ \t]?\d{1,2}\b)|(?<![\w'])b[ \t](?:12|6)\b"
    r"|(?<![\w'])[cls][ \t]\d{1,2}\b(?![.:/]\d)"
    r"|(?:phq|gad|omega|hsv|hpv|her|ca|cd|il|fev|free t|spo|sao|pao)[ -]?\d+\b(?![ \t]*%)"
    r"|(?<!\w)(?!x\d|q\d)[a-z]{1,5}\d+[a-z]?(?:[-/][a-z]?\d+[a-z]?)*(?![\w.]\d)\b"
    r"|(?<![\w.])\d{1,2}[ -]lead\b|(?:12|24|48|72)[ -](?:hour|hr|h)[ -]+(?=urine|holter|monitor"
    r"|ambulatory|blood|recall|shift|nurse|emergency|pharmac|hotline|care)"
    r"|(?<![\w/])(?:24/7|50/50|1/1|70/30|75/25|20[ /]20(?= (?:vision|hindsight)))(?![\w/])"
    r"|(?:cn|cranial nerves?)[ \t]+(?:\d{1,2}|[ivx]+)[ \t]*(?:-|–|to|through|thru)[ \t]*(?:\d{1,2}|[ivx]+)\b"
    r"|(?:a(?:nd|&|/|\+)?[ \t]?o|alert and oriented|oriented)[ \t]*(?:to )?x?[ \t]*[34]\b"
    r"|\b(?:all )?(?:four|4) (?:quadrants|extremities)\b"
    r"|(?<![\w.-])(?:\+?\d[ -]?)?(?:\(\d{3}\)|\d{3})[ -.]?\d{3}[ -]\d{4}\b"
    r"|(?<![\w.-])\d{3}[ -]\d{4}\b|(?<![\w.])\d{7,}\b|(?<![\w.])(?:9[ -]?1[ -]?1"
    r"|4[ -]1[ -]1)\b(?!/)"
    r"|(?:mrn|id|acct|account|phone|tel|fax|ext|extension|zip|npi|icd|cpt)[ \t#:.]*[\d-]+\b"
    r"|\d{3}-\d{2}-\d{4}\b"
    r"|(?:tylenol|t)[ \t]*(?:#|number |no\. )?[34]\b(?![ \t]*(?:tab|pill|times|x|/)))",
    re.MULTILINE,
)
NUMBER = re.compile(
    r"(?:(?<![\w.,$])(?<![a-z]-)|(?<=\bx))\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?![\d]|\.\d)"
)
ORDINAL = re.compile(r"(?<![\w.])(\d{1,2})(?:st|nd|rd|th)(?!\w)|(?<![\w.])(\d0)'?s(?!\w)")
PAIR = re.compile(
    r"(?<![\w./])(\d{1,3}(?:\.\d+)?)(?:[ \t]*(?:-|–|to|or)[ \t]*(\d{1,2}))?[ \t]*(/|over(?!\w)"
    r"|out[ \t]+of(?:[ \t]+a)?(?!\w))[ \t]*(\d{1,3})(?![\w/]|\.\d)(?:[ \t]*(mm ?hg))?"
)
AT_HOUR = re.compile(
    r"\bat (?:about |around )?(\d{1,2})"
    r"(?!\w|[.:/]\d|[ \t]*(?:mg|milli|%|percent|units?|years?|out|over))"
)
BEFORE_RATE = re.compile(
    r"(?<![\w.,/])(\d{1,2})(?:[ \t]*(?:-|–|to|or)[ \t]*(\d{1,2}))?[ \t]*"
    r"(?=(?:an?|per|each)[ \t]+(day|night|week|month|year)(?!\w)"
    r"|/[ \t]*(day|d|wk|week|month|year|night)(?!\w))"
)
AGE = re.compile(
    r"(?<![\w.])(?:(\d{1,3})[ \t-]*(?:(year|yr|month|week|day)s?[ \t-]*(?:old|of age)"
    r"|y\.?[ \t]?/?o\b\.?|yrs?[ \t]*o(?:ld)?\b|(?<=\d)([mf])(?!\w))"
    r"|(?:aged?|turn(?:ed|ing|s)?|age of|age is|aged about)[ \t:]+(\d{1,3})"
    r"(?![\w.]|[ \t]*(?:mg|%|years? ago)))"
)
SAID_AGE = re.compile(  # "he's 63", "she is eighteen months": an age only where people talk
    r"(?<!\w)(?:i'm|i am|he's|she's|he is|she is|is)[ \t]+(?:about |only |now |almost )?(\d{1,3})[ \t]*"
    r"(?:(?:years?|(months?))(?! (?:ago|pregnant|out|in|post|clean|sober|into))|(?=[.,?!\n]|$|and))"
)
ON = re.compile(r"(?:\b(?:on|since|from|until|till|by|dated|due|of|lmp|date)[: \t]+)$")
HEIGHT = re.compile(
    r"(?<![\w.])([3-7])[ \t]*(?:'|′|ft\.?|feet|foot)[ \t]*(?:,[ \t]*|and )?(\d{1,2})(?:[ \t]*(?:\""
    r"|''|″|in(?:ches)?\b))?"
)
DURATION = re.compile(r"(?<![\w./])(\d{1,2})(?:-(\d{1,2}))?/(7|52|12)(?![\w/])")
ARTICLE = re.compile(
    r"(?<!\w)(an?|last|past|next|this past|previous|each|per)[ \t]+(tablet|tab|pill|capsule|puff"
    r"|beer|drink|glass|cup|pack|mile|minute|hour|day|week|fortnight|month|year|decade)(?!\w)"
)
NOT_A_RATE = re.compile(
    r"(?:\b(?:for|in|about|within|over|after|past|last|than|half|been|like|almost|under|around"
    r"|only|just|took|every|such|what|have|had)|^|[.,?!])[ \t]*$"
)
BY_HABIT = re.compile(
    r"(?<!\w)(?:in the mornings?|in the evenings?|at night|at bedtime|before bed|with (?:breakfast"
    r"|lunch|dinner|supper)|(?:every|each) (?:morning|night|evening)|daily|once)(?!\w)"
)
TWICE = re.compile(
    r"(?:morning|breakfast|a\.?m\b|noon)[^\n]{1,70}?(?:night|evening|bedtime|before bed|dinner"
    r"|supper|p\.?m\b)"
)
THRICE = re.compile(
    r"(?:morning|breakfast)[^\n]{1,50}?(?:noon|lunch|midday|afternoon)[^\n]{1,50}?(?:night|evening"
    r"|bedtime|dinner|supper)"
)
BARE_TIMES = re.compile(r"(?<!\w)(?:(once|twice)|(\d{1,2})[ \t]+times)(?!\w)")
MAY_STATE = re.compile(
    r"\d|daily|week|month|year|hour|minute|night|(?<!\w)(?:an?|per|each|every) day|morning|evening"
    r"|bedtime|breakfast|dinner|once"
    r"|twice|thrice|aspirin|scale|pain|[bqt]\.?[hi]\.?[ds]|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|tablet|pill|capsule"
    r"|puff|beer|drink|glass|cup|pack|mile"
)
BABY_ASPIRIN = re.compile(r"\b(?:baby|low[ -]dose) aspirin")
DAILY_LIFE = re.compile(r"[ -](?:living|life|lives|activit|routine|basis)")
RANGE = re.compile(
    r"[ \t]*(?:-|–|to|or|through|and|maybe|,|\.\.+|probably|like|about|actually|no|sorry|i mean"
    r"|wait|[ \t])+[ \t]*$"
)
STRICT_RANGE = re.compile(r"[ \t]*(?:-|–|to|or|through)[ \t]*(?:about |maybe )?$")
WITHDRAWN = re.compile(
    r"^[ \t,.?!…–-]*(?:(?:no|oh|well|uh|wait|but)[ \t,.]+)*(?:no|sorry|i'm sorry|i mean|wait"
    r"|make that|scratch that|correction|or rather|excuse me|my mistake|i meant|not \d+)"
    r"(?:[ \t,.]+(?:no|sorry|i mean|wait|i meant|it's|it is|that's|it was|make that|my mistake"
    r"|actually|i should say|the|a))*[ \t,.…–-]*$"
)
NEXT_WORD = re.compile(r"[ \t,]*([a-z]+(?:'[a-z]+)?)")
MINUTE_WORDS = frozenset(
    """a about after again all also alright any are as at because before but by can daily do does each
    either every for from had has have he how i if in into is it it's i'm like maybe me more most my no
    not now of off okay on once or over per please plus right she since so that that's the them then
    there they this through to today together twice until up was we we're well were what when which
    while with without would yeah yep yes you you're your""".split()
)
NOT_OPEN_AFTER = re.compile(
    r"(?:\b(?:number|type|step|those|these|room|question|stage|phase|grade|the other|of)[ \t]*)$"
)
VITAL = re.compile(
    r"(?:\b(?:bp|blood pressure|pulse|hr|heart rate|rr|resp\w*|respiratory rate|temp\w*|t|fever"
    r"|spo2|sats?|o2|oxygen\w*|saturation|weight|wt|height|ht|bmi)\b[^\d\n.;]{0,25})$"
)
LAB = re.compile(
    r"(?:\b(?:a1c|hba1c|hemoglobin|haemoglobin|hgb|hb|hematocrit|hct|wbc|platelets?|plt|creatinine"
    r"|cr|bun|egfr|gfr|ldl|hdl|cholesterol"
    r"|triglycerides?|tsh|t4|psa|inr|glucose|sugars?|sodium|na|potassium|k|chloride|calcium"
    r"|magnesium|crp|esr|ferritin|bnp|troponin"
    r"|albumin|alt|ast|bilirubin|lipase|protein|ef|ejection fraction|uric acid|level)\b[^\d\n.;]{0,25})$"
)
