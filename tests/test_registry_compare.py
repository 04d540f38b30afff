"""`compare` and `gate` on runs in a real registry: pairs, what is left out, answers and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from registry_toys import record

from clinical_evals.cli import cli
from clinical_evals.files import InputError
from clinical_evals.registry.compare import align, compare_runs, gate_runs
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import MetricFacts, RunRecord
from clinical_evals.registry.resolve import results_of
from clinical_evals.registry.rows import read_rows, write_rows
from clinical_evals.registry.spool import keep

BETTER = [0.5 + 0.005 * at for at in range(80)]
WORSE = [value - 0.1 for value in BETTER]


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry with a few runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    location = locate()
    for one in (
        record(BETTER, model="m/good"),
        record(WORSE, model="m/bad"),
        record([*BETTER[:-2], None, BETTER[-1]], model="m/gaps", unscored=3, cause="grader failed"),
        record(BETTER, model="m/other-rules", signature="toy v=2 prompt=abc"),
        record(BETTER[:5], model="m/good", eval_id="earlier", created="2025-01-01T00:00:00+00:00"),
    ):
        keep(one, location.spool)
    assert Deliverer(location).drain(wait=30).sent == 5
    return tmp_path


def test_two_models_are_compared_by_name(registry: Path) -> None:
    shown = ask("compare", "m/good", "m/bad@toy", "--top", "2")
    assert shown.exit_code == 0, shown.output
    assert "-0.100" in shown.stdout
    assert "Worse in the second run by quality: 80 of 80" in shown.stdout
    assert "… and 78 more" in shown.stdout
    found = json.loads(ask("compare", "m/good", "m/bad", "--json").stdout)
    quality = found["metrics"][0]
    assert quality["mean"] == pytest.approx(-0.1)
    assert quality["p"] < 0.001
    assert (quality["higher"], quality["lower_count"], quality["n"]) == (0, 80, 80)


def test_what_is_not_paired_or_not_scored_is_named_and_counted(registry: Path) -> None:
    found = json.loads(ask("compare", "m/good", "m/gaps", "--json").stdout)
    assert found["only_second"] == [[f"t00{at}", 1] for at in range(3)]
    assert found["metrics"][0]["undefined"] == 1
    assert found["metrics"][0]["n"] == 79
    shown = ask("compare", "m/good", "m/gaps").stdout
    assert "Only in the second run: 3 (t000, t001, t002)" in shown
    assert "(1 not defined)" in shown
    twice = json.loads(ask("compare", "m/gaps", "m/gaps", "--json").stdout)
    assert twice["unscored"][0] == {
        "sample": "t000",
        "epoch": 1,
        "cause": "first: grader failed; second: grader failed",
    }


def test_runs_that_are_not_on_one_scale_say_what_differs(registry: Path) -> None:
    refused = ask("compare", "m/good", "m/other-rules")
    assert refused.exit_code == 2
    assert "scorer signature (v 2, not 1; prompt abc, not unset)" in refused.stderr
    assert ask("gate", "m/good", "m/other-rules", "--margin", "0.1").exit_code == 2
    anyway = ask("compare", "m/good", "m/other-rules", "--anyway")
    assert anyway.exit_code == 0
    assert anyway.stdout.startswith("NOT ON ONE SCALE")


def test_a_gate_gives_three_answers_and_their_exit_codes(registry: Path) -> None:
    assert ask("gate", "m/good", "m/good", "--margin", "0.05").exit_code == 0
    failed = ask("gate", "m/good", "m/bad", "--margin", "0.02")
    assert (failed.exit_code, failed.stdout[:5]) == (1, "FAIL:")
    undecided = ask("gate", "m/good", "m/bad", "--margin", "0.1")
    assert undecided.exit_code == 3
    assert "no number of pairs would" in undecided.stdout
    assert json.loads(ask("gate", "m/good", "m/bad", "--margin", "0.09", "--json").stdout)["needed"] > 80
    for wrong in (("--margin", "0"), ("--margin", "0.1", "--alpha", "0.9"), ("--margin", "nan")):
        assert ask("gate", "m/good", "m/bad", *wrong).exit_code == 2
    assert ask("gate", "m/good", "m/bad", "--margin", "0.1", "--metric", "none").exit_code == 2


def test_runs_are_found_by_id_prefix_name_and_file(registry: Path) -> None:
    ids = [run["run_id"] for run in json.loads(ask("compare", "m/good", "m/bad", "--json").stdout).values()
           if isinstance(run, dict)]  # fmt: skip
    by_id = json.loads(ask("compare", ids[0][:12], "eval-m-bad", "--json").stdout)
    assert by_id["first"]["run_id"] == ids[0]
    assert by_id["second"]["run_id"] == ids[1]
    spooled = keep(record(BETTER, model="m/file"), registry)
    assert ask("compare", str(spooled), "m/good").exit_code == 0
    for wrong, said in {
        "m/none": "The registry has: m/bad@toy",
        "m/good@other": "no such run",
        "missing.eval": "no such file",
        "eval-m": "the beginning of several ids",
    }.items():
        refused = ask("compare", wrong, "m/good")
        assert refused.exit_code == 2
        assert said in refused.stderr


def results(values: Any, **changed: Any) -> Any:
    return results_of(record(values, **changed))


def test_less_is_better_where_the_metric_says_so() -> None:
    facts = {"metrics": {"quality": MetricFacts(range=(0, 1), higher_is_better=False)}}
    found = compare_runs(results(WORSE, **facts), results(BETTER, **facts))
    assert len(found.worse) == 80
    assert gate_runs(results(WORSE, **facts), results(BETTER, **facts), margin=0.02)[1].verdict == "fail"
    assert gate_runs(results(BETTER, **facts), results(WORSE, **facts), margin=0.02)[1].verdict == "pass"


def test_labels_get_the_exact_mcnemar_test() -> None:
    found = compare_runs(results([1.0] * 8 + [0.0]), results([0.0] * 7 + [1.0] * 2))
    assert found.metrics[0].mcnemar == pytest.approx(2 * 9 / 256)


def test_few_samples_give_undecided_and_no_interval() -> None:
    found, answer = gate_runs(results([0.5]), results([0.5]), margin=0.4)
    assert answer.verdict == "undecided"
    assert found.metrics[0].difference.lower != found.metrics[0].difference.lower


def test_a_metric_without_a_range_cannot_be_gated() -> None:
    unbounded = {"metrics": {"quality": MetricFacts()}}
    with pytest.raises(InputError, match="declares no range"):
        gate_runs(results(BETTER, **unbounded), results(WORSE, **unbounded), margin=0.1)


def test_epochs_are_pairs_of_their_own() -> None:
    first, second = record([0.5, 0.6]), record([0.6, 0.7])
    again = [row.model_copy(update={"epoch": 2}) for row in first.rows]
    pairs = align([*first.rows, *again], second.rows)
    assert [row.sample for row, _ in pairs.both] == ["s000", "s001"]
    assert pairs.only_first == [("s000", 2), ("s001", 2)]


def test_rows_come_back_from_their_table_as_they_were(tmp_path: Path) -> None:
    whole: RunRecord = record([0.25, None, 1.0], unscored=2, failed=1)
    rows = [row.model_copy(update={"counts": {"claims": 3}}) if row.status == "scored" else row
            for row in whole.rows]  # fmt: skip
    assert read_rows(write_rows(rows, tmp_path / "samples.parquet")) == rows
