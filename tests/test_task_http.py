"""The grounding task over real HTTP: real notes, and every fault that an endpoint can have."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from inspecting import SHARED, inspect_eval, means, over_http, samples, value
from openai_server import Server, serve
from registry_toys import everything_under

ACI = SHARED / "data" / "aci-bench" / "train.csv"
MEDEC = SHARED / "data" / "medec" / "MEDEC-MS-Validation-first300.csv"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    rows = [
        {
            "id": "n1",
            "note": "Asthma is stable today. Takes albuterol 90 mcg as needed. Follow up in two weeks.",
        },
        {
            "id": "n2",
            "note": "Gout flare of the left foot. Started colchicine 0.6 mg daily. Recheck uric acid.",
        },
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.skipif(not ACI.is_file(), reason="../shared/data is not beside the checkout")
def test_real_notes_of_aci_bench(server: Server, tmp_path: Path) -> None:
    model, env = over_http(server.url, "copier")
    before = server.count("copier")
    arguments = ["-T", f"dataset={ACI}", "-T", "id_field=encounter_id", "--limit", "45"]
    log = inspect_eval(tmp_path, *arguments, *model, env=env)
    assert log.status == "success"
    assert len(samples(log)) == 45
    assert server.count("copier") - before == 90
    # The copier copies sentences and quotes them: the published rule must find every one.
    assert means(log)["published_score"] == 1.0
    assert means(log)["strict_score"] > 0.6
    for sample in samples(log):
        metadata = (sample.scores or {})["grounding"].metadata or {}
        for verdict in metadata["verdicts"]:
            note = sample.input
            assert isinstance(note, str)
            shown = note[verdict["start"] : verdict["end"]]
            assert shown.lower().split() == verdict["supportingQuote"].lower().split()


@pytest.mark.skipif(not MEDEC.is_file(), reason="../shared/data is not beside the checkout")
def test_a_corrected_sentence_is_not_grounded_in_the_erroneous_note(server: Server, tmp_path: Path) -> None:
    with MEDEC.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Error Flag"] == "1"]
    usable = [
        row
        for row in rows
        if row["Corrected Sentence"].strip() and row["Corrected Sentence"] not in row["Text"]
    ]
    assert len(usable) > 100
    dataset, finished = tmp_path / "medec.jsonl", tmp_path / "claims.jsonl"
    dataset.write_text(
        "".join(json.dumps({"id": r["Text ID"], "note": r["Text"]}) + "\n" for r in usable), "utf-8"
    )
    finished.write_text(
        "".join(
            json.dumps({"id": r["Text ID"], "problems": [r["Corrected Sentence"]]}) + "\n" for r in usable
        ),
        "utf-8",
    )
    model, env = over_http(server.url, "grader")
    log = inspect_eval(tmp_path, "-T", f"dataset={dataset}", "-T", f"extractions={finished}", *model, env=env)
    assert log.status == "success"
    labels = [
        verdict["label"]
        for sample in samples(log)
        for verdict in ((sample.scores or {})["grounding"].metadata or {})["verdicts"]
    ]
    assert len(labels) == len(usable)
    assert "grounded" not in labels


@pytest.mark.parametrize(
    "model", ["copier", "prose", "reasoning", "no-schema", "repaired", "flaky", "rate-limited"]
)
def test_faults_that_a_run_survives(server: Server, tmp_path: Path, notes: Path, model: str) -> None:
    arguments, env = over_http(server.url, model)
    log = inspect_eval(tmp_path, "-T", f"dataset={notes}", *arguments, env=env)
    assert log.status == "success"
    assert means(log)["published_score"] == 1.0


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("truncated", "invalid_response_format"),
        ("garbage", "invalid_response_format"),
        ("empty", "no_response"),
        ("refusal", "refusal"),
    ],
)
def test_a_model_that_does_not_answer_counts_zero(
    server: Server, tmp_path: Path, notes: Path, model: str, reason: str
) -> None:
    arguments, env = over_http(server.url, model)
    log = inspect_eval(tmp_path, "-T", f"dataset={notes}", *arguments, env=env)
    assert [(sample.scores or {})["grounding"].reason for sample in samples(log)] == [reason, reason]
    assert means(log)["strict_score"] == 0.0


def test_a_failing_grader_leaves_the_note_unscored(server: Server, tmp_path: Path, notes: Path) -> None:
    arguments, env = over_http(server.url, "copier")
    grader = ["--model-role", "grader=openai-api/local/bad-grader"]
    log = inspect_eval(tmp_path, "-T", f"dataset={notes}", *arguments, *grader, env=env)
    scores = [(sample.scores or {})["grounding"] for sample in samples(log)]
    assert [score.reason for score in scores] == ["grader_failed", "grader_failed"]
    assert all(isinstance(score.value, float) and score.value != score.value for score in scores)


def test_a_model_that_grades_itself_answers_for_its_grading(
    server: Server, tmp_path: Path, notes: Path
) -> None:
    arguments, env = over_http(server.url, "bad-grader")
    log = inspect_eval(tmp_path, "-T", f"dataset={notes}", *arguments, env=env)
    assert [value(sample)["strict_score"] for sample in samples(log)] == [0.0, 0.0]


@pytest.mark.parametrize("model", ["unauthorized", "slow"])
def test_an_endpoint_that_fails_leaves_no_score_and_no_key(
    server: Server, tmp_path: Path, notes: Path, model: str
) -> None:
    arguments, env = over_http(server.url, model)
    extra = ["--attempt-timeout", "1", "--max-retries", "0"] if model == "slow" else []
    log = inspect_eval(tmp_path, "-T", f"dataset={notes}", *arguments, *extra, env=env)
    assert log.status == "error"
    for sample in samples(log):
        assert not sample.scores
        assert sample.error
        assert sample.error.message.startswith("EndpointError")
        assert "Asthma" not in sample.error.message
        assert "sk-canary-key" not in sample.error.message + sample.error.traceback


def test_nothing_of_a_note_reaches_the_registry(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    note = "Canarydisease is stable. Takes canarymycin 5 mg daily. Follow up with canaryclinic in two weeks."
    path.write_text(json.dumps({"id": "n1", "note": note}) + "\n", encoding="utf-8")
    arguments, env = over_http(server.url, "copier")
    log = inspect_eval(tmp_path, "-T", f"dataset={path}", *arguments, env=env, registry=True)
    assert "canary" in samples(log)[0].model_dump_json().lower()  # the local log does hold it
    assert settled(tmp_path)
    kept = everything_under(tmp_path / "mlruns").lower()
    assert "published_score" in kept
    assert "canary" not in kept


def test_a_wrong_key_is_a_failed_run_with_nothing_scored(server: Server, tmp_path: Path, notes: Path) -> None:
    arguments, env = over_http(server.url, "unauthorized")
    for extra in ([], ["--no-fail-on-error"]):
        inspect_eval(
            tmp_path, "-T", f"dataset={notes}", "--limit", "2", *arguments, *extra, env=env, registry=True
        )
    board = settled(tmp_path)
    assert board.count("0 of 2 scored: endpoint error 2") >= 1
    assert "sk-canary-key" not in everything_under(tmp_path / "mlruns")


def settled(place: Path) -> str:
    """The leaderboard of a folder, once everything that waits has been sent."""
    command = [
        str(Path(sys.executable).with_name("clinical-evals")),
        "leaderboard",
        "--format",
        "md",
        "--all",
    ]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout
