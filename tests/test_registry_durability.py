"""Kills, crowds, full disks and odd files: every finished eval is in the registry exactly once."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner
from inspect_ai.log import list_eval_logs, read_eval_log
from registry_toys import all_runs, end_senders, record, run, settle, toy

from clinical_evals.cli_leaderboard import leaderboard
from clinical_evals.cli_registry import import_
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import locate
from clinical_evals.registry.runs import read_runs
from clinical_evals.registry.spool import keep, kept, waiting
from clinical_evals.registry.store import connect

pytestmark = pytest.mark.usefixtures("folder")

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "from clinical_evals.cli import main; main()"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("rounds", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_anywhere_and_every_finished_eval_is_there_once(rounds: int, folder: Path) -> None:
    died = subprocess.run(
        [sys.executable, str(HERE / "registry_kill.py"), "anywhere", str(folder), str(rounds), "1"],
        capture_output=True, text=True, check=True, timeout=280,
    )  # fmt: skip
    of_evals, of_imports = map(int, died.stdout.split()[-2:])
    assert of_evals == rounds
    assert of_imports > rounds // 2
    assert CliRunner().invoke(import_).exit_code == 0
    assert CliRunner().invoke(import_, ["logs"]).exit_code == 0
    assert waiting(locate()) == []
    headers = [read_eval_log(log, header_only=True) for log in list_eval_logs("logs")]
    finished = sorted(log.eval.eval_id for log in headers if log.status == "success")
    assert len(finished) >= rounds
    found = all_runs()
    assert sorted(one.data.tags["eval_id"] for one in found) == finished
    assert {one.data.tags["complete"] for one in found} == {"true"}


@pytest.mark.slow
def test_eight_evals_at_once_on_one_sqlite_lose_nothing(folder: Path) -> None:
    script = "import os, sys; sys.path.insert(0, sys.argv[1])\nfrom registry_toys import run, toy\n"
    script += "child = [os.fork() for _ in range(3)]\n"  # eight processes
    script += "run(toy([{'quality': 0.5}] * 4))\nfor pid in filter(None, child): os.waitpid(pid, 0)\n"
    done = subprocess.run(
        [sys.executable, "-c", script, str(HERE)], capture_output=True, check=False, timeout=200
    )
    assert done.returncode == 0
    assert len(list(Path("logs").glob("*.eval"))) == 8
    assert len(settle()) == len(all_runs()) == 8


def test_a_full_disk(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home = folder / "mlruns"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(home)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        (home / "spool").mkdir()
        with suppress(OSError), (home / "fills").open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        log = run(toy([{"quality": 0.25}, {"quality": 0.75}]))
        assert log.status == "success"
        assert "result kept in" in capfd.readouterr().err
        end_senders()
        assert len(kept(locate().overflow)) == 1
        full = CliRunner().invoke(import_)
        assert full.exit_code != 0
        assert full.output.count("\n") <= 2
        assert len(kept(locate().overflow)) == 1
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)
    assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"
    assert [view.figure("quality").mean for view in settle()] == [0.5]
    assert waiting(locate()) == []


def test_a_database_that_cannot_be_used_is_said_at_once(folder: Path) -> None:
    keep(record([0.5]), locate().spool)
    (folder / "mlruns" / "mlflow.db").mkdir()
    for command in (import_, leaderboard):
        began = time.monotonic()
        said = CliRunner().invoke(command)
        assert time.monotonic() - began < 10
        assert (said.exit_code, "is a folder, not a database" in said.output) == (2, True)
    (folder / "mlruns" / "mlflow.db").rmdir()
    assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"


def test_a_registry_that_was_half_made_is_made_anew(folder: Path) -> None:
    left = folder / "mlruns" / ".mlflow.db.1.tmp"
    left.parent.mkdir()
    left.write_bytes(b"SQLite format 3\0, and then the power went")
    keep(record([0.5]), locate().spool)
    assert len(settle()) == 1
    assert not left.exists()


@pytest.mark.parametrize(
    ("first", "then", "rows"),
    [
        (([0.1], "cancelled"), ([0.1, 0.3, 0.5], "success"), 3),
        (([0.1, 0.3], "cancelled"), ([0.1, 0.3], "success"), 2),
        (([0.1, 0.3, 0.5], "success"), ([0.1], "cancelled"), 3),
    ],
)
def test_the_fuller_result_of_an_eval_stays(
    first: tuple[list[float], str], then: tuple[list[float], str], rows: int
) -> None:
    for values, status in (first, then):
        keep(record(values, eval_id="one", status=status), locate().spool)
        settle()
    (view,) = read_runs(connect(locate()))
    assert (view.rows, view.status) == (rows, "success")
    assert len(all_runs()) == 1


def test_what_the_registry_refuses_is_kept_and_told_once(folder: Path) -> None:
    spool = locate().spool
    keep(record([0.5], model="m/good"), spool)
    keep(record([0.5], model="m/bad", params={"x": "y" * 7000}, task="toy/" + "x" * 600), spool)
    (spool / "damaged.json").write_text('{"format":"clinical-evals record 9"}')
    first = CliRunner().invoke(leaderboard)
    assert "m/good" in first.output
    assert f"clinical-evals import {spool / 'refused'}" in first.output
    assert first.output.count("that the registry refuses") == 1
    assert "that the registry refuses" not in CliRunner().invoke(leaderboard).output
    assert len(kept(spool / "refused")) == 2
    again = CliRunner().invoke(import_, [str(spool / "refused")])
    assert (again.exit_code, again.output.splitlines()[0]) == (
        1,
        "0 sent, 0 already there, 1 not sent, kept for later, 1 unreadable",
    )
    assert len(kept(spool / "refused")) == 2


def test_logs_in_any_store_go_in_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    logs = [
        run(toy([{"quality": 0.5}, {"quality": 1.0}]), log_format=kind).location for kind in ("eval", "json")
    ]
    memory = fsspec.filesystem("memory")
    for log in logs:
        memory.pipe(f"/nightly/2026/{Path(log).name}", Path(log).read_bytes())
    memory.pipe("/nightly/notes.json", b'{"version": 1}')
    for paths, expected in (
        (["memory://nightly"], "2 sent, 0 already there\n"),
        ([f"memory://nightly/2026/{Path(logs[0]).name}"], "0 sent, 1 already there\n"),
        ([f"file://{folder}/logs", "logs"], "0 sent, 4 already there\n"),
    ):
        said = CliRunner().invoke(import_, paths)
        assert (said.exit_code, said.output) == (0, expected)
    assert len(all_runs()) == 2
    for unusable in ("memory://none", "nope://x", "x" * 300, "y/" * 3000):
        said = CliRunner().invoke(import_, [unusable])
        assert (said.exit_code, said.output.count("\n")) == (2, 1)
        assert len(said.output) < 300


def test_a_log_of_a_killed_eval_among_others_is_no_failure(folder: Path) -> None:
    log = Path(run(toy([{"quality": 0.5}]), log_format="json").location)
    settle()
    header = json.loads(log.read_text()) | {"status": "started"}
    log.with_name("killed.json").write_text(json.dumps(header))
    said = CliRunner().invoke(import_, ["logs"])
    assert (said.exit_code, said.output) == (
        0, "0 sent, 1 already there, 1 of evals that have not finished\n",
    )  # fmt: skip


def test_a_terminal_shows_how_far_an_import_is(folder: Path) -> None:
    for number in range(3):
        keep(record([0.5], eval_id=f"e{number}"), folder / "other")
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    import_all = subprocess.Popen(
        [*COMMAND, "import", "other"], stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True
    )
    os.close(theirs)
    shown = b""
    while import_all.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 10_000)
            except OSError:  # nobody holds the other end any more
                break
    assert import_all.communicate()[0] == "3 sent, 0 already there\n"
    assert b"Importing" in shown
    assert b"/3" in shown


def test_output_that_nobody_takes_gives_no_traceback(folder: Path) -> None:
    keep(record([0.5]), locate().spool)
    for tail in (">&-", "| true"):
        line = f'"$0" -c "from clinical_evals.cli import main; main()" import {tail}'
        said = subprocess.run(
            ["bash", "-c", line, sys.executable], capture_output=True, text=True, check=False
        )
        assert "Traceback" not in said.stderr, tail
    assert len(settle()) == 1
    assert Deliverer(locate()).drain(wait=1).unsent == []
