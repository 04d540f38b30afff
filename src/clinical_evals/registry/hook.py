"""The Inspect hook: every finished task goes to the registry, and no eval waits for it or fails by it.

Importing this module must stay light: Inspect loads it in every run.
"""

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from inspect_ai.hooks import Hooks, RunEnd, RunStart, SampleEnd, TaskEnd, TaskStart, hooks

from clinical_evals.registry.location import LOCAL, Location, locate, mode
from clinical_evals.registry.record import SampleRow
from clinical_evals.registry.record_of_log import build_record, is_of_suite, sample_row
from clinical_evals.registry.spool import keep_somewhere

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSpec

PATIENCE = 0.5
"""Seconds that a long run waits at most at its end, so that its results have mostly arrived."""
_LONG_RUN = 60.0
"""Seconds after which opening the registry beside the run costs it less than 2%."""

_children: list["subprocess.Popen[bytes]"] = []


@dataclass(slots=True)
class _Run:
    """What is known of one `inspect eval` while it runs."""

    location: Location
    folder: Path
    began: float = field(default_factory=time.monotonic)
    child: "subprocess.Popen[bytes] | None" = None
    specs: dict[str, "EvalSpec"] = field(default_factory=dict)
    rows: dict[str, dict[tuple[str, int], SampleRow]] = field(default_factory=dict)
    kept: list[Path] = field(default_factory=list)

    def lasts(self) -> float:
        """Return the seconds since the run began."""
        return time.monotonic() - self.began


@hooks(
    name="clinical_evals_registry",
    description="keeps every result in the registry (CLINICAL_EVALS_REGISTRY=off|all)",
)
class RegistryHook(Hooks):
    """Spools each finished task and has a child process bring it into MLflow."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}

    async def on_run_start(self, data: RunStart) -> None:
        """Fix where the registry is: Inspect changes the current folder while tasks run."""
        if mode() != "off":
            folder = Path.cwd()
            self._runs[data.run_id] = _Run(locate(folder), folder)

    async def on_task_start(self, data: TaskStart) -> None:
        """Start collecting."""
        run = self._runs.get(data.run_id)
        if run is None or not _wanted(data.spec):
            return
        run.specs[data.eval_id] = data.spec
        run.rows[data.eval_id] = {}

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Read ids and numbers off a finished sample."""
        run = self._runs.get(data.run_id)
        if run is None or data.eval_id not in run.rows:
            return
        row = sample_row(data.sample)
        run.rows[data.eval_id][row.sample, row.epoch] = row
        if run.child is None and run.lasts() > _LONG_RUN:
            run.child = _start_sender(run.folder)

    async def on_task_end(self, data: TaskEnd) -> None:
        """Keep the result."""
        run = self._runs.get(data.run_id)
        if run is not None:
            _keep(data.log, run)

    async def on_run_end(self, data: RunEnd) -> None:
        """Keep what broken-off tasks came to, and give the child a moment."""
        run = self._runs.pop(data.run_id, None)
        if run is None:
            return
        for log in data.logs:
            _keep(log, run)  # does nothing for what `on_task_end` has kept
        for eval_id in [eval_id for eval_id, rows in run.rows.items() if rows]:
            _keep(_interrupted(run.specs[eval_id]), run)
        if run.child is not None and run.child.stdin is not None:
            run.child.stdin.close()
        until = time.monotonic() + (PATIENCE if run.lasts() > _LONG_RUN else 0)
        while any(path.exists() for path in run.kept) and time.monotonic() < until:
            await anyio.sleep(0.02)
        waiting = [path for path in run.kept if path.exists()]
        # A local registry takes what its sender brings; only a server may not be there, or a disk be full.
        is_sure = run.location.name == LOCAL and run.child is not None and run.child.poll() is None
        if waiting and (not is_sure or any(path.parent != run.location.spool for path in waiting)):
            names = ", ".join(_from(run.folder, path) for path in waiting)
            _say(f"result kept in {names}; it is sent in the background, or with: clinical-evals import")


def _wanted(spec: "EvalSpec") -> bool:
    return mode() == "all" or is_of_suite(spec)


def _keep(log: "EvalLog", run: _Run) -> None:
    """Spool a finished task, once."""
    rows = run.rows.pop(log.eval.eval_id, None)
    if rows is None:
        return
    try:
        record = build_record(log, _all_rows(log, rows), run.location.name)
        run.kept.append(keep_somewhere(record, run.location))
    except Exception as error:  # the registry must never cost anybody an eval
        why = error.strerror if isinstance(error, OSError) else type(error).__name__
        place = log.location or "logs"
        file = place if "://" in place else _from(run.folder, Path(place))
        _say(f"result not kept ({why}); send its log with: clinical-evals import {file}")
        return
    _poke(run)


def _from(folder: Path, path: Path) -> str:
    """Return a path as it is seen from a folder."""
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _all_rows(log: "EvalLog", seen: dict[tuple[str, int], SampleRow]) -> list[SampleRow]:
    """Return the rows of a task; samples that a retry took over from an earlier log are read from its log."""
    total = log.results.total_samples if log.results is not None else 0
    if len(seen) < total and log.location:
        from clinical_evals.registry.logs import log_rows

        return list(({(row.sample, row.epoch): row for row in log_rows(log.location)} | seen).values())
    return list(seen.values())


def _interrupted(spec: "EvalSpec") -> "EvalLog":
    """Stand in for the log of a task that was interrupted, which Inspect does not hand to hooks."""
    from inspect_ai.log import EvalLog

    return EvalLog(eval=spec, status="cancelled")


def _start_sender(folder: Path) -> "subprocess.Popen[bytes] | None":
    _children[:] = [child for child in _children if child.poll() is None]
    detached = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "DETACHED_PROCESS", 0)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "clinical_evals.registry.sender", str(folder)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C ends the eval and not the sending
            creationflags=detached,
        )
    except OSError:
        return None  # what is kept can be sent later
    _children.append(child)
    return child


def _poke(run: _Run) -> None:
    """Tell the child that there is something to send; if it has died, the spool still has it."""
    if run.child is None:
        run.child = _start_sender(run.folder)
    if run.child is None or run.child.stdin is None:
        return
    try:
        run.child.stdin.write(b"\n")
        run.child.stdin.flush()
    except OSError:
        run.child = None


def _say(line: str) -> None:
    print(f"clinical-evals: {line}", file=sys.stderr)
