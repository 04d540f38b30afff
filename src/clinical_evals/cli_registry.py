"""`clinical-evals import` and `ui`: what is done with results."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from clinical_evals.files import InputError, printable

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

    from clinical_evals.registry.delivery import Deliverer, Delivery
    from clinical_evals.registry.location import Location

_WAIT_FOR_SENDER = 60.0
_MOST_LISTED = 10
_MOST_PAGES = 8
_SQLITE = b"SQLite format 3\0"
HOW_TO_FILL = (
    "The registry {name} holds no results yet. Fill it with: inspect eval clinical_evals/grounding "
    "--model replay/faithful, or from logs with: clinical-evals import logs/"
)


@click.command("import")
@click.argument("paths", nargs=-1)
def import_(paths: tuple[str, ...]) -> None:
    """Bring results into the registry: Inspect logs (.eval, .json), folders of them, and spooled results.

    A path may be an address such as s3://bucket/logs. Without PATHS, sends what was kept while the registry
    could not be reached. A result that is there already is left as it is, so that anything may be imported
    again.
    """
    from clinical_evals.registry.delivery import Deliverer
    from clinical_evals.registry.importing import files_to_import, import_files
    from clinical_evals.registry.location import locate
    from clinical_evals.registry.lock import LockTimeout
    from clinical_evals.registry.spool import waiting
    from clinical_evals.registry.store import reason

    location = locate()
    check_place(location)
    try:
        if paths:
            files = files_to_import(paths)
            with _progress(len(files)) as seen:
                delivery = import_files(files, location, wait=_WAIT_FOR_SENDER, seen=seen)
        else:
            with _progress(len(waiting(location))) as seen:
                delivery = Deliverer(location).drain(wait=_WAIT_FOR_SENDER, all_kept=True, seen=seen)
    except InputError as error:
        _fail(str(error))
    except LockTimeout:
        click.echo("Error: another process is sending results; try again when it has ended", err=True)
        raise SystemExit(1) from None
    except Exception as error:  # whatever the disk or MLflow raises, the answer is one line
        _fail(f"the registry {location.name} cannot be opened: {reason(error)}")
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
    check_place(location)
    _bring_in(Deliverer(location))
    try:
        location.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _fail(f"{location.home.name}: {error.strerror}")
    address = f"http://127.0.0.1:{port}"
    click.echo(f"The registry {location.name} at {address} (Ctrl-C ends it)", err=True)
    _list_pages(location, address)
    command = [sys.executable, "-W", "ignore", "-m", "mlflow", "server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", "1", "--uvicorn-opts", "--log-level error"]
    # The address may hold a password, so it goes by the environment, which other users cannot read.
    environment = os.environ | {
        "MLFLOW_BACKEND_STORE_URI": location.uri,
        "MLFLOW_REGISTRY_STORE_URI": location.uri,
        "MLFLOW_TRACKING_URI": location.uri,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # three more processes, and nothing here needs them
        "PYTHONWARNINGS": "ignore",
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
    check_place(location)
    if _is_new(location):  # to look for a result must not create a registry
        _fail(HOW_TO_FILL.format(name=location.name))
    deliverer = Deliverer(location)
    try:
        client = deliverer.open(_WAIT_FOR_SENDER)
        _bring_in(deliverer)
    except LockTimeout:
        _fail("another process has been sending results for long; try again when it has ended")
    except Exception as error:  # whatever MLflow raises, the answer is one line
        _fail(f"the registry {location.name} cannot be opened: {reason(error)}")
    return client


def check_place(location: "Location") -> None:
    """End with one line if what stands where the local registry should be is none."""
    home, database = location.home, location.database
    if database is None:
        return  # of what is elsewhere the spool alone is here, and it has a second place
    if os.path.lexists(home) and not home.is_dir():
        kind = "a link to nothing" if home.is_symlink() else "a file"
        _fail(f"{home.name} is {kind}, not a folder: move it away, and the registry can be there")
    if home.exists() and not os.access(home, os.R_OK | os.X_OK):
        _fail(f"{home.name} cannot be read: permission denied")
    if not os.path.lexists(database):
        return
    name = f"{home.name}/{database.name}"
    if not database.is_file():
        kind = "a link to nothing" if database.is_symlink() else "a folder"
        _fail(f"{name} is {kind}, not a database: move it away, and a new one is made")
    try:
        with database.open("rb") as file:
            head = file.read(len(_SQLITE))
    except OSError as error:
        _fail(f"{name} cannot be read: {(error.strerror or type(error).__name__).lower()}")
    if head not in (_SQLITE, b""):
        _fail(f"{name} is no SQLite database: move it away, and import the logs into a new one")


def _list_pages(location: "Location", address: str) -> None:
    """Name the page of each task's runs, for what MLflow opens with is for traces."""
    import sqlite3
    from contextlib import closing

    if location.database is None or not location.database.exists():
        return
    query = """
        SELECT experiment_id, name FROM experiments WHERE lifecycle_stage = 'active'
        AND experiment_id IN (SELECT experiment_id FROM runs WHERE lifecycle_stage = 'active') ORDER BY name
    """
    try:
        with closing(
            sqlite3.connect(f"{location.database.absolute().as_uri()}?mode=ro", uri=True)
        ) as database:
            tasks = database.execute(query).fetchall()
    except sqlite3.Error:
        return
    width = max((len(name) for _, name in tasks), default=0)
    for identity, name in tasks[:_MOST_PAGES]:
        page = f"{address}/#/experiments/{identity}/runs?workflowType=machine_learning"
        click.echo(f"  {printable(name):<{width}}  {page}", err=True)
    if len(tasks) > _MOST_PAGES:
        click.echo(f"  … and {len(tasks) - _MOST_PAGES} more under Model training", err=True)


def _is_new(location: "Location") -> bool:
    """Tell whether this folder has neither a registry nor results on their way to one."""
    from clinical_evals.registry.spool import waiting

    return location.database is not None and not location.database.exists() and not waiting(location)


def _bring_in(deliverer: "Deliverer") -> None:
    """Send what is in the spool first, so that a run that has just ended is shown; say what could not be."""
    from clinical_evals.registry.lock import LockTimeout

    try:
        delivery = deliverer.drain(wait=_WAIT_FOR_SENDER)
        refused, elsewhere = deliverer.newly_refused(), deliverer.newly_elsewhere()
    except (LockTimeout, OSError):
        click.echo("Some results are still being sent and not shown.", err=True)
        return
    for name in sorted(set(delivery.elsewhere)) if elsewhere else []:
        number = delivery.elsewhere.count(name)
        click.echo(f"{number} kept for the registry {name}; to send here: clinical-evals import", err=True)
    for folder in sorted({path.parent for path in refused}):
        number = sum(path.parent == folder for path in refused)
        click.echo(
            f"{number} that the registry refuses, kept; to try again: clinical-evals import {folder}",
            err=True,
        )
    set_aside = {path.name for path in refused}
    delivery.unsent = [(path, why) for path, why in delivery.unsent if Path(path).name not in set_aside]
    if delivery.unsent:
        click.echo(
            f"{len(delivery.unsent)} not sent, kept for later; to try again: clinical-evals import", err=True
        )
    _list([*delivery.unsent, *delivery.unreadable])


def _report(delivery: "Delivery") -> None:
    numbers = [f"{delivery.sent} sent", f"{delivery.present} already there"]
    if delivery.unsent:
        numbers.append(f"{len(delivery.unsent)} not sent, kept for later")
    if delivery.unreadable:
        numbers.append(f"{len(delivery.unreadable)} unreadable")
    if delivery.unfinished:
        numbers.append(f"{len(delivery.unfinished)} of evals that have not finished")
    click.echo(", ".join(numbers))
    _list([*delivery.unsent, *delivery.unreadable])


def _list(failures: "list[tuple[str, str]]") -> None:
    for path, why in failures[:_MOST_LISTED]:
        click.echo(f"{path}: {why}", err=True)
    if len(failures) > _MOST_LISTED:
        click.echo(f"… and {len(failures) - _MOST_LISTED} more", err=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on a terminal; yields what to call after each file."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Importing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _fail(message: str) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(2)
