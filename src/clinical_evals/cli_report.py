"""`clinical-evals report`: results as one HTML file."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinical_evals.cli_registry import open_registry
from clinical_evals.files import InputError, replacing

if TYPE_CHECKING:
    from clinical_evals.registry.record import SampleRow
    from clinical_evals.registry.report import Section
    from clinical_evals.registry.runs import RunView


@click.command()
@click.argument("runs", nargs=-1)
@click.option("--task", help="Only this task. Default: all.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
def report(runs: tuple[str, ...], task: str | None, out: Path) -> None:
    """Write results as one HTML file that needs no network: plots, tables, versions, limits.

    Without RUNS, all boards of the registry, with the latest run of each model. A run is named by its id (or
    the first six characters), by its model, by MODEL@TASK, or by the path of an Inspect log. The file holds
    ids and numbers, and no text of any note.
    """
    from clinical_evals.registry.report_html import as_page

    try:
        with replacing(out) as file:
            sections = _of_runs(runs, task) if runs else _of_registry(task)
            made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
            file.write(as_page(sections, made))
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    for section in sections:
        for entry in section.all:
            if entry.problem:
                click.echo(f"Warning: {entry.problem}; the report shows its means, not its samples", err=True)
    shown = sum(len(section.all) for section in sections)
    click.echo(f"{out}: {shown} run{'s' if shown != 1 else ''}", err=True)


def _of_registry(task: str | None) -> "list[Section]":
    from clinical_evals.registry.leaderboard import build_boards
    from clinical_evals.registry.report import build_sections
    from clinical_evals.registry.resolve import read_samples
    from clinical_evals.registry.runs import read_runs

    client = open_registry()
    boards = build_boards(read_runs(client), task=task)
    if not boards:
        raise InputError(f"the registry holds no results{f' of task {task!r}' if task else ''}")
    return build_sections(
        boards,
        lambda run: read_samples(client, run.run_id),
        lambda run: client.get_run(run.run_id).data.tags,
    )


def _of_runs(references: Sequence[str], task: str | None) -> "list[Section]":
    from clinical_evals.registry.report import build_sections, of_results
    from clinical_evals.registry.resolve import Resolver
    from clinical_evals.registry.runs import read_runs

    opened = cache(open_registry)
    resolver = Resolver(opened)
    paths: dict[str, Path] = {}
    results = []
    for reference in dict.fromkeys(references):
        one = resolver.resolve(reference, task)
        if not one.view.run_id:
            paths[one.view.eval_id] = Path(reference).expanduser()
        results.append(one)
    in_registry = len(paths) < len(results)
    boards, chosen = of_results(results, read_runs(opened()) if in_registry else ())

    def rows_of(run: "RunView") -> "Sequence[SampleRow]":
        return chosen[run.run_id].rows

    def versions_of(run: "RunView") -> Mapping[str, str]:
        if run.run_id in paths:
            return _tags_of_file(paths[run.run_id])
        return opened().get_run(run.run_id).data.tags

    return build_sections(boards, rows_of, versions_of)


def _tags_of_file(path: Path) -> Mapping[str, str]:
    from clinical_evals.registry.logs import is_spooled, read_header
    from clinical_evals.registry.spool import read_kept

    return (read_kept(path) if is_spooled(path) else read_header(path, "")).tags
