"""OHDSI Circe cohort definitions and concept sets, resolved to ICD-10-CM codes.

Only the concept sets are read, no time windows and no inclusion rules. Within a set, what is excluded is
taken away from what is included, both with descendants where the item says so; a standard concept (SNOMED)
then gives the ICD-10-CM codes that are mapped to it. Items that are ICD-10-CM codes need no mapping.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinical_evals.files import read_text
from clinical_evals.ontology.codes import read_code
from clinical_evals.ontology.cohorts import NOT_A_CODE, Cohort, CuratedError, Dropped, Release
from clinical_evals.ontology.vocabulary import ICD10CM

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NO_CONCEPT = "names no concept id, code and vocabulary"
NEEDS_ATHENA = "needs a vocabulary built from Athena: clinical-evals vocab build --athena DIR"
NOT_IN_VOCABULARY = "not in the vocabulary"
NO_MAPPING = "no ICD-10-CM code is mapped to it"
ALL_EXCLUDED = "the concept set excludes it"
NOT_ENTRY = "its concept set is no entry event of the cohort"

# A visit or a drug cannot be mapped from a diagnosis, in any vocabulary.
_NO_DIAGNOSIS = ("Visit", "Drug", "Device", "Unit", "Provider", "Gender", "Race", "Ethnicity", "Specimen")
_SOURCE_SUFFIX = "SourceConcept"
_STANDARD = "Standard"  # what a table of mappings calls its targets if it does not say their vocabulary


@dataclass(frozen=True)
class ConceptItem:
    """One line of a concept set."""

    concept_id: int
    code: str
    vocabulary: str
    domain: str
    excluded: bool
    descendants: bool

    @property
    def label(self) -> str:
        """The item as reasons name it."""
        return f"{self.vocabulary} {self.code}"


@dataclass(frozen=True)
class ConceptSet:
    """A named concept set; `unreadable` are its items that name no concept."""

    number: int
    name: str
    items: Sequence[ConceptItem]
    unreadable: Sequence[Dropped]


@dataclass(frozen=True)
class CirceDefinition:
    """What is read of a cohort definition.

    Attributes:
        name: Its own name, empty if it has none.
        concept_sets: All its concept sets.
        entry: The numbers of the sets that its entry events refer to. Where an event names source concepts,
            these are the narrower condition and stand for it alone. Empty for a bare concept set.
    """

    name: str
    concept_sets: Sequence[ConceptSet]
    entry: frozenset[int]


def read_circe(file: Path) -> CirceDefinition:
    """Read a Circe cohort definition, an export of one by ATLAS, or a concept set expression.

    Raises:
        CuratedError: If the file is none of them.
        InputError: If it cannot be read.
    """
    try:
        data: Any = json.loads(read_text(file))
    except (ValueError, RecursionError):
        raise CuratedError(f"{file}: no JSON") from None
    name = ""
    while isinstance(data, dict) and "expression" in data and "ConceptSets" not in data:
        name = name or str(data.get("name") or "")
        data = data["expression"]
        if isinstance(data, str):  # the web API sends the definition as text
            try:
                data = json.loads(data)
            except (ValueError, RecursionError):
                raise CuratedError(f"{file}: field 'expression' is no JSON") from None
    if isinstance(data, dict) and isinstance(data.get("items"), list):
        data = {"ConceptSets": [{"id": 0, "name": name, "expression": data}]}
    if not isinstance(data, dict) or not isinstance(data.get("ConceptSets"), list):
        raise CuratedError(f"{file}: no Circe definition: it has neither 'ConceptSets' nor 'items'")
    sets = [_concept_set(place, given) for place, given in enumerate(data["ConceptSets"])]
    entry = frozenset(_entry_sets(data.get("PrimaryCriteria")))
    return CirceDefinition(name, sets, entry & {found.number for found in sets})


def resolve_circe(
    con: "DuckDBPyConnection",
    cohort_id: str,
    name: str,
    definition: CirceDefinition,
    fanout_threshold: int = 100,
) -> Cohort:
    """Resolve a definition to ICD-10-CM codes.

    The concept sets of the entry events define the cohort; if these name no condition (a visit that is
    narrowed later, say), or the definition has no entry events, all its concept sets do.

    Args:
        con: An open vocabulary. ICD-10-CM items need only the embedded one, others one built from Athena.
        cohort_id: Id of the cohort.
        name: Display name of the cohort.
        definition: What `read_circe` read.
        fanout_threshold: A concept that more ICD-10-CM codes than this are mapped to is too broad to stand
            for a condition; it is dropped, with that reason.

    Returns:
        The cohort, with every concept that gave no code and the reason.
    """
    if fanout_threshold < 1:
        raise ValueError(f"fanout_threshold must be at least 1, not {fanout_threshold}")
    resolver = _Resolver(con, fanout_threshold)
    used = [found for found in definition.concept_sets if found.number in definition.entry]
    if not any(_may_be_diagnosis(item) for found in used for item in found.items):
        used = list(definition.concept_sets)
    codes: set[str] = set()
    for concept_set in definition.concept_sets:
        if concept_set in used:
            codes |= resolver.resolve(concept_set)
        else:
            resolver.dropped += [Dropped(item.label, NOT_ENTRY) for item in concept_set.items]
    return resolver.release.cohort(cohort_id, name, codes, resolver.dropped)


class _Resolver:
    """Resolves concept sets one by one and collects what is dropped."""

    def __init__(self, con: "DuckDBPyConnection", fanout_threshold: int) -> None:
        self.release = Release(con)
        self.dropped: list[Dropped] = []
        self._con = con
        self._threshold = fanout_threshold
        others = con.execute("SELECT count(*) FROM concept WHERE vocabulary <> ?", [ICD10CM]).fetchone()
        self._only_codes = others is None or others[0] == 0

    def resolve(self, concept_set: ConceptSet) -> set[str]:
        self.dropped += concept_set.unreadable
        codes = {True: set[str](), False: set[str]()}
        concepts: dict[ConceptItem, set[int]] = {}
        for item in concept_set.items:
            if item.vocabulary == ICD10CM:
                codes[item.excluded].update(self._codes_of(item))
            elif found := self._concepts_of(item):
                concepts[item] = found
        out = set[int]().union(*(found for item, found in concepts.items() if item.excluded))
        mapped = self._mapped(set[int]().union(*concepts.values()) - out)
        included = codes[False] - codes[True]
        for item, found in concepts.items():
            if item.excluded:
                continue
            if found <= out:
                self.dropped.append(Dropped(item.label, ALL_EXCLUDED))
            elif not any(concept in mapped for concept in found):
                self.dropped.append(Dropped(item.label, NO_MAPPING))
        for concept, targets in mapped.items():
            if len(targets) > self._threshold:
                self.dropped.append(Dropped(self._label(concept), self._too_broad(len(targets))))
            else:
                included |= targets - codes[True]
        return included

    def _codes_of(self, item: ConceptItem) -> list[str]:
        code = read_code(item.code)
        if code is None:
            self.dropped.append(Dropped(item.label, NOT_A_CODE))
            return []
        return self.release.below(code) if item.descendants or "-" in code else [code]

    def _concepts_of(self, item: ConceptItem) -> set[int]:
        """Give the concepts of the vocabulary that an item means; if there are none, say why."""
        reason = None
        if not _may_be_diagnosis(item):
            reason = f"a {item.domain.lower()} is no diagnosis"
        elif self._only_codes:
            reason = NEEDS_ATHENA
        elif not self._con.execute(
            "SELECT 1 FROM concept WHERE concept_id = ? AND vocabulary IN (?, ?)",
            [item.concept_id, item.vocabulary, _STANDARD],
        ).fetchone():
            reason = NOT_IN_VOCABULARY
        if reason is not None:
            self.dropped.append(Dropped(item.label, f"not excluded: {reason}" if item.excluded else reason))
            return set()
        if not item.descendants:
            return {item.concept_id}
        rows = self._con.execute(
            """
            WITH RECURSIVE down(concept_id) AS (
                SELECT CAST(? AS INTEGER) UNION SELECT child FROM is_a JOIN down ON parent = concept_id
            ) SELECT concept_id FROM down
            """,
            [item.concept_id],
        ).fetchall()
        return {concept for (concept,) in rows}

    def _mapped(self, concepts: set[int]) -> dict[int, set[str]]:
        rows = self._con.execute(
            """
            SELECT source, code FROM relation JOIN concept ON concept_id = target
            WHERE relation.name = 'Mapped from' AND vocabulary = ?
                AND source IN (SELECT unnest(CAST(? AS INTEGER[])))
            ORDER BY source
            """,
            [ICD10CM, sorted(concepts)],
        ).fetchall()
        mapped: dict[int, set[str]] = {}
        for source, code in rows:
            mapped.setdefault(source, set()).add(code)
        return mapped

    def _label(self, concept: int) -> str:
        row = self._con.execute(
            "SELECT vocabulary || ' ' || code FROM concept WHERE concept_id = ?", [concept]
        ).fetchone()
        return str(row[0]) if row else f"concept {concept}"

    def _too_broad(self, count: int) -> str:
        return f"fan-out: {count} ICD-10-CM codes are mapped to it, more than {self._threshold}"


def _may_be_diagnosis(item: ConceptItem) -> bool:
    return item.vocabulary == ICD10CM or item.domain not in _NO_DIAGNOSIS


def _concept_set(place: int, given: object) -> ConceptSet:
    data: Mapping[str, Any] = given if isinstance(given, dict) else {}
    number = data.get("id")
    name = str(data.get("name") or "")
    expression = data.get("expression")
    lines = expression.get("items") if isinstance(expression, dict) else None
    items: list[ConceptItem] = []
    unreadable: list[Dropped] = []
    for line, value in enumerate(lines if isinstance(lines, list) else []):
        item = _item(value)
        if item is None:
            unreadable.append(Dropped(f"item {line + 1} of concept set {place + 1}", NO_CONCEPT))
        else:
            items.append(item)
    return ConceptSet(number if isinstance(number, int) else place, name, items, unreadable)


def _item(value: object) -> ConceptItem | None:
    concept = value.get("concept") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(concept, dict):
        return None
    try:
        concept_id = int(concept["CONCEPT_ID"])
    except (KeyError, TypeError, ValueError):
        return None
    code, vocabulary = (str(concept.get(key) or "") for key in ("CONCEPT_CODE", "VOCABULARY_ID"))
    if not code or not vocabulary:
        return None
    return ConceptItem(
        concept_id,
        code,
        vocabulary,
        str(concept.get("DOMAIN_ID") or ""),
        value.get("isExcluded") is True,
        value.get("includeDescendants") is True,
    )


def _entry_sets(criteria: object) -> Iterator[int]:
    """Give the numbers of the concept sets that the entry events look for."""
    events = criteria.get("CriteriaList") if isinstance(criteria, dict) else None
    for event in events if isinstance(events, list) else []:
        for body in event.values() if isinstance(event, dict) else ():
            if not isinstance(body, dict):
                continue
            sources = [number for key, number in body.items() if key.endswith(_SOURCE_SUFFIX)]
            numbers = sources or [body.get("CodesetId")]
            yield from (number for number in numbers if isinstance(number, int))
