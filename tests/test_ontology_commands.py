"""The commands `retrieve`, `benchmark` and `vocab` as a user meets them, on real and on unusable input."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ontology_data import shared

from clinical_evals.cli import cli


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    return result


def refused(*arguments: str) -> str:
    """The one line that a refused command prints."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def table(folder: Path, text: str) -> str:
    file = folder / "lists.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("text", ["", "  ", "\n", "diabetes " * 120_000, "heart\udcff"])
@pytest.mark.parametrize("command", [["retrieve"], ["vocab", "lookup"]])
def test_a_text_that_is_no_name_is_refused(command: list[str], text: str) -> None:
    assert "the text to search for " in refused(*command, text)


def test_retrieve_prints_codes_with_scores_and_names() -> None:
    first, *_ = run("retrieve", "heart failure", "--method", "bm25", "--k", "3").stdout.splitlines()
    code, score, name = first.split(maxsplit=2)
    assert code.startswith("I")
    assert float(score) > 0
    assert "heart failure" in name.lower()
    hits = json.loads(run("retrieve", "heart failure", "--method", "bm25", "--k", "3", "--json").stdout)
    assert hits[0]["code"] == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cohorts", ""], "the source of the cohorts is empty"),
        (["--cohorts", "x" * 5_000], "xxx…: File name too long"),
        (["--cohorts", "absent.csv"], "absent.csv: No such file"),
        (["--cohorts", "lists.txt"], "choose a .jsonl, .json or .csv"),
        (["--methods", "bm52"], "unknown method 'bm52'"),
        (["--vocab", "absent.duckdb"], "absent.duckdb: no such vocabulary"),
    ],
)
def test_what_the_benchmark_cannot_use_is_one_line(arguments: list[str], said: str) -> None:
    assert said in refused("benchmark", *arguments)


def test_the_benchmark_never_shows_a_row_of_a_table_without_header(tmp_path: Path) -> None:
    line = refused("benchmark", "--cohorts", table(tmp_path, "Smith,I50.9\nDoe,J45\n"))
    assert "lists.csv: no column code or " in line
    assert "Smith" not in line
    assert "I50.9" not in line


def test_what_gives_no_code_is_said_and_leaves_the_means_alone(tmp_path: Path) -> None:
    rows = "condition,code\nheart failure,I50.9\nheart failure,unknown\nretired,H40.11X0\n"
    result = run("benchmark", "--methods", "bm25", "--cohorts", table(tmp_path, rows))
    assert result.stderr.splitlines() == [
        "Note: entries that gave no code: has not the shape of an ICD-10-CM code (1).",
        "Note: 1 of 2 cohorts hold no code of this release and are left out.",
    ]
    lines = result.stdout.splitlines()
    assert lines[0] == "1 cohort; mean and 95% interval"
    assert lines[-1].split() == ["heart", "failure", "1", lines[-1].split()[-1]]  # the name once
    nothing = run("benchmark", "--cohorts", table(tmp_path, "condition,code\nold,H40.11X0\n"), code=2)
    assert nothing.stderr.endswith("lists.csv: holds no cohort with a code of this release\n")


def test_the_benchmark_says_where_a_method_found_nothing(tmp_path: Path) -> None:
    rows = "condition,code\nqqqq,I50.9\nasthma,J45\n"
    result = run("benchmark", "--methods", "bm25,expand_descendants", "--cohorts", table(tmp_path, rows))
    assert "bm25 found nothing for 1 cohort: over-inclusion is 0 there, as published." in result.stdout
    assert "expand_descendants found nothing" not in result.stdout


def test_help_tells_how_cohorts_are_written() -> None:
    text = run("benchmark", "--help").stdout
    for part in ("condition,code\n", "Circe", ".jsonl", "ccsr-tuning", "--cohorts lists.csv"):
        assert part in text


@pytest.mark.parametrize(
    ("parts", "cohorts", "notes"),
    [
        (
            ("ohdsi-aesi-cohorts", "cohorts"),
            6,
            ["needs a vocabulary built from Athena", "4 of 10 cohorts hold no code"],
        ),
        (("cms-ccw",), 40, ["its code system is not ICD-10-CM (285)", "its row excludes it (112)"]),
        (("bhf-phenotypes",), 6, ["its code system is not ICD-10-CM (528)"]),
        (("phecode-icd10-who",), 36, ["1 of 37 cohorts hold no code"]),
    ],
)
def test_published_lists_run_through_the_benchmark(
    parts: tuple[str, ...], cohorts: int, notes: list[str]
) -> None:
    result = run("benchmark", "--methods", "expand_descendants", "--cohorts", str(shared(*parts)))
    assert result.stdout.startswith(f"{cohorts} cohorts; mean and 95% interval\n")
    for note in notes:
        assert note in result.stderr
    rows = result.stdout.split("hierarchical score by cohort")[1].splitlines()[1:]
    assert len(rows) == cohorts
    assert max(map(len, rows)) < 100


def test_published_vocabularies_run_through_vocab(tmp_path: Path) -> None:
    built = str(tmp_path / "built.duckdb")
    samples = shared("athena-samples")
    done = run("vocab", "build", "--athena", str(samples / "femr_t2dm_retinopathy"), "--out", built).stdout
    assert "8 concepts (0 deprecated): ICD10CM 1, SNOMED 7\n" in done
    assert "left out: 5 points to a concept that is not in CONCEPT\n" in done
    assert "SNOMED" in run("vocab", "info", "--vocab", built).stdout
    assert "E11.3211" in run("retrieve", "diabetes", "--vocab", built, "--method", "bm25").stdout
    table = str(samples / "n3c" / "suicide-ss-dx.csv")
    done = run("vocab", "build", "--map", table, "--out", str(tmp_path / "map.duckdb")).stdout
    assert "suicide-ss-dx.csv: 209 rows; left out: none\n" in done
    assert "no CONCEPT.csv in it" in refused(
        "vocab", "build", "--athena", str(samples / "n3c"), "--out", built
    )


def test_attacks_take_no_options_that_they_would_ignore() -> None:
    for options in (["--json", "--markdown"], ["--summaries", "--dataset", "notes.jsonl"]):
        assert "Error: --" in run("attacks", *options, code=2).stderr
