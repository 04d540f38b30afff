"""The command line around the registry: outputs that cannot be written, places that are none, pages of the UI."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from registry_toys import record

from clinical_evals.cli import cli
from clinical_evals.cli_registry import _list_pages
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.spool import keep
from clinical_evals.registry.store import connect, send

pytestmark = pytest.mark.usefixtures("folder")

PROGRAM = [sys.executable, "-c", "from clinical_evals.cli import main; main()"]


def spool(one: RunRecord) -> None:
    keep(one, locate().spool)


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["leaderboard", "--help"], ["leaderboard"]])
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
    said = "Error: cannot write the output (No space left on device)\n"
    assert (ended.returncode, ended.stderr.decode()) == (1, said)


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
@pytest.mark.parametrize("arguments", [["--help"], ["leaderboard"]])
def test_a_reader_that_has_gone_is_no_fault(arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*PROGRAM, *arguments], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


def _file(folder: Path) -> None:
    (folder / "mlruns").touch()


def _lost_link(folder: Path) -> None:
    (folder / "mlruns").symlink_to("gone")


def _folder_as_database(folder: Path) -> None:
    (folder / "mlruns" / "mlflow.db").mkdir(parents=True)


def _no_database(folder: Path) -> None:
    (folder / "mlruns").mkdir()
    (folder / "mlruns" / "mlflow.db").write_text("no database")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_file, "mlruns is a file, not a folder"),
        (_lost_link, "mlruns is a link to nothing, not a folder"),
        (_folder_as_database, "mlruns/mlflow.db is a folder, not a database"),
        (_no_database, "mlruns/mlflow.db is no SQLite database"),
    ],
)
def test_what_is_no_registry_says_what_is_wrong_there(
    folder: Path, make: Callable[[Path], None], said: str
) -> None:
    make(folder)
    for command in (["leaderboard"], ["compare", "a", "b"], ["verify", "a"], ["import"], ["ui"]):
        result = ask(*command)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), command
        assert said in result.stderr


def test_a_file_in_the_place_of_mlruns_is_no_matter_where_logs_are_named(folder: Path) -> None:
    first, second = (
        str(keep(record([value] * 3, model=name), folder)) for name, value in (("a", 0.5), ("b", 0.6))
    )
    _file(folder)
    assert ask("compare", first, second).exit_code == 0


def test_names_of_runs_that_are_no_paths_are_only_unknown() -> None:
    location = locate()
    client = connect(location)
    send(record([0.5, 1.0], model="odd@name"), client, location)
    for name in ("~nobody-of-this-name/x", "x" * 5000):
        refused = ask("verify", name)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "no such run. The registry has: odd@name@toy" in refused.stderr
    assert ask("verify", "odd@name").exit_code == 0
    assert ask("verify", "odd@name@toy").exit_code == 0
    refused = ask("verify", "odd@name", "--task", "bogus")
    assert "no run of this task. The registry has: toy" in refused.stderr


def test_the_ui_names_the_page_of_each_task(capsys: pytest.CaptureFixture[str]) -> None:
    _list_pages(locate(), "http://here")
    assert capsys.readouterr().err == ""
    location = locate()
    client = connect(location)
    for number in range(10):
        client.create_run(client.create_experiment(f"task {number}"))
    client.create_experiment("without runs")
    _list_pages(location, "http://here")
    lines = capsys.readouterr().err.splitlines()
    first = client.get_experiment_by_name("task 0").experiment_id
    assert lines[0] == f"  task 0  http://here/#/experiments/{first}/runs?workflowType=machine_learning"
    assert (len(lines), lines[-1]) == (9, "  … and 2 more under Model training")


def test_import_counts_and_exit_codes(folder: Path) -> None:
    def imported(*paths: str) -> Result:
        return ask("import", *paths)

    spool(record([1.0, 0.5]))
    (spooled,) = locate().spool.glob("*.json")
    copy = folder / "copies" / "one.json"
    copy.parent.mkdir()
    copy.write_bytes(spooled.read_bytes())
    assert imported().stdout == "1 sent, 0 already there\n"
    (copy.parent / "notes.txt").write_text("not for import")
    assert imported("copies").stdout == "0 sent, 1 already there\n"
    assert imported("missing.eval").exit_code == 2
    (folder / "bad.eval").write_bytes(b"not a zip")
    result = imported("bad.eval")
    assert (result.exit_code, result.stdout) == (2, "0 sent, 0 already there, 1 unreadable\n")
    assert result.stderr.startswith("bad.eval: not an Inspect log")
    (folder / "empty").mkdir()
    assert imported("empty").exit_code == 2


def test_import_into_a_dead_server_keeps_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    spool(record([1.0, 0.5]))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    result = ask("import")
    assert result.exit_code == 1
    assert "1 not sent, kept for later" in result.stdout
    assert len(list(locate().spool.glob("*.json"))) == 1


def test_what_matches_nothing_says_what_there_is() -> None:
    spool(record([1.0, 0.5]))
    spool(record([1.0], task="other", eval_id="other"))
    for option, said in {
        "--by=beauty": "Choose from: quality",
        "--by=": "Choose from: quality",
        "--task=bogus": "The registry has: other, toy",
        "--task=": "The registry has: other, toy",
        "--task=to\ay": "--task to�y: no run",
    }.items():
        for more in ((), ("--history",), ("--format", "json")):
            result = ask("leaderboard", option, *more)
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
            assert said in result.stderr
