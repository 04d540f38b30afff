"""Finding a run by what people call it: an id, a name, `model@task`, or a log file."""

import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.files import InputError, printable
from clinical_evals.registry.leaderboard import of_task
from clinical_evals.registry.logs import LogError, is_log, is_spooled, read_log
from clinical_evals.registry.record import RunRecord, SampleRow
from clinical_evals.registry.rows import read_rows
from clinical_evals.registry.runs import RunView, read_runs, view_record

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_SHORTEST_PREFIX = 6
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Results:
    """One run with the numbers of its samples.

    Attributes:
        name: What to call it in a report.
        view: What the registry says of it.
        rows: Its samples, one row an epoch.
    """

    name: str
    view: RunView
    rows: list[SampleRow]


class Resolver:
    """Finds runs in a registry, which is opened when the first one is looked for there.

    Args:
        open_registry: Opens it.
    """

    def __init__(self, open_registry: "Callable[[], MlflowClient]") -> None:
        self._open = open_registry
        self._client: MlflowClient | None = None
        self._runs: list[RunView] | None = None

    def resolve(self, reference: str, task: str | None = None) -> Results:
        """Find a run and read its samples.

        Args:
            reference: An MLflow run id or eval id or the first six characters or more of one, `model@task`
                or a model's name (the latest whole run is meant), or the path of an Inspect log or a spooled
                result.
            task: Where a model has runs of several tasks, the one that is meant.

        Raises:
            InputError: If there is no such run, or several could be meant.
        """
        path, is_file = Path(reference), False
        with suppress(OSError, RuntimeError):  # too long for a file's name, or in no user's home
            path = path.expanduser()
            is_file = path.is_file()
        if is_file:
            return _from_file(path)
        if path.suffix in (".eval", ".json"):
            raise InputError(f"{reference}: no such file")
        view = find_run(reference, self._all(), task)
        return Results(describe(view), view, read_samples(self._opened(), view.run_id))

    def _all(self) -> list[RunView]:
        if self._runs is None:
            self._runs = read_runs(self._opened())
        return self._runs

    def _opened(self) -> "MlflowClient":
        if self._client is None:
            self._client = self._open()
        return self._client


def find_run(reference: str, runs: Iterable[RunView], task: str | None = None) -> RunView:
    """Find the one run that a reference means; see `Resolver.resolve`.

    Raises:
        InputError: If there is none, or several could be meant.
    """
    runs = list(runs)
    known = runs if task is None else of_task(runs, task)
    if len(reference) >= _SHORTEST_PREFIX:
        by_id = [run for run in known if reference in (run.run_id, run.eval_id)] or [
            run for run in known if run.run_id.startswith(reference) or run.eval_id.startswith(reference)
        ]
        if len(by_id) == 1:
            return by_id[0]
        if by_id:
            raise InputError(f"{reference}: the beginning of several ids: {_listed(by_id)}")
    model, _, named_task = reference.rpartition("@") if "@" in reference else (reference, "", "")
    named = [run for run in known if run.model == model and (not named_task or run.task == named_task)]
    # A model's own name may hold the sign.
    named = named or [run for run in known if run.model == reference]
    if not named:
        models = sorted({printable(f"{run.model}@{run.task}") for run in known})
        have = ", ".join(models[:_MOST_NAMED]) + (", …" if len(models) > _MOST_NAMED else "")
        raise InputError(f"{reference}: no such run. The registry has: {have or 'none'}")
    tasks = sorted({run.task for run in named})
    if len(tasks) > 1:
        raise InputError(
            f"{reference}: has runs of several tasks; name one: {model}@{f', {model}@'.join(tasks)}"
        )
    whole = [run for run in named if run.scored and run.attempted >= run.dataset.samples]
    return max(whole or named, key=lambda run: (run.created, run.eval_id))


def describe(view: RunView) -> str:
    """Name a run for people: its model and when it was run."""
    when = f" ({view.created[:16].replace('T', ' ')})" if view.created else ""
    return printable(view.model + when)


def read_samples(client: "MlflowClient", run_id: str) -> list[SampleRow]:
    """Read the numbers of a run's samples from its artifact.

    Raises:
        InputError: If the run has none that can be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            return read_rows(Path(client.download_artifacts(run_id, "samples.parquet", folder)))
        except Exception as error:  # artifact stores fail in as many ways as there are stores
            raise InputError(
                f"run {run_id}: its samples.parquet cannot be read ({type(error).__name__})"
            ) from None


def _from_file(path: Path) -> Results:
    from clinical_evals.registry.spool import SpoolError, read_kept

    try:
        if is_spooled(path):
            record = read_kept(path)
        elif is_log(path):
            record = read_log(path, "")
        else:
            raise LogError("neither an Inspect log (.eval, .json) nor a spooled result")
    except (LogError, SpoolError) as error:
        raise InputError(f"{path}: {error}") from None
    return results_of(record)


def results_of(record: RunRecord) -> Results:
    """Take a record for a run."""
    view = view_record(record)
    return Results(describe(view), view, record.rows)


def _listed(runs: list[RunView]) -> str:
    names = [f"{run.run_id or run.eval_id} {describe(run)}" for run in runs[:_MOST_NAMED]]
    return ", ".join(names) + (", …" if len(runs) > _MOST_NAMED else "")
