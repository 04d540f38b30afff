"""The Athena loader: every dialect, every kind of bad row counted, and little memory for a large download."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from clinical_evals.cli_vocab import vocab
from clinical_evals.ontology import athena
from clinical_evals.ontology.athena import AthenaReport, build_from_athena
from clinical_evals.ontology.athena_files import TOO_FEW, TOO_MANY, UNREADABLE, AthenaError
from clinical_evals.ontology.code_map import build_from_map
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary, read_about

SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "athena-samples"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="../shared/data/athena-samples is not beside the checkout"
)

CONCEPT = (
    "concept_id", "concept_name", "domain_id", "vocabulary_id", "concept_class_id", "standard_concept",
    "concept_code", "valid_start_date", "valid_end_date", "invalid_reason",
)  # fmt: skip
RELATIONSHIP = (
    "concept_id_1", "concept_id_2", "relationship_id", "valid_start_date", "valid_end_date", "invalid_reason",
)  # fmt: skip


def _concept(concept_id: object, code: str, name: str = "a name", **other: str) -> list[str]:
    row = dict.fromkeys(CONCEPT, "") | {
        "concept_id": str(concept_id), "concept_name": name, "vocabulary_id": "ICD10CM", "concept_code": code,
        "concept_class_id": "4-char billing code", "valid_start_date": "20150101", "valid_end_date": "20991231",
    } | other  # fmt: skip
    return list(row.values())


def _relation(source: object, name: str, target: object, invalid_reason: str = "") -> list[str]:
    return [str(source), str(target), name, "2015-01-01", "2099-12-31", invalid_reason]


def _write(
    file: Path, header: tuple[str, ...], rows: list[list[str]], end: str = "\n", mark: str = "\t"
) -> None:
    lines = [mark.join(row) + end for row in [list(header), *rows]]
    file.write_bytes("".join(lines).encode())


def _folder(tmp_path: Path, concepts: list[list[str]], relations: list[list[str]]) -> Path:
    folder = tmp_path / "download"
    folder.mkdir(exist_ok=True)
    _write(folder / "CONCEPT.csv", CONCEPT, concepts)
    _write(folder / "CONCEPT_RELATIONSHIP.csv", RELATIONSHIP, relations)
    return folder


def _build(folder: Path, tmp_path: Path) -> tuple[AthenaReport, duckdb.DuckDBPyConnection]:
    file = tmp_path / "built.duckdb"
    report = build_from_athena(folder, file)
    return report, open_vocabulary(file)


@needs_samples
@pytest.mark.parametrize(
    ("name", "concepts", "deprecated", "nowhere", "edges", "release"),
    [
        ("femr_t2dm_retinopathy", 8, 0, 5, 0, "concepts to 2018-07-31"),
        ("ohdsi_athena_prostate", 188, 2, 0, 161, "concepts to 2020-03-09"),
        ("eunomia_synthea27nj", 701, 15, 2265, 35, "concepts to 2020-07-31"),
    ],
)
def test_published_samples_in_three_dialects(
    tmp_path: Path, name: str, concepts: int, deprecated: int, nowhere: int, edges: int, release: str
) -> None:
    report, con = _build(SAMPLES / name, tmp_path)
    with con:
        assert (report.concepts, report.deprecated, report.edges) == (concepts, deprecated, edges)
        assert report.release == release
        left_out = {fault: number for count in report.files for fault, number in count.left_out.items()}
        assert left_out == ({athena.NOWHERE: nowhere} if nowhere else {})
        for vocabulary in report.vocabularies:
            assert len(load_hierarchy(con, vocabulary)) <= report.vocabularies[vocabulary]
        assert con.execute(
            "SELECT count(*) FROM concept WHERE name = '' OR code IN ('', '\\N')"
        ).fetchone() == (0,)


@needs_samples
def test_a_sample_keeps_its_mappings(tmp_path: Path) -> None:
    _, con = _build(SAMPLES / "ohdsi_athena_prostate", tmp_path)
    with con:
        found = con.execute("""
            SELECT DISTINCT code, billable FROM relation JOIN concept ON target = concept_id
            WHERE relation.name = 'Mapped from' AND source = 200962 AND vocabulary = 'ICD10CM'
        """).fetchall()
        assert found == [("C61", True)]


@needs_samples
@pytest.mark.parametrize(
    ("name", "vocabulary", "codes", "targets", "mappings"),
    [
        ("n3c/suicide-ss-dx.csv", "ICD10CM", 192, 11, 209),
        ("cim10_maps_to/cim10_snomed_official_ACEFJKM.csv", "CIM10", 5195, 2964, 5195),
    ],
)
def test_published_tables_of_codes_and_targets(
    tmp_path: Path, name: str, vocabulary: str, codes: int, targets: int, mappings: int
) -> None:
    file = tmp_path / "map.duckdb"
    assert build_from_map(SAMPLES / name, file, vocabulary).left_out == {}
    with open_vocabulary(file) as con:
        held = dict(
            con.execute("SELECT vocabulary = ?, count(*) FROM concept GROUP BY 1", [vocabulary]).fetchall()
        )
        assert held == {True: codes, False: targets}
        assert con.execute("SELECT name, count(*) FROM relation GROUP BY 1 ORDER BY 1").fetchall() == [
            ("Mapped from", mappings), ("Maps to", mappings),
        ]  # fmt: skip


_GENERATE_AND_BUILD = """
import json, resource, sys
from pathlib import Path
from clinical_evals.ontology.athena import build_from_athena

def peak():
    # On Linux ru_maxrss starts at what the parent held when it forked; VmHWM is this program's own.
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    own = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return own[0] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

folder = Path(sys.argv[1])
end = "\\r\\n"
concepts, relations = 120_000, 240_000
with (folder / "CONCEPT.csv").open("w", encoding="utf-8", newline="") as file:
    file.write("\\t".join(json.loads(sys.argv[2])) + end)
    for n in range(1, concepts + 1):
        name = f'Disorder "{n}" of the 3\\' tract, stage {n % 7}' if n % 5 else f'"{n}'
        vocabulary = ("ICD10CM", "SNOMED", "ICD9CM", "RxNorm")[n % 4]
        reason = ("D", "U")[n % 2] if n % 50 == 0 else ""
        row = [n, name, "Condition", vocabulary, "Clinical Finding", "" if n % 3 else "S", f"C{n}", "20020131",
               "20991231", reason]
        file.write("\\t".join(map(str, row)) + end)
    file.write(f"999999\\tcut off{end}")
with (folder / "CONCEPT_RELATIONSHIP.csv").open("w", encoding="utf-8", newline="") as file:
    file.write("\\t".join(json.loads(sys.argv[3])) + end)
    names = ("Is a", "Maps to", "Has finding site", "Is a")
    for k in range(relations):
        n = 2 + k % (concepts - 1)
        row = [n, n // 2 if k < concepts else max(1, n // 3), names[k % 4], "20020131", "20991231", ""]
        if k % 1000 == 999:
            row[1] = 5_000_000 + k
        if k % 1000 == 500:
            row[5] = "D"
        file.write("\\t".join(map(str, row)) + end)
report = build_from_athena(folder, folder / "built.duckdb")
print(json.dumps({
    "megabytes": peak() / 1024, "concepts": report.concepts,
    "deprecated": report.deprecated, "rows": [count.rows for count in report.files],
    "left_out": [dict(count.left_out) for count in report.files], "vocabularies": dict(report.vocabularies),
}))
"""


def test_a_large_download_takes_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _GENERATE_AND_BUILD,
            str(tmp_path),
            json.dumps(CONCEPT),
            json.dumps(RELATIONSHIP),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["megabytes"] < 500
    assert (told["concepts"], told["deprecated"]) == (120_000, 2_400)
    assert told["rows"] == [120_001, 240_000]
    # Every 1000th row points nowhere; those at 500 are "Is a" and "Maps to" rows, marked deprecated.
    assert told["left_out"] == [{TOO_FEW: 1}, {athena.DEPRECATED: 240, athena.NOWHERE: 240}]
    assert told["vocabularies"] == dict.fromkeys(("ICD10CM", "SNOMED", "ICD9CM", "RxNorm"), 30_000)
    with open_vocabulary(tmp_path / "built.duckdb") as con:
        assert con.execute("SELECT name FROM concept WHERE concept_id = 7").fetchone() == (
            'Disorder "7" of the 3\' tract, stage 0',
        )
        assert con.execute("SELECT name FROM concept WHERE concept_id = 10").fetchone() == ('"10',)
        several = con.execute(
            "SELECT count(*) FROM (SELECT child FROM is_a GROUP BY child HAVING count(*) > 1)"
        )
        assert several.fetchone() > (10_000,)  # type: ignore[operator]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("dialect", ["athena", "commas", "quoted header"])
def test_dialects_give_the_same_vocabulary(tmp_path: Path, dialect: str, end: str) -> None:
    folder = tmp_path / "a [download]*"  # no pattern, though it looks like one
    folder.mkdir()
    name = "Crohn's \"disease\", 3' long" if dialect == "athena" else '"Crohn\'s ""disease"", 3\' long"'
    concepts = [
        _concept(1, "K50", name, invalid_reason="\\N", valid_start_date="2015-01-01"),
        _concept(2, "K50.0", "")[:-1],  # the last, empty field is cut off
        _concept(3, "k501", "\\N", invalid_reason="D"),
    ]
    header = tuple(f'"{column}"' for column in CONCEPT) if dialect == "quoted header" else CONCEPT
    mark = "," if dialect == "commas" else "\t"
    _write(folder / "concept.CSV", header, concepts, end, mark)
    _write(folder / "CONCEPT_RELATIONSHIP.csv", RELATIONSHIP, [_relation(2, "Is a", 1)[:-1]], end, mark)
    report, con = _build(folder, tmp_path)
    with con:
        assert con.execute(
            "SELECT concept_id, code, name, kind, billable, valid FROM concept"
        ).fetchall() == [
            (1, "K50", "Crohn's \"disease\", 3' long", "category", True, True),
            (2, "K50.0", "", "code", True, True),
            (3, "K50.1", "", "code", True, False),
        ]
        assert load_hierarchy(con).chain("K50.0") == [2, 1]
    assert (report.deprecated, report.release) == (1, "concepts to 2015-01-01")


def test_bad_rows_are_counted_by_reason_and_left_out(tmp_path: Path) -> None:
    folder = _folder(
        tmp_path,
        [
            _concept(1, "A00"), _concept(2, "A00.0"), _concept(2, "A00.0", "again"), _concept("x", "A01"),
            _concept(3, ""), _concept(99_999_999_999, "A02"), _concept(4, "A03", vocabulary_id=""), ["5", "cut"],
            [*_concept(6, "A04"), "beyond"], _concept(7, "A05"),
        ],
        [
            _relation(2, "Is a", 1), _relation(2, "Is a", 1), _relation(1, "Subsumes", 7), _relation(2, "Is a", 50),
            _relation(2, "Is a", 2), _relation(7, "Is a", 2, "D"), _relation("", "Is a", 2), ["7"],
            _relation(7, "Has finding site", 50, "D"), _relation(7, "Maps to", 7),
        ],
    )  # fmt: skip
    with (folder / "CONCEPT.csv").open("ab") as file:
        file.write(b"8\tna\xefve\tCondition\tICD10CM\tx\t\tA06\t\t\t\n")
    report, con = _build(folder, tmp_path)
    concepts, relations = report.files
    assert concepts.rows == 11
    assert concepts.left_out == {
        TOO_FEW: 1, TOO_MANY: 1, athena.BAD_ID: 2, "no concept_code": 1, "no vocabulary_id": 1,
        athena.DUPLICATE: 1, UNREADABLE: 1,
    }  # fmt: skip
    assert relations.rows == 10
    assert relations.left_out == {TOO_FEW: 1, athena.BAD_ID: 1, athena.DEPRECATED: 1, athena.NOWHERE: 1}
    with con:
        assert con.execute("SELECT child, parent FROM is_a").fetchall() == [(2, 1), (7, 1)]
        assert con.execute("SELECT * FROM relation").fetchall() == [(7, "Mapped from", 7), (7, "Maps to", 7)]
        assert json.loads(read_about(con)["left_out"])["CONCEPT.csv"][TOO_MANY] == 1


def test_a_mapping_given_one_way_counts_both_ways(tmp_path: Path) -> None:
    folder = _folder(tmp_path, [_concept(1, "A00"), _concept(2, "63650001", vocabulary_id="SNOMED")], [
        _relation(1, "Maps to", 2),
    ])  # fmt: skip
    report, con = _build(folder, tmp_path)
    with con:
        assert con.execute("SELECT * FROM relation").fetchall() == [(1, "Maps to", 2), (2, "Mapped from", 1)]
    assert dict(report.vocabularies) == {"ICD10CM": 1, "SNOMED": 1}


def test_release_and_synonyms_are_read_if_there(tmp_path: Path) -> None:
    folder = _folder(tmp_path, [_concept(1, "A00", "Cholera")], [_relation(1, "Maps to", 1)])
    _write(folder / "VOCABULARY.csv", ("vocabulary_id", "vocabulary_name", "vocabulary_version"), [
        ["None", "OMOP", "v5.0 29-AUG-25"], ["ICD10CM", "ICD", "ICD10CM FY2026"], ["LOINC", "LOINC", "2.78"],
    ])  # fmt: skip
    _write(folder / "CONCEPT_SYNONYM.csv", ("concept_id", "concept_synonym_name", "language_concept_id"), [
        ["1", "Asiatic cholera", "4180186"], ["1", "cholera", "4180186"], ["1", "Cólera", "4182511"],
        ["9", "lost", "4180186"],
    ])  # fmt: skip
    report, con = _build(folder, tmp_path)
    with con:
        assert con.execute("SELECT * FROM term").fetchall() == [(1, "synonym", "Asiatic cholera")]
        about = read_about(con)
    assert about["release"] == report.release == "v5.0 29-AUG-25"
    assert json.loads(about["versions"]) == {"ICD10CM": "ICD10CM FY2026"}
    assert report.files[2].left_out == {athena.NOWHERE: 1}


def _without(folder: Path, file: str, column: str) -> None:
    header, *rows = (folder / file).read_text().splitlines()
    (folder / file).write_text("\n".join([header.replace(column, "other"), *rows]) + "\n")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "CONCEPT.csv").unlink(), r"download: no CONCEPT\.csv in it"),
        (
            lambda folder: (folder / "CONCEPT_RELATIONSHIP.csv").unlink(),
            r"download: no CONCEPT_RELATIONSHIP\.csv in it",
        ),
        (
            lambda folder: _without(folder, "CONCEPT.csv", "concept_code"),
            r"CONCEPT\.csv: no column concept_code in its first line, which must name concept_id, .* commas$",
        ),
        (
            lambda folder: _without(folder, "CONCEPT_RELATIONSHIP.csv", "relationship_id"),
            r"CONCEPT_RELATIONSHIP\.csv: no column relationship_id",
        ),
        (
            lambda folder: (folder / "CONCEPT.csv").write_text("\t".join([*CONCEPT, "Smith", "Smith"])),
            r"CONCEPT\.csv: column 12 has the name of an earlier one$",
        ),
        (lambda folder: (folder / "CONCEPT.csv").write_text(""), r"CONCEPT\.csv: its first line is empty"),
        (
            lambda folder: (folder / "CONCEPT.csv").write_bytes(b"PK\x03\x04\x00\xff"),
            r"no UTF-8 text; unpack",
        ),
        (lambda folder: (folder / "CONCEPT.csv").write_text("a;b", "utf-16"), "looks like UTF-16"),
        (lambda folder: _write(folder / "CONCEPT.csv", CONCEPT, []), "a header and no rows"),
        (
            lambda folder: _write(folder / "CONCEPT.csv", CONCEPT, [_concept("x", "A00")]),
            r"none of its 1 rows can be used; look at concept_id .*1 no whole number as concept id",
        ),
        (
            lambda folder: _write(
                folder / "CONCEPT_RELATIONSHIP.csv", RELATIONSHIP, [_relation("x", "Is a", 2)]
            ),
            "none of its 1 rows can be used; look at concept_id_1",
        ),
    ],
)
def test_a_wrong_or_partial_folder_is_one_clear_error(tmp_path: Path, spoil: object, message: str) -> None:
    folder = _folder(tmp_path, [_concept(1, "A00"), _concept(2, "A00.0")], [_relation(2, "Is a", 1)])
    assert callable(spoil)
    spoil(folder)
    with pytest.raises(AthenaError, match=message):
        build_from_athena(folder, tmp_path / "built.duckdb")
    assert not list(tmp_path.glob("*.duckdb")) + list(tmp_path.glob(".*.building*"))
    done = CliRunner().invoke(
        vocab, ["build", "--athena", str(folder), "--out", str(tmp_path / "built.duckdb")]
    )
    assert done.exit_code == 2
    assert len(done.output.splitlines()) == 1


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(AthenaError, match="no such folder"):
        build_from_athena(tmp_path / "absent", tmp_path / "built.duckdb")
    file = tmp_path / "download.zip"
    file.write_bytes(b"PK")
    with pytest.raises(AthenaError, match="is a file, not a folder; unpack"):
        build_from_athena(file, tmp_path / "built.duckdb")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source_code,target\nA00,1\n", "no column target_concept_id"),
        ("code,target_concept_id\nA00,1\n", "no column source_code or icd_code"),
        ("source_code,target_concept_id\nA00,\n", "none of its 1 rows can be used"),
        ("icd_code,icd_concept_id,target_concept_id\nA,5,1\nB,5,1\n", "two codes have the same concept id 5"),
    ],
)
def test_a_wrong_table_of_codes_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "map.csv"
    table.write_text(text)
    with pytest.raises(AthenaError, match=message):
        build_from_map(table, tmp_path / "built.duckdb", "ICD10CM")


def test_the_command_tells_what_was_left_out(tmp_path: Path) -> None:
    folder = _folder(tmp_path, [_concept(1, "A00"), _concept(2, "A00.0")], [
        _relation(2, "Is a", 1), _relation(2, "Is a", 9),
    ])  # fmt: skip
    seen: list[tuple[str, float]] = []
    build_from_athena(
        folder, tmp_path / "watched.duckdb", lambda name, percentage: seen.append((name, percentage))
    )
    assert [name for name, percentage in seen if percentage == 100.0] == [
        "CONCEPT.csv",
        "CONCEPT_RELATIONSHIP.csv",
    ]
    command = "from clinical_evals.cli_vocab import vocab; vocab()"
    done = subprocess.run(
        [sys.executable, "-c", command, "build", "--athena", folder],
        env={**os.environ, "CLINICAL_EVALS_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "2 concepts (0 deprecated): ICD10CM 2" in done.stdout
    assert f"CONCEPT_RELATIONSHIP.csv: 2 rows; left out: 1 {athena.NOWHERE}" in done.stdout
    assert (tmp_path / "cache" / "vocabulary" / "athena-download.duckdb").is_file()
