"""The embedded vocabulary: what it holds, that it is built once and whole, how quickly it loads, looking up."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from clinical_evals.cli_vocab import vocab
from clinical_evals.ontology import vocabulary
from clinical_evals.ontology.lookup import find_code, search_names
from clinical_evals.ontology.tabular import find_tabular_files, read_tabular_list
from clinical_evals.ontology.vocabulary import VocabularyError, load_hierarchy, open_vocabulary, read_about


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    file = tmp_path_factory.mktemp("vocabulary") / "icd.duckdb"
    vocabulary.build_embedded(file)
    with open_vocabulary(file) as opened:
        yield opened


def _one(con: duckdb.DuckDBPyConnection, query: str) -> object:
    found = con.execute(query).fetchone()
    assert found is not None
    return found[0]


def _run(code: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "CLINICAL_EVALS_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_node_is_as_the_package_reads_it() -> None:
    icd = pytest.importorskip("simple_icd_10_cm")
    nodes = read_tabular_list(find_tabular_files())
    assert len(nodes) == len(icd.get_all_codes())
    for node in nodes:
        first, _, last = node.code.partition("-")
        code = first if first == last else node.code  # the package gives B99 to block and category
        block = node.kind == "block"
        assert block == icd.is_block(code) or first == node.code
        # A note under a seventh character is another name of it; the package joins it on after a slash.
        name = icd.get_description(code, prioritize_blocks=block).strip()
        assert name == node.name or name.startswith(f"{node.name}/")
        parent = icd.get_parent(code, prioritize_blocks=block)
        if node.parent is not None:
            assert parent in (nodes[node.parent].code, nodes[node.parent].code.partition("-")[0])
        if not block:
            assert node.billable == icd.is_leaf(code)
            inclusion = [text for kind, text in node.terms if kind == "inclusion"]
            assert inclusion == [text.strip() for text in icd.get_inclusion_term(code)] or len(code) == 8


def test_the_release_in_figures(con: duckdb.DuckDBPyConnection) -> None:
    assert dict(con.execute("SELECT kind, count(*) FROM concept GROUP BY kind").fetchall()) == {
        "chapter": 22, "block": 297, "category": 1918, "code": 96022, "placeholder": 246,
    }  # fmt: skip
    assert _one(con, "SELECT count(*) FROM concept WHERE billable") == 74_719
    assert _one(con, "SELECT count(DISTINCT code) FROM concept") == 98_505
    assert _one(con, "SELECT count(*) FROM is_a") == 98_505 - 22  # a forest of chapters
    assert _one(con, "SELECT count(DISTINCT kind) FROM term") == 5
    about = read_about(con)
    assert about["release"] == "2026-04-01"
    assert json.loads(about["vocabularies"]) == ["ICD10CM"]


def test_the_hierarchy_climbs_to_the_chapter(con: duckdb.DuckDBPyConnection) -> None:
    hierarchy = load_hierarchy(con)
    codes = [
        hierarchy.code_of(index) for index in hierarchy.chain_indices(hierarchy.index_of("E11.3211") or 0)
    ]
    assert codes == ["E11.3211", "E11.321", "E11.32", "E11.3", "E11", "E08-E13", "4"]
    assert hierarchy.fewest_edges("E11.21", "E11.9") == 3
    assert hierarchy.fewest_edges("E11.21", "I10") is None
    assert hierarchy.descendants("B99") == ["B99", "B99.8", "B99.9"]
    assert load_hierarchy(con) is hierarchy


def test_processes_that_start_at_once_all_get_it(tmp_path: Path) -> None:
    code = (
        "from clinical_evals.ontology.vocabulary import *; c = open_vocabulary(); "
        "print(len(load_hierarchy(c)), c.execute('SELECT count(*) FROM term').fetchone()[0])"
    )
    running = [_run(code, tmp_path) for _ in range(3)]
    answers = [process.communicate(timeout=120) for process in running]
    assert [out.split()[0] for out, _ in answers] == ["98505"] * 3, answers
    assert len({out for out, _ in answers}) == 1
    left = {file.suffix for file in (tmp_path / "vocabulary").iterdir()}
    assert left <= {".duckdb", ".lock"}


def test_a_killed_build_leaves_nothing_half_made(tmp_path: Path) -> None:
    file = tmp_path / "icd.duckdb"
    code = (
        "import sys, time; from pathlib import Path; from clinical_evals.ontology.vocabulary import building\n"
        f"with building(Path({str(file)!r})) as con:\n"
        "    con.execute(\"INSERT INTO concept VALUES (1, 'A00', 'x', 'ICD10CM', 'category', false, true)\")\n"
        "    con.execute('CHECKPOINT'); print('half', flush=True); time.sleep(60)"
    )
    process = _run(code, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert not file.exists()
    assert list(tmp_path.glob(".*.building"))
    with pytest.raises(VocabularyError, match="no such vocabulary"):
        open_vocabulary(file)
    vocabulary.build_embedded(file)
    with open_vocabulary(file) as con:
        assert _one(con, "SELECT count(*) FROM concept") == 98_505
    assert not list(tmp_path.glob(".*.building*"))


def test_a_failed_build_keeps_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "v.duckdb"
    with vocabulary.building(file) as con:
        vocabulary.write_about(con, {"schema": vocabulary.SCHEMA_VERSION, "release": "first"})
    with pytest.raises(ZeroDivisionError), vocabulary.building(file) as con:
        raise ZeroDivisionError
    with open_vocabulary(file) as con:
        assert read_about(con)["release"] == "first"
    assert {entry.name for entry in tmp_path.iterdir()} == {"v.duckdb", ".v.duckdb.lock"}


def test_it_loads_in_three_tenths_of_a_second(tmp_path: Path) -> None:
    code = (
        "import time; from clinical_evals.ontology import hierarchy, vocabulary\n"
        "start = time.perf_counter(); vocabulary.load_hierarchy(vocabulary.open_vocabulary())\n"
        "print(time.perf_counter() - start)"
    )
    times = [float(_run(code, tmp_path).communicate(timeout=120)[0]) for _ in range(5)]
    assert min(times[1:]) < 0.3, times


def test_a_broken_file_in_the_cache_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINICAL_EVALS_CACHE", str(tmp_path))
    place = vocabulary.embedded_path()
    place.parent.mkdir()
    place.write_bytes(b"half a file")
    with open_vocabulary() as con:
        assert _one(con, "SELECT count(*) FROM concept") == 98_505
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            con.execute("DELETE FROM concept")


def test_what_is_no_vocabulary_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.duckdb"
    text.write_text("not a database")
    with pytest.raises(VocabularyError, match=r"text\.duckdb: not a readable DuckDB file"):
        open_vocabulary(text)
    other = tmp_path / "other.duckdb"
    duckdb.connect(other).close()
    with pytest.raises(VocabularyError, match="is no vocabulary"):
        open_vocabulary(other)
    old = tmp_path / "old.duckdb"
    with vocabulary.building(old) as con:
        vocabulary.write_about(con, {"schema": "0"})
    with pytest.raises(VocabularyError, match="a vocabulary of schema 0, not one of schema 1"):
        open_vocabulary(old)
    monkeypatch.setenv("CLINICAL_EVALS_CACHE", str(text))
    with pytest.raises(VocabularyError, match="cannot be written"):
        open_vocabulary()


def test_a_hierarchy_is_of_one_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "v.duckdb"
    with vocabulary.building(file) as con:
        con.execute("""
            INSERT INTO concept VALUES (1, 'A00', 'new', 'ICD10CM', 'category', false, true),
                (2, 'A00', 'retired', 'ICD10CM', 'category', false, false),
                (3, 'A00.0', 'child', 'ICD10CM', 'code', true, true), (4, '77', 's', 'SNOMED', 'x', false, true);
            INSERT INTO is_a VALUES (3, 1), (3, 2), (3, 4);
        """)
        vocabulary.write_about(con, {"schema": vocabulary.SCHEMA_VERSION})
    with open_vocabulary(file) as con:
        assert load_hierarchy(con).chain("A00.0") == [3, 1]
        assert load_hierarchy(con, "SNOMED").ids == [4]
        with pytest.raises(VocabularyError, match=r"no concept of vocabulary 'LOINC'.*: ICD10CM, SNOMED"):
            load_hierarchy(con, "LOINC")


@pytest.mark.parametrize("spelling", ["E11.21", "e1121", " E11.21 ", "e11.21.", "E1121"])
def test_a_code_is_found_in_any_spelling(con: duckdb.DuckDBPyConnection, spelling: str) -> None:
    (entry,) = find_code(con, spelling)
    assert entry.concept.code == "E11.21"
    assert [code for code, _ in entry.above] == ["E11.2", "E11", "E08-E13", "4"]
    assert entry.terms["inclusion"][-1] == "Type 2 diabetes mellitus with Kimmelstiel-Wilson disease"


@pytest.mark.parametrize("spelling", ["E11.27", "H40.11X0", "W22.01", "250.00"])
def test_a_code_is_never_guessed(con: duckdb.DuckDBPyConnection, spelling: str) -> None:
    assert [entry.concept.code for entry in find_code(con, spelling)] == (
        ["W22.01"] if spelling == "W22.01" else []
    )


def test_names_are_searched_by_words(con: duckdb.DuckDBPyConnection) -> None:
    assert search_names(con, "essential (primary) hypertension", 5)[0].concept.code == "I10"
    found = search_names(con, "Kimmelstiel wilson", 10)
    assert {match.concept.code for match in found} == {"E08.21", "E09.21", "E10.21", "E11.21", "E13.21"}
    assert "Kimmelstiel" in found[0].text
    assert len(search_names(con, "diabetes", 3)) == 3
    assert search_names(con, "xylophone", 5) == []
    assert search_names(con, "(-)", 5) == []


def _invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(vocab, [str(argument) for argument in arguments])


def test_the_command_builds_tells_and_looks_up(tmp_path: Path) -> None:
    file = tmp_path / "v.duckdb"
    built = _invoke("build", "--out", file)
    assert built.exit_code == 0, built.output
    assert "Release 2026-04-01" in built.output
    told = json.loads(_invoke("info", "--vocabulary", file, "--json").output)
    assert told["rows"]["concept"] == 98_505
    assert told["about"]["vocabularies"] == ["ICD10CM"]
    assert "74,505" in _invoke("info", "--vocabulary", file).output
    looked = json.loads(_invoke("lookup", "i10", "--vocabulary", file, "--json").output)
    assert (looked["by"], looked["found"][0]["code"], looked["found"][0]["billable"]) == ("code", "I10", True)
    shown = _invoke("lookup", "E11.-", "--vocabulary", file).output
    assert shown.startswith("E11  Type 2 diabetes mellitus\n")
    assert "and " in shown
    assert "E11.21" in _invoke("lookup", "kimmelstiel", "wilson", "--vocabulary", file).output
    absent = _invoke("lookup", "H40.11X0", "--vocabulary", file)
    assert absent.exit_code == 1
    assert "H40.11X0 is no code of release 2026-04-01" in absent.output


def test_the_command_replaces_no_other_file(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    refused = _invoke("build", "--out", notes)
    assert refused.exit_code == 2
    assert "is there already and is no vocabulary" in refused.output
    assert notes.read_text() == "mine"
    assert _invoke("build", "--out", tmp_path).exit_code == 2
