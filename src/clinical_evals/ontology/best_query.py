"""Reading the name of a cohort: what it asks for, in which ways, and what it leaves out.

A name such as "Gastritis and duodenitis", "Fracture of the spine or back, initial encounter" or "Pneumonia
(except tuberculosis)" is taken apart into alternatives, each a list of canonical words; a modifier that the
name says once is shared ("anal and rectal disorders" are anal disorders and rectal disorders).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clinical_evals.language.wording import stem
from clinical_evals.ontology.best_lacking import split_lacking
from clinical_evals.ontology.best_words import (
    generic_words,
    known_terms,
    name_words,
    query_words,
    spelled_terms,
)

Encounter = Literal["initial", "subsequent", "sequela"]

_MOST_ALTERNATIVES = 32
_LONGEST = 500  # characters; the name of a population is shorter, and what is behind them is not read

# Words that name what is wrong or what is done, so that the words before them are their modifiers.
_HEADS = """
    abnormality abortion abscess absence abuse aftercare aids amputation anemia anomaly arrest
    asphyxia asthma attack bite bleeding blindness block bronchiectasis burn calculus cancer
    cataract coma complication concussion condition contusion convulsion corrosion counseling crisis
    cyst damage death defect deficiency deformity delirium delivery dementia dependence depression
    diabetes disease dislocation disorder dissection dysfunction effect effusion embolism encounter
    episode error evaluation examination exposure failure fatigue fever finding fissure fistula
    fracture gangrene gestation glaucoma gout growth headache hemorrhage hepatitis hernia history
    hyperplasia hypertension hypotension immunization incontinence infarction infection infertility
    influenza injury insufficiency intoxication jaundice labor lesion leukemia loss lymphoma malaise
    malformation malnutrition management melanoma menopause migraine myeloma nausea necrosis
    neoplasm obesity obstruction occlusion pain palsy perforation pleurisy pneumonia poisoning polyp
    pregnancy problem procedure prolapse rash reaction remission resistance sarcoma screening
    seizure sepsis septicemia shock sign sprain status strain stroke stupor symptom syndrome syncope
    therapy thrombosis trait trauma tuberculosis tumor ulcer varices vomiting weight withdrawal
    wound
"""
_HEAD_END = re.compile(
    r"(?:itis|osis|emia|oma|omas|pathy|pathies|uria|algia|plegia|ism|asis|oses|penia|philia|rrhea|iasis|ias|mia"
    r"|psy|gia)$"
)
# Heads that say little alone: "respiratory failure; insufficiency" is respiratory insufficiency.
_WEAK_HEADS = """abuse arrest complication condition disease disorder effect failure infection injury
    insufficiency sign symptom"""

_HEAD_WORDS = frozenset(_HEADS.split())
_WEAK_STEMS = frozenset(stem(word) for word in _WEAK_HEADS.split())

# What a name says of the people, not of their condition.
_POPULATION = re.compile(
    r"^(?:(?:adults?|adult|children|patients?|persons?|people|individuals|cases?|newly|new[- ]onset|first"
    r"|incident|prevalent|diagnos(?:is|ed|es)|any|all|active|current|confirmed|suspected|documented"
    r"|with|who have|having|of|a|an|the)\s+)+(?=\w)",
    re.I,
)
_ENCOUNTER = re.compile(r"[,;]?\s*\b(initial|subsequent|sequela)e?(?:\s+encounters?)?\s*$", re.I)
_EXCLUSION = re.compile(
    r"\b(?:excluding|excludes?|except(?: for| that| those)?|other than|excl\.|not including)\s+", re.I
)
_NEGATION = re.compile(r"[;,]\s*(?:but\s+)?not\s+", re.I)
_INCLUDING = re.compile(r"including\b", re.I)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]+s?")
_THE_REST = re.compile(r"\b(?:all )?other (?:types?|sites?)\b", re.I)
_BEFORE_DETAIL = re.compile(r"\s+[-–—]\s+(?=\D)|(?<=\w):\s+")
_DOUBLETS = (
    (re.compile(r"\bsigns and symptoms\b|\bsymptoms and signs\b", re.I), "symptoms"),
    (re.compile(r"\bother (?:specified and unspecified|and unspecified|and ill-defined)\b", re.I), "other"),
    (re.compile(r"\brelated\b|\bthe\b", re.I), " "),
)
_SEPARATOR = re.compile(
    r"\s*[;,/]\s*(?:(?:and|or)\s+)?|\s+(?:and/or|and|or|including)\s+|-\s+(?=and\b)", re.I
)
_TURNED = re.compile(r"\s*\w+,")
_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?")
_PREPOSITIONS = frozenset("of to in for from with by without due affecting complicating".split())


Part = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class CohortQuery:
    """A cohort's name taken apart.

    Attributes:
        parts: What it asks for, one of them is enough: for each the canonical words of the ways to say it:
            the name's own with abbreviations and lay terms spelled out, as written, and any rewordings.
        whole: Canonical words of the name as one thing, exclusions and stage of care left out.
        context: Of what those are a detail ("Leukemia" in "Leukemia - hairy cell"), as alternatives.
        exclusions: Canonical words of each thing that it leaves out.
        lacking: Words of each thing that it says the people do not have ("without aura").
        encounter: The stage of care that it names.
        asks_for_rest: Whether it asks for "other" conditions, those that are not named elsewhere.
    """

    parts: tuple[Part, ...] = ()
    whole: tuple[str, ...] = ()
    context: tuple[tuple[str, ...], ...] = ()
    exclusions: tuple[tuple[str, ...], ...] = ()
    lacking: tuple[frozenset[str], ...] = ()
    encounter: Encounter | None = None
    asks_for_rest: bool = False

    @property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """The wordings of all parts, each once."""
        wordings = (words for part in self.parts for words in part if words)
        return tuple(dict.fromkeys(wordings))[:_MOST_ALTERNATIVES]


def read_query(text: str) -> CohortQuery:
    """Take the name of a cohort apart; without a word, there are no alternatives.

    Only the first 500 characters are read.
    """
    asks_for_rest = re.search(r"\bother\b(?! than)", text, re.I) is not None
    encounter: Encounter | None = None
    left_out: list[str] = []
    rest = _POPULATION.sub("", text.strip()[:_LONGEST])
    found = _ENCOUNTER.search(rest)
    if found and found.start() > 0:
        stages: dict[str, Encounter] = {"i": "initial", "s": "subsequent", "q": "sequela"}
        said = found[1].lower()
        encounter = stages["q" if said == "sequela" else said[0]]
        rest = rest[: found.start()]
    rest, lacking = split_lacking(rest)
    whole = rest
    for inside in re.findall(r"\(([^()]*)\)", rest):
        excluded = _EXCLUSION.match(inside.strip())
        if excluded:
            left_out.append(inside.strip()[excluded.end() :])
            rest = rest.replace(f"({inside})", " ")
        elif _ACRONYM.fullmatch(inside.strip()) or _INCLUDING.match(inside.strip()):
            rest = rest.replace(f"({inside})", " ")  # it repeats the words before it
        else:
            rest = rest.replace(f"({inside})", f", {inside.strip()} ")
    excluded = _EXCLUSION.search(rest) or _NEGATION.search(rest)
    if excluded and excluded.start() > 0:
        left_out.append(rest[excluded.end() :])
        rest = rest[: excluded.start()]
    if left_out:
        whole = rest
    context = ""
    if len(parts := _BEFORE_DETAIL.split(rest, maxsplit=1)) == 2:
        context, rest = parts
        if _THE_REST.search(rest):
            context, rest = "", context
        elif not any(map(_is_head, _WORD.findall(rest))):
            named = _WORD.findall(context)
            rest = f"{rest} {' '.join(named[_head_place(named) :])}" if any(map(_is_head, named)) else rest
    return CohortQuery(
        _parts(rest),
        tuple(query_words(whole)),
        tuple(dict.fromkeys(words for part in _parts(context) for words in part)),
        tuple(part[0] for text in left_out for part in _parts(text, reword=False)),
        lacking,
        encounter,
        asks_for_rest,
    )


def name_parts(text: str) -> list[tuple[str, ...]]:
    """Give the canonical words of each thing that a name in the classification names."""
    return [part[0] for part in _parts(text, reword=False)]


def _parts(text: str, *, reword: bool = True) -> tuple[Part, ...]:
    for doublet, single in _DOUBLETS:
        text = doublet.sub(single, text)
    segments = [words for part in _SEPARATOR.split(text) if (words := _WORD.findall(part))]
    found: dict[Part, None] = {}
    for words in _share(_turn(segments) if _TURNED.match(text) else segments):
        spelled = query_words(" ".join(words))
        wordings = [tuple(spelled)]
        if reword:
            # As written too: the classification itself says "whooping cough".
            wordings += [tuple(name_words(" ".join(words))), *_reword(spelled)]
        part = tuple(tuple(dict.fromkeys(wording)) for wording in wordings)
        if part[0]:
            found[part] = None
    specific = [part for part in found if not generic_words().issuperset(part[0])]
    return tuple(specific or found)[:_MOST_ALTERNATIVES]


def _turn(segments: Sequence[list[str]]) -> Sequence[list[str]]:
    """Read "Cancer, lung" as "lung cancer", and so for each organ that follows."""
    first, *others = segments or [[]]
    headed = any(_is_head(word) for words in others for word in words)
    if first and others and _is_head(first[0]) and not headed:
        return [[*words, *first] for words in others]
    return segments


def _share(segments: Sequence[list[str]]) -> list[list[str]]:
    """Give each segment the words that the name says only once."""
    headed = [any(map(_is_head, words)) or _is_term(words) for words in segments]
    shared: list[list[str]] = []
    for place, words in enumerate(segments):
        before = next((other for other in range(place - 1, -1, -1) if headed[other]), None)
        after = next((other for other in range(place + 1, len(segments)) if headed[other]), None)
        whole = list(words)
        if not headed[place]:
            stem_words = _up_to_preposition(segments[before]) if before is not None else []
            if stem_words:  # "fracture of spine" and "back"
                whole = stem_words + whole
            elif after is not None:  # "anal" and "rectal disorders"
                whole += segments[after][min(len(words), _head_place(segments[after])) :]
            elif before is not None:
                whole += segments[before][_head_place(segments[before]) :]
        elif len(words) == 1 and stem(words[0].lower()) in _WEAK_STEMS and shared:
            whole = shared[-1][: _head_place(shared[-1])] + whole  # "respiratory failure" and "arrest"
        elif after == place + 1 and not _up_to_preposition(words) and _is_head(words[-1]):
            low = [word.lower() for word in segments[after]]
            if "of" in low:  # "occlusion" and "stenosis of arteries"
                whole += segments[after][low.index("of") :]
        shared.append(whole)
    return shared


def _reword(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Give the words with a known term replaced by each wording that it covers.

    Of terms that overlap, only the longest is replaced.
    """
    terms = known_terms()
    spans = [
        (start, end)
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        if tuple(words[start:end]) in terms
    ]
    wordings = []
    for start, end in spans:
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e in spans):
            covered = terms[tuple(words[start:end])]
            wordings += [(*words[:start], *wording, *words[end:]) for wording in covered]
    return wordings


def _is_head(word: str) -> bool:
    low = word.lower()
    forms = (low, low.removesuffix("s"), re.sub("ies$", "y", low), re.sub("ses$", "sis", low))
    return any(form in _HEAD_WORDS for form in forms) or (len(low) > 5 and _HEAD_END.search(low) is not None)


def _is_term(words: Sequence[str]) -> bool:
    return frozenset(query_words(" ".join(words))) in spelled_terms()


def _head_place(words: Sequence[str]) -> int:
    return next((place for place, word in enumerate(words) if _is_head(word)), 0)


def _up_to_preposition(words: Sequence[str]) -> list[str]:
    cut = next((place for place, word in enumerate(words) if word.lower() in _PREPOSITIONS), None)
    return [] if cut is None else list(words[: cut + 1])
