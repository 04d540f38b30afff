"""`clinical-evals leaderboard`, `import` and `ui`: what is done with results."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from clinical_evals.files import InputError

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

    from clinical_evals.registry.delivery import Deliverer, Delivery
    from clinical_evals.registry.location import Location
    from clinical_evals.registry.runs import RunView

_WAIT_FOR_SENDER = 60.0
_HOW_TO_FILL = (
    "The registry {name} holds no results{of_task} yet. Fill it with: inspect eval clinical_evals/grounding "
    "--model replay/faithful, or from logs with: clinical-evals import logs/"
)


@click.command()
@click.option("--task", help="Only this task. Default: all.")
@click.option("--by", "metric", help="Rank by this metric. Default: the headline metric of each task.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["table", "json", "csv", "md"]),
    default="table",
    show_default=True,
    help="How to print it.",
)
@click.option("--all", "every_run", is_flag=True, help="All runs, not only the latest of each model.")
@click.option("--worst-first", is_flag=True, help="Turn the order round; runs without a value stay last.")
def leaderboard(
    task: str | None, metric: str | None, layout: str, every_run: bool, worst_first: bool
) -> None:
    """Rank the runs in the registry.

    Only runs over the same data, scored by the same rules, that attempted every sample are ranked together;
    all others are listed apart with what differs. Intervals are 95% bootstrap intervals, clustered by family.
    """
    from clinical_evals.registry.location import locate

    location = locate()
    runs = _read_all(location, task)
    if not runs:
        of_task = f" of task '{task}'" if task else ""
        click.echo(_HOW_TO_FILL.format(name=location.name, of_task=of_task), err=layout != "table")
        if layout == "table":
            return
    from clinical_evals.registry.leaderboard import build_boards
    from clinical_evals.registry.tables import FORMATS

    metrics = sorted({name for run in runs for name in run.figures})
    if metric is not None and runs and metric not in metrics:
        _fail(f"--by {metric}: no run has this metric. Choose from: {', '.join(metrics)}")
    boards = build_boards(runs, by=metric, every_run=every_run, worst_first=worst_first)
    click.echo(FORMATS[layout](boards))


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def import_(paths: tuple[Path, ...]) -> None:
    """Bring results into the registry: Inspect logs (.eval, .json), folders of them, and spooled results.

    Without PATHS, sends what was kept while the registry could not be reached. A result that is there already
    is left as it is, so that anything may be imported again.
    """
    from clinical_evals.registry.delivery import Deliverer
    from clinical_evals.registry.importing import files_to_import, import_files
    from clinical_evals.registry.location import locate
    from clinical_evals.registry.lock import LockTimeout

    location = locate()
    try:
        if paths:
            files = files_to_import(paths)
            delivery = import_files(files, location, wait=_WAIT_FOR_SENDER)
        else:
            delivery = Deliverer(location).drain(wait=_WAIT_FOR_SENDER, all_kept=True)
    except InputError as error:
        _fail(str(error))
    except LockTimeout:
        click.echo("Error: another process is sending results; try again when it has ended", err=True)
        raise SystemExit(1) from None
    except OSError as error:
        _fail(f"{location.spool}: {error.strerror or type(error).__name__}")
    _report(delivery)
    if delivery.unsent:
        raise SystemExit(1)
    if delivery.unreadable:
        raise SystemExit(2 if not delivery.sent and not delivery.present else 1)


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
def ui(port: int) -> None:
    """Open the registry in the MLflow UI on 127.0.0.1."""
    from clinical_evals.registry.delivery import Deliverer
    from clinical_evals.registry.location import locate

    location = locate()
    if location.uri.startswith(("http://", "https://")):
        click.echo(f"The registry is a server with a UI of its own: {location.name}")
        return
    _bring_in(Deliverer(location))
    location.home.mkdir(parents=True, exist_ok=True)
    click.echo(f"The registry {location.name} at http://127.0.0.1:{port} (Ctrl-C ends it)", err=True)
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1", "--port", str(port)]
    # The address may hold a password, so it goes by the environment, which other users cannot read.
    environment = os.environ | {
        "MLFLOW_BACKEND_STORE_URI": location.uri,
        "MLFLOW_TRACKING_URI": location.uri,
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    if location.artifact_root is not None:
        environment["MLFLOW_DEFAULT_ARTIFACT_ROOT"] = location.artifact_root.as_uri()
    if os.name == "posix":
        os.execve(command[0], command, environment)
    raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)


def open_registry() -> "MlflowClient":
    """Open the current folder's registry, with what was in its spool; ends with one line if that fails."""
    from clinical_evals.registry.delivery import Deliverer
    from clinical_evals.registry.location import locate
    from clinical_evals.registry.lock import LockTimeout
    from clinical_evals.registry.store import reason

    location = locate()
    if _is_new(location):  # to look for a result must not create a registry
        _fail(_HOW_TO_FILL.format(name=location.name, of_task=""))
    deliverer = Deliverer(location)
    try:
        client = deliverer.open(_WAIT_FOR_SENDER)
        _bring_in(deliverer)
    except LockTimeout:
        _fail("another process has been sending results for long; try again when it has ended")
    except Exception as error:  # whatever MLflow raises, the answer is one line
        _fail(f"the registry {location.name} cannot be opened: {reason(error)}")
    return client


def _is_new(location: "Location") -> bool:
    """Tell whether this folder has neither a registry nor results on their way to one."""
    from clinical_evals.registry.spool import kept

    return location.database is not None and not location.database.exists() and not kept(location.spool)


def _read_all(location: "Location", task: str | None) -> "list[RunView]":
    """Read the registry, with what is still in the spool; a new folder stays as it is."""
    from clinical_evals.registry.runs import read_runs
    from clinical_evals.registry.store import reason

    if _is_new(location):
        return []
    client = open_registry()
    try:
        return read_runs(client, task)
    except Exception as error:  # whatever MLflow raises, the answer is one line
        _fail(f"the registry {location.name} cannot be read: {reason(error)}")


def _bring_in(deliverer: "Deliverer") -> None:
    """Send what is in the spool first, so that a run that has just ended is shown; say what could not be."""
    from clinical_evals.registry.lock import LockTimeout

    try:
        delivery = deliverer.drain(wait=_WAIT_FOR_SENDER)
    except (LockTimeout, OSError):
        click.echo("Some results are still being sent and not shown.", err=True)
        return
    if delivery.unsent or delivery.unreadable or delivery.elsewhere:
        _report(delivery, err=True)


def _report(delivery: "Delivery", err: bool = False) -> None:
    numbers = [f"{delivery.sent} sent", f"{delivery.present} already there"]
    if delivery.unsent:
        numbers.append(f"{len(delivery.unsent)} not sent, kept for later")
    if delivery.unreadable:
        numbers.append(f"{len(delivery.unreadable)} unreadable")
    click.echo(", ".join(numbers), err=err)
    for path, why in (*delivery.unsent, *delivery.unreadable):
        click.echo(f"{path}: {why}", err=True)
    for name in sorted(set(delivery.elsewhere)):
        number = delivery.elsewhere.count(name)
        click.echo(f"{number} kept for the registry {name}; to send here: clinical-evals import", err=True)


def _fail(message: str) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(2)
