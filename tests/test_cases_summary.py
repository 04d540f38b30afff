"""Judge answers that broke other people's tools, read in place, each with its right answer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from clinical_evals.tasks import summary
from inspect_ai import eval as inspect_eval
from registry_toys import all_runs, settle

from clinical_evals.cli import cli
from clinical_evals.judging import judge_step
from clinical_evals.registry.leaderboard import build_boards
from clinical_evals.registry.names import stored_names
from clinical_evals.summary.judge import read_rating
from clinical_evals.summary.rubric import CRITERIA

REPORTS = Path(__file__).parents[2] / "shared" / "cases" / "reports.jsonl"
pytestmark = pytest.mark.skipif(not REPORTS.is_file(), reason="../shared/cases is not beside the checkout")

SUMMARY = "SUBJECTIVE: Seen today."


def report(identity: str) -> dict[str, Any]:
    rows = (json.loads(line) for line in REPORTS.read_text(encoding="utf-8").splitlines())
    return next(row for row in rows if row["id"] == identity)


def graded(tmp_path: Path, answer: str) -> dict[str, Any]:
    """What `clinical-evals rubric` says of a judge's answer."""
    texts = {"dialogue": "Doctor: hello", "summary": SUMMARY, "answer": answer}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    dialogue, written, judge = (str(tmp_path / name) for name in texts)
    arguments = ["rubric", "--dialogue", dialogue, "--summary", written, "--fixture", judge, "--json"]
    value = json.loads(CliRunner().invoke(cli, arguments).stdout)
    assert isinstance(value, dict)
    return value


def test_report_s06_a_cut_off_answer_is_never_completed(tmp_path: Path) -> None:
    case = report("REP-S06")
    expected = case["expected"]
    value = graded(tmp_path, case["input"]["judge_answer"])
    assert (value["scores"], value["overall"]) == (expected["scores"], expected["overall"])
    assert value["unscored"] == expected["cause"]
    cut_off = case["input"]["stop_reason"] == "max_tokens"
    assert read_rating(case["input"]["judge_answer"], cut_off=cut_off).phrase == expected["cause"]


def test_report_s07_a_draft_in_the_reasoning_is_not_the_answer(tmp_path: Path) -> None:
    case = report("REP-S07")
    value = graded(tmp_path, case["input"]["judge_answer"])
    assert (value["scores"], value["overall"]) == (case["expected"]["scores"], case["expected"]["overall"])


def test_report_s08_scales_types_and_ranges(tmp_path: Path) -> None:
    case = report("REP-S08")
    given = case["input"]
    assert [row["value"] for row in case["expected"]] == given["values_as_json_text"]
    for row in case["expected"]:
        value = graded(tmp_path, given["judge_answer_template"].replace("VALUE", row["value"]))
        scores = value["scores"] or {}
        assert (scores.get(CRITERIA[0]), value["overall"]) == (row["factual"], row["overall"]), row
        assert (
            any(row["flagged"] in flag for flag in value["flags"]) if "flagged" in row else not value["flags"]
        )


def judged_run(folder: Path, name: str, answers: list[str]) -> None:
    """Run the task on one dialogue for each answer; the same answer comes again at the repair turn."""
    ids = [f"d{number}" for number in range(len(answers))]
    dialogues, finished, fixture = (folder / f"{part}.jsonl" for part in ("dialogues", name, "summary"))
    dialogues.write_text("".join(json.dumps({"id": one, "dialogue": "Doctor: hello"}) + "\n" for one in ids))
    finished.write_text("".join(json.dumps({"id": one, "summary": SUMMARY}) + "\n" for one in ids))
    step = judge_step(SUMMARY)
    rows: list[dict[str, Any]] = [{"about": "Written by hand for a test.", "task": "summary"}]
    rows += [
        {"sample": one, "step": asked, "output": answer}
        for one, answer in zip(ids, answers, strict=True)
        for asked in (step, f"{step}/repair")
    ]
    judge = folder / f"judge-{name}"
    judge.mkdir()
    (judge / fixture.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = summary(dataset=str(dialogues), summaries=str(finished))
    roles = {"grader": f"replay/{judge}"}
    (log,) = inspect_eval(task, model="none", model_roles=roles, display="none", log_dir="logs")
    assert log.status == "success"


def test_report_s09_a_judge_that_cannot_be_read_is_unscored_and_bounds_the_mean(folder: Path) -> None:
    case = report("REP-S09")
    names = list(case["input"]["runs"])
    for name in names:
        judged_run(folder, name, case["input"]["runs"][name]["judge_answers"])
    runs = {run.model: run for run in settle()}
    ranked = {place.run.model for board in build_boards(runs.values()) for place in board.places}
    for name in names:
        expected = case["expected"][name]
        overall = runs[name].figure("Overall Quality")
        assert overall.mean == expected["overall_mean"]
        assert (runs[name].scored, sum(runs[name].unscored.values())) == (
            expected["scored"],
            expected["unscored"],
        )
        bounds = [overall.worst, overall.best] if expected["unscored"] else [overall.mean, overall.mean]
        assert bounds == expected["worst_and_best_case"]
        assert (name in ranked) == expected["comparable"]


def test_report_s15_a_name_with_an_ampersand_is_stored_and_shown(folder: Path) -> None:
    case = report("REP-S15")
    expected = case["expected"]
    judged_run(folder, "S15", [case["input"]["judge_answer"]])
    (run,) = settle()
    (stored,) = all_runs()
    assert stored.info.status == expected["run_status"]
    names = [name for name in case["input"]["criteria"] if name in run.figures]
    assert names == expected["readable_names_in_leaderboard"]
    assert [run.figure(name).mean for name in names] == expected["values"]
    assert run.figure("Overall Quality").mean == expected["overall"]
    assert set(stored.data.metrics) >= {stored_names(run.figures)[name, ""] for name in names}
    assert all(re.fullmatch(r"[A-Za-z0-9_. /-]+", name) for name in stored.data.metrics)
    (board,) = build_boards([run])
    assert set(names) <= set(board.metrics)
