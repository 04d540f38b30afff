"""Real evals into a real registry: what is logged, what never is, and what happens when it cannot be."""

import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from inspect_ai import eval as inspect_eval
from inspect_ai import eval_retry
from inspect_ai.model import get_model
from inspect_ai.scorer import Score
from registry_toys import CANARY, all_runs, everything_under, prompted, run, settle, toy

from clinical_evals.cli_registry import import_
from clinical_evals.registry import hook
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.leaderboard import build_boards
from clinical_evals.registry.location import locate
from clinical_evals.registry.logs import read_log
from clinical_evals.registry.spool import kept, read_kept

pytestmark = pytest.mark.usefixtures("folder")


def test_one_run_with_exact_figures(folder: Path) -> None:
    answers = [{"quality": value, "recall": 1.0} for value in (0.2, 0.4, 0.6, 0.8)]
    unscored = Score.unscored(reason="grader_failed")
    failed = Score(value={"quality": 0.0, "recall": 0.0}, reason="refusal", metadata={"counts": {"gold": 2}})
    log = run(toy([*answers, unscored, failed]))

    (view,) = settle()
    (raw,) = all_runs()
    assert view.eval_id == log.eval.eval_id
    assert raw.info.status == "FINISHED"
    metrics = raw.data.metrics
    # scored: 0.2, 0.4, 0.6, 0.8 and the model's failure, 0
    assert metrics["quality"] == pytest.approx(0.4)
    assert metrics["recall"] == pytest.approx(0.8)
    assert metrics["quality_n"] == 5
    # families {0.2, 0.4}, {0.6, 0.8}, {0}: deviations -0.2, 0.6, -0.4; sqrt(3/2 * 0.56) / 5
    assert metrics["quality_stderr"] == pytest.approx(math.sqrt(1.5 * 0.56) / 5)
    assert metrics["quality_lower"] < 0.4 < metrics["quality_upper"]
    # the unscored sample as 0 and as 1
    assert metrics["quality_worst"] == pytest.approx(2.0 / 6)
    assert metrics["quality_best"] == pytest.approx(3.0 / 6)
    assert {name: metrics[name] for name in ("samples", "scored", "unscored")} == {
        "samples": 6,
        "scored": 5,
        "unscored": 1,
    }
    assert metrics["unscored_grader_failed"] == metrics["failed_refusal"] == 1
    assert metrics["unscored_rate"] == pytest.approx(1 / 6)
    assert metrics["model_failure_rate"] == pytest.approx(1 / 5)
    assert (metrics["total_claims"], metrics["total_gold"]) == (16, 2)
    assert all(map(math.isfinite, metrics.values()))
    tags = raw.data.tags
    assert tags["dataset_digest"] == "sha256:0123"
    assert (tags["task"], tags["signature"], tags["headline"]) == ("toy", "toy v=1", "quality")
    assert raw.inputs.dataset_inputs[0].dataset.name == "toys"
    (table,) = (folder / "mlruns" / "artifacts").rglob("samples.parquet")
    rows = pq.read_table(table).to_pylist()
    assert [row["value.quality"] for row in rows] == [0.2, 0.4, 0.6, 0.8, None, 0.0]
    assert [row["scored"] for row in rows] == [True] * 4 + [False, True]
    assert rows[0]["family"] == "family-0"
    assert rows[4]["cause"] == "grader failed"


def test_the_log_gives_the_same_record_as_the_hook(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    log = run(toy([{"quality": 0.5}, {"quality": math.nan}, "endpoint", "bug", Score.unscored()]), epochs=2)
    (spooled,) = kept(locate().spool)
    assert read_log(Path(log.location), "http://127.0.0.1:9") == read_kept(spooled)


def test_no_text_reaches_the_registry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free_text = Score(value={"quality": 1.0}, reason=f"{CANARY}: the note says so")
    task = toy([{"quality": 1.0}, "endpoint", "bug", Score.unscored(reason=CANARY, answer=CANARY), free_text])
    run(task, metadata={"note": CANARY}, tags=[CANARY], system_message=CANARY)
    (spooled,) = kept(locate().spool) or [None]
    assert settle()[0].scored == 2
    assert "s003" in everything_under(folder / "mlruns")  # the search sees what is there
    assert CANARY not in everything_under(folder / "mlruns")
    assert spooled is None or not spooled.exists()


def test_long_arguments_are_kept_apart_and_never_cut(folder: Path) -> None:
    prompts = ["x" * 6000 + end for end in "AB"]
    for prompt in prompts:
        run(prompted(prompt=prompt, api_key=CANARY, endpoint="https://me:pw@host:1/path?key=abc"))
    views = settle()
    assert len({view.params["prompt"] for view in views}) == 2
    assert all(view.params["prompt"].endswith("(6001 characters)") for view in views)
    assert views[0].params["endpoint"] == "https://host:1"
    assert "api_key" not in views[0].params
    assert CANARY not in everything_under(folder / "mlruns")
    first, second = build_boards(views)
    assert (len(first.places), len(second.places)) == (1, 1)
    assert second.differs.startswith("scorer signature (prompt ")


def test_a_grader_of_its_own_is_part_of_the_signature() -> None:
    answers = [{"quality": 1.0}, {"quality": 0.5}]
    run(toy(answers))
    run(toy(answers), model_roles={"grader": get_model("none/judge")})
    own, other = sorted(settle(), key=lambda view: view.signature)
    assert (own.grader, own.signature) == ("none/none", "toy v=1")
    assert (other.grader, other.signature) == ("none/judge", "toy v=1 grader=none/judge")
    assert len(build_boards([own, other])) == 2


def test_a_run_that_scored_nothing_has_no_score(folder: Path) -> None:
    run(toy(["endpoint", "endpoint"]))
    (view,) = settle()
    (raw,) = all_runs()
    assert raw.info.status == "FAILED"
    assert view.unscored == {"endpoint error": 2}
    assert not [name for name in raw.data.metrics if name.startswith("quality")]
    (board,) = build_boards([view])
    assert board.places == ()
    assert board.apart[0].note == "0 of 2 scored: endpoint error 2"


def test_a_smoke_run_is_not_ranked_with_whole_ones() -> None:
    task = [{"quality": 1.0}] * 2 + [{"quality": 0.8}] * 18
    run(toy(task), limit=2)
    run(toy(task))
    (board,) = build_boards(settle())
    assert [place.run.attempted for place in board.places] == [20]
    assert [place.note for place in board.apart] == ["2 of 20 samples"]


def test_a_score_that_is_undefined_is_absent(folder: Path) -> None:
    run(toy([{"quality": math.nan}] * 3))
    (view,) = settle()
    (raw,) = all_runs()
    assert not {"quality", "quality_lower", "quality_stderr"} & raw.data.metrics.keys()
    assert raw.data.metrics["quality_undefined"] == 3
    assert math.isnan(view.figure("quality").mean)
    assert build_boards([view])[0].places[0].rank is None


def test_one_sample_has_no_interval() -> None:
    run(toy([{"quality": 0.7}]))
    settle()
    metrics = all_runs()[0].data.metrics
    assert metrics["quality"] == 0.7
    assert not {"quality_lower", "quality_upper", "quality_stderr"} & metrics.keys()


def test_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    run(toy([{"quality": 1.0}]))
    assert not (folder / "mlruns").exists()


def test_other_tasks_only_when_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = toy([Score(value=1.0), Score(value="I")], of_suite=False, name="foreign")
    run(foreign)
    assert not (folder / "mlruns").exists()
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "all")
    run(foreign)
    (view,) = settle()
    assert view.task == "foreign"
    assert view.figure("toy").mean == 0.5


def test_a_dead_server_costs_nothing_and_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:hidden-word@127.0.0.1:9")
    log = run(toy([{"quality": 1.0}]))
    assert log.status == "success"
    hook._children[-1].wait(30)
    assert len(kept(folder / "mlruns" / "spool")) == 1
    sender_log = (folder / "mlruns" / "spool" / "sender.log").read_text()
    assert "not sent" in sender_log
    assert "hidden-word" not in everything_under(folder / "mlruns")
    # The leaderboard of another registry does not take it; an import asked for does, once.
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert Deliverer(locate()).drain(wait=10).elsewhere == ["http://127.0.0.1:9"]
    assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"
    assert CliRunner().invoke(import_, [log.location]).output == "0 sent, 1 already there\n"
    assert len(all_runs()) == 1


def test_a_server_that_comes_later_gets_the_result_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    run(toy([{"quality": 1.0}, {"quality": 0.5}]))
    hook._children[-1].wait(30)
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", "sqlite:///server.db"]
    command += ["--artifacts-destination", str(folder / "server-artifacts")]
    quiet = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"}
    server = subprocess.Popen(
        command, env=quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                break
            time.sleep(0.2)
        assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"
        assert CliRunner().invoke(import_, ["logs"]).output == "0 sent, 1 already there\n"
        (view,) = settle()
        assert view.figure("quality").mean == 0.75
        assert len(list((folder / "server-artifacts").rglob("samples.parquet"))) == 1
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def test_a_retry_counts_the_samples_it_took_over(folder: Path) -> None:
    (folder / "flaky.py").write_text(
        "from pathlib import Path\n"
        "from inspect_ai import task\n"
        "from registry_toys import toy\n"
        "@task\n"
        "def flaky():\n"
        "    last = {'quality': 0.0} if Path('mended').exists() else 'bug'\n"
        "    return toy([{'quality': 1.0}, {'quality': 1.0}, last], name='flaky')\n"
    )
    first = inspect_eval("flaky.py", model="none", display="none", log_dir="logs", fail_on_error=True)[0]
    assert first.status == "error"
    (folder / "mended").touch()
    (again,) = eval_retry(first, display="none", log_dir="logs")
    assert again.status == "success"
    view = settle()[-1]
    assert view.eval_id == again.eval.eval_id
    assert (view.attempted, view.scored, view.figure("quality").mean) == (3, 3, pytest.approx(2 / 3))


def test_a_slow_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(10)

        do_POST = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    task = toy([{"quality": 1.0}])
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    run(task)  # the first run in a process also pays for imports
    began = time.monotonic()
    run(task)
    alone = time.monotonic() - began
    monkeypatch.delenv("CLINICAL_EVALS_REGISTRY")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.server_port}")
    began = time.monotonic()
    run(task)
    assert time.monotonic() - began < alone + 1
    assert len(kept(locate().spool)) == 1
    server.shutdown()


def test_no_place_for_results_does_not_fail_the_eval(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("mlruns", "state"):
        (folder / name).write_text("a file where the folder should be")
    log = run(toy([{"quality": 1.0}]))
    assert log.status == "success"
    said = capfd.readouterr().err
    assert "result not kept" in said
    assert f"clinical-evals import {Path(log.location).relative_to(folder)}" in said


def test_a_killed_sender_loses_nothing() -> None:
    run(toy([{"quality": 1.0}]))
    os.kill(hook._children[-1].pid, signal.SIGKILL)
    hook._children[-1].wait()
    assert len(settle()) == 1
    assert len(all_runs()) == 1


def test_a_broken_off_task_is_kept(folder: Path) -> None:
    answers = [{"quality": 1.0}] * 3 + ["bug"]
    log = run(toy(answers), fail_on_error=True, max_samples=1)
    assert log.status == "error"
    (view,) = settle()
    assert view.status == "error"
    assert view.scored == 3


def test_an_interrupted_task_keeps_what_it_has(folder: Path) -> None:
    script = folder / "long.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from registry_toys import run, toy\n"
        "run(toy([{'quality': 1.0}] * 3 + ['endless'] * 5))\n"
    )
    process = subprocess.Popen([sys.executable, str(script), str(Path(__file__).parent)])
    logs = folder / "logs"
    deadline = time.monotonic() + 60
    while not list(logs.glob("*.eval")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(5)  # three samples end at once, five never
    process.send_signal(signal.SIGINT)
    process.wait(60)
    (view,) = settle()
    assert (view.status, view.attempted, view.scored) == ("cancelled", 3, 3)
    assert build_boards([view])[0].apart[0].note == "3 of 8 samples"


def test_the_hook_is_light() -> None:
    heavy = "{'mlflow', 'pandas', 'pyarrow', 'scipy', 'sqlalchemy'}"
    code = f"import sys, clinical_evals.registry.hook; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_two_evals_at_once_lose_nothing(folder: Path) -> None:
    script = folder / "both.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from registry_toys import run, toy\n"
        "run(toy([{'quality': float(sys.argv[2])}] * 4))\n"
    )
    here = str(Path(__file__).parent)
    both = [subprocess.Popen([sys.executable, str(script), here, value]) for value in ("0.25", "0.75")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(view.figure("quality").mean for view in settle()) == [0.25, 0.75]
    assert len(all_runs()) == 2
