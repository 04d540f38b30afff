"""Which runs are said to differ: what the test promises, and where it gets its values from."""

import itertools
import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from registry_servers import mlflow_server
from registry_toys import record

from clinical_evals.cli_leaderboard import leaderboard
from clinical_evals.paired import sign_flip_p
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import RunRecord, SampleRow
from clinical_evals.registry.score_cache import SampleScores, ScoreCache, default_folder
from clinical_evals.registry.spool import keep
from clinical_evals.registry.sqlite_runs import read_database
from clinical_evals.registry.ties import group_ties, sign_flip_bound

pytestmark = pytest.mark.usefixtures("folder")


def scores(values: Iterable[float], samples: Iterable[str] | None = None, family: int = 2) -> SampleScores:
    array = np.array(list(values), dtype=np.float64)
    names = list(samples) if samples is not None else [f"s{index:04}" for index in range(len(array))]
    return SampleScores(names, [f"f{int(name[1:]) // family}" for name in names], array)


def test_the_bound_is_never_below_the_exact_p() -> None:
    generator = np.random.default_rng(3)
    tried = [
        generator.normal(shift, 1, size) for size in (1, 2, 5, 9, 12) for shift in (0, 1, 3) for _ in "abc"
    ]
    # Two equal terms are where the bound is as near as it can be.
    tried += [np.ones(2), np.ones(12), np.zeros(4)]
    for sums in tried:
        assert sign_flip_bound(sums) >= sign_flip_p(sums) - 1e-12
    assert sign_flip_bound(np.ones(400)) < 1e-80


@pytest.mark.parametrize("runs", [5, 36])
def test_equal_runs_are_seldom_told_apart(runs: int) -> None:
    # With no difference anywhere, at most 5% of boards may have a second group; of 100, more than 10 would
    # come about in 1% of cases.
    generator = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        difficulty = np.repeat(generator.random(30), 2)
        values = difficulty + generator.normal(0, 0.2, (runs, 60))
        ordered = sorted(values, key=lambda row: -float(row.mean()))
        wrong += len(set(group_ties([scores(row) for row in ordered]))) > 1
    assert wrong <= 10


@pytest.mark.parametrize("runs", [6, 36])
def test_real_differences_open_groups(runs: int) -> None:
    generator = np.random.default_rng(5)
    difficulty = generator.random(200)
    level = np.repeat([0.6, 0.3, 0.0], runs // 3)
    values = [difficulty + step + generator.normal(0, 0.05, 200) for step in level]
    assert group_ties([scores(row) for row in values]) == [
        letter for letter in "abc" for _ in range(runs // 3)
    ]


def test_samples_are_paired_by_id_and_families_count_once() -> None:
    generator = np.random.default_rng(7)
    difficulty = generator.random(60)
    better = scores(difficulty + 0.3)
    worse = scores(difficulty)
    order = generator.permutation(60)
    shuffled = scores(difficulty[order], [worse.samples[at] for at in order])
    assert group_ties([better, worse]) == group_ties([better, shuffled]) == ["a", "b"]
    # The same sixty pairs, all variants of one note, are one draw and show nothing.
    assert group_ties([scores(difficulty + 0.3, family=60), scores(difficulty, family=60)]) == ["a", "a"]
    # A sample that one run has no value for is no difference; with none in common there is nothing to tell.
    gaps = np.where(np.arange(60) < 50, difficulty, np.nan)
    assert group_ties([better, scores(gaps)]) == ["a", "b"]
    assert group_ties([better, scores(difficulty, [f"s{at + 900}" for at in range(60)])]) == ["a", "a"]


# From here on: a registry as it is.


def three_runs() -> list[RunRecord]:
    """Build two runs that hardly differ and one that is clearly worse, each sample asked twice."""
    results = []
    for number, (model, drop) in enumerate({"good": 0.0, "like": 0.002, "poor": 0.4}.items()):
        generator = np.random.default_rng(number)
        first = record([], model=model, eval_id=f"e{number}", epochs=2)
        rows = [
            SampleRow(
                sample=f"s{at}", epoch=epoch, family=f"f{at // 2}", status="scored",
                values={"quality": float(np.clip(0.5 + 0.01 * at - drop + generator.normal(0, 0.05), 0, 1))},
            )
            for at, epoch in itertools.product(range(40), (1, 2))
        ]  # fmt: skip
        dataset = first.dataset.model_copy(update={"samples": 40})
        results.append(first.model_copy(update={"rows": rows, "dataset": dataset}))
    return results


def ties() -> dict[str, str | None]:
    result = CliRunner().invoke(leaderboard, ["--format", "json"])
    assert result.exit_code == 0, result.output
    return {run["model"]: run["tie"] for board in json.loads(result.stdout) for run in board["ranked"]}


def test_ties_are_marked_and_explained() -> None:
    for result in three_runs():
        keep(result, locate().spool)
    assert ties() == {"good": "a", "like": "a", "poor": "b"}
    table = CliRunner().invoke(leaderboard).stdout
    assert "Holm's correction for 3 pairs" in " ".join(table.split())
    assert [line.split()[:3] for line in table.splitlines() if line.endswith("0%")] == [
        ["1", "a", "good"],
        ["2", "a", "like"],
        ["3", "b", "poor"],
    ]


def test_the_cache_saves_time_and_decides_nothing(folder: Path) -> None:
    for result in three_runs():
        keep(result, locate().spool)
    expected = ties()
    (kept,) = default_folder().glob("*.db")
    assert folder in kept.parents
    assert ties() == expected
    kept.write_bytes(b"no database" * 1000)
    assert ties() == expected
    shutil.rmtree(kept.parent)
    kept.parent.write_text("in the way")
    assert ties() == expected


def test_a_table_that_cannot_be_read_spoils_no_other(folder: Path) -> None:
    for result in three_runs():
        keep(result, locate().spool)
    ties()
    runs = read_database(folder / "mlruns" / "mlflow.db") or []
    by_model = {run.model: Path(run.artifacts.removeprefix("file://")) / "samples.parquet" for run in runs}
    by_model["like"].write_bytes(b"no table")
    assert ties() == {"good": "a", "like": None, "poor": "b"}
    by_model["poor"].unlink()
    assert set(ties().values()) == {None}


def test_values_are_read_as_they_were_written(folder: Path) -> None:
    for result in three_runs():
        keep(result, locate().spool)
    ties()
    runs = read_database(folder / "mlruns" / "mlflow.db") or []

    def never() -> None:
        raise AssertionError("nothing is to be downloaded")

    # The second time from the cache; then from a folder whose name DuckDB would take for a pattern.
    with ScoreCache("mlruns", never) as cache:  # type: ignore[arg-type]
        first = cache.read(runs, "quality")
    with ScoreCache("mlruns", never) as cache:  # type: ignore[arg-type]
        again = cache.read(runs, "quality")
        assert cache.read(runs, "beauty").keys() == first.keys()
    elsewhere = folder / "runs [1]"
    shutil.copytree(folder / "mlruns", elsewhere)
    moved = [replace(run, artifacts=run.artifacts.replace("mlruns", "runs [1]")) for run in runs]
    with ScoreCache("mlruns", never, folder / "other cache") as cache:  # type: ignore[arg-type]
        slow = cache.read(moved, "quality")
    for run in runs:
        (result,) = [one for one in three_runs() if one.model == run.model]
        expected = {
            name: float(np.mean([row.values["quality"] or 0.0 for row in result.rows if row.sample == name]))
            for name in {row.sample for row in result.rows}
        }
        for read in (first, again, slow):
            one = read[run.run_id]
            assert dict(zip(one.samples, one.values.tolist(), strict=True)) == pytest.approx(expected)
            assert one.families[one.samples.index("s3")] == "f1"


def test_a_servers_tables_are_downloaded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mlflow_server(folder) as port:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        for result in three_runs():
            keep(result.model_copy(update={"kept_for": locate().name}), locate().spool)
        assert ties() == {"good": "a", "like": "a", "poor": "b"}
        shutil.rmtree(folder / "server-artifacts")
        assert ties() == {"good": "a", "like": "a", "poor": "b"}
        shutil.rmtree(default_folder())
        assert set(ties().values()) == {None}
