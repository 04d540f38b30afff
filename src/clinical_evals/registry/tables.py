"""Leaderboards as a table, JSON, CSV or Markdown. What is undefined reads `n/a`, or null in JSON."""

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from clinical_evals.registry.leaderboard import Board, Place

_WIDTH = 100


def as_table(boards: Sequence[Board], width: int = _WIDTH) -> str:
    """Draw the boards for a terminal, each with what its numbers rest on.

    Args:
        boards: The boards.
        width: Columns of the terminal.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=width, file=io.StringIO(), force_terminal=False, highlight=False)
    for index, board in enumerate(boards):
        if index:
            console.print()
        for line in _heading(board):
            console.print(Text(line))
        if board.places:
            shown, left_out = _metrics_that_fit(board, width)
            header, rows = _columns(board, shown)
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
            for name in header:
                if name in _TEXTS:
                    table.add_column(Text(name), overflow="fold")
                else:  # numbers stay whole
                    table.add_column(Text(_on_lines(name)), justify="right", no_wrap=True)
            for row in rows:
                table.add_row(*(Text(cell) for cell in row))
            console.print()
            console.print(table)
            console.print()
            if left_out:
                console.print(Text(f"More in --format json: {', '.join(left_out)}"))
            for line in _notes(board.places):
                console.print(Text(line))
        for line in _apart(board):
            console.print(Text(line))
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def as_markdown(boards: Sequence[Board]) -> str:
    """Write the boards as Markdown tables."""
    lines: list[str] = []
    for board in boards:
        first, *others = _heading(board)
        lines += ["", f"### {_escaped(first)}", "", *(f"{_escaped(line)}  " for line in others), ""]
        if board.places:
            header, rows = _columns(board, board.metrics[1:])
            lines.append("| " + " | ".join(map(_escaped, header)) + " |")
            lines.append("|" + "|".join(" --- " if name in _TEXTS else " ---: " for name in header) + "|")
            lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
            lines += ["", *(f"{_escaped(line)}  " for line in _notes(board.places))]
        lines += [f"{_escaped(line)}  " for line in _apart(board)]
    return "\n".join(lines).strip()


def as_json(boards: Sequence[Board]) -> str:
    """Write the boards with every number of every run; null is undefined."""
    return json.dumps(
        [
            {
                "task": board.task,
                "signature": board.signature,
                "headline": board.headline,
                "differs": board.differs or None,
                "ranked": [_as_object(place) for place in board.places],
                "listed_apart": [_as_object(place, "what_differs") for place in board.apart],
            }
            for board in boards
        ],
        indent=2,
        ensure_ascii=False,
    )


def as_csv(boards: Sequence[Board]) -> str:
    """Write one line per run, ranked or not; an empty cell is undefined."""
    metrics = list(dict.fromkeys(metric for board in boards for metric in board.metrics))
    header = [
        "task", "rank", "model", "grader", "dataset", "dataset_digest", "signature", "headline",
        *(f"{metric}{suffix}" for metric in metrics for suffix in ("", "_lower", "_upper", "_n")),
        "scored", "rows", "attempted", "dataset_samples", "unscored_rate", "failure_rate", "note", "created",
        "eval_id", "run_id",
    ]  # fmt: skip
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for board in boards:
        for place in (*board.places, *board.apart):
            run = place.run
            figures = [run.figure(metric) for metric in metrics]
            cells = [
                run.task, place.rank, run.model, run.grader, run.dataset.name, run.dataset.digest,
                run.signature, board.headline,
                *(cell for figure in figures for cell in (figure.mean, figure.lower, figure.upper, figure.n)),
                run.scored, run.rows, run.attempted, run.dataset.samples, run.unscored_rate,
                run.failure_rate, place.note, run.created, run.eval_id, run.run_id,
            ]  # fmt: skip
            writer.writerow([_cell(cell) for cell in cells])
    return file.getvalue().rstrip("\n")


FORMATS: dict[str, Callable[[Sequence[Board]], str]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
    "md": as_markdown,
}

_TEXTS = {"model", "grader"}
_LEAST_NAME = 16
"""Names of models are folded to no less than this."""


def _heading(board: Board) -> list[str]:
    run = (*board.places, *board.apart)[0].run
    lines = [
        f"{board.task} on {run.dataset.name} {run.dataset.version}".rstrip()
        + f" ({run.dataset.samples} samples, {run.dataset.digest[:19]})",
        f"scorer: {board.signature}",
    ]
    if board.differs:
        lines.append(f"Not comparable with the table above: {board.differs}")
    return lines


def _columns(board: Board, metrics: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    graders = _has_graders(board)
    header = ["#", "model", *(["grader"] if graders else []), f"{board.headline} [95%]"]
    header += [*metrics, "scored", "failed"]
    rows = []
    for place in board.places:
        run = place.run
        rows.append(
            [
                "-" if place.rank is None else str(place.rank),
                run.model,
                *([run.grader] if graders else []),
                _with_interval(place, board.headline),
                *(_number(run.figure(metric).mean) for metric in metrics),
                f"{run.scored}/{run.rows}",
                _percent(run.failure_rate),
            ]
        )
    return header, rows


def _has_graders(board: Board) -> bool:
    return any(place.run.grader != place.run.model for place in board.places)


def _metrics_that_fit(board: Board, width: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the metrics beside the headline into those that have room in a table and the others."""
    runs = [place.run for place in board.places]
    names = [[run.model for run in runs], [run.grader for run in runs] if _has_graders(board) else []]
    room = width - sum(min(max(map(len, column)), _LEAST_NAME) + 1 for column in names if column)
    room -= 4 + 19 + 2 * (1 + max(len(f"{run.scored}/{run.rows}") for run in runs) + 1)
    others = board.metrics[1:]
    for number, metric in enumerate(others):
        room -= max(5, *map(len, _on_lines(metric).split("\n"))) + 1
        if room < 0:
            return others[:number], others[number:]
    return others, ()


def _notes(places: Sequence[Place]) -> list[str]:
    return [
        f"{'-' if place.rank is None else place.rank} {place.run.model}: {place.note}"
        for place in places
        if place.note
    ]


def _apart(board: Board) -> list[str]:
    if not board.apart:
        return []
    lines = ["Not ranked:"]
    for place in board.apart:
        run = place.run
        grader = f", graded by {run.grader}" if run.grader != run.model else ""
        value = (
            f" ({board.headline} {_with_interval(place, board.headline)})"
            if not math.isnan(run.figure(board.headline).mean)
            else ""
        )
        lines.append(f"- {run.model}{grader}: {place.note}{value}")
    return lines


def _with_interval(place: Place, metric: str) -> str:
    figure = place.run.figure(metric)
    if math.isnan(figure.mean):
        return "n/a"
    if math.isnan(figure.lower):
        return f"{figure.mean:.3f} [n/a]"
    return f"{figure.mean:.3f} [{figure.lower:.2f}, {figure.upper:.2f}]"


def _number(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def _percent(value: float) -> str:
    return "n/a" if math.isnan(value) else f"{value:.0%}"


def _on_lines(name: str) -> str:
    """Break a header into its words, so that a column is no wider than its numbers."""
    return name.replace("_", "\n").replace(" ", "\n")


def _escaped(text: str) -> str:
    for special in "\\|<>*_`[]":
        text = text.replace(special, f"\\{special}")
    return text


def _as_object(place: Place, note: str = "note") -> dict[str, Any]:
    run = place.run
    return {
        "rank": place.rank,
        "model": run.model,
        "grader": run.grader,
        note: place.note or None,
        "metrics": {
            name: {
                "mean": _or_null(figure.mean),
                "stderr": _or_null(figure.stderr),
                "lower": _or_null(figure.lower),
                "upper": _or_null(figure.upper),
                "n": figure.n,
                "undefined": figure.undefined,
                "worst": _or_null(figure.worst),
                "best": _or_null(figure.best),
            }
            for name, figure in run.figures.items()
        },
        "scored": run.scored,
        "rows": run.rows,
        "attempted": run.attempted,
        "unscored": run.unscored,
        "failed": run.failed,
        "unscored_rate": _or_null(run.unscored_rate),
        "model_failure_rate": _or_null(run.failure_rate),
        "counts": run.counts,
        "params": run.params,
        "dataset": run.dataset.model_dump(),
        "signature": run.signature,
        "status": run.status,
        "created": run.created,
        "eval_id": run.eval_id,
        "run_id": run.run_id,
    }


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    # A spreadsheet would take these for a formula.
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
