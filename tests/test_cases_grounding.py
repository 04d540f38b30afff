"""Inputs that broke other people's tools, read in place, each with its right answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from clinical_evals.grounding.claims import Extraction
from clinical_evals.grounding.scoring import score_note

REPORTS = Path(__file__).parents[2] / "shared" / "cases" / "reports.jsonl"
needs_reports = pytest.mark.skipif(not REPORTS.is_file(), reason="../shared/cases is not beside the checkout")


def report(identity: str) -> dict[str, Any]:
    rows = (json.loads(line) for line in REPORTS.read_text(encoding="utf-8").splitlines())
    return next(row for row in rows if row["id"] == identity)


def scored(case: dict[str, Any]) -> dict[str, Any]:
    fixture = case["input"]["fixture"]
    extraction = Extraction.model_validate(fixture["extraction"])
    return score_note(case["input"]["note"], extraction, fixture["grounding"]["verdicts"]).as_json()


@needs_reports
@pytest.mark.parametrize("identity", ["REP-S01", "REP-S02", "REP-S03", "REP-S04"])
def test_report(identity: str) -> None:
    case = report(identity)
    expected, result = case["expected"], scored(case)
    by_id = {verdict["id"]: verdict for verdict in result["verdicts"]}
    for name in ("counts", "score", "strictScore"):
        if name in expected:
            assert result[name] == expected[name], name
    for verdict in expected.get("verdicts", []):
        judged = by_id[verdict["id"]]
        assert judged["label"] == verdict["label"]
        if "supportingQuote" in verdict:
            assert judged["supportingQuote"] == verdict["supportingQuote"]
        if "reasons_include" in verdict:
            assert verdict["reasons_include"] in judged["reasons"]
    for claim, label in expected.get("labels", {}).items():
        assert by_id[claim]["label"] == label
    if "invalid_labels" in expected:
        assert result["invalidLabels"] == expected["invalid_labels"]


@needs_reports
def test_report_s03_names_the_reason() -> None:
    by_id = {verdict["id"]: verdict["reasons"] for verdict in scored(report("REP-S03"))["verdicts"]}
    assert "mid_token_span" in by_id["m1"]
    assert by_id["m2"] == []


@needs_reports
def test_report_s05_says_that_a_claim_was_cut() -> None:
    expected = report("REP-S05")["expected"]
    texts = [f"condition {number:02}" for number in range(1, 40)] + ["drug 01", "drug 02"]
    extraction = Extraction.model_validate({"problems": texts[:39], "medications": texts[39:]})
    ids = [f"p{number}" for number in range(1, 40)] + ["m1", "m2"]
    verdicts = [
        {"id": identity, "label": "grounded", "supportingQuote": text, "rationale": ""}
        for identity, text in zip(ids, texts, strict=True)
    ]
    result = score_note("; ".join(texts) + ".", extraction, verdicts)
    shown = result.as_json()
    assert (shown["counts"], shown["score"], shown["truncated"]) == (
        expected["counts"],
        expected["score"],
        expected["truncated"],
    )
    assert [verdict["id"] for verdict in shown["verdicts"]] == ids[:40]
    assert result.counts["unknown_ids"] == 1
