"""Servers that misbehave, and a team's real server: nothing is lost, nothing is there twice, nothing waits."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from registry_servers import (
    Proxy,
    Team,
    Trouble,
    end_group,
    listening,
    mlflow_server,
    proxy,
    team_server,
    wait_until_healthy,
    why_no_postgres,
)
from registry_toys import all_runs, end_senders, everything_under, record, run, settle, toy

from clinical_evals.cli_registry import import_
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import locate
from clinical_evals.registry.runs import read_runs
from clinical_evals.registry.spool import keep, kept
from clinical_evals.registry.store import connect

pytestmark = pytest.mark.usefixtures("folder")

NO_POSTGRES = why_no_postgres()
needs_postgres = pytest.mark.skipif(NO_POSTGRES is not None, reason=NO_POSTGRES or "")


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Run MLflow with a server in front that misbehaves when told to."""
    with mlflow_server(tmp_path_factory.mktemp("server")) as port, proxy(port) as front:
        yield front


@pytest.mark.parametrize("trouble", ["down", "slow", "500", "midway"])
@pytest.mark.slow
def test_no_eval_waits_for_a_server_in_trouble(
    trouble: Trouble, behind: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = toy([{"quality": 1.0}, {"quality": 0.5}], name=f"toy-{trouble}")
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    run(task)  # the first run in a process also pays for imports
    began = time.monotonic()
    run(task)
    alone = time.monotonic() - began
    monkeypatch.delenv("CLINICAL_EVALS_REGISTRY")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", behind.address)
    behind.misbehave(trouble, dies_at=3)
    began = time.monotonic()
    log = run(task)
    assert time.monotonic() - began < alone + 1
    assert log.status == "success"
    assert len(kept(locate().spool)) == 1
    end_senders()
    behind.misbehave("none")
    assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"
    assert CliRunner().invoke(import_, [log.location]).output == "0 sent, 1 already there\n"
    assert len(read_runs(connect(locate()), f"toy-{trouble}")) == 1


@pytest.mark.slow
def test_a_server_that_dies_at_any_call_gets_the_result_once(
    behind: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", behind.address)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    location = locate()
    troubles: list[Trouble] = ["before", "after", "midway"]
    failed = 0
    calls = 13
    for call in range(1, calls + 1):
        eval_id = f"dies-{call}"
        keep(record([0.5], eval_id=eval_id, task="dying", kept_for=location.name), location.spool)
        # Every other server comes back at once, as behind a load balancer.
        behind.misbehave(troubles[call % 3], dies_at=call, stays_dead=call % 2 == 0)
        failed += bool(Deliverer(location).drain(wait=10).unsent)
        behind.misbehave("none")
        Deliverer(location).drain(wait=10)
        assert kept(location.spool) == []
    assert failed >= calls // 2
    found = [one for one in all_runs() if one.data.tags["task"] == "dying"]
    assert sorted(one.data.tags["eval_id"] for one in found) == sorted(
        f"dies-{call}" for call in range(1, calls + 1)
    )
    assert {one.data.tags["complete"] for one in found} == {"true"}


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    """Set up a team's server by the commands of docs/team-server.md."""
    with team_server() as server:
        yield server


def _become(user: str, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in team.user(user).items():
        monkeypatch.setenv(name, value)


def _of_task(task: str) -> list[Any]:
    return [one for one in all_runs() if one.data.tags.get("task") == task]


@needs_postgres
def test_the_page_gives_a_server_that_works(team: Team) -> None:
    for port in (team.port, int(team.environment["PGPORT"])):
        assert listening(port) == {"0100007F"}  # 127.0.0.1, and nothing else
    assert "replay/faithful" in team.block("use")
    team.block("backup of the database")
    team.block("backup of the artifacts")
    artifacts = list((team.folder / "artifacts").rglob("samples.parquet"))
    assert len(artifacts) == 1
    secrets = [line.partition("=")[2] for line in (team.folder / "server.env").read_text().splitlines()]
    commands = "".join(
        path.read_bytes().decode("latin-1") for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
    )
    assert not [secret for secret in secrets if secret in commands]


@needs_postgres
@pytest.mark.slow
def test_without_the_password_nothing_is_sent_and_nothing_lost(
    team: Team, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become("nightly", team, monkeypatch)
    password = os.environ["MLFLOW_TRACKING_PASSWORD"]
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong-word")
    keep(record([1.0], eval_id="locked-out", task="locked", kept_for=locate().name), locate().spool)
    refused = CliRunner().invoke(import_)
    assert refused.exit_code == 1
    assert "1 not sent" in refused.output
    assert "wrong-word" not in refused.output + everything_under(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
    assert CliRunner().invoke(import_).output == "1 sent, 0 already there\n"
    assert password not in everything_under(folder)


@needs_postgres
@pytest.mark.slow
def test_a_fuller_result_of_another_user_takes_the_place_of_an_interrupted_one(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become("ada", team, monkeypatch)
    location = locate()
    for user, values, status in (("ada", [0.1], "cancelled"), ("nightly", [0.1, 0.9], "success")):
        _become(user, team, monkeypatch)
        keep(
            record(values, eval_id="fuller", task="fuller", status=status, kept_for=location.name),
            location.spool,
        )
        assert Deliverer(location).drain(wait=10).sent == 1
    (view,) = read_runs(connect(location), "fuller")  # which `nightly` could not delete
    assert (view.rows, view.status) == (2, "success")


@needs_postgres
@pytest.mark.slow
def test_two_folders_that_send_the_same_results_at_once_leave_one_of_each(
    team: Team, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become("nightly", team, monkeypatch)
    folders = [folder / name for name in "ab"]
    for place in folders:
        for number in range(4):
            keep(
                record([0.5], eval_id=f"both-{number}", task="both", kept_for=locate().name),
                locate(place).spool,
            )
    with ThreadPoolExecutor() as both:
        ended = list(both.map(lambda place: Deliverer(locate(place)).drain(wait=60), folders))
    assert [delivery.unsent for delivery in ended] == [[], []]
    assert sorted(one.data.tags["eval_id"] for one in _of_task("both")) == [
        f"both-{number}" for number in range(4)
    ]


@needs_postgres
@pytest.mark.slow
def test_evals_while_the_server_is_killed_lose_nothing(
    team: Team, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _become("nightly", team, monkeypatch)
    script = "import sys; sys.path.insert(0, sys.argv[1])\nfrom registry_toys import run, toy\n"
    script += "for _ in range(2): run(toy([{'quality': 0.5}], name='killed'))\n"
    evals = [subprocess.Popen([sys.executable, "-c", script, str(Path(__file__).parent)]) for _ in range(2)]
    time.sleep(6)
    end_group(team.leader)  # SIGKILL, wherever it is
    assert [process.wait(120) for process in evals] == [0, 0]
    team.block("server")
    wait_until_healthy(team.port)
    views = [view for view in settle() if view.task == "killed"]
    assert CliRunner().invoke(import_, ["logs"]).output == "0 sent, 4 already there\n"
    assert len(views) == len(_of_task("killed")) == 4
