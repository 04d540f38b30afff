"""Split a clinical note into its SOAP sections by the headings that people write.

Understood: a heading on a line of its own in capitals, in title case, with a colon, as Markdown (`## Plan`),
in bold (`**Plan:**`) or numbered (`4. Plan`); a heading with its text on the same line (`Imp: migraine`,
`Plan - rest`, `PC. Headache`, `PMH Asthma`); and `S: … O: … A: … P: …`, on one line or several. Headings that
stand for a part of a section (`HPI`, `ALLERGIES`, `VITALS`, `INSTRUCTIONS`) belong to it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["COMPARED", "Section", "split_soap"]

Section = Literal["subjective", "objective", "assessment", "plan", "assessment_plan"]

COMPARED: dict[Section, tuple[Section, ...]] = {
    "subjective": ("subjective",),
    "objective": ("objective",),
    "assessment_plan": ("assessment", "plan", "assessment_plan"),
}
"""What two notes are compared by, and the sections that make it up: some write `A/P` as one, some as two."""

# Names that open a section wherever they stand.
_STRONG: dict[Section, str] = {
    "subjective": """subjective; subjective data; chief complaint; chief complaints; cc; presenting
        complaint; presenting complaints; presenting problem; reason for visit; reason for consultation;
        reason for appointment; pc; history of present illness; history of presenting illness; history of
        presenting complaint; history of the present illness; present illness; hpi; hpc; hopc; pc/hpc;
        interval history; hx; history""",
    "objective": """objective; objective data; objective findings; o/e; on examination; physical
        examination; physical exam; physical examination findings; physical exam findings; examination
        findings; exam findings; clinical examination; ex""",
    "assessment": """assessment; clinical assessment; assessments; impression; impressions; clinical
        impression; imp; diagnosis; diagnoses; dx; ddx; differential diagnosis; differential diagnoses;
        differentials; differential; working diagnosis; assessment and differential;
        assessment/differential""",
    "plan": """plan; plans; treatment plan; management plan; management; plan of care; care
        plan; plan and recommendations; recommendations; recommendation; treatment and plan""",
    "assessment_plan": """assessment and plan; assessment/plan; assessment plan; a/p; a and p; ap; a+p;
        plan and assessment; impression and plan; impression/plan; imp/plan; imp and plan; assessment and
        recommendations; assessment, plan; diagnosis and plan; diagnosis/plan; assessment and treatment
        plan; assessment and management; impression and recommendations""",
}
# Names that may also stand as a sub-heading under an assessment or a plan, and do not lead out of it there
# unless they are set as boldly as the heading of the section that they stand in.
_WEAK: dict[Section, str] = {
    "subjective": """medical history; past medical history; past history; pmh; pmhx; medical/surgical
        history; past medical and surgical history; surgical history; past surgical history; psh; pshx;
        family history; family hx; fh; fhx; fmh; fmhx; social history; social hx; sh; shx; social and
        family history; family and social history; medications; medication; current medications;
        medication history; current medication; home medications; meds; drug history; dh; dhx; allergies;
        allergy; drug allergies; medication allergies; medications and allergies; allergies and
        medications; review of systems; ros; systems review; systems enquiry; gynecologic history;
        gynaecological history; birth history; obstetric history; immunizations; immunisations; ice;
        ideas, concerns and expectations; ideas concerns and expectations; patient history; background""",
    "objective": """examination; exam; vitals; vital signs; vitals reviewed; vital signs reviewed;
        observations; obs; results; test results; lab results; laboratory results; laboratory data; labs;
        imaging; imaging results; diagnostics; diagnostic results; investigations; investigation; ix;
        findings; data reviewed; procedure; procedures; mental status examination; mental state
        examination; mse""",
    "plan": """instructions; patient instructions; follow-up; follow up; followup; follow-up
        plan; follow-up instructions; disposition; next steps; safety netting; safety-netting; safety net;
        treatment; patient agreements; orders; return precautions; patient education""",
}
_LETTERS: dict[str, Section] = {
    "s": "subjective",
    "o": "objective",
    "a": "assessment",
    "p": "plan",
    "a/p": "assessment_plan",
    "a&p": "assessment_plan",
}


def _names(table: dict[Section, str]) -> dict[str, Section]:
    return {" ".join(name.split()): section for section, names in table.items() for name in names.split(";")}


_STRONG_NAMES = _names(_STRONG)
_ALL_NAMES = _names(_WEAK) | _STRONG_NAMES
# Abbreviations that nobody would take for a word: these need no colon after them.
_BARE = "pmhx? pshx? fhx dhx shx fm?hx? dh sh hpc hpi"

_MARKS = re.compile(
    r"""^[ \t]*(?:[-*•>]+[ \t]+)?            # a bullet or a quotation mark
        (?:={1,6}(?=[^=]))?(?P<hash>\#{1,6})?[ \t]*
        (?P<bold>\*{1,3}|_{2,3}|<b>|<strong>|\[)?[ \t]*
        (?:(?:\d{1,2}|[IVX]{1,4})[.)][ \t]+)?  # its number
        (?P<late>\*{1,3}|_{2,3})?""",
    re.VERBOSE,
)
_UNMARKED = re.compile(r"\*{1,3}|__+|</?(?:b|strong)>|[\[\]]")
_NAME = r"[A-Za-z][A-Za-z/&+,'’ \t\u00a0\u202f\u2009-]{0,60}?"
# Possessive, here and below: what ends a name is no blank, so to give blanks back only costs time, the cube
# of the length of a line of blanks.
_REMARK = r"[ \t]*+(?:\([^()\n]{0,40}\))?+[ \t]*+"
# A name with what ends it: a colon, a dash with a blank beside it, a full stop after an abbreviation.
_INLINE = re.compile(
    rf"(?P<name>{_NAME}){_REMARK}"
    r"(?P<end>:|[-–—](?=[ \t]|$)|(?<=[ \t])[-–—]|;|\.(?=[ \t]))(?P<rest>.*)$"
)
_BARE_NAME = re.compile(
    rf"(?P<name>{'|'.join(_BARE.split())})(?P<end>[ \t]+(?:,[ \t]*)?)(?P<rest>\S.*)$", re.IGNORECASE
)
_OWN_LINE = re.compile(rf"(?P<name>{_NAME}){_REMARK}[:;=\-–—]*+[ \t=]*$")
# `S (Subjective)`, `S - Subjective`, `Subjective (S)`
_LETTER_AND_NAME = re.compile(
    r"(?P<letter>[soap]|a[/&]p)[ \t]*(?:\((?P<inner>[a-z/& ]+)\)|[-–—:/][ \t]*+(?P<after>[a-z/& ]++))"
    r"[ \t]*(?::|$)",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"^[ \t]*(?:\*{1,3}|_{2,3}|</(?:b|strong)>|\])(?=\s|$)")
_LETTER = re.compile(
    r"^(?P<own>[SOAP]|A[/&]P)[ \t]*$"
    r"|(?:^|(?<=[.;!?|\])])|(?<=[.;!?|] ))[ \t]*(?P<name>[SOAP]|A[/&]P)[ \t]*(?::|[-–—)][ \t])"
)
# A pulse or a pressure after `P:`, not a numbered plan.
_MEASURED = re.compile(r"[ \t]*\d{2,3}\b(?![.)])")
# Mid-line only these, after the end of a sentence.
_MID_LINE = re.compile(
    r"(?<=[.;!?)])[ \t]+(?:\*\*|__)?(?P<name>subjective|objective|examination|exam|o/e"
    r"|assessment(?: (?:and|&) plan)?|assessment/plan|a/p|impression|imp|diagnosis|plan)(?:\*\*|__)?[ \t]*:",
    re.IGNORECASE,
)

# How boldly a heading is set, after Markdown's six levels, which are 1 to 6.
_BOLD, _CAPITALS, _OWN, _SAME_LINE = 7, 8, 9, 10


@dataclass(frozen=True, slots=True)
class _Heading:
    """Where a heading starts, where its text starts, and how boldly it is set: the lower, the bolder."""

    start: int
    end: int
    section: Section
    strong: bool
    rank: int


def split_soap(note: str) -> dict[Section, str]:
    """Split a note into sections by its headings.

    Args:
        note: A note, in any of the styles named above.

    Returns:
        The text of each section that the note has, without the headings, in the note's order; parts of one
        section are joined by a line end. Text before the first heading is subjective: notes open with the
        history, and often without a heading. A note without headings gives an empty dict, since nothing
        says where its sections are. `A/P` and the like are `assessment_plan`, apart from `assessment` and
        `plan`.
    """
    kept = list(_in_force(_headings(note)))
    if not kept:
        return {}
    parts: dict[Section, list[str]] = {}
    opening = note[: kept[0].start].strip()
    if opening:
        parts["subjective"] = [opening]
    for heading, after in zip(kept, [*kept[1:], None], strict=True):
        text = note[heading.end : after.start if after else len(note)]
        # What closes a bold heading (`**Plan:** rest`) stands after its colon.
        parts.setdefault(heading.section, []).append(_CLOSING.sub("", text).strip())
    return {section: "\n".join(text for text in texts if text) for section, texts in parts.items()}


def _in_force(headings: list[_Heading]) -> Iterator[_Heading]:
    """Leave out headings that only name a part of the section that they stand in."""
    current: _Heading | None = None
    for heading in headings:
        if current is not None and heading.section != current.section and _within(heading, current):
            continue
        yield heading
        # What stands within a section does not change how boldly the section's heading was set.
        if current is None or heading.section != current.section or heading.rank < current.rank:
            current = heading


def _within(heading: _Heading, current: _Heading) -> bool:
    """Whether a heading of another section only names a part of the current one."""
    # The radiologist's `Impression:` under `RESULTS`.
    if current.section == "objective" and not current.strong and heading.section == "assessment":
        return current.rank < heading.rank == _SAME_LINE
    if heading.strong:
        return False
    # `Procedures` under `PAST HISTORY`; but `Vitals:` after a history is a section of its own.
    if (current.rank, heading.rank) == (_CAPITALS, _OWN):
        return True
    in_plan = current.section in ("assessment", "plan", "assessment_plan")
    lighter = heading.rank > current.rank or heading.rank >= _OWN
    return in_plan and lighter and heading.section in ("subjective", "objective")


def _headings(note: str) -> list[_Heading]:
    """Find every heading, in order."""
    letters = _letters(note)
    found: list[_Heading] = []
    for line in re.finditer(r"[^\r\n]+", note):
        heading = _of_line(line.group(), line.start())
        if heading:
            found.append(heading)
        begin = heading.end if heading else line.start()
        for match in _MID_LINE.finditer(note, begin, line.end()):
            name = _plain(match["name"])
            found.append(_Heading(match.start(), match.end(), _ALL_NAMES[name], True, _SAME_LINE))
    taken = {(heading.start, heading.end) for heading in found}
    found += [letter for letter in letters if (letter.start, letter.end) not in taken]
    found.sort(key=lambda heading: (heading.start, -heading.end))
    kept: list[_Heading] = []
    for heading in found:
        if not kept or heading.start >= kept[-1].end:
            kept.append(heading)
    return kept


def _of_line(line: str, at: int) -> _Heading | None:
    """Read the heading that a line starts with, if it starts with one."""
    marks = _MARKS.match(line)
    begin = marks.end() if marks else 0
    # What marks a name as bold is blanked, so that places stay as they are.
    body = _UNMARKED.sub(lambda mark: " " * len(mark.group()), line[begin:])
    indent = len(body) - len(body.lstrip())
    body = body.strip()
    begin += indent
    hashes = len(marks["hash"] or "") if marks else 0
    bold = bool(marks and (marks["bold"] or marks["late"]))
    both = _LETTER_AND_NAME.match(body)
    if both:
        section = _ALL_NAMES.get(_plain(both["inner"] or both["after"]))
        if section and section == _LETTERS[both["letter"].lower()]:
            return _Heading(at, at + begin + both.end(), section, True, hashes or _OWN)
    own = _OWN_LINE.fullmatch(body)
    name = _plain(own["name"]) if own else ""
    if name in _ALL_NAMES:
        # An abbreviation is in capitals anyway, which says nothing of how bold it is meant to be.
        capitals = own is not None and own["name"].isupper() and len(name) > 4
        rank = hashes or (_BOLD if bold else _CAPITALS if capitals else _OWN)
        return _Heading(at, at + len(line), _ALL_NAMES[name], name in _STRONG_NAMES, rank)
    inline = _INLINE.match(body)
    if inline is None or _plain(inline["name"]) not in _ALL_NAMES:
        inline = _BARE_NAME.match(body)
    if inline is None:
        return None
    name = _plain(inline["name"])
    if name not in _ALL_NAMES or (inline["end"] == "." and len(name) > 5):
        return None
    rank = hashes or (_BOLD if bold else _SAME_LINE)
    return _Heading(at, at + begin + inline.start("rest"), _ALL_NAMES[name], name in _STRONG_NAMES, rank)


def _letters(note: str) -> list[_Heading]:
    """Find `S:`, `O:`, `A:`, `P:`, which are headings only if an `S:` or `O:` and another one are there."""
    found: list[_Heading] = []
    for line in re.finditer(r"[^\r\n]+", note):
        marks = _MARKS.match(line.group())
        begin = marks.end() if marks else 0
        for match in _LETTER.finditer(line.group()[begin:]):
            section = _LETTERS[(match["own"] or match["name"]).lower()]
            if _MEASURED.match(line.group()[begin:], match.end()):
                continue
            start = line.start() + (begin + match.start() if match.start() else 0)
            found.append(_Heading(start, line.start() + begin + match.end(), section, True, _SAME_LINE))
    kinds = {heading.section for heading in found}
    return found if len(kinds) > 1 and kinds & {"subjective", "objective"} else []


def _plain(name: str) -> str:
    """Write a heading's name as the tables do."""
    plain = name.lower().replace("&", " and ").replace(" / ", "/").replace("’", "'")
    return " ".join(plain.split()).strip(" ,-")
