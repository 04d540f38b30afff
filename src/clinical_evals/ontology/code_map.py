"""Building a vocabulary from a table of codes and the OMOP concepts they map to, where no Athena folder is.

OMOP's SOURCE_TO_CONCEPT_MAP has this shape, and projects publish smaller tables of it under their own column
names. Such a table knows nothing of is-a edges or of the target's own code.
"""

import json
from pathlib import Path

from clinical_evals.ontology.athena_files import (
    AthenaError,
    RowCount,
    column_or_null,
    describe_faults,
    find_file,
    stage,
)
from clinical_evals.ontology.vocabulary import SCHEMA_VERSION, building, write_about

BAD_TARGET = "no whole number as target_concept_id"

_TARGET = "target_concept_id"
_CODES = ("source_code", "icd_code")
_IDS = ("source_concept_id", "icd_concept_id")
_NAMES = ("source_code_description", "icd_description")
_TARGET_NAMES = ("target_concept_name", "target_description")
_TARGET_VOCABULARIES = ("target_vocabulary_id", "target_vocabulary")
_OWN_IDS = 2_000_000_000  # OMOP leaves the ids above to whoever needs some


def build_from_map(file: Path, out: Path, vocabulary: str) -> RowCount:
    """Build a vocabulary from one table of codes and target concepts, with tabs or commas.

    A code without a concept id gets one above 2,000,000,000. The code of a target is not in the table; it is
    written as `OMOP:` and its concept id.

    Args:
        file: The table. It needs the column target_concept_id and one of source_code and icd_code; source_
            or icd_concept_id, descriptions, and target name and vocabulary are used if they are there.
        out: The file to write. It appears only when it is complete.
        vocabulary: The vocabulary of the source codes, such as `ICD10CM`.

    Raises:
        AthenaError: If the file or a column is missing, or no row can be used.
        VocabularyError: If `out` cannot be written.
    """
    if not file.is_file():
        raise AthenaError(f"{file}: no such file")
    table = find_file(file.parent, file.name, [_TARGET])
    if table is None:
        raise AthenaError(f"{file}: no such file")

    def either(names: tuple[str, ...]) -> str:
        return next((column_or_null(table, name) for name in names if name in table.columns), "NULL")

    code_column = next((name for name in _CODES if name in table.columns), None)
    if code_column is None:
        raise AthenaError(f"{file}: no column {' or '.join(_CODES)}")
    select = f"""trim("{code_column}") AS code, try_cast({either(_IDS)} AS INTEGER) AS source,
        coalesce({either(_NAMES)}, '') AS name, try_cast({_TARGET} AS INTEGER) AS target,
        coalesce({either(_TARGET_NAMES)}, '') AS target_name,
        coalesce({either(_TARGET_VOCABULARIES)}, 'Standard') AS target_vocabulary"""
    checks = {BAD_TARGET: "target IS NULL", f"no {code_column}": "coalesce(code, '') = ''"}
    with building(out) as con:
        unreadable = stage(con, "raw_map", table, select, (code_column, _TARGET), checks)
        con.execute(f"""
            CREATE TEMP TABLE source_code AS
            SELECT code, coalesce(min(source), {_OWN_IDS} + row_number() OVER (ORDER BY code)) AS id,
                min(name) AS name
            FROM raw_map WHERE fault IS NULL GROUP BY code
        """)
        twice = con.execute("SELECT id FROM source_code GROUP BY id HAVING count(*) > 1 LIMIT 1").fetchone()
        if twice is not None:
            raise AthenaError(f"{file}: two codes have the same concept id {twice[0]} ({' or '.join(_IDS)})")
        con.execute(
            "INSERT INTO concept SELECT id, code, name, ?, 'code', false, true FROM source_code", [vocabulary]
        )
        con.execute("""
            INSERT INTO concept SELECT target, 'OMOP:' || target, min(target_name), min(target_vocabulary),
                'target', false, true
            FROM raw_map WHERE fault IS NULL AND target NOT IN (SELECT id FROM source_code) GROUP BY target
        """)
        con.execute("""
            INSERT INTO relation
            SELECT DISTINCT id, 'Maps to', target FROM raw_map JOIN source_code USING (code)
            WHERE fault IS NULL
            UNION ALL
            SELECT DISTINCT target, 'Mapped from', id FROM raw_map JOIN source_code USING (code)
            WHERE fault IS NULL
        """)
        faults = con.execute("SELECT fault, count(*) FROM raw_map GROUP BY fault ORDER BY fault").fetchall()
        count = RowCount.of(file.name, dict(faults), unreadable)
        held = con.execute("SELECT DISTINCT vocabulary FROM concept ORDER BY 1").fetchall()
        con.execute("DROP TABLE raw_map; DROP TABLE source_code")
        if not held:
            raise AthenaError(f"{file}: {describe_faults(count, f'{code_column} or {_TARGET}')}")
        write_about(
            con,
            {
                "schema": SCHEMA_VERSION,
                "source": f"table of codes and target concepts, {file.name}",
                "release": "not stated",
                "vocabularies": json.dumps([name for (name,) in held]),
                "left_out": json.dumps({file.name: count.left_out}),
            },
        )
    return count
