"""Who is ranked with whom, in which order, and how it is printed."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from registry_toys import record, run, toy

from clinical_evals.cli_leaderboard import leaderboard
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import DatasetFacts, MetricFacts, RunRecord
from clinical_evals.registry.runs import read_runs
from clinical_evals.registry.spool import keep
from clinical_evals.registry.sqlite_runs import read_database
from clinical_evals.registry.store import connect

pytestmark = pytest.mark.usefixtures("folder")


def spool(records: Iterable[RunRecord]) -> None:
    for number, result in enumerate(records):
        keep(result.model_copy(update={"eval_id": f"e{number}"}), locate().spool)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(leaderboard, arguments)


def boards(*arguments: str) -> list[dict]:  # type: ignore[type-arg]
    result = invoke("--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, list)
    return found


def ranked(board: dict) -> list[tuple[int | None, str]]:  # type: ignore[type-arg]
    return [(run["rank"], run["model"]) for run in board["ranked"]]


def test_order_ties_and_missing_values_last_both_ways() -> None:
    spool(
        record(values, model=model)
        for model, values in {"X": [None, None], "Y": [0.4, 0.4], "Z": [0.9, 0.9], "W": [0.8, 1.0]}.items()
    )
    (board,) = boards()
    assert ranked(board) == [(1, "W"), (1, "Z"), (3, "Y"), (None, "X")]
    assert board["ranked"][3]["metrics"]["quality"]["mean"] is None
    assert [model for _, model in ranked(boards("--worst-first")[0])] == ["Y", "Z", "W", "X"]
    assert "n/a" in invoke().stdout


def test_less_can_be_better() -> None:
    facts = {"quality": MetricFacts(range=(0, 1), higher_is_better=False)}
    spool(record([value, value], model=str(value), metrics=facts) for value in (0.3, 0.1, 0.2))
    assert ranked(boards()[0]) == [(1, "0.1"), (2, "0.2"), (3, "0.3")]


def test_what_cannot_be_compared_is_listed_apart() -> None:
    spool(
        [
            record([0.8] * 20, model="whole"),
            record([0.8] * 19, model="one-unscored", unscored=1),
            record([1.0] * 18, model="too-many-unscored", unscored=2),
            record([1.0] * 2, model="smoke", dataset_samples=20),
            record([], model="dead", unscored=20),
        ]
    )
    (board,) = boards()
    assert ranked(board) == [(1, "one-unscored"), (1, "whole")]
    assert {run["model"]: run["what_differs"] for run in board["listed_apart"]} == {
        "dead": "0 of 20 scored: endpoint error 20",
        "smoke": "2 of 20 samples",
        "too-many-unscored": "not comparable: 10% unscored (endpoint error 2), more than 5%",
    }
    assert board["ranked"][0]["note"] == (
        "unscored: endpoint error 1 (quality 0.760 to 0.810 had they been scored)"
    )


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_a_run_that_answered_nothing_stands_nowhere(higher_is_better: bool) -> None:
    facts = {"quality": MetricFacts(range=(0, 1), higher_is_better=higher_is_better)}
    spool(
        [
            record([], failed=3, model="silent", metrics=facts),
            record([0.2] * 2, failed=1, model="a", metrics=facts),
            record([0.4] * 3, model="b", metrics=facts),
        ]
    )
    for order in ((), ("--worst-first",)):
        (board,) = boards(*order)
        assert ranked(board)[-1] == (None, "silent")
        assert {rank for rank, _ in ranked(board)[:-1]} == {1, 2}
    assert board["ranked"][-1]["note"] == "not ranked: no sample was answered; failed: refusal 3"
    assert board["comparisons"] == 1


def test_other_data_and_other_rules_get_tables_of_their_own() -> None:
    data = DatasetFacts(name="toys", version="1", digest="sha256:9999", samples=2, access="")
    spool(
        [
            record([0.9, 0.9], model="other-data", dataset=data),
            record([0.8, 0.8], model="other-rules", signature="toy v=1 max_claims=9"),
            record([0.7, 0.7], model="same", created="2026-02-02T00:00:00+00:00"),
        ]
    )
    found = boards()
    assert [ranked(board) for board in found] == [
        [(1, "same")],
        [(1, "other-data")],
        [(1, "other-rules")],
    ] or [ranked(board)[0][1] for board in found[1:]] == ["other-rules", "other-data"]
    differs = {board["ranked"][0]["model"]: board["differs"] for board in found}
    assert differs == {
        "same": None,
        "other-data": "dataset digest sha256:9999, not sha256:0123",
        "other-rules": "scorer signature (max_claims 9, there none)",
    }


def test_the_latest_run_of_a_model_stands_for_it() -> None:
    spool(
        [
            record([0.9, 0.9], model="a", created="2026-01-01T00:00:00+00:00"),
            record([0.5, 0.5], model="a", created="2026-01-02T00:00:00+00:00"),
            record([0.7, 0.7], model="a", arguments="1", params={"extractions": "vendor.jsonl"}),
        ]
    )
    (board,) = boards()
    assert [run["metrics"]["quality"]["mean"] for run in board["ranked"]] == [0.7, 0.5]
    assert board["ranked"][0]["note"] == "extractions=vendor.jsonl"
    assert len(boards("--all")[0]["ranked"]) == 3


def test_tables_fit_and_show_what_a_number_rests_on() -> None:
    names = ["grounded_f1", "strict_score", "published_score", "recall", "injection_success"]
    facts = {name: MetricFacts(range=(0, 1)) for name in names}
    results = []
    for model in ("openrouter/some-vendor/model-large", "b"):
        result = record([0.5, 1.0], model=model, failed=1, metrics=facts, headline="grounded_f1")
        for row in result.rows:
            row.values = dict.fromkeys(names, row.values["quality"])
            row.counts = {"truncated": 1}
        results.append(result.model_copy(update={"grader": "judge"}))
    spool(results)
    text = invoke().stdout
    assert max(map(len, text.splitlines())) <= 110
    for expected in ("0.500 [", "judge", "3/3", "33%", "truncated", "failed: refusal 1", "scorer: toy v=1"):
        assert expected in text
    markdown = invoke("--format", "md").stdout
    assert "| 1 | a | b | judge | 0.500 \\[" in markdown
    rows = list(csv.DictReader(io.StringIO(invoke("--format", "csv").stdout)))
    assert [row["model"] for row in rows] == ["b", "openrouter/some-vendor/model-large"]
    assert rows[0]["strict_score"] == "0.5"


def test_a_model_name_cannot_break_a_table() -> None:
    spool([record([1.0, 0.5], model="[red]=1|<b>")])
    assert "[red]=1|<b>" in invoke().stdout
    assert r"\[red\]=1\|\<b\>" in invoke("--format", "md").stdout
    page = invoke("--format", "html").stdout
    assert '<td class="text">[red]=1|&lt;b&gt;</td>' in page
    assert not re.search(r"<b>|<script|<link|https?:|src=", page)
    (row,) = csv.DictReader(io.StringIO(invoke("--format", "csv").stdout))
    assert row["model"] == "[red]=1|<b>"


def test_no_name_is_a_formula_or_an_order_and_numbers_stay_numbers() -> None:
    odd = ["=HYPERLINK(1)", "+1+1", "-1+1", "@sum", "＝1", "nul\0", "bell\a\x1b[31m", "two\nlines", "tab\t|x"]
    facts = {"quality": MetricFacts(range=(-1, 1))}
    spool(record([-0.5, -0.25], model=model, metrics=facts) for model in odd)
    rows = list(csv.DictReader(io.StringIO(invoke("--format", "csv").stdout)))
    assert sorted(row["model"] for row in rows) == sorted(
        ["'=HYPERLINK(1)", "'+1+1", "'-1+1", "'@sum", "'＝1", "nul�", "bell��[31m", "two�lines", "tab�|x"]
    )
    assert {row["quality"] for row in rows} == {"-0.375"}
    for layout in ("table", "md", "html"):
        text = invoke("--format", layout).stdout
        assert all(one.isprintable() for one in text.replace("\n", ""))
        assert "two�lines" in text or "two lines" in text
    assert sorted(run["model"] for run in boards()[0]["ranked"]) == sorted(odd)


def test_the_metrics_that_a_task_declares_first_are_the_ones_that_have_room() -> None:
    names = ["overall", "support"]
    names += [f"criterion_{word}" for word in ("completeness", "hallucinations", "toneofvoices")]
    names += ["another", "and_another"]
    result = record(
        [0.5, 1.0],
        metrics={name: MetricFacts(range=(0, 1)) for name in names},
        headline="overall",
        graded=True,
        calibrated_by={"task": "t", "metric": "m", "signature_key": "k"},
    )
    for row in result.rows:
        row.values = dict.fromkeys(names, row.values["quality"]) | {"support": 0.125}
    spool([result])
    text = invoke().stdout
    assert max(map(len, text.splitlines())) <= 110
    (line,) = [line for line in text.splitlines() if "uncalibrated" in line]
    assert line.split()[5:7] == ["uncalibrated", "0.125"]
    for layout in ("csv", "md", "html"):
        assert "0.125" in invoke("--format", layout).stdout


def test_what_is_set_otherwise_stands_apart_and_is_named() -> None:
    said = ("answers=asked-for", "answers=handed-in")
    spool(record([0.5, 0.6], signature=f"toy v=1 {one} grader=m/judge") for one in said)
    text = " ".join(invoke().stdout.split())
    either = ("answers asked-for, not handed-in", "answers handed-in, not asked-for")
    assert any(f"scorer signature ({one})" in text for one in either)
    assert "clinical-evals compare A B --anyway" in text


def test_boards_without_a_ranked_run_come_last() -> None:
    spool(
        [
            record([], model="dead", unscored=5, task="a-task"),
            record([0.5, 0.6], model="well", task="b-task"),
        ]
    )
    assert [board["task"] for board in boards()] == ["b-task", "a-task"]


@pytest.mark.parametrize(
    ("model", "grader", "said"),
    [
        ("acme/large", "acme/large", "graded by itself"),
        ("acme/large", "acme/large + other/x", "graded by itself among others"),
        ("acme/large", "openrouter/acme/small", "graded by a model of its own maker (acme)"),
        ("bedrock/us.acme.large-v1:0", "acme/small", "graded by a model of its own maker (acme)"),
        ("vllm/acme/large", "vllm/other/large", None),
        ("ollama/large", "ollama/small", None),
        ("replay/one", "replay/two", None),
    ],
)
def test_a_judge_that_is_not_impartial_is_named(model: str, grader: str, said: str | None) -> None:
    spool([record([0.5, 0.6], model=model, grader=grader, graded=True)])
    assert boards()[0]["ranked"][0]["note"] == said


def test_where_nobody_grades_nobody_is_said_to_grade_himself() -> None:
    spool([record([0.5, 0.6], model="acme/large")])
    assert boards()[0]["ranked"][0]["note"] is None


def test_finished_answers_stand_under_their_own_name() -> None:
    for judge in ("none/one", "none/two"):
        graded = toy([{"quality": 0.5}, {"quality": 1.0}])
        graded.metadata["clinical_evals"] |= {"subject": "vendor.jsonl", "graded": True}
        run(graded, model=judge)
    found = boards()
    # Two judges are two scales.
    assert sorted((b["ranked"][0]["model"], b["ranked"][0]["grader"], b["signature"]) for b in found) == [
        ("vendor.jsonl", "none/one", "toy v=1 grader=none/one"),
        ("vendor.jsonl", "none/two", "toy v=1 grader=none/two"),
    ]


def test_a_judged_score_stands_beside_what_its_judge_is_worth() -> None:
    declared = {"task": "calibration", "metric": "agreement", "signature_key": "rubric"}

    def judged(grader: str, rubric: str = "r1") -> RunRecord:
        signature = f"toy v=1 rubric={rubric}"
        facts = {"signature": signature, "grader": grader, "graded": True, "calibrated_by": declared}
        return record([7, 8], model=f"by {grader}", **facts)

    def calibration(judge: str, value: float, **more: object) -> RunRecord:
        result = record([value, value], model=judge, task="calibration", headline="agreement")
        for row in result.rows:
            row.values = {"agreement": row.values["quality"]}
        facts = {"metrics": {"agreement": MetricFacts(range=(-1, 1))}, "signature": "cal v=3 rubric=r1"}
        return result.model_copy(update=facts | more)

    part = record([], dataset_samples=9).dataset
    spool(
        [
            judged("j/known"), judged("j/unknown"), judged("j/known", "r2"), judged("j/known + j/unknown"),
            judged("j/partly"),
            calibration("j/known", 0.2, created="2025-01-01T00:00:00+00:00"),
            calibration("j/known", 0.71),
            calibration("j/partly", 0.9, dataset=part),
        ]
    )  # fmt: skip
    shown = {
        (run["model"], board["signature"]): [judge["agreement"] for judge in run["judges"]]
        for board in boards("--task", "toy")
        for run in board["ranked"]
    }
    assert shown == {
        ("by j/known", "toy v=1 rubric=r1"): [0.71],
        ("by j/unknown", "toy v=1 rubric=r1"): [None],
        ("by j/known + j/unknown", "toy v=1 rubric=r1"): [0.71, None],
        ("by j/partly", "toy v=1 rubric=r1"): [None],
        ("by j/known", "toy v=1 rubric=r2"): [None],
    }
    text = invoke("--task", "toy").stdout
    assert "uncalibrated" in text
    assert "0.71 [" in text
    assert "judge agreement: agreement of the same judge and people, on toys" in text


def test_the_file_is_read_as_mlflow_reads_it(folder: Path) -> None:
    declared = {"task": "t", "metric": "m", "signature_key": "k"}
    spool(
        [
            record([0.25, None, 1.0], unscored=1, failed=2, params={"seed": "1"}, totals={"cost_usd": 0.5}),
            record([1.0], model="deleted"),
            record([1.0], model="unfinished"),
            record([0.5, 0.5], model="Ünï", task="other task", graded=True, calibrated_by=declared),
            record([1.0], model="gone", task="deleted task"),
        ]
    )
    boards()
    client = connect(locate())
    by_model = {view.model: view.run_id for view in read_runs(client)}
    client.delete_run(by_model["deleted"])
    client.set_tag(by_model["unfinished"], "complete", "someone 1")
    client.delete_experiment(client.get_experiment_by_name("deleted task").experiment_id)
    found = read_database(folder / "mlruns" / "mlflow.db")
    assert found == read_runs(client)
    assert [view.model for view in found] == ["m/one", "Ünï"]
    assert read_database(folder / "missing.db") is None


def test_a_table_is_as_wide_as_its_terminal(folder: Path) -> None:
    spool([record([0.5, 1.0], model="vendor/" + "long-" * 20)])
    assert max(map(len, invoke().stdout.splitlines())) <= 110
    command = [sys.executable, "-c", "from clinical_evals.cli import main; main()", "leaderboard"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 64, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    subprocess.run(command, stdout=theirs, cwd=folder, env=plain, check=True)
    os.close(theirs)
    text = b""
    with suppress(OSError):  # the end, as a terminal says it
        while piece := os.read(ours, 4096):
            text += piece
    os.close(ours)
    lines = text.decode().splitlines()
    assert 50 < max(map(len, lines)) <= 64


def test_an_empty_registry_says_how_to_fill_it(folder: Path) -> None:
    result = invoke()
    assert result.exit_code == 0
    assert "inspect eval" in result.output
    assert not (folder / "mlruns").exists()
    assert boards() == []


def test_an_unreadable_registry_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mlruns").mkdir()
    (folder / "mlruns" / "mlflow.db").write_bytes(b"no database" * 100)
    result = invoke()
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:hidden-word@127.0.0.1:9")
    result = invoke()
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "hidden-word" not in result.output


def test_a_metric_of_one_task_shows_that_task_alone() -> None:
    other = record([1.0], task="other", headline="beauty", metrics={"beauty": MetricFacts(range=(0, 1))})
    other.rows[0].values = {"beauty": 1.0}
    spool([record([1.0, 0.5]), other])
    assert [board["task"] for board in boards("--by", "beauty")] == ["other"]
    assert len(boards()) == 2


def test_a_bias_is_ranked_by_how_near_to_0_it_lies() -> None:
    facts = {"metrics": {"quality": MetricFacts(range=(-9, 9), higher_is_better=False)}}
    biases = {"m/low": -5.0, "m/level": 0.5, "m/high": 2.0, "m/as-low": -2.0}
    spool(record([bias, bias], model=model, **facts) for model, bias in biases.items())
    found = [(run["rank"], run["model"]) for run in boards()[0]["ranked"]]
    assert found == [(1, "m/level"), (2, "m/as-low"), (2, "m/high"), (4, "m/low")]
    assert ranked(boards("--worst-first")[0])[0][1] == "m/low"
