"""The model `replay/NAME`, and fixtures recorded from real logs."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from inspect_ai import Task, eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from openai_server import serve

from clinical_evals.cli import cli
from clinical_evals.data_path import bundled
from clinical_evals.files import InputError
from clinical_evals.record import record_log
from clinical_evals.replay import CallAddress, Fixture, ReplayAPI, ReplayError, bundled_fixtures

ABOUT = {"about": "Written by hand for a test."}


@solver
def two_steps() -> Solver:
    """Ask twice, as the grounding task does, and keep both answers."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for step in ("extract", "ground"):
            address = {"task": "toy", "sample": str(state.sample_id), "step": step, "epoch": state.epoch}
            messages: list[ChatMessage] = [
                ChatMessageSystem(content="Answer."),
                ChatMessageUser(content=f"{step} {state.input_text}", metadata={"clinical_evals": address}),
            ]
            output = await get_model().generate(messages)
            state.store.set(step, f"{output.completion} [{output.stop_reason}]")
        return state

    return solve


@scorer(metrics=[mean()])
def answer_length() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        answers = [state.store.get(step) for step in ("extract", "ground")]
        return Score(value=sum(len(answer) for answer in answers), metadata={"answers": answers})

    return score


def write(path: Path, rows: Sequence[Any]) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def rows(samples: int = 2) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [ABOUT]
    for number in range(samples):
        found.append(
            {"sample": f"s{number}", "step": "extract", "output": {"n": number, "quote": "38.5 °C\u2028x"}}
        )
        found.append({"sample": f"s{number}", "step": "ground", "output": f'So: {{"n": {number},}}'})
    return found


def run(model: str, log_dir: Path, samples: int = 2, **options: Any) -> EvalLog:
    dataset = MemoryDataset([Sample(id=f"s{number}", input=f"note {number}") for number in range(samples)])
    task = Task(dataset=dataset, solver=two_steps(), scorer=answer_length(), name="toy")
    return eval(task, model=model, log_dir=str(log_dir), display="none", log_format="eval", **options)[0]


def answers(log: EvalLog) -> dict[tuple[str | int, int], Any]:
    assert log.status == "success", log.error
    scores = {(sample.id, sample.epoch): sample.scores for sample in log.samples or []}
    return {key: score["answer_length"].metadata for key, score in scores.items() if score}


def test_answers_come_from_the_file_as_text_with_their_stop_reason(tmp_path: Path) -> None:
    table = rows()
    table[2]["stop_reason"] = "max_tokens"
    write(tmp_path / "toy.jsonl", table)
    log = run(f"replay/{tmp_path}", tmp_path / "logs")
    assert answers(log)[("s0", 1)] == {
        "answers": ['{"n": 0, "quote": "38.5 °C\u2028x"} [stop]', 'So: {"n": 0,} [max_tokens]']
    }
    usage = log.stats.model_usage[f"replay/{tmp_path}"]
    # Words: "Answer." and "extract note 0" or "ground note 0", twice a sample.
    assert usage.input_tokens == 2 * 2 * (1 + 3)
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > usage.input_tokens


def test_a_row_with_an_epoch_goes_before_one_without(tmp_path: Path) -> None:
    second = {"sample": "s0", "step": "ground", "epoch": 2, "output": "another"}
    path = write(tmp_path / "any.jsonl", [*rows(), second])
    found = answers(run(f"replay/{path}", tmp_path / "logs", epochs=3))
    assert [found[("s0", epoch)]["answers"][1] for epoch in (1, 2, 3)] == [
        'So: {"n": 0,} [stop]',
        "another [stop]",
        'So: {"n": 0,} [stop]',
    ]


def test_a_missing_row_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.jsonl", rows()[:-1])
    log = run(f"replay/{tmp_path}", tmp_path / "logs")
    assert log.status == "error"
    assert log.error is not None
    for part in (str(path), "'toy'", "'s1'", "'ground'", "epoch 1"):
        assert part in log.error.message


def test_a_missing_fixture_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"no fixture 'faithfull'.*path of a \.jsonl file") as caught:
        get_model("replay/faithfull", memoize=False)
    for name in bundled_fixtures():
        assert name in str(caught.value)


def test_a_folder_without_the_task_says_which_it_has(tmp_path: Path) -> None:
    write(tmp_path / "summary.jsonl", rows())
    log = run(f"replay/{tmp_path}", tmp_path / "logs")
    assert log.error is not None
    assert "no answers for task 'toy'; it has: summary" in log.error.message


def test_a_foreign_task_is_told_what_replay_needs(tmp_path: Path) -> None:
    write(tmp_path / "toy.jsonl", rows())
    task = Task(dataset=MemoryDataset([Sample(input="hello")]))
    log = eval(task, model=f"replay/{tmp_path}", log_dir=str(tmp_path / "logs"), display="none")[0]
    assert log.error is not None
    assert "carries no 'clinical_evals' metadata" in log.error.message


BROKEN = [
    ([""], "line 1: not a JSON object"),
    (["{"], "line 1: not a JSON object"),
    ([{"sample": "s"}], "line 1: the first line must be"),
    ([ABOUT, "[1]"], "line 2: not a JSON object"),
    ([ABOUT, {"sample": "s", "step": "extract"}], "line 2: field 'output' is missing"),
    ([ABOUT, {"sample": "s", "step": "extract", "output": 3}], "line 2: field 'output' is wrong"),
    ([ABOUT, {"sample": "s", "output": "x"}], "line 2: field 'step' is missing"),
    ([ABOUT, {"sample": "s", "step": "e", "output": "x", "epoch": 0}], "field 'epoch' is wrong"),
    (
        [ABOUT, {"sample": "s", "step": "e", "output": "x", "stop_reason": "end"}],
        "field 'stop_reason' is wrong",
    ),
    (
        [ABOUT, {"sample": "s", "step": "e", "output": "x", "stopreason": "stop"}],
        "unknown field 'stopreason'",
    ),
    ([*rows(1), rows(1)[1]], "line 4: sample 's0', step 'extract' is already on line 2"),
]


@pytest.mark.parametrize(("table", "message"), BROKEN)
def test_a_broken_fixture_is_named_by_line_and_field(tmp_path: Path, table: list[Any], message: str) -> None:
    path = write(tmp_path / "toy.jsonl", table)
    with pytest.raises(ReplayError) as caught:
        Fixture(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_fixture_that_is_no_text_or_another_tasks(tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    path.write_bytes(b'{"about": "\xff"}')
    with pytest.raises(ReplayError, match="not UTF-8 at byte 11"):
        Fixture(path)
    write(path, [{**ABOUT, "task": "summary"}, *rows()[1:]])
    with pytest.raises(ReplayError, match="answers for task 'summary', not for 'toy'"):
        Fixture(path).find(CallAddress("toy", "s0", "extract", 1))


def test_model_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="no model arguments, got speed"):
        ReplayAPI(str(tmp_path), speed=2)


def test_two_thousand_calls_add_little(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.jsonl", rows(1_000))
    started = time.process_time()
    fixture = Fixture(path)
    for number in range(1_000):
        for step in ("extract", "ground"):
            fixture.find(CallAddress("toy", f"s{number}", step, 1))
    assert time.process_time() - started < 0.5


def test_a_recorded_run_replays_to_the_same_scores(tmp_path: Path) -> None:
    table = rows(3)
    table[2]["stop_reason"] = "content_filter"
    table.append({"sample": "s1", "step": "ground", "epoch": 2, "output": "long " * 60})
    write(tmp_path / "toy.jsonl", table)
    first = run(f"replay/{tmp_path}", tmp_path / "logs", samples=3, epochs=2)
    [(path, recording)] = record_log(Path(first.location), tmp_path / "again")
    assert (path, recording.failed, len(recording.rows)) == (tmp_path / "again" / "toy.jsonl", 0, 12)
    about = json.loads(path.read_text(encoding="utf-8").split("\n")[0])
    assert about["task"] == "toy"
    assert about["about"].startswith(
        f"Recorded from a run, not written by hand: answers of replay/{tmp_path}"
    )
    second = run(f"replay/{tmp_path / 'again'}", tmp_path / "logs2", samples=3, epochs=2)
    assert answers(second) == answers(first)
    [(one_file, _)] = record_log(Path(second.location), tmp_path / "deep" / "one.jsonl")
    assert (
        one_file.read_text(encoding="utf-8").split("\n")[1:]
        == path.read_text(encoding="utf-8").split("\n")[1:]
    )


def test_a_run_over_http_is_recorded_by_the_command_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    with serve() as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        first = run("openai-api/local/garbage", tmp_path / "logs", epochs=2)
        assert server.count("garbage") == 8
    done = CliRunner().invoke(cli, ["record", first.location, "--out", "again"])
    assert done.exit_code == 0, done.output
    assert "8 answers of garbage to task toy" in " ".join(done.stdout.split())
    assert "--model replay/./again" in done.stdout
    assert "quotes from the notes" in done.stderr
    second = run("replay/./again", tmp_path / "logs2", epochs=2)
    assert answers(second) == answers(first)
    repeated = CliRunner().invoke(cli, ["record", first.location, "--out", "again"])
    assert (repeated.exit_code, repeated.stdout) == (2, "")
    assert repeated.stderr.startswith("Error: again/toy.jsonl: exists already")


def test_a_recording_without_epochs_answers_any_epoch(tmp_path: Path) -> None:
    write(tmp_path / "toy.jsonl", rows())
    log = run(f"replay/{tmp_path}", tmp_path / "logs")
    [(path, _)] = record_log(Path(log.location), tmp_path / "again")
    recorded = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[1:] if line]
    assert sorted(recorded, key=str) == sorted(rows()[1:], key=str)


def test_calls_that_failed_are_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "toy.jsonl", rows()[:-1])
    log = run(f"replay/{tmp_path}", tmp_path / "logs", fail_on_error=False)
    [(_, recording)] = record_log(Path(log.location), tmp_path / "again")
    assert (len(recording.rows), recording.failed) == (3, 1)


def test_what_cannot_be_recorded_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        record_log(tmp_path / "none.eval", tmp_path / "out")
    (tmp_path / "bad.eval").write_bytes(b"PK no zip")
    with pytest.raises(InputError, match="not a readable Inspect log"):
        record_log(tmp_path / "bad.eval", tmp_path / "out")
    task = Task(dataset=MemoryDataset([Sample(input="hello")]))
    log = eval(task, model="none", log_dir=str(tmp_path / "logs"), display="none")[0]
    with pytest.raises(InputError, match="no answered call says which task"):
        record_log(Path(log.location), tmp_path / "out")
    write(tmp_path / "toy.jsonl", rows())
    log = run(f"replay/{tmp_path}", tmp_path / "logs")
    (tmp_path / "there.jsonl").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        record_log(Path(log.location), tmp_path / "there.jsonl")
    assert (tmp_path / "there.jsonl").read_text() == "precious"


def test_bundled_data_are_found_from_anywhere(tmp_path: Path) -> None:
    code = "from clinical_evals.data_path import bundled; print(bundled('replays'))"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()) == bundled("replays")
    with pytest.raises(FileNotFoundError, match=r"datasets/replays/nobody not found; looked in"):
        bundled("replays", "nobody")
