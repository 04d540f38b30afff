"""Cohorts out of tables of condition and code, such as claims algorithms and national code lists publish."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.files import read_text
from clinical_evals.ontology.codes import read_code
from clinical_evals.ontology.cohorts import NOT_A_CODE, Cohort, CuratedError, Dropped, Release

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXCLUSION_ROW = "its row excludes it"
OTHER_SYSTEM = "its code system is not ICD-10-CM"
TABLES = (".csv", ".tsv", ".tab")

# Column names without case, spaces and underscores, the likeliest first.
_CONDITION = (
    "condition",
    "cohortname",
    "cohort",
    "phenotype",
    "conditionname",
    "disease",
    "name",
    "categorydescription",
    "category",
)
_CODE = ("code", "icd10cmcode", "icd10cm", "icd10code", "icd10", "icdcode", "icd", "diagnosiscode", "dxcode")
_SYSTEM = ("codesystem", "terminology", "vocabulary", "vocabularyid", "codingsystem", "system")
_ID = ("cohortid", "conditionid", "phenotypeid")
_EXCLUDES = ("isexcluded", "excluded", "exclude")
_INCLUSION = ("inclusiontype", "inclusion")
# The WHO's ICD-10 is the stem of ICD-10-CM; a code of it that ICD-10-CM lacks is seen in the look-up.
_ICD10 = ("icd10cm", "icd10")
_YES = ("1", "true", "t", "yes", "y")


@dataclass
class _Rows:
    name: str = ""
    included: dict[str, None] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    dropped: list[Dropped] = field(default_factory=list)


@dataclass(frozen=True)
class _Columns:
    condition: str
    code: str
    system: str | None
    cohort_id: str | None
    inclusion: str | None
    excludes: str | None


def load_code_list(
    con: "DuckDBPyConnection",
    file: Path,
    *,
    condition_field: str | None = None,
    code_field: str | None = None,
    system_field: str | None = None,
    descendants: bool | None = None,
) -> list[Cohort]:
    """Read a table of condition and code into cohorts, one a condition.

    Codes may be written without dots. Where the table has a column for the code system, rows of others than
    ICD-10-CM or ICD-10 (drugs, procedures, SNOMED) are dropped with that reason. Rows that exclude (a column
    `inclusion_type` with Exclude, or `is_excluded`) take their codes out, with all below them.

    Args:
        con: An open vocabulary.
        file: A `.csv`, `.tsv` or `.tab` file with a header.
        condition_field: The column that names the condition. Default: the first known name it has, such as
            condition, phenotype or name.
        code_field: The column with the code. Default: the first known name, such as code or icd10.
        system_field: The column with the code system. Default: the first known name, or none.
        descendants: Whether a header stands for all codes below it. Default: if the condition lists none of
            them, so that a list of categories and a list of all their codes are both read as they are meant.

    Returns:
        The cohorts in the order of the table, those without any code too.

    Raises:
        CuratedError: If the file has no rows or not the columns, or a row has too few or too many fields or
            names no condition; it is named.
        InputError: If it cannot be read.
    """
    release = Release(con)
    conditions: dict[str, _Rows] = defaultdict(_Rows)
    chosen = {"condition": condition_field, "code": code_field, "system": system_field}
    for where, columns, row in _read(file, chosen):
        name, text = row[columns.condition], row[columns.code]
        identity = (row[columns.cohort_id] if columns.cohort_id else "") or name
        if not identity:
            raise CuratedError(f"{where}: column {columns.condition} is empty")
        rows = conditions[identity]
        rows.name = rows.name or name
        _take(rows, row, columns, text)
    if not conditions:
        raise CuratedError(f"{file}: holds no rows")
    return [_cohort(release, cohort_id, rows, descendants) for cohort_id, rows in conditions.items()]


def _take(rows: _Rows, row: Mapping[str, str], columns: _Columns, text: str) -> None:
    system = row[columns.system] if columns.system else ""
    if system and _plain(system) not in _ICD10:
        rows.dropped.append(Dropped(f"{system} {text}", OTHER_SYSTEM))
        return
    code = read_code(text)
    if code is None:
        rows.dropped.append(Dropped(text, NOT_A_CODE))
    elif _excludes(row, columns):
        rows.excluded.add(code)
        rows.dropped.append(Dropped(f"ICD10CM {code}", EXCLUSION_ROW))
    else:
        rows.included[code] = None


def _excludes(row: Mapping[str, str], columns: _Columns) -> bool:
    if columns.inclusion and _plain(row[columns.inclusion]).startswith("exclu"):
        return True
    return columns.excludes is not None and _plain(row[columns.excludes]) in _YES


def _cohort(release: Release, cohort_id: str, rows: _Rows, descendants: bool | None) -> Cohort:
    named = {above for code in rows.included for above in release.above(code)}
    codes: set[str] = set()
    for code in rows.included:
        alone = code not in named if descendants is None else descendants
        # A block is no code, so it can only stand for the codes in it.
        codes.update(release.below(code) if alone or "-" in code else [code])
    for code in rows.excluded:
        codes.difference_update(release.below(code))
    return release.cohort(cohort_id, rows.name or cohort_id, codes, rows.dropped)


def _read(file: Path, chosen: Mapping[str, str | None]) -> Iterator[tuple[str, _Columns, Mapping[str, str]]]:
    """Give for each row where it stands, the columns and its fields; blank lines are no rows."""
    text = read_text(file)
    first_line = text.lstrip().partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",\t;", key=first_line.count))
    columns: _Columns | None = None
    header: list[str] = []
    try:
        for cells in reader:
            if not any(map(str.strip, cells)):
                continue
            if columns is None:
                header, columns = cells, _columns(file, cells, chosen)
                continue
            where = f"{file}, line {reader.line_num}"
            if len(cells) < len(header):
                raise CuratedError(f"{where}: has fewer fields than the header")
            if any(map(str.strip, cells[len(header) :])):
                raise CuratedError(
                    f"{where}: has more fields than the header; quote a name with a comma in it"
                )
            yield where, columns, dict(zip(header, map(str.strip, cells), strict=False))
    except csv.Error as error:
        raise CuratedError(f"{file}, line {reader.line_num}: {error}") from None


def _columns(file: Path, header: Sequence[str], chosen: Mapping[str, str | None]) -> _Columns:
    known = {_plain(name): name for name in reversed(header)}

    def first(names: Sequence[str]) -> str | None:
        return next((known[name] for name in names if name in known), None)

    def needed(what: str, names: Sequence[str]) -> str:
        given = chosen[what]
        found = first(names) if given is None else given
        if found is None or found not in header:
            # What the first line holds is not said: without a header it is a row.
            looked = " or ".join(names[:4]) if given is None else given
            raise CuratedError(f"{file}: no column {looked} for the {what} in its first line")
        if header.count(found) > 1:
            raise CuratedError(f"{file}: two columns {found} in its first line")
        return found

    system = needed("system", _SYSTEM) if chosen["system"] else first(_SYSTEM)
    code = needed("code", _CODE)
    condition = needed("condition", _CONDITION)
    cohort_id = first(_ID) if chosen["condition"] is None else None
    return _Columns(condition, code, system, cohort_id, first(_INCLUSION), first(_EXCLUDES))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
