"""Sends one result again and again and dies by SIGKILL around each call to MLflow in turn.

Run as `python registry_kill.py FOLDER`; prints how many times it died.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from mlflow.tracking import MlflowClient
from registry_toys import record

from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import locate
from clinical_evals.registry.spool import keep

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


def main() -> None:
    """Keep one result for each point, and die there."""
    folder = Path(sys.argv[1])
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


if __name__ == "__main__":
    main()
