"""Population descriptions with the codes that they should resolve to, for the tasks that ask a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from clinical_evals.data import (
    AccessClass,
    access_class,
    card_of,
    digest_of,
    first_problem,
    read_card,
    read_rows,
)
from clinical_evals.data_path import bundled, given_path
from clinical_evals.files import InputError
from clinical_evals.ontology.cohorts import Cohort
from clinical_evals.ontology.curated import load_value_sets, resolve_target
from clinical_evals.ontology.vocabulary import load_hierarchy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["BUNDLED", "Case", "CaseSet", "load_cases"]

BUNDLED = "bundled"
_FOLDER = "decomposition"
_DEFAULT, _HARDER = "default_cases.jsonl", "harder_cases.jsonl"
_FILES: dict[str, tuple[str, ...]] = {
    BUNDLED: (_DEFAULT, _HARDER),
    "default": (_DEFAULT,),
    "harder": (_HARDER,),
}

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, slots=True)
class Case:
    """One description.

    Attributes:
        case_id: `default-COHORT` for a default case, else the case's own id.
        description: The population in free words.
        target: The codes that it should resolve to, sorted, headers among them.
        family: Its cohorts' ids, or its own id where it has none.
        difficulty: What makes it hard; `default` for a default case.
        queries: What the baseline searches for: the names of its cohorts, which are the right terms. Where a
            case has no cohort there is no such name, and its baseline is a search for the description itself.
    """

    case_id: str
    description: str
    target: list[str]
    family: str
    difficulty: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """Cases and what is known of where they come from.

    Attributes:
        name: Name of the dataset.
        version: Its version; empty if it has none.
        access: Its access class.
        digest: Changes with any description or target code.
        cases: The cases.
    """

    name: str
    version: str
    access: AccessClass
    digest: str
    cases: list[Case]


class _Target(BaseModel):
    model_config = ConfigDict(extra="forbid")
    include: list[str]
    exclude: list[str] = []


class _Row(BaseModel):
    population_description: _Text
    case_id: _Text | None = None
    cohort_id: _Text | None = None
    cohort_ids: list[_Text] = []
    target: _Target | None = None
    difficulty: str = ""

    @model_validator(mode="after")
    def _says_what_is_right(self) -> _Row:
        if sum(map(bool, (self.cohort_id, self.cohort_ids, self.target))) != 1:
            raise ValueError("give exactly one of cohort_id, cohort_ids and target")
        if not self.case_id and not self.cohort_id:
            raise ValueError("case_id is missing")
        return self


def load_cases(con: DuckDBPyConnection, source: str = BUNDLED) -> CaseSet:
    """Load descriptions and resolve their targets.

    Args:
        con: An open vocabulary; targets are resolved in its release.
        source: `bundled` (all 85), `default` (the 23 published ones), `harder` (ours), or a JSONL file with
            `case_id`, `population_description` and either `cohort_ids` of bundled value sets or a `target` of
            codes to `include` and `exclude` with all below them.

    Raises:
        InputError: If a row cannot be used; names file, row and field.
    """
    cohorts = {cohort.cohort_id: cohort for cohort in load_value_sets(con)}
    if source in _FILES:
        files = [bundled(_FOLDER, name) for name in _FILES[source]]
        card = read_card(bundled(_FOLDER, "README.md"))
        name = card["name"] if source == BUNDLED else f"{card['name']}, {source}"
    else:
        files = [given_path(source)]
        beside = card_of(files[0])
        card = read_card(beside) if beside else {}
        name = card.get("name", files[0].name)
    cases: dict[str, Case] = {}
    for file in files:
        for where, row in read_rows(file):
            case = _read_case(con, cohorts, where, row)
            if case.case_id in cases:
                raise InputError(f"{where}: field 'case_id': the id of an earlier row too")
            cases[case.case_id] = case
    if not cases:
        raise InputError(f"{files[0]}: holds no cases")
    digest = digest_of(
        {"id": case.case_id, "description": case.description, "target": case.target, "queries": case.queries}
        for case in cases.values()
    )
    access = access_class(card.get("access", "unspecified"))
    return CaseSet(name, card.get("version", ""), access, digest, list(cases.values()))


def _read_case(
    con: DuckDBPyConnection, cohorts: Mapping[str, Cohort], where: str, fields: Mapping[str, object]
) -> Case:
    try:
        row = _Row.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error)}") from None
    ids = [row.cohort_id] if row.cohort_id else row.cohort_ids
    for identity in ids:
        if identity not in cohorts:
            raise InputError(f"{where}: field 'cohort_ids': no bundled value set has the id {identity!r}")
    if row.target is not None:
        try:
            target = resolve_target(con, row.target.include, row.target.exclude)
        except InputError as error:
            raise InputError(f"{where}: field 'target': {error}") from None
    else:
        target = sorted({code for identity in ids for code in cohorts[identity].codes})
    case_id = row.case_id or f"default-{row.cohort_id}"
    hierarchy = load_hierarchy(con)
    if not any(code in hierarchy for code in target):
        raise InputError(f"{where}: field 'target': holds no code of this release")
    return Case(
        case_id,
        row.population_description,
        target,
        "+".join(ids) or case_id,
        row.difficulty or ("default" if row.cohort_id else ""),
        tuple(cohorts[identity].name for identity in ids) or (row.population_description,),
    )
