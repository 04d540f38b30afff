"""Recording a run with several models: each gets a fixture of its own, and a panel replays to the same scores."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from clinical_evals.tasks import summary
from inspect_ai.log import EvalLog
from openai_server import serve
from summary_toys import GOOD, counts, dialogues, evaluate_task, judged, replay, scores, value, write

from clinical_evals.cli_record import record
from clinical_evals.files import InputError
from clinical_evals.record import record_log
from clinical_evals.summary.rubric import CRITERIA

pytestmark = pytest.mark.usefixtures("unregistered")


def judge(folder: Path, name: str, *given: tuple[int, int, int]) -> str:
    """Write a judge who gives the dialogues d1, d2 and so on these scores."""
    rated = (dict(zip(CRITERIA, scores, strict=True)) for scores in given)
    rows = [row for number, rating in enumerate(rated, 1) for row in judged(f"d{number}", GOOD, rating)]
    return replay(folder, name, *rows)


def panel(folder: Path, judges: list[str], model: str) -> EvalLog:
    task = summary(dataset=dialogues(folder, 2), summaries=finished(folder), judges=judges)
    return evaluate_task(task, model)


def finished(folder: Path) -> str:
    return write(folder / "vendor.jsonl", [{"id": f"d{number}", "summary": GOOD} for number in (1, 2)])


def result(log: EvalLog) -> dict[str, tuple[dict[str, float], dict[str, int]]]:
    return {sample: (value(score), counts(score)) for sample, score in scores(log).items()}


def test_a_panel_is_recorded_judge_by_judge_and_replays_to_the_same_scores(folder: Path) -> None:
    given = {"a": [(8, 9, 7), (4, 6, 9)], "b": [(5, 9, 9), (5, 7, 9)], "c": [(2, 1, 10), (3, 9, 8)]}
    judges = [judge(folder, name, *ratings) for name, ratings in given.items()]
    first = panel(folder, judges, "none")
    done = CliRunner().invoke(record, [first.location, "--out", "again"])
    assert done.exit_code == 0, done.output
    places = sorted(path.relative_to(folder / "again") for path in (folder / "again").rglob("*.jsonl"))
    assert [path.name for path in places] == ["summary.jsonl"] * 3
    said = dict(
        line.removeprefix("In the place of ").split(" replay ")
        for line in done.stdout.splitlines()
        if line.startswith("In the place of")
    )
    assert list(said) == judges
    second = panel(folder, [said[name] for name in judges], "none")
    assert result(second) == result(first)
    # Each judge's own scores came back, not the last one's under three names.
    assert [counts(scores(second)["d1"])[f"judge{number}_factual"] for number in (1, 2, 3)] == [8, 5, 2]


def test_the_writer_of_a_summary_is_recorded_beside_its_judges(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    dataset = dialogues(folder, 2)
    with serve() as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        names = ["openai-api/local/prose", "openai-api/local/copier"]
        first = evaluate_task(summary(dataset=dataset, judges=names), "openai-api/local/copier")
    written = record_log(Path(first.location), folder / "again")
    assert {recording.asked: path.parent.name for path, recording in written} == {
        "openai-api/local/copier": "openai-api_local_copier",
        "openai-api/local/prose": "openai-api_local_prose",
    }
    places = {recording.asked: f"replay/{path.parent}" for path, recording in written}
    again = summary(dataset=dataset, judges=[places[name] for name in names])
    assert result(evaluate_task(again, places["openai-api/local/copier"])) == result(first)


def test_one_model_can_be_chosen(folder: Path) -> None:
    judges = [judge(folder, name, (given, 9, 9), (given, 9, 9)) for name, given in (("a", 4), ("b", 8))]
    log = Path(panel(folder, judges, "none").location)
    with pytest.raises(InputError, match=r"several models answered the same calls .*--model"):
        record_log(log, folder / "one.jsonl")
    with pytest.raises(
        InputError, match=r"--model replay/nobody: not asked in this run; choose from: replay/"
    ):
        record_log(log, folder / "one.jsonl", "replay/nobody")
    assert not list(folder.glob("one*"))
    [(path, recording)] = record_log(log, folder / "one.jsonl", judges[0])
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    assert (path, recording.asked) == (folder / "one.jsonl", "")
    assert [row["output"]["Factual Completeness"] for row in rows] == [4, 4]


def test_names_that_look_alike_in_a_path_stay_apart_and_nothing_is_half_written(folder: Path) -> None:
    judges = [judge(folder, name, (given, 9, 9), (given, 9, 9)) for name, given in (("a b", 4), ("a_b", 8))]
    log = Path(panel(folder, judges, "none").location)
    written = record_log(log, folder / "again")
    assert len({path.parent for path, _ in written}) == 2
    assert all("," not in str(path) and " " not in path.parent.name for path, _ in written)
    written[0][0].unlink()
    with pytest.raises(InputError, match="exists already"):
        record_log(log, folder / "again")
    assert not written[0][0].exists()
    last = folder / "other" / written[-1][0].parent.name
    last.parent.mkdir()
    last.write_text("in the way of a folder")
    with pytest.raises(InputError, match="cannot be written"):
        record_log(log, folder / "other")
    assert [path for path in last.parent.rglob("*") if path.is_file()] == [last]


def test_a_judge_that_never_answers_is_said(folder: Path) -> None:
    judges = [judge(folder, "a", (4, 9, 9), (5, 9, 9)), replay(folder, "b")]
    task = summary(dataset=dialogues(folder, 2), summaries=finished(folder), judges=judges)
    log = evaluate_task(task, "none")
    done = CliRunner().invoke(record, [log.location, "--out", "again"])
    assert done.exit_code == 0, done.output
    assert f"{judges[1]} answered no call, so it has no fixture" in done.stderr
