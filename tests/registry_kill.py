"""Processes that send results and die by SIGKILL.

`python registry_kill.py calls FOLDER` dies before and after each call to MLflow in turn and prints how many times
it died. `python registry_kill.py anywhere FOLDER ROUNDS SEED` kills evals and imports at random moments and prints
how many of each it killed.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import mlflow.store.tracking.sqlalchemy_store  # noqa: F401  so that the children have it
from mlflow.tracking import MlflowClient
from registry_toys import record, run, toy

from clinical_evals.cli_registry import import_
from clinical_evals.registry import hook
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import MODE, locate
from clinical_evals.registry.spool import keep

SENDERS = Path("senders")
_WRITES = {"create_run", "log_batch", "log_inputs", "log_artifact", "set_terminated", "set_tag"}


class MortalClient(MlflowClient):
    """The real client; the process dies before or after its n-th write."""

    calls = 0
    dies_at = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in _WRITES:
            return found

        def call(*args: Any, **options: Any) -> Any:
            for _ in ("before", "after"):
                MortalClient.calls += 1
                if MortalClient.calls == MortalClient.dies_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                if _ == "before":
                    result = found(*args, **options)
            return result

        return call


def attempt(folder: Path, dies_at: int) -> bool:
    """Drain the spool in a child that dies at one point; tell whether it died."""
    pid = os.fork()
    if pid == 0:
        MortalClient.dies_at = dies_at
        location = locate(folder)
        deliverer = Deliverer(location)
        deliverer._client = MortalClient(location.uri)
        deliverer.drain(wait=10)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def around_calls(folder: Path) -> None:
    """Keep one result for each point, and die there."""
    deaths = 0
    half_sent = []
    for point in range(1, 2 * len(_WRITES) + 1):
        path = keep(record([0.1, 0.9], model=f"m/{point}", eval_id=f"e{point}"), locate(folder).spool)
        deaths += attempt(folder, point)
        half_sent.append((path, path.rename(path.with_suffix(".later"))))
    for path, aside in half_sent:
        aside.rename(path)
    attempt(folder, 0)
    print(deaths)


def in_child(what: Callable[[], None]) -> int:
    """Start something in a child that says nothing."""
    pid = os.fork()
    if pid == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        with suppress(BaseException):
            what()
        os._exit(0)
    return pid


def kill_after(pid: int, seconds: float) -> bool:
    """Kill a child some time after its start; tell whether that ended it."""
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def evals() -> None:
    """Run one eval after the other until killed, writing down who sends their results."""
    start = hook._start_sender

    def noted(folder: Path) -> Any:
        child = start(folder)
        assert child is not None
        with SENDERS.open("a") as file:
            file.write(f"{child.pid}\n")
        return child

    hook._start_sender = noted
    while True:
        run(toy([{"quality": 0.5}, {"quality": 1.0}]))


def imports() -> None:
    """Import all logs, and what is spooled."""
    for arguments in (["logs"], []):
        with suppress(SystemExit):
            import_.main(arguments, standalone_mode=False)


def anywhere(folder: Path, rounds: int, seed: int) -> None:
    """Kill evals, their senders and an import, each at a random moment, as often as told."""
    os.chdir(folder)
    chance = random.Random(seed)
    SENDERS.touch()
    os.environ[MODE] = "off"
    run(toy([{"quality": 0.5}]))  # so that the children have everything imported
    killed = {evals: 0, imports: 0}
    for number in range(rounds):
        # In every other round all is left to the import.
        os.environ[MODE] = "off" if number % 2 else "on"
        for what in (evals, imports):
            killed[what] += kill_after(in_child(what), chance.uniform(0.1, 1.5))
            for sender in map(int, SENDERS.read_text().split()):
                kill_sender(sender, chance.random() < 0.5)
    print(killed[evals], killed[imports])


def kill_sender(pid: int, really: bool) -> None:
    """Kill a process if it still is a sender."""
    with suppress(OSError):
        if really and b"registry.sender" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "calls":
        around_calls(Path(sys.argv[2]))
    else:
        anywhere(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
