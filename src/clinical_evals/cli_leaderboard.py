"""`clinical-evals leaderboard`: which run stands where, and how a model's scores went over time."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from clinical_evals.cli_registry import HOW_TO_FILL, check_place, open_registry
from clinical_evals.files import InputError, printable
from clinical_evals.registry.layouts import FORMATS, WIDTH

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

    from clinical_evals.registry.location import Location
    from clinical_evals.registry.runs import RunView

_ALL_MODELS = "\0"


@click.command()
@click.option("--task", help="Only this task. Default: all.")
@click.option("--by", "metric", help="Rank by this metric. Default: the headline metric of each task.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print it.",
)
@click.option("--all", "every_run", is_flag=True, help="All runs, not only the latest of each model.")
@click.option("--worst-first", is_flag=True, help="Turn the order round; runs without a value stay last.")
@click.option(
    "--history",
    metavar="[MODEL]",
    is_flag=False,
    flag_value=_ALL_MODELS,
    help="A model's runs over time instead, comparable or not. Without MODEL, every model's.",
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the history: .svg or .png."
)
def leaderboard(
    task: str | None,
    metric: str | None,
    layout: str,
    every_run: bool,
    worst_first: bool,
    history: str | None,
    plot: Path | None,
) -> None:
    """Rank the runs in the registry.

    Only runs over the same data, scored by the same rules, that attempted every sample are ranked together;
    all others are listed apart with what differs. Intervals are 95% bootstrap intervals, clustered by family.
    Runs that share a letter are not shown to differ from the first that has it.
    """
    from clinical_evals.registry.location import locate

    if plot is not None and history is None:
        _fail("--plot draws the history: use it with --history")
    if plot is not None and plot.suffix.lower() not in (".svg", ".png"):
        _fail(f"--plot {plot}: choose a file name that ends in .svg or .png")
    location = locate()
    opened = _Opened()
    runs = _read_runs(location, opened)
    if not runs:
        click.echo(HOW_TO_FILL.format(name=location.name), err=layout != "table")
        if layout == "table":
            return
    _check_filters(runs, task, metric)
    width = (
        shutil.get_terminal_size((WIDTH, 24)).columns
        if sys.stdout is not None and sys.stdout.isatty()
        else WIDTH
    )
    if history is not None:
        model = None if history == _ALL_MODELS else history
        click.echo(_history(runs, task, metric, model, layout, width, plot))
        return
    from clinical_evals.registry.leaderboard import build_boards
    from clinical_evals.registry.score_cache import ScoreCache
    from clinical_evals.registry.tables import print_boards
    from clinical_evals.registry.ties import mark_ties

    boards = build_boards(runs, task=task, by=metric, every_run=every_run, worst_first=worst_first)
    with ScoreCache(location.name, opened) as cache:
        boards = mark_ties(boards, cache)
    click.echo(print_boards(boards, layout, width))


def _check_filters(runs: "list[RunView]", task: str | None, metric: str | None) -> None:
    """End with what there is to choose from where nothing would be left."""
    from clinical_evals.registry.leaderboard import of_task

    try:
        shown = runs if task is None else of_task(runs, task)
    except InputError as error:
        _fail(str(error))
    metrics = sorted({name for run in shown for name in run.figures})
    if metric is not None and runs and metric not in metrics:
        _fail(f"--by {metric}: no run has this metric. Choose from: {', '.join(metrics)}")


class _Opened:
    """Opens the registry when it is first asked for."""

    def __init__(self) -> None:
        self._client: MlflowClient | None = None

    def __call__(self) -> "MlflowClient":
        if self._client is None:
            self._client = open_registry()
        return self._client


def _read_runs(location: "Location", opened: "Callable[[], MlflowClient]") -> "list[RunView]":
    """Read the registry, with what is still in the spool; a new folder stays as it is."""
    from clinical_evals.registry.runs import read_runs
    from clinical_evals.registry.spool import waiting
    from clinical_evals.registry.sqlite_runs import read_database
    from clinical_evals.registry.store import reason

    check_place(location)
    database = location.database
    if waiting(location):
        opened()  # sends it
    elif database is not None and not database.exists():
        return []
    runs = read_database(database) if database is not None else None
    if runs is not None:
        return runs
    try:
        return read_runs(opened())
    except Exception as error:  # whatever MLflow raises, the answer is one line
        _fail(f"the registry {location.name} cannot be read: {reason(error)}")


def _history(
    runs: "list[RunView]",
    task: str | None,
    metric: str | None,
    model: str | None,
    layout: str,
    width: int,
    plot: Path | None,
) -> str:
    from clinical_evals.registry.history import build_histories, plot_histories, print_histories

    try:
        histories = build_histories(runs, model, task=task, by=metric)
        if plot is not None:
            plot_histories(histories, plot)
    except InputError as error:
        _fail(str(error))
    return print_histories(histories, layout, width)


def _fail(message: str) -> NoReturn:
    click.echo(f"Error: {printable(message)}", err=True)
    raise SystemExit(2)
