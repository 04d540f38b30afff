"""A model's runs over time, also those that cannot be compared, each marked with the scale it stands on.

Runs over the same data, scored by the same rules, share a scale, named by a letter: A is, of those shown, the
one whose table comes first in the leaderboard. Numbers of different scales, or of runs that are not ranked,
are not comparable.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinical_evals.files import InputError, printable
from clinical_evals.registry.judges import Calibration
from clinical_evals.registry.layouts import (
    WIDTH,
    Column,
    Sheet,
    draw_html,
    draw_markdown,
    draw_text,
)
from clinical_evals.registry.leaderboard import build_boards, conditions_that_differ
from clinical_evals.registry.runs import RunView
from clinical_evals.registry.tables import (
    about,
    agreement,
    percent,
    run_object,
    with_interval,
    write_csv,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a history.

    Attributes:
        run: The run.
        scale: Letter of its scale.
        why_not: Why it is not comparable even with runs of its scale; empty if it is.
        calibrations: How far each of its judges agrees with people.
    """

    run: RunView
    scale: str
    why_not: str
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """What runs of one letter have in common.

    Attributes:
        letter: Its letter.
        data: The dataset.
        signature: The scorer's signature.
        differs: What sets it apart from A; empty for A.
    """

    letter: str
    data: str
    signature: str
    differs: str


@dataclass(frozen=True, slots=True)
class History:
    """The runs of one task, oldest first.

    Attributes:
        task: The task.
        metric: What is shown of each run.
        limits: Its least and greatest value, if they are declared.
        points: The runs.
        scales: The scales that they stand on.
    """

    task: str
    metric: str
    limits: tuple[float, float] | None
    points: tuple[Point, ...]
    scales: tuple[Scale, ...]


def build_histories(
    runs: Iterable[RunView], model: str | None = None, *, task: str | None = None, by: str | None = None
) -> list[History]:
    """Put runs in the order of time, one history a task.

    Args:
        runs: All runs.
        model: Only this model's. Default: every model's.
        task: Only this task's.
        by: The metric. Default: the headline metric that each task declares.

    Raises:
        InputError: If there is no run of this model.
    """
    points: dict[str, list[Point]] = defaultdict(list)
    scales: dict[str, list[Scale]] = defaultdict(list)
    metrics: dict[str, tuple[str, tuple[float, float] | None]] = {}
    firsts: dict[str, RunView] = {}
    models = set()
    for board in build_boards(runs, task=task, by=by, every_run=True):
        places = (*board.places, *board.apart)
        models |= {place.run.model for place in places}
        if model is not None and all(place.run.model != model for place in places):
            continue
        letter = _letter(len(scales[board.task]))
        first = places[0].run
        differs = conditions_that_differ(first, firsts.setdefault(board.task, first))
        scales[board.task].append(Scale(letter, about(first), board.signature, differs))
        facts = first.facts.get(board.headline)
        metrics.setdefault(board.task, (board.headline, None if facts is None else facts.range))
        unranked = {place.run.run_id for place in board.apart}
        points[board.task] += [
            Point(place.run, letter, place.note if place.run.run_id in unranked else "", place.calibrations)
            for place in places
            if model in (None, place.run.model)
        ]
    if model is not None and model not in models:
        known = sorted(map(printable, models))
        listed = ", ".join(known[:_MOST_NAMED]) + (", …" if len(known) > _MOST_NAMED else "")
        raise InputError(
            f"--history {printable(model)}: no run of this model. Choose from: {listed or 'none'}"
        )
    histories = []
    for name in sorted(points):
        ordered = sorted(points[name], key=lambda point: (point.run.created, point.run.eval_id))
        histories.append(History(name, *metrics[name], tuple(ordered), tuple(scales[name])))
    return histories


def print_histories(histories: Sequence[History], layout: str, width: int = WIDTH) -> str:
    """Write histories in one of `layouts.FORMATS`.

    Args:
        histories: The histories.
        layout: The format.
        width: Columns of the terminal, for `table`.
    """
    if layout == "json":
        return json.dumps([_as_object(history) for history in histories], indent=2, ensure_ascii=False)
    if layout == "csv":
        return _as_csv(histories)
    sheets = [_sheet(history) for history in histories]
    if layout == "table":
        return draw_text(sheets, width)
    return draw_markdown(sheets) if layout == "md" else draw_html(sheets, "Scores over time")


def plot_histories(histories: Sequence[History], path: Path) -> None:
    """Draw histories, one below the other.

    Runs of one model on one scale are joined; runs that are not comparable stand alone, as crosses.

    Args:
        histories: The histories.
        path: Where to write; the name's ending (`.svg`, `.png`) says what.

    Raises:
        InputError: If there is nothing to draw, or the file cannot be written.
    """
    drawn = [
        history
        for history in histories
        if any(not math.isnan(point.run.figure(history.metric).mean) for point in history.points)
    ]
    if not drawn:
        raise InputError("--plot: no run has a score to draw")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "clinical-evals"}):
        figure = Figure(figsize=(9, 4 * len(drawn)), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, history in zip(figure.subplots(len(drawn), squeeze=False)[:, 0], drawn, strict=True):
            _draw(history, axes)
        try:
            # Without a date the same runs give the same file.
            extra = {"metadata": {"Date": None}} if path.suffix.lower() == ".svg" else {"dpi": 150}
            figure.savefig(path, **extra)
        except OSError as error:
            raise InputError(f"--plot {path}: {error.strerror or type(error).__name__}") from None


def _draw(history: History, axes: "Axes") -> None:
    from matplotlib.dates import date2num

    series: dict[tuple[str, str, bool], list[Point]] = defaultdict(list)
    for point in history.points:
        if not math.isnan(point.run.figure(history.metric).mean):
            series[point.run.model, point.scale, not point.why_not].append(point)
    models = sorted({model for model, _, _ in series})
    for (model, scale, comparable), points in sorted(series.items()):
        figures = [point.run.figure(history.metric) for point in points]
        times = [datetime.fromisoformat(point.run.created) for point in points]
        days = date2num(times)  # type: ignore[no-untyped-call]
        means = [one.mean for one in figures]
        reach = [
            [0.0 if math.isnan(one.lower) else max(0.0, one.mean - one.lower) for one in figures],
            [0.0 if math.isnan(one.upper) else max(0.0, one.upper - one.mean) for one in figures],
        ]
        style = ("-", "--", "-.", ":")[(ord(scale[-1]) - ord("A")) % 4]
        axes.errorbar(
            days,
            means,
            yerr=reach,
            label=f"{model}, scale {scale}" + ("" if comparable else ", not comparable"),
            color=f"C{models.index(model) % 10}",
            marker="o" if comparable else "x",
            linestyle=style if comparable else "none",
            capsize=3,
            alpha=1.0 if comparable else 0.6,
        )
    if history.limits is not None:
        low, high = history.limits
        margin = 0.03 * (high - low)
        axes.set_ylim(low - margin, high + margin)
    axes.set_ylabel(history.metric, parse_math=False)
    axes.set_title(f"{history.task} over time (95% intervals)", parse_math=False)
    axes.xaxis_date()
    axes.tick_params(axis="x", labelrotation=30)
    axes.grid(alpha=0.3)
    legend = axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small", frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a model's name may hold dollar signs


def _sheet(history: History) -> Sheet:
    graders = any(point.run.grader != point.run.model for point in history.points)
    judged = any(point.calibrations for point in history.points)
    columns = [
        Column("when", text=True),
        Column("model", text=True),
        *([Column("grader", text=True)] if graders else []),
        Column("scale"),
        Column(f"{history.metric} [95%]"),
        *([Column("judge agreement")] if judged else []),
        Column("scored"),
        Column("failed"),
    ]
    rows = [
        (
            point.run.created[:16].replace("T", " "),
            point.run.model,
            *([point.run.grader] if graders else []),
            point.scale + ("*" if point.why_not else ""),
            with_interval(point.run, history.metric),
            *([agreement(point.calibrations)] if judged else []),
            f"{point.run.scored}/{point.run.rows}",
            percent(point.run.failure_rate),
        )
        for point in history.points
    ]
    alone = [
        f"* {point.run.created[:16].replace('T', ' ')} {point.run.model}: {point.why_not}"
        for point in history.points
        if point.why_not
    ]
    return Sheet(
        title=f"{history.task} over time, oldest first",
        lines=("Numbers of different scales are not comparable, nor are those marked with *.",),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(*map(_about_scale, history.scales), *alone),
    )


def _about_scale(scale: Scale) -> str:
    differs = f"; unlike A: {scale.differs}" if scale.differs else f"; scorer: {scale.signature}"
    return f"scale {scale.letter}: {scale.data}{differs}"


def _as_object(history: History) -> dict[str, Any]:
    return {
        "task": history.task,
        "metric": history.metric,
        "scales": [
            {
                "scale": scale.letter,
                "data": scale.data,
                "signature": scale.signature,
                "differs": scale.differs or None,
            }
            for scale in history.scales
        ],
        "runs": [
            {
                "scale": point.scale,
                "comparable": not point.why_not,
                "what_differs": point.why_not or None,
                **run_object(point.run, point.calibrations),
            }
            for point in history.points
        ],
    }


def _as_csv(histories: Sequence[History]) -> str:
    header = [
        "task", "created", "model", "grader", "scale", "comparable", "what_differs", "metric", "mean",
        "lower", "upper", "n", "judge_agreement", "scored", "rows", "dataset", "dataset_digest", "signature",
        "eval_id", "run_id",
    ]  # fmt: skip
    lines: list[list[object]] = []
    for history in histories:
        for point in history.points:
            run, figure = point.run, point.run.figure(history.metric)
            lines.append(
                [
                    run.task, run.created, run.model, run.graded_by, point.scale, not point.why_not,
                    point.why_not, history.metric, figure.mean, figure.lower, figure.upper, figure.n,
                    agreement(point.calibrations, ""), run.scored, run.rows, run.dataset.name,
                    run.dataset.digest, run.signature, run.eval_id, run.run_id,
                ]
            )  # fmt: skip
    return write_csv(header, lines)


def _letter(index: int) -> str:
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, 26)
        name = chr(ord("A") + letter) + name
    return name
