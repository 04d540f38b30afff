"""Which runs can be compared, and in which order they stand.

Only runs of one task over the same data, scored by the same rules, with every sample of the dataset
attempted, are ranked together. What cannot be compared is shown apart, with what differs.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from clinical_evals.files import InputError, printable
from clinical_evals.registry.judges import Calibration, calibrate, remark
from clinical_evals.registry.record import MetricFacts
from clinical_evals.registry.runs import RunView
from clinical_evals.signature import parse_signature

MOST_UNSCORED = 0.05
"""Share of unscored samples above which a run is not comparable; just so many are allowed."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run in its place.

    Attributes:
        rank: None if the run has no value to be ranked by; equal values share a rank.
        run: The run.
        note: What its numbers rest on, or why it is not ranked.
        calibrations: How far each of its judges agrees with people; none if it declares no such thing.
        group: Letter that it shares with runs from whose first it is not shown to differ; empty if untested.
    """

    rank: int | None
    run: RunView
    note: str
    calibrations: tuple[Calibration, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """One table: runs that can be compared.

    Attributes:
        task: The task.
        signature: Scorer signature of all its runs.
        headline: The metric that it is ranked by.
        metrics: Names of the metrics to show, the headline first.
        places: Ranked runs, best first.
        apart: Runs that cannot be ranked, each with what differs.
        differs: What sets it apart from the first table of the same task; empty for the first.
        comparisons: Number of pairs of runs that its groups are corrected for; 0 if there are no groups.
    """

    task: str
    signature: str
    headline: str
    metrics: tuple[str, ...]
    places: tuple[Place, ...]
    apart: tuple[Place, ...]
    differs: str
    comparisons: int = 0


def build_boards(
    runs: Iterable[RunView],
    *,
    task: str | None = None,
    by: str | None = None,
    every_run: bool = False,
    worst_first: bool = False,
    most_unscored: float = MOST_UNSCORED,
) -> list[Board]:
    """Group runs into tables and rank each.

    Args:
        runs: The runs.
        task: Only tables of this task; the other runs may still say what its graders are worth.
        by: The metric to rank by, which leaves out tasks that do not have it; default: the headline metric
            that each task declares.
        every_run: Show all runs, not only the latest of each model with the same grader and arguments.
        worst_first: Turn the order round; a run without a value still comes last.
        most_unscored: Share of unscored samples above which a run is not comparable.

    Returns:
        Tables by task; within a task, the one with the latest ranked run first. Tables without a ranked run
        come last.
    """
    runs = sorted(runs, key=lambda run: (run.created, run.eval_id))
    calibrating = {run.calibrated_by["task"] for run in runs if run.calibrated_by}
    whole = [run for run in runs if run.task in calibrating and not what_differs(run, most_unscored)]
    groups: dict[tuple[str, str, str], list[RunView]] = defaultdict(list)
    having = {run.task for run in runs if by is None or by in run.figures}
    for run in (run for run in runs if task in (None, run.task) and run.task in having):
        groups[run.task, run.dataset.digest, run.signature].append(run)
    by_task: dict[str, list[list[RunView]]] = defaultdict(list)
    for (name, _, _), group in groups.items():
        by_task[name].append(group)
    boards = []
    for name in sorted(by_task):
        tables = sorted(by_task[name], key=lambda group: _importance(group, most_unscored), reverse=True)
        for group in tables:
            differs = conditions_that_differ(group[-1], tables[0][-1]) if group is not tables[0] else ""
            board = _board(group, differs, by, every_run, worst_first, most_unscored)
            boards.append(_with_calibrations(board, whole))
    return sorted(boards, key=lambda board: all(place.rank is None for place in board.places))


def what_differs(run: RunView, most_unscored: float = MOST_UNSCORED) -> str:
    """Say why a run cannot be ranked; empty if it can."""
    if run.rows and not run.scored:
        return f"0 of {run.rows} scored: {_listed(run.unscored)}"
    if run.attempted < run.dataset.samples:
        return f"{run.attempted} of {run.dataset.samples} samples"
    if not run.rows:
        return "no samples"
    if run.unscored_rate > most_unscored:
        rate = f"{100 * run.unscored_rate:.3g}% unscored ({_listed(run.unscored)})"
        return f"not comparable: {rate}, more than {100 * most_unscored:g}%"
    return ""


def answered(run: RunView) -> bool:
    """Tell whether any sample was answered: who failed all stands nowhere, even where less is better."""
    return run.scored > sum(run.failed.values())


def of_task(runs: Iterable[RunView], task: str) -> list[RunView]:
    """Return the runs of one task.

    Raises:
        InputError: If there are runs, but none of it.
    """
    runs = list(runs)
    known = [run for run in runs if run.task == task]
    if runs and not known:
        have = ", ".join(sorted({printable(run.task) for run in runs}))
        raise InputError(f"--task {printable(task)}: no run of this task. The registry has: {have}")
    return known


def _board(
    group: Sequence[RunView],
    differs: str,
    by: str | None,
    every_run: bool,
    worst_first: bool,
    most_unscored: float,
) -> Board:
    newest = group[-1]
    headline = by or newest.headline
    excluded = {run.run_id: what_differs(run, most_unscored) for run in group}
    shown = _latest(group, excluded, every_run)
    ranked = [run for run in shown if not excluded[run.run_id]]
    apart = [run for run in shown if excluded[run.run_id]]
    places = _rank(ranked, headline, newest.facts.get(headline, MetricFacts()), worst_first)
    declared = [name for name, fact in newest.facts.items() if fact.range is not None] or list(newest.facts)
    return Board(
        task=newest.task,
        signature=newest.signature,
        headline=headline,
        metrics=tuple(dict.fromkeys([headline, *declared])),
        places=places,
        apart=tuple(Place(None, run, excluded[run.run_id]) for run in reversed(apart)),
        differs=differs,
    )


def _with_calibrations(board: Board, whole: Sequence[RunView]) -> Board:
    def judged(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(replace(place, calibrations=calibrate(place.run, whole)) for place in places)

    return replace(board, places=judged(board.places), apart=judged(board.apart))


def _importance(group: Sequence[RunView], most_unscored: float) -> tuple[bool, str]:
    ranked = [run.created for run in group if not what_differs(run, most_unscored)]
    return bool(ranked), max(ranked, default=group[-1].created)


def _latest(runs: Sequence[RunView], excluded: Mapping[str, str], every_run: bool) -> list[RunView]:
    """Keep the latest run of each contender, a model with its grader and arguments.

    A run that cannot be ranked hides none that can, nor one that differs otherwise.
    """
    if every_run:
        return list(runs)
    contenders = {(run.model, run.grader, run.arguments, excluded[run.run_id]): run for run in runs}
    return sorted(contenders.values(), key=lambda run: (run.created, run.eval_id))


def _rank(runs: list[RunView], metric: str, facts: MetricFacts, worst_first: bool) -> tuple[Place, ...]:
    values = {run.run_id: run.figure(metric).mean for run in runs}
    defined = [run for run in runs if not math.isnan(values[run.run_id]) and answered(run)]
    ordered = sorted(defined, key=lambda run: (-facts.worth(values[run.run_id]), run.model, run.created))
    same_model: dict[str, list[RunView]] = defaultdict(list)
    for run in runs:
        same_model[run.model].append(run)
    ranks: dict[float, int] = {}
    for at, run in enumerate(ordered, 1):
        ranks.setdefault(facts.worth(values[run.run_id]), at)
    places = [
        Place(ranks[facts.worth(values[run.run_id])], run, _note(run, metric, same_model[run.model]))
        for run in ordered
    ]
    if worst_first:
        places.reverse()
    missing = [run for run in runs if math.isnan(values[run.run_id]) or not answered(run)]
    places += [Place(None, run, _note(run, metric, same_model[run.model])) for run in missing]
    return tuple(places)


def _note(run: RunView, metric: str, same_model: Sequence[RunView]) -> str:
    notes = [] if answered(run) else ["not ranked: no sample was answered"]
    if math.isnan(run.figure(metric).mean):
        notes.append(f"{metric} not defined for any sample")
    elif run.figure(metric).undefined:
        notes.append(f"{run.figure(metric).undefined} without {metric}")
    if run.unscored:
        notes.append(f"unscored: {_listed(run.unscored)}{_bounds(run, metric)}")
    if run.failed:
        notes.append(f"failed: {_listed(run.failed)}")
    if run.counts.get("truncated"):
        notes.append(f"truncated: {run.counts['truncated']}")
    if remark(run):
        notes.append(remark(run))
    notes += _own_arguments(run, same_model)
    return "; ".join(notes)


def _bounds(run: RunView, metric: str) -> str:
    """Say what the mean could have been, had everything been scored."""
    figure = run.figure(metric)
    if math.isnan(figure.worst) or math.isnan(figure.best):
        return ""
    low, high = sorted((figure.worst, figure.best))
    return f" ({metric} {low:.3f} to {high:.3f} had they been scored)"


def _own_arguments(run: RunView, same_model: Sequence[RunView]) -> list[str]:
    """Name the arguments in which a run differs from others of the same model in its table."""
    return [
        f"{name}={value}"
        for name, value in sorted(run.params.items())
        if any(other.params.get(name) != value for other in same_model)
    ]


def conditions_that_differ(run: RunView, first: RunView) -> str:
    """Say in which conditions a run was scored otherwise than another; empty if in none."""
    parts = []
    if run.dataset.digest != first.dataset.digest:
        parts.append(
            f"dataset {_dataset(run)}, not {_dataset(first)}"
            if _dataset(run) != _dataset(first)
            else f"dataset digest {run.dataset.digest[:19]}, not {first.dataset.digest[:19]}"
        )
    if run.signature != first.signature:
        (scorer, own), (its_scorer, other) = (parse_signature(view.signature) for view in (run, first))
        changed = [f"scorer {scorer}, not {its_scorer}"] if scorer != its_scorer else []
        changed += [
            _change(name, own.get(name), other.get(name))
            for name in dict.fromkeys([*own, *other])
            if own.get(name) != other.get(name)
        ]
        parts.append(f"scorer signature ({'; '.join(changed)})")
    return " and ".join(parts)


def _change(name: str, own: str | None, other: str | None) -> str:
    """Say how a setting differs from that of another run; None is unset."""
    if own is None:
        return f"no {name}, there {other}"
    return f"{name} {own}, there none" if other is None else f"{name} {own}, not {other}"


def _dataset(run: RunView) -> str:
    return f"{run.dataset.name} {run.dataset.version}".strip()


def _listed(causes: dict[str, int]) -> str:
    return ", ".join(f"{cause} {number}" for cause, number in sorted(causes.items())) or "none"
