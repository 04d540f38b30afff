"""The reports of area `ontology`, read in place: each has its test, and the last one is run on its own input."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inspecting import SHARED

from clinical_evals.cli import cli
from clinical_evals.ontology.vocabulary import building, write_about

REPORTS = SHARED / "cases" / "reports.jsonl"
pytestmark = pytest.mark.skipif(not REPORTS.is_file(), reason="../shared/cases is not beside the checkout")


def reports() -> dict[str, dict[str, Any]]:
    rows = map(json.loads, REPORTS.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows if row["area"] == "ontology"}


def test_every_report_has_a_test_of_its_name() -> None:
    names = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    missing = [
        identity for identity in reports() if f"def test_{identity.lower().replace('-', '_')}_" not in names
    ]
    assert missing == []


@pytest.mark.parametrize("method", ["bm25", "hybrid", "bm25_descendants"])
def test_rep_s13_the_command_on_a_vocabulary_of_two_codes(tmp_path: Path, method: str) -> None:
    case = reports()["REP-S13"]
    file = tmp_path / "two.duckdb"
    with building(file) as con:
        for number, concept in enumerate(case["input"]["vocabulary"], 1):
            con.execute(
                "INSERT INTO concept VALUES (?, ?, ?, 'ICD10CM', 'code', true, true)",
                [number, concept["code"], concept["name"]],
            )
        write_about(
            con, {"schema": "1", "source": "REP-S13", "release": "none", "vocabularies": '["ICD10CM"]'}
        )
    for query in case["input"]["queries"]:
        options = ["--method", method, "--k", str(case["input"]["k"]), "--vocabulary", str(file), "--json"]
        done = CliRunner().invoke(cli, ["retrieve", query, *options])
        assert done.exit_code == 0, done.output
        assert [hit["code"] for hit in json.loads(done.stdout)] == case["expected"][query]
