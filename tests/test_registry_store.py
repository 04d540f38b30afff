"""Results in MLflow: exactly once, under names it takes, with nothing cut."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils.validation import _validate_metric_name
from registry_toys import all_runs, record, settle

from clinical_evals.registry import runs
from clinical_evals.registry.location import locate, mode, without_credentials
from clinical_evals.registry.lock import LockTimeout, locked
from clinical_evals.registry.names import KINDS, stored_names
from clinical_evals.registry.record import MetricFacts, RunRecord, SampleRow
from clinical_evals.registry.spool import SpoolError, keep, kept, read_kept
from clinical_evals.registry.store import connect

pytestmark = pytest.mark.usefixtures("folder")


def test_killed_around_every_call_and_still_exactly_once(folder: Path) -> None:
    connect(locate())
    script = Path(__file__).with_name("registry_kill.py")
    died = subprocess.run(
        [sys.executable, str(script), "calls", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert died.stdout.strip() == "12"
    assert kept(locate().spool) == []
    found = all_runs()
    assert sorted(run.data.tags["eval_id"] for run in found) == sorted(f"e{point}" for point in range(1, 13))
    assert all(run.data.tags["complete"] == "true" for run in found)
    assert all(run.data.metrics["quality"] == 0.5 for run in found)


def test_names_that_mlflow_refuses(folder: Path) -> None:
    names = [
        "Factual Completeness",
        "No Hallucinations",
        "Clinical Tone & Structure",
        "Clinical Tone @ Structure",
    ]
    values = dict(zip(names, (8.0, 9.0, 7.0, 6.0), strict=True))
    rows = [SampleRow(sample="a", epoch=1, family="a", status="scored", values=dict(values))]
    facts = {name: MetricFacts(range=(1, 10)) for name in names}
    keep(record([], rows=rows, metrics=facts, headline=names[2]), locate().spool)
    (view,) = settle()
    (raw,) = all_runs()
    assert raw.info.status == "FINISHED"
    assert {name: view.figure(name).mean for name in names} == values
    assert "Factual Completeness" in raw.data.metrics


@given(
    st.lists(
        st.text(min_size=1, max_size=12) | st.sampled_from(["a", "a_n", "a_n_n", "scored", "../x", "a//b"])
    )
)
def test_stored_names_are_valid_and_all_different(names: list[str]) -> None:
    stored = stored_names(names)
    assert len(set(stored.values())) == len(set(names)) * len(KINDS)
    for name in stored.values():
        _validate_metric_name(name)


def test_missing_values_sort_last_and_match_no_filter(folder: Path) -> None:
    for model, values in {"X": [None, None], "Y": [0.3, 0.5], "Z": [0.9, 0.9]}.items():
        keep(record(values, model=model), locate().spool)
    settle()
    client = connect(locate())
    experiment = client.get_experiment_by_name("toy").experiment_id
    below = client.search_runs([experiment], "metrics.quality < 0.5")
    assert [run.info.run_name for run in below] == ["Y"]


def test_many_metrics_and_settings_go_in_whole(folder: Path) -> None:
    names = [f"metric {number:03} with a long name to fill the tags" for number in range(250)]
    rows = [
        SampleRow(sample=s, epoch=1, family=s, status="scored", values=dict.fromkeys(names, 0.25))
        for s in "ab"
    ]
    params = {f"argument {number}": str(number) for number in range(230)}
    facts = {name: MetricFacts(range=(0, 1)) for name in names}
    keep(record([], rows=rows, metrics=facts, headline=names[0], params=params), locate().spool)
    (view,) = settle()
    assert {name: view.figure(name).mean for name in names} == dict.fromkeys(names, 0.25)
    assert view.params == params


def test_all_pages_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        keep(record([0.5], model=f"m/{number}", task=f"toy-{number % 3}"), locate().spool)
    monkeypatch.setattr(runs, "_PAGE", 2)
    assert sorted(view.model for view in settle()) == [f"m/{number}" for number in range(5)]
    assert len(runs.read_runs(connect(locate()), "toy-0")) == 2
    assert runs.read_runs(connect(locate()), "other") == []


def test_infinite_totals_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="totals"):
        record([1.0], totals={"cost_usd": math.inf})


def test_a_spooled_result_reads_back_the_same(folder: Path) -> None:
    result = record([0.1, None], unscored=2)
    assert read_kept(keep(result, folder / "spool")) == result
    assert RunRecord.model_validate_json(result.model_dump_json()) == result


def test_a_damaged_spool_file_is_named_without_its_content(folder: Path) -> None:
    path = keep(record([0.1]), folder / "spool")
    path.write_text(path.read_text().replace('"task":"toy"', '"task":{"secret":"words"}'))
    with pytest.raises(SpoolError) as caught:
        read_kept(path)
    assert "task" in str(caught.value)
    assert "words" not in str(caught.value)


def test_the_lock_is_held_by_one_and_freed(folder: Path) -> None:
    with locked(folder / "lock", 0), pytest.raises(LockTimeout), locked(folder / "lock", 0.1):
        pass
    with locked(folder / "lock", 0):
        pass


def test_where_the_registry_is(folder: Path) -> None:
    assert locate(folder, {}).uri == f"sqlite:///{folder}/mlruns/mlflow.db"
    server = locate(folder, {"MLFLOW_TRACKING_URI": "https://me:pw@host:5000/x?token=1"})
    assert (server.name, server.artifact_root) == ("https://host:5000/x", None)
    assert locate(folder, {"MLFLOW_TRACKING_URI": "postgresql://h/db"}).artifact_root is not None
    assert without_credentials("sqlite:///a.db") == "sqlite:///a.db"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", "suite"), ("off", "off"), ("OFF", "off"), ("0", "off"), ("all", "all"), ("on", "suite")],
)
def test_what_is_logged(value: str, expected: str) -> None:
    assert mode({"CLINICAL_EVALS_REGISTRY": value}) == expected
