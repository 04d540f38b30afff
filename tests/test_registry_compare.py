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


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose registry has a few runs."""
    folder = tmp_path_factory.mktemp("filled")
    location = locate(folder, {})
    for one in (
        record(BETTER, model="m/good"),
        record(WORSE, model="m/bad"),
        record([*BETTER[:-2], None, BETTER[-1]], model="m/gaps", unscored=3, cause="grader failed"),
        record(BETTER, model="m/other-rules", signature="toy v=2 prompt=abc"),
        record(BETTER[:5], model="m/good", eval_id="earlier", created="2025-01-01T00:00:00+00:00"),
        record(BETTER, model="m/same"),
        record(BETTER[:-9], model="m/silent", unscored=9),
        record(BETTER[:-9], model="m/unfinished", dataset_samples=80),
    ):
        keep(one, location.spool)
    assert Deliverer(location).drain(wait=30).sent == 8
    return folder


@pytest.fixture
def registry(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run a test in that folder."""
    monkeypatch.chdir(filled)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return filled


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
    assert twice["same_run"] is True
    assert twice["unscored"][0] == {
        "sample": "t000",
        "epoch": 1,
        "cause": "first: grader failed; second: grader failed",
    }


def test_runs_that_are_not_on_one_scale_say_what_differs(registry: Path) -> None:
    refused = ask("compare", "m/good", "m/other-rules")
    assert refused.exit_code == 2
    assert "scorer signature (v 2, not 1; prompt abc, there none)" in refused.stderr
    assert ask("gate", "m/good", "m/other-rules", "--margin", "0.1").exit_code == 2
    anyway = ask("compare", "m/good", "m/other-rules", "--anyway")
    assert anyway.exit_code == 0
    assert anyway.stdout.startswith("NOT ON ONE SCALE")


def test_a_gate_gives_three_answers_and_their_exit_codes(registry: Path) -> None:
    assert ask("gate", "m/good", "m/same", "--margin", "0.05").exit_code == 0
    failed = ask("gate", "m/good", "m/bad", "--margin", "0.02")
    assert (failed.exit_code, failed.stdout[:5]) == (1, "FAIL:")
    undecided = ask("gate", "m/good", "m/bad", "--margin", "0.1")
    assert undecided.exit_code == 3
    assert "80 pairs do not decide; no number would" in undecided.stdout
    assert json.loads(ask("gate", "m/good", "m/bad", "--margin", "0.09", "--json").stdout)["needed"] > 80
    strict = ask("gate", "m/good", "m/bad", "--margin", "0.02", "--alpha", "0.001")
    assert "(99.9% sure)" in strict.stdout
    # So sure that nothing is known: the bound is the range, not a number beyond it.
    assert (
        '"bound": 1'
        in ask("gate", "m/good", "m/bad", "--margin", "0.2", "--alpha", "1e-300", "--json").stdout
    )


@pytest.mark.parametrize("option", ["--margin=0", "--margin=-1", "--margin=nan", "--margin=inf", "--margin=1e308",
                                    "--margin=1", "--alpha=0", "--alpha=0.51", "--alpha=nan", "--metric=",
                                    "--metric=none", "--task=bogus"])  # fmt: skip
def test_a_gate_that_could_not_fail_is_refused(registry: Path, option: str) -> None:
    said = {"margin": "above 0 and below 1", "alpha": "above 0 and at most 0.5", "metric": "Both have: quality",
            "task": "The registry has: toy"}  # fmt: skip
    refused = ask("gate", "m/good", "m/bad", "--margin=0.1", option)
    assert (refused.exit_code, refused.stderr.count("\n"), refused.stdout) == (2, 1, "")
    assert said[option.strip("-").partition("=")[0]] in refused.stderr


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        ("m/good", "the same run"),
        ("m/silent", "not comparable: 11.2% unscored (endpoint error 9), more than 5%"),
        ("m/unfinished", "71 of 80 samples"),
        ("m/other-rules", "not on one scale"),
    ],
)
def test_a_gate_judges_no_run_that_the_leaderboard_would_not_rank(
    registry: Path, candidate: str, said: str
) -> None:
    refused = ask("gate", "m/good", candidate, "--margin", "0.9")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert said in refused.stderr
    other_way = ask("gate", candidate, "m/good", "--margin", "0.9")
    assert other_way.exit_code == 2


def test_the_same_run_is_compared_with_a_word(registry: Path) -> None:
    shown = ask("compare", "m/good", "m/good")
    assert shown.exit_code == 0
    assert "Both are the same run.\n" in shown.stdout
    assert "same run" not in ask("compare", "m/good", "m/same").stdout
    assert ask("compare", "m/good", "m/same", "--metric", "").exit_code == 2


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
    bad, good = results(BETTER, **facts), results(WORSE, eval_id="other", **facts)
    assert gate_runs(good, bad, margin=0.02)[1].verdict == "fail"
    assert gate_runs(bad, good, margin=0.02)[1].verdict == "pass"


def test_a_bias_is_best_at_0() -> None:
    facts = {"metrics": {"quality": MetricFacts(range=(-9, 9), higher_is_better=False)}}
    found = compare_runs(results([0.0, 2.0, -3.0, 1.0], **facts), results([-1.0, 0.5, 3.0, -4.0], **facts))
    (one,) = found.metrics
    assert (one.better, one.worse) == (1, 2), "from -3 to 3 is neither"
    assert [(change.first, change.second) for change in found.worse] == [(1.0, -4.0), (0.0, -1.0)]
    with pytest.raises(InputError, match="'quality' is best at 0"):
        gate_runs(found.first, results([-9.0] * 4, eval_id="other", **facts), margin=1)


def test_labels_get_the_exact_mcnemar_test() -> None:
    found = compare_runs(results([1.0] * 8 + [0.0]), results([0.0] * 7 + [1.0] * 2))
    assert found.metrics[0].mcnemar == pytest.approx(2 * 9 / 256)


def test_few_samples_give_undecided_and_no_interval() -> None:
    found, answer = gate_runs(results([0.5]), results([0.5], eval_id="other"), margin=0.4)
    assert answer.verdict == "undecided"
    assert found.metrics[0].difference.lower != found.metrics[0].difference.lower


def lacking(values: list[float | None], *without: int, status: str = "unscored", **changed: Any) -> Any:
    """Give a run that did not score, or failed, some of its samples."""
    made = record(values, eval_id="lacking", **changed)
    for at in without:
        row = made.rows[at]
        told = {"quality": 0.0} if status == "failed" else {}
        made.rows[at] = row.model_copy(update={"status": status, "cause": "refusal", "values": told})
    return results_of(made)


HARD = [0.9] * 195 + [0.1] * 5
"""Five samples that nobody does well on."""


def test_leaving_out_the_hard_samples_does_not_pay() -> None:
    baseline = results(HARD)
    assert gate_runs(baseline, lacking([0.9] * 200), margin=0.05)[1].verdict == "pass"
    # One of 200 fewer, taken as the worst, is still within the margin; ten are not.
    found, answer = gate_runs(baseline, lacking(HARD, 199), margin=0.05)
    assert (answer.verdict, answer.missing, found.metrics[0].difference.n) == ("pass", 1, 199)
    found, answer = gate_runs(baseline, lacking(HARD, *range(10)), margin=0.04)
    assert (answer.verdict, answer.missing) == ("undecided", 10)
    assert answer.bound > 0.045  # 10 · 0.9 / 200
    assert answer.needed is None
    # What is undefined for the candidate alone is no better than what is unscored.
    undefined: list[float | None] = [*[None] * 10, *HARD[10:]]
    assert gate_runs(baseline, lacking(undefined), margin=0.04)[1].missing == 10
    # And what the baseline did not score shows nothing of the candidate.
    assert gate_runs(lacking(HARD, 0, 1), baseline, margin=0.05)[1].missing == 0


def test_a_fail_is_sure_too() -> None:
    dropped = [value - 0.09 for value in HARD]
    assert gate_runs(results(HARD), lacking(dropped, 0), margin=0.05)[1].verdict == "fail"
    assert gate_runs(results(HARD), lacking(dropped, *range(10)), margin=0.08)[1].verdict == "undecided"


def test_refusing_is_no_gain_where_less_is_better() -> None:
    facts = {"metrics": {"quality": MetricFacts(range=(0, 1), higher_is_better=False)}}
    baseline = results([0.2] * 100, **facts)
    refused = lacking([0.25] * 100, *range(60), status="failed", **facts)
    answer = gate_runs(baseline, refused, margin=0.02)[1]
    assert (answer.verdict, answer.missing) == ("undecided", 60)


def test_what_a_gate_could_not_tell_is_said(registry: Path) -> None:
    few = keep(record(BETTER[:-3], model="m/few", unscored=3), registry)
    text = few.read_text().replace("t000", "s077").replace("t001", "s078").replace("t002", "s079")
    few.write_text(text)
    shown = ask("gate", "m/good", str(few), "--margin", "0.07")
    assert shown.exit_code == 3, shown.output
    assert "Without a value of the candidate: 3, taken as the worst for a pass" in shown.stdout
    assert "what is missing could turn that" in shown.stdout
    assert "Not scored: 3 (s077, s078, s079)" in shown.stdout
    assert json.loads(ask("gate", "m/good", str(few), "--margin", "0.07", "--json").stdout)["missing"] == 3


def test_a_figure_of_the_whole_run_cannot_be_paired() -> None:
    kappa = MetricFacts(range=(-1, 1), statistic="quadratic_weighted_kappa", of=("a", "b"))
    facts = {"metrics": {"kappa": kappa, "quality": MetricFacts(range=(0, 1))}, "headline": "kappa"}
    runs = results(BETTER, **facts), results(WORSE, eval_id="other", **facts)
    found = compare_runs(*runs)
    assert (found.of_headline, [one.metric for one in found.metrics]) == (None, ["quality"])
    with pytest.raises(InputError, match="Of single samples are: quality"):
        gate_runs(*runs, margin=0.1)
    assert gate_runs(*runs, margin=0.02, metric="quality")[1].verdict == "fail"


def test_a_metric_without_a_range_cannot_be_gated() -> None:
    unbounded = {"metrics": {"quality": MetricFacts()}}
    with pytest.raises(InputError, match="declares no range"):
        gate_runs(results(BETTER, **unbounded), results(WORSE, eval_id="other", **unbounded), margin=0.1)


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
