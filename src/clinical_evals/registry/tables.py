"""Leaderboards as a table, JSON, CSV, Markdown or HTML. What is undefined reads `n/a`, or null in JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from clinical_evals.files import printable
from clinical_evals.registry.judges import Calibration
from clinical_evals.registry.layouts import (
    GAP,
    WIDTH,
    Column,
    Sheet,
    draw_html,
    draw_markdown,
    draw_text,
    widest_line,
)
from clinical_evals.registry.leaderboard import Board, Place
from clinical_evals.registry.runs import RunView

_LEAST_NAME = 20
"""Names of models are folded to no less than this."""
_AGREEMENT = "judge agreement"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula; some also take the wide forms."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
_WITH_INTERVAL = len("0.000 [0.00, 0.00]")


def print_boards(boards: Sequence[Board], layout: str, width: int = WIDTH) -> str:
    """Write the boards in one of `layouts.FORMATS`.

    Args:
        boards: The boards.
        layout: The format.
        width: Columns of the terminal, for `table`.
    """
    if layout == "json":
        return as_json(boards)
    if layout == "csv":
        return as_csv(boards)
    if layout == "table":
        return draw_text([_sheet(board, width) for board in boards], width)
    sheets = [_sheet(board) for board in boards]
    return draw_markdown(sheets) if layout == "md" else draw_html(sheets, "Leaderboard")


def as_json(boards: Sequence[Board]) -> str:
    """Write the boards with every number of every run; null is undefined."""
    return json.dumps(
        [
            {
                "task": board.task,
                "signature": board.signature,
                "headline": board.headline,
                "differs": board.differs or None,
                "comparisons": board.comparisons,
                "ranked": [
                    {
                        "rank": place.rank,
                        "tie": place.group or None,
                        "note": place.note or None,
                        **run_object(place.run, place.calibrations),
                    }
                    for place in board.places
                ],
                "listed_apart": [
                    {"rank": None, "what_differs": place.note, **run_object(place.run, place.calibrations)}
                    for place in board.apart
                ],
            }
            for board in boards
        ],
        indent=2,
        ensure_ascii=False,
    )


def as_csv(boards: Sequence[Board]) -> str:
    """Write one line per run, ranked or not; an empty cell is undefined."""
    metrics = list(dict.fromkeys(metric for board in boards for metric in board.metrics))
    kinds = ("", "_lower", "_upper", "_n", "_worst", "_best")
    header = [
        "task", "rank", "tie", "model", "grader", "judge_agreement", "dataset", "dataset_digest", "signature",
        "headline",
        *(f"{metric}{kind}" for metric in metrics for kind in kinds),
        "scored", "rows", "attempted", "dataset_samples", "unscored_rate", "failure_rate", "note", "created",
        "eval_id", "run_id",
    ]  # fmt: skip
    lines: list[list[object]] = []
    for board in boards:
        for place in (*board.places, *board.apart):
            run = place.run
            figures = [run.figure(metric) for metric in metrics]
            lines.append(
                [
                    run.task, place.rank, place.group, run.model, run.graded_by,
                    agreement(place.calibrations, ""), run.dataset.name, run.dataset.digest, run.signature,
                    board.headline,
                    *(
                        cell
                        for one in figures
                        for cell in (one.mean, one.lower, one.upper, one.n, one.worst, one.best)
                    ),
                    run.scored, run.rows, run.attempted, run.dataset.samples, run.unscored_rate,
                    run.failure_rate, place.note, run.created, run.eval_id, run.run_id,
                ]
            )  # fmt: skip
    return write_csv(header, lines)


def write_csv(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Write lines for a spreadsheet: nothing in them is a formula, and what is undefined is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_cell(name) for name in header])
    for line in lines:
        writer.writerow([_cell(cell) for cell in line])
    return file.getvalue().rstrip("\n")


def run_object(run: RunView, calibrations: Sequence[Calibration]) -> dict[str, Any]:
    """Give every number of a run as it is written in JSON."""
    return {
        "model": run.model,
        "grader": run.graded_by,
        "judges": [
            {
                "judge": one.judge,
                "metric": one.metric,
                "calibrated": one.run is not None,
                "agreement": _or_null(one.run.figure(one.metric).mean) if one.run else None,
                "lower": _or_null(one.run.figure(one.metric).lower) if one.run else None,
                "upper": _or_null(one.run.figure(one.metric).upper) if one.run else None,
                "dataset": one.run.dataset.name if one.run else None,
                "run_id": one.run.run_id if one.run else None,
            }
            for one in calibrations
        ],
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


def about(run: RunView) -> str:
    """Say what data a run is about."""
    dataset = f"{run.dataset.name} {run.dataset.version}".rstrip()
    return f"{dataset} ({run.dataset.samples} samples, {run.dataset.digest[:19]})"


def agreement(calibrations: Sequence[Calibration], without: str = "n/a") -> str:
    """Say how far a run's judges agree with people.

    Args:
        calibrations: Of each judge.
        without: What to say if none is declared.
    """
    return ", ".join(map(str, calibrations)) or without


def with_interval(run: RunView, metric: str) -> str:
    """Write a metric's mean and interval."""
    figure = run.figure(metric)
    if math.isnan(figure.mean):
        return "n/a"
    if math.isnan(figure.lower):
        return f"{figure.mean:.3f} [n/a]"
    return f"{figure.mean:.3f} [{figure.lower:.2f}, {figure.upper:.2f}]"


def number(value: float) -> str:
    """Write a number."""
    return "n/a" if math.isnan(value) else f"{value:.3f}"


def percent(value: float) -> str:
    """Write a share."""
    return "n/a" if math.isnan(value) else f"{value:.0%}"


def _sheet(board: Board, width: int | None = None) -> Sheet:
    """Lay out a board; with a width, only the metrics that have room beside the headline."""
    runs = [place.run for place in board.places]
    graders = any(run.grader != run.model for run in runs)
    judged = any(place.calibrations for place in board.places)
    columns = [
        Column("#"),
        *([Column("tie")] if board.comparisons else []),
        Column("model", text=True),
        *([Column("grader", text=True)] if graders else []),
        Column(f"{board.headline} [95%]"),
        *([Column(_AGREEMENT)] if judged else []),
    ]
    metrics = board.metrics[1:]
    shown = len(metrics)
    if width is not None and runs:
        names = [[run.model for run in runs], [run.grader for run in runs] if graders else []]
        taken = [min(max(len("grader"), *map(len, column)), _LEAST_NAME) for column in names if column]
        taken += [3, _WITH_INTERVAL, len("failed")]
        taken += [max(len("scored"), *(len(f"{run.scored}/{run.rows}") for run in runs))]
        taken += [len("tie")] if board.comparisons else []
        taken += [max(len(agreement(place.calibrations)) for place in board.places)] if judged else []
        shown = _number_that_fits(metrics, width - sum(taken) - GAP * (len(taken) - 1))
    metrics, left_out = metrics[:shown], metrics[shown:]
    columns += [*map(Column, metrics), Column("scored"), Column("failed")]
    rows = [
        (
            "-" if place.rank is None else str(place.rank),
            *([place.group or "-"] if board.comparisons else []),
            place.run.model,
            *([place.run.grader] if graders else []),
            with_interval(place.run, board.headline),
            *([agreement(place.calibrations)] if judged else []),
            *(number(place.run.figure(metric).mean) for metric in metrics),
            f"{place.run.scored}/{place.run.rows}",
            percent(place.run.failure_rate),
        )
        for place in board.places
    ]
    run = (*board.places, *board.apart)[0].run
    lines = [f"scorer: {board.signature}"]
    if board.differs:
        lines.append(
            f"Not comparable with the first table of {board.task}: {board.differs}. "
            "Two runs can be set side by side all the same: clinical-evals compare A B --anyway"
        )
    more = [f"More in --format json: {', '.join(left_out)}"] if left_out and runs else []
    return Sheet(
        title=f"{board.task} on {about(run)}",
        lines=tuple(lines),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(*more, *_legend(board), *_notes(board.places), *_apart(board)),
    )


def _number_that_fits(metrics: Sequence[str], room: int) -> int:
    for index, metric in enumerate(metrics):
        room -= max(5, widest_line(metric)) + GAP
        if room < 0:
            return index
    return len(metrics)


def _legend(board: Board) -> list[str]:
    lines = []
    if board.comparisons:
        lines.append(
            "tie: runs with one letter are not shown to differ from its first (paired permutation test over "
            f"families, 5%, Holm's correction for {board.comparisons} pair{'s'[: board.comparisons > 1]})"
        )
    found = [one for place in board.places for one in place.calibrations]
    if found:
        sets = sorted({one.run.dataset.name for one in found if one.run is not None})
        where = f", on {', '.join(sets)}" if sets else ""
        lines.append(f"{_AGREEMENT}: {found[0].metric} of the same judge and people{where}")
    return lines


def _notes(places: Sequence[Place]) -> list[str]:
    if len(places) > 1 and len({place.note for place in places}) == 1:
        return [f"All: {place.note}" for place in places[:1] if place.note]
    return [
        f"{'-' if place.rank is None else place.rank} {place.run.model}: {place.note}"
        for place in places
        if place.note
    ]


def _apart(board: Board) -> list[str]:
    lines = ["Not ranked:"] if board.apart else []
    for place in board.apart:
        run = place.run
        grader = f", graded by {run.grader}" if run.grader != run.model else ""
        value = ""
        if not math.isnan(run.figure(board.headline).mean):
            judge = f", {_AGREEMENT} {agreement(place.calibrations)}" if place.calibrations else ""
            value = f" ({board.headline} {with_interval(run, board.headline)}{judge})"
        lines.append(f"- {run.model}{grader}: {place.note}{value}")
    return lines


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _cell(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if not isinstance(value, str):
        return value
    text = printable(value)
    is_formula = text.startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text
