"""The unscored ledger: what the model under test did not cause moves the bounds and not its score."""

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev

import pytest
from clinical_evals.tasks import grounding
from inspect_ai import eval as inspect_eval
from inspect_ai.model import get_model
from inspect_ai.scorer import Score
from openai_server import FAULTS, Call, Response, Server, _good, _grades, completion, failure, serve
from registry_toys import record, run, settle, toy

from clinical_evals.registry.aggregate import aggregate_rows
from clinical_evals.registry.leaderboard import build_boards
from clinical_evals.registry.record import MetricFacts, SampleRow

pytestmark = pytest.mark.usefixtures("folder")

FACTS = {"quality": MetricFacts(range=(0, 1)), "errors": MetricFacts(range=(0, 1), higher_is_better=False)}


def without_call(row: SampleRow) -> SampleRow:
    """The same sample, had its grader not answered."""
    return row.model_copy(update={"status": "unscored", "cause": "grader failed", "values": {}, "counts": {}})


def test_failing_a_tenth_of_calls_moves_the_bounds_and_not_the_point_estimate() -> None:
    generator = random.Random(20)
    shifts: dict[str, list[float]] = {"quality": [], "errors": []}
    for _ in range(300):
        rows = []
        for at in range(100):
            quality = generator.betavariate(4, 2)
            values = {"quality": quality, "errors": 1 - quality}
            rows.append(SampleRow(sample=f"s{at}", epoch=1, family=f"f{at}", status="scored", values=values))
        whole = aggregate_rows(rows, FACTS, 1, {}).metrics
        lost = set(generator.sample(range(100), 10))
        told = aggregate_rows(
            [without_call(row) if at in lost else row for at, row in enumerate(rows)], FACTS, 1, {}
        ).metrics
        assert told["unscored_rate"] == 0.1
        assert told["unscored_grader_failed"] == told["unscored"] == 10
        for name in FACTS:
            assert f"{name}_worst" not in whole
            low, high = sorted((told[f"{name}_worst"], told[f"{name}_best"]))
            # The samples lost, as 0 or as 1 each; what the score would have been lies between.
            assert (low, high) == (pytest.approx(0.9 * told[name]), pytest.approx(0.9 * told[name] + 0.1))
            assert low <= whole[name] <= high
            assert (told[f"{name}_worst"] > told[f"{name}_best"]) == (name == "errors")
            assert told[f"{name}_n"] == 90
            shifts[name].append(told[name] - whole[name])
    for name, shift in shifts.items():
        # Nought within the noise of 300 draws; counting the lost as 0 would shift by 0.067.
        assert abs(fmean(shift)) < 3 * stdev(shift) / math.sqrt(len(shift)), name
        assert max(map(abs, shift)) < 0.03, name


def test_a_failure_that_the_model_caused_moves_the_point_estimate() -> None:
    scored = record([0.8] * 18, failed=2)
    metrics = aggregate_rows(scored.rows, scored.metrics, 1, {}).metrics
    assert metrics["quality"] == pytest.approx(0.72)
    assert metrics["model_failure_rate"] == 0.1
    assert metrics["unscored"] == 0
    assert "quality_worst" not in metrics


def unlucky(call: Call, seen: bool) -> Response:
    """Grade as the copier does, but for the notes that are marked."""
    asked = str(call.messages)
    if _grades(call) and "unreadable" in asked:
        return completion(call.model, "All good!")
    if _grades(call) and "unanswered" in asked:
        return failure(403, "no")
    return _good(call)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    FAULTS["unlucky"] = unlucky
    try:
        with serve() as running:
            yield running
    finally:
        del FAULTS["unlucky"]


def graded_run(folder: Path, server: Server, marks: list[str]) -> None:
    """Run the grounding task on 40 notes with a grader that fails on the marked ones."""
    path = folder / "notes.jsonl"
    marked = [*marks, *["quiet"] * (40 - len(marks))]
    notes = [
        {"id": f"n{at:02}", "note": f"The {mark} cough is better in week {at}."}
        for at, mark in enumerate(marked)
    ]
    path.write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    copier, grader = (
        get_model(f"openai-api/local/{name}", base_url=server.url, api_key="none")
        for name in ("copier", "unlucky")
    )
    inspect_eval(
        grounding(str(path)), copier, model_roles={"grader": grader}, display="none",
        log_dir=str(folder / "logs"), max_retries=0,
    )  # fmt: skip


def test_a_faulty_grader_of_a_real_run(folder: Path, server: Server) -> None:
    # 4 of 40: three unreadable gradings, and an endpoint that refused once.
    graded_run(folder, server, ["unreadable"] * 3 + ["unanswered"])
    (view,) = settle()
    assert view.unscored == {"grader failed": 3, "endpoint error": 1}
    assert view.unscored_rate == pytest.approx(0.1)
    figure = view.figure("published_score")
    assert (figure.mean, figure.worst, figure.best) == (1.0, pytest.approx(0.9), 1.0)
    (board,) = build_boards([view])
    assert board.places == ()
    assert board.apart[0].note.startswith("not comparable: 10% unscored (")
    assert "grader failed 3" in board.apart[0].note
    assert "endpoint error 1" in board.apart[0].note


def test_up_to_the_limit_a_run_is_ranked_with_its_bounds(folder: Path, server: Server) -> None:
    graded_run(folder, server, ["unreadable"] * 2)  # 5%, which is not above 5%
    (view,) = settle()
    (board,) = build_boards([view])
    (place,) = board.places
    assert place.rank == 1
    assert view.figure("published_score").worst == pytest.approx(0.95)
    (strict,) = build_boards([view], most_unscored=0.04)
    assert strict.places == ()


def test_every_cause_is_counted_by_its_name() -> None:
    judge = [
        Score.unscored(reason=reason) for reason in ("judge_unreadable", "judge_refused", "judge_refused")
    ]
    refused = Score(value={"quality": 0.0}, reason="refusal")
    run(toy([{"quality": 0.5}] * 4 + ["endpoint", "bug", *judge, refused]))
    (view,) = settle()
    assert view.unscored == {
        "endpoint error": 1, "internal error": 1, "judge unreadable": 1, "judge refused": 2,
    }  # fmt: skip
    assert view.failed == {"refusal": 1}
    assert (view.scored, view.attempted) == (5, 10)
    assert view.figure("quality").mean == pytest.approx(0.4)
    assert view.figure("quality").worst == pytest.approx(2.0 / 10)
    assert view.figure("quality").best == pytest.approx(7.0 / 10)


def test_a_model_that_does_not_answer_in_time_is_a_time_out(folder: Path, server: Server) -> None:
    path = folder / "notes.jsonl"
    path.write_text(json.dumps({"id": "n1", "note": "The cough is better."}) + "\n", encoding="utf-8")
    slow = get_model("openai-api/local/slow", base_url=server.url, api_key="none")
    inspect_eval(grounding(str(path)), slow, time_limit=1, display="none", log_dir=str(folder / "logs"))
    (view,) = settle()
    assert (view.scored, view.unscored) == (0, {"time-out": 1})
