"""Building a vocabulary from an OHDSI Athena download.

The download is streamed: DuckDB reads each file once and spills to disk what exceeds its memory limit, so the
size of the download does not matter. What is built is for its owner: Athena's vocabularies come under their
own licences (SNOMED CT needs one), so the file stays in the user's cache or where the user puts it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from clinical_evals.ontology.athena_files import (
    AthenaError,
    AthenaFile,
    RowCount,
    Watch,
    column_or_null,
    date_of,
    describe_faults,
    find_file,
    stage,
)
from clinical_evals.ontology.vocabulary import ICD10CM, SCHEMA_VERSION, building, write_about

BAD_ID = "no whole number as concept id"
DUPLICATE = "concept id given before"
DEPRECATED = "deprecated relationship"
NOWHERE = "points to a concept that is not in CONCEPT"

_CONCEPT = (
    "concept_id",
    "concept_name",
    "vocabulary_id",
    "concept_class_id",
    "concept_code",
    "invalid_reason",
)
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_SYNONYM = ("concept_id", "concept_synonym_name")
_VOCABULARY = ("vocabulary_id", "vocabulary_version")
_CUT_OFF_WHEN_EMPTY = "invalid_reason"
_ENGLISH = 4180186  # concept id of the language
_WHOLE_RELEASE = "None"  # the row of VOCABULARY.csv that carries the version of all vocabularies together
_MEMORY = "256MB"
_THREADS = 2


@dataclass(frozen=True)
class AthenaReport:
    """What was built, and what of the download was not used.

    Attributes:
        release: The version that the download states; without one, the day its newest concept took effect.
        vocabularies: The number of concepts by vocabulary.
        deprecated: How many concepts carry an invalid_reason; they are kept, with `valid` false.
        edges: The number of is-a edges.
        relations: The number of other relationships (`Maps to`, `Mapped from`).
        synonyms: The number of further names.
        files: The rows of each file.
    """

    release: str
    vocabularies: Mapping[str, int]
    deprecated: int
    edges: int
    relations: int
    synonyms: int
    files: Sequence[RowCount]

    @property
    def concepts(self) -> int:
        """The number of concepts."""
        return sum(self.vocabularies.values())


def build_from_athena(folder: Path, out: Path, watch: Watch | None = None) -> AthenaReport:
    """Build a vocabulary from the folder of an Athena download.

    CONCEPT.csv and CONCEPT_RELATIONSHIP.csv are needed; CONCEPT_SYNONYM.csv (English names) and
    VOCABULARY.csv (the release) are used if they are there. An edge or mapping that is given in one direction
    only counts in both. Deprecated concepts are kept and marked; deprecated relationships are left out.

    Args:
        folder: The unpacked download.
        out: The file to write. It appears only when it is complete.
        watch: Called with the name of the file and the percentage read, from another thread.

    Raises:
        AthenaError: If a file or a column is missing, or no row of a file can be used.
        VocabularyError: If `out` cannot be written.
    """
    concept = _find(folder, "CONCEPT.csv", _CONCEPT)
    relationship = _find(folder, "CONCEPT_RELATIONSHIP.csv", _RELATIONSHIP)
    synonym = find_file(folder, "CONCEPT_SYNONYM.csv", _SYNONYM)
    versions = find_file(folder, "VOCABULARY.csv", _VOCABULARY)
    with building(out) as con:
        con.execute(f"SET memory_limit = '{_MEMORY}'; SET threads = {_THREADS}")
        con.execute("SET preserve_insertion_order = false; SET enable_progress_bar = true")
        con.execute("SET enable_progress_bar_print = false")
        try:
            counts = [_load_concepts(con, concept, watch), _load_relationships(con, relationship, watch)]
            if synonym is not None:
                counts.append(_load_synonyms(con, synonym, watch))
            stated = {} if versions is None else _read_versions(con, versions)
            report = _report(con, stated, counts)
        except duckdb.OutOfMemoryException:
            raise AthenaError(f"{folder}: needs more than {_MEMORY} of memory or the disk is full") from None
        _describe(con, folder, stated, report)
    return report


def _find(folder: Path, name: str, needed: Sequence[str]) -> AthenaFile:
    if not folder.is_dir():
        what = "is a file, not a folder; unpack the download first" if folder.exists() else "no such folder"
        raise AthenaError(f"{folder}: {what}")
    found = find_file(folder, name, needed)
    if found is None:
        raise AthenaError(
            f"{folder}: no {name} in it; an Athena download holds CONCEPT.csv and CONCEPT_RELATIONSHIP.csv"
        )
    return found


def _load_concepts(con: duckdb.DuckDBPyConnection, file: AthenaFile, watch: Watch | None) -> RowCount:
    code = f"""CASE WHEN vocabulary_id = '{ICD10CM}'
        THEN regexp_replace(upper(trim(concept_code)), '^([A-Z0-9]{{3}})([A-Z0-9]+)$', '\\1.\\2')
        ELSE trim(concept_code) END"""
    kind = f"""CASE WHEN vocabulary_id IS DISTINCT FROM '{ICD10CM}' THEN coalesce(concept_class_id, '')
        WHEN concept_class_id ILIKE '%subchapter%' OR concept_code LIKE '%-%' THEN 'block'
        WHEN concept_class_id ILIKE '%chapter%' THEN 'chapter'
        WHEN length(trim(concept_code)) = 3 THEN 'category' ELSE 'code' END"""
    select = f"""try_cast(concept_id AS INTEGER) AS concept_id, {code} AS code,
        trim(coalesce(concept_name, '')) AS name, vocabulary_id AS vocabulary, {kind} AS kind,
        coalesce(concept_class_id ILIKE '% billing code', false) AS billable, invalid_reason IS NULL AS valid,
        {date_of(column_or_null(file, "valid_start_date"))} AS since"""
    needed = _without_last(_CONCEPT)
    checks = {
        BAD_ID: "concept_id IS NULL",
        "no concept_code": "coalesce(code, '') = ''",
        "no vocabulary_id": "vocabulary IS NULL",
    }
    unreadable = stage(con, "raw_concept", file, select, needed, checks, watch)
    columns = "concept_id, code, name, vocabulary, kind, billable, valid"
    doubled = _one(con, "SELECT count(*) - count(DISTINCT concept_id) FROM raw_concept WHERE fault IS NULL")
    only_first = (
        f"QUALIFY row_number() OVER (PARTITION BY concept_id ORDER BY valid DESC, {columns}) = 1"
        if doubled
        else ""
    )
    con.execute(
        f"INSERT INTO concept SELECT {columns} FROM raw_concept WHERE fault IS NULL {only_first} "
        "ORDER BY concept_id"
    )
    count = _count(con, "raw_concept", file, unreadable, {DUPLICATE: doubled})
    if _one(con, "SELECT count(*) FROM concept") == 0:
        raise AthenaError(f"{file.path}: {describe_faults(count, 'concept_id or concept_code')}")
    return count


def _load_relationships(con: duckdb.DuckDBPyConnection, file: AthenaFile, watch: Watch | None) -> RowCount:
    select = """try_cast(concept_id_1 AS INTEGER) AS source, try_cast(concept_id_2 AS INTEGER) AS target,
        CASE lower(trim(relationship_id)) WHEN 'is a' THEN 'is' WHEN 'subsumes' THEN 'sub'
            WHEN 'maps to' THEN 'to' WHEN 'mapped from' THEN 'from' END AS name,
        invalid_reason IS NULL AS valid"""
    checks = {BAD_ID: "source IS NULL OR target IS NULL", DEPRECATED: "name IS NOT NULL AND NOT valid"}
    unreadable = stage(con, "raw_relationship", file, select, _without_last(_RELATIONSHIP), checks, watch)
    con.execute("""
        CREATE TEMP TABLE usable AS SELECT source, name, target
        FROM raw_relationship SEMI JOIN concept ON source = concept_id
        WHERE fault IS NULL AND name IS NOT NULL AND target IN (SELECT concept_id FROM concept)
    """)
    con.execute("""
        INSERT INTO is_a SELECT DISTINCT child, parent FROM (
            SELECT source AS child, target AS parent FROM usable WHERE name = 'is'
            UNION ALL SELECT target, source FROM usable WHERE name = 'sub'
        ) WHERE child <> parent ORDER BY child, parent
    """)
    con.execute("""
        INSERT INTO relation SELECT DISTINCT source, name, target FROM (
            SELECT source, 'Maps to' AS name, target FROM usable WHERE name = 'to'
            UNION ALL SELECT target, 'Maps to', source FROM usable WHERE name = 'from'
            UNION ALL SELECT source, 'Mapped from', target FROM usable WHERE name = 'from'
            UNION ALL SELECT target, 'Mapped from', source FROM usable WHERE name = 'to'
        ) ORDER BY source, name, target
    """)
    wanted = "SELECT count(*) FROM raw_relationship WHERE fault IS NULL AND name IS NOT NULL"
    nowhere = _one(con, wanted) - _one(con, "SELECT count(*) FROM usable")
    count = _count(con, "raw_relationship", file, unreadable, {NOWHERE: nowhere})
    con.execute("DROP TABLE raw_relationship; DROP TABLE usable")
    if sum(count.left_out.values()) - nowhere == count.rows:
        raise AthenaError(f"{file.path}: {describe_faults(count, 'concept_id_1, concept_id_2')}")
    return count


def _load_synonyms(con: duckdb.DuckDBPyConnection, file: AthenaFile, watch: Watch | None) -> RowCount:
    language = column_or_null(file, "language_concept_id")
    select = f"""try_cast(concept_id AS INTEGER) AS concept_id, trim(concept_synonym_name) AS name,
        coalesce(try_cast({language} AS INTEGER), {_ENGLISH}) AS language"""
    unreadable = stage(con, "raw_synonym", file, select, _SYNONYM, {BAD_ID: "concept_id IS NULL"}, watch)
    con.execute(f"""
        INSERT INTO term SELECT DISTINCT concept_id, 'synonym', raw_synonym.name
        FROM raw_synonym JOIN concept USING (concept_id)
        WHERE fault IS NULL AND language = {_ENGLISH} AND lower(raw_synonym.name) <> lower(concept.name)
        ORDER BY 1, 3
    """)
    lost = "raw_synonym ANTI JOIN concept USING (concept_id) WHERE fault IS NULL"
    count = _count(con, "raw_synonym", file, unreadable, {NOWHERE: _one(con, f"SELECT count(*) FROM {lost}")})
    con.execute("DROP TABLE raw_synonym")
    return count


def _read_versions(con: duckdb.DuckDBPyConnection, file: AthenaFile) -> dict[str, str]:
    stage(con, "raw_version", file, "vocabulary_id AS name, vocabulary_version AS version", _VOCABULARY, {})
    rows = con.execute(
        "SELECT name, version FROM raw_version WHERE fault IS NULL AND name <> '' AND version <> ''"
    ).fetchall()
    con.execute("DROP TABLE raw_version")
    return dict(sorted(rows))


def _count(
    con: duckdb.DuckDBPyConnection, table: str, file: AthenaFile, unreadable: int, further: Mapping[str, int]
) -> RowCount:
    faults = con.execute(f"SELECT fault, count(*) FROM {table} GROUP BY fault ORDER BY fault").fetchall()
    count = RowCount.of(file.path.name, dict(faults), unreadable)
    more = {fault: number for fault, number in further.items() if number}
    return replace(count, left_out={**count.left_out, **more})


def _report(
    con: duckdb.DuckDBPyConnection, stated: Mapping[str, str], counts: Sequence[RowCount]
) -> AthenaReport:
    newest = con.execute("SELECT max(since) FROM raw_concept WHERE fault IS NULL AND valid").fetchone()
    con.execute("DROP TABLE raw_concept")
    dated = f"concepts to {newest[0].isoformat()}" if newest and newest[0] else "not stated"
    by_vocabulary = con.execute("SELECT vocabulary, count(*) FROM concept GROUP BY 1 ORDER BY 1").fetchall()
    return AthenaReport(
        release=stated.get(_WHOLE_RELEASE, dated),
        vocabularies=dict(by_vocabulary),
        deprecated=_one(con, "SELECT count(*) FROM concept WHERE NOT valid"),
        edges=_one(con, "SELECT count(*) FROM is_a"),
        relations=_one(con, "SELECT count(*) FROM relation"),
        synonyms=_one(con, "SELECT count(*) FROM term"),
        files=counts,
    )


def _describe(
    con: duckdb.DuckDBPyConnection, folder: Path, stated: Mapping[str, str], report: AthenaReport
) -> None:
    versions = {name: stated[name] for name in report.vocabularies if name in stated}
    write_about(
        con,
        {
            "schema": SCHEMA_VERSION,
            "source": f"OHDSI Athena download, folder {folder.resolve().name}",
            "release": report.release,
            "vocabularies": json.dumps(list(report.vocabularies)),
            "versions": json.dumps(versions),
            "left_out": json.dumps({count.name: count.left_out for count in report.files}),
        },
    )


def _without_last(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if column != _CUT_OFF_WHEN_EMPTY]


def _one(con: duckdb.DuckDBPyConnection, query: str) -> int:
    found = con.execute(query).fetchone()
    return int(found[0]) if found else 0
