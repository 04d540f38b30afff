"""What a report says, before it is laid out: boards with their samples, differences and versions."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinical_evals.files import InputError
from clinical_evals.paired import Difference, compare_paired, holm
from clinical_evals.registry.compare import align
from clinical_evals.registry.judges import calibrate
from clinical_evals.registry.leaderboard import Board, Place, build_boards, what_differs
from clinical_evals.registry.record import MetricFacts, SampleRow
from clinical_evals.registry.resolve import Results
from clinical_evals.registry.runs import RunView
from clinical_evals.registry.ties import sign_flip_bound
from clinical_evals.signature import parse_signature

MOST_RUNS = 40
"""Runs of one board that are shown; of more the best are."""
_MOST_SAMPLES = 10
_LEAST_FAMILIES = 3
"""Two families say next to nothing of how families differ."""


@dataclass(frozen=True, slots=True)
class Gap:
    """How a run differs from the best run of its board, on the samples that both scored.

    Attributes:
        difference: This run minus the best.
        p: Its p-value after Holm's correction for all pairs of the board, for which run is the best was seen
            in the same numbers.
    """

    difference: Difference
    p: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of a board.

    Attributes:
        name: What to call it; no two of a board are called the same.
        place: Its place on the board.
        rows: Its samples; None if they could not be read.
        versions: Versions and the like, by name.
        problem: Why its samples could not be read; empty if they were.
        gap: How it differs from the best run; None for the best itself and where it cannot be said.
    """

    name: str
    place: Place
    rows: Sequence[SampleRow] | None
    versions: Mapping[str, str]
    problem: str = ""
    gap: Gap | None = None

    @property
    def run(self) -> RunView:
        """The run itself."""
        return self.place.run

    def values(self, metric: str) -> list[float]:
        """Return the values of a metric, one a scored sample and epoch for which it is defined."""
        return [value for row in self.rows or () if (value := row.values.get(metric)) is not None]


@dataclass(frozen=True, slots=True)
class Section:
    """One board of a report.

    Attributes:
        board: The board.
        entries: Its ranked runs, best first.
        apart: Runs that cannot be ranked.
        left_out: Number of ranked runs beyond those shown.
        heading: What to call it; no two of a report are called the same.
    """

    board: Board
    entries: Sequence[Entry]
    apart: Sequence[Entry]
    left_out: int = 0
    heading: str = ""

    @property
    def facts(self) -> MetricFacts:
        """What is declared of the headline metric."""
        return self.newest.facts.get(self.board.headline, MetricFacts())

    @property
    def newest(self) -> RunView:
        """A run that speaks for the board's data and rules."""
        return (*self.entries, *self.apart)[0].run

    @property
    def all(self) -> Sequence[Entry]:
        """Ranked runs, then the others."""
        return (*self.entries, *self.apart)


@dataclass(frozen=True, slots=True)
class HardSample:
    """A sample with the values that the runs got for it; None where a run has none."""

    sample: str
    values: Sequence[float | None]


def of_results(
    results: Sequence[Results], known: Sequence[RunView] = ()
) -> tuple[list[Board], dict[str, Results]]:
    """Make boards of chosen runs, all of which are shown.

    Args:
        results: The runs.
        known: All runs of the registry, of which some may say what a grader's word is worth.

    Returns:
        The boards and the results by run id. A run that is in no registry goes by its eval id.
    """
    chosen: dict[str, Results] = {}
    for one in results:
        view = one.view if one.view.run_id else replace(one.view, run_id=one.view.eval_id)
        if all(view.eval_id != other.view.eval_id for other in chosen.values()):
            chosen[view.run_id] = Results(one.name, view, one.rows)
    boards = build_boards((one.view for one in chosen.values()), every_run=True)
    whole = [run for run in known if not what_differs(run)]

    def judged(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(replace(place, calibrations=calibrate(place.run, whole)) for place in places)

    if whole:
        boards = [replace(board, places=judged(board.places), apart=judged(board.apart)) for board in boards]
    return boards, chosen


def build_sections(
    boards: Sequence[Board],
    rows_of: Callable[[RunView], Sequence[SampleRow]],
    versions_of: Callable[[RunView], Mapping[str, str]],
) -> list[Section]:
    """Read what a report needs beside the boards.

    Args:
        boards: The boards.
        rows_of: Reads a run's samples; InputError if they cannot be read.
        versions_of: Gives a run's versions by name.
    """
    sections = []
    for board in boards:
        shown = board.places[:MOST_RUNS]
        names = _names([*shown, *board.apart[:MOST_RUNS]])

        def entry(place: Place, name: str) -> Entry:
            rows, problem = _samples(place.run, rows_of)
            return Entry(name, place, rows, versions_of(place.run), problem)

        entries = [entry(place, names[place.run.run_id]) for place in shown]
        apart = [entry(place, names[place.run.run_id]) for place in board.apart[:MOST_RUNS]]
        section = Section(board, entries, apart, len(board.places) - len(shown))
        sections.append(replace(section, entries=_with_gaps(section)))
    return [
        replace(section, heading=heading)
        for section, heading in zip(sections, _headings(sections), strict=True)
    ]


def _samples(
    run: RunView, rows_of: Callable[[RunView], Sequence[SampleRow]]
) -> tuple[Sequence[SampleRow] | None, str]:
    """Read a run's samples, or say why they cannot be: some of them would pass for all."""
    try:
        rows = rows_of(run)
    except InputError as error:
        return None, str(error)
    tried = sum(row.status != "cancelled" for row in rows)
    if tried != run.rows:
        return None, f"run {run.run_id}: its samples.parquet holds {tried} of {run.rows} samples"
    return rows, ""


def hard_samples(section: Section) -> list[HardSample]:
    """List the samples that the ranked runs did worst on by the headline, worst first."""
    metric = section.board.headline
    found: dict[str, dict[int, list[float]]] = {}
    for index, entry in enumerate(section.entries):
        for row in entry.rows or ():
            value = row.values.get(metric)
            if value is not None:
                found.setdefault(row.sample, {}).setdefault(index, []).append(value)

    def mean(values: Sequence[float]) -> float:
        return math.fsum(values) / len(values)

    means = {
        sample: {index: mean(values) for index, values in runs.items()} for sample, runs in found.items()
    }
    order = sorted(
        means, key=lambda sample: (section.facts.worth(mean(list(means[sample].values()))), sample)
    )
    return [
        HardSample(sample, [means[sample].get(index) for index in range(len(section.entries))])
        for sample in order[:_MOST_SAMPLES]
    ]


def unscored_samples(entry: Entry) -> list[str]:
    """Name the samples that a run did not score, each once."""
    return list(dict.fromkeys(row.sample for row in entry.rows or () if row.status == "unscored"))


def _with_gaps(section: Section) -> list[Entry]:
    """Compare each run with the best one that has samples."""
    entries, metric = section.entries, section.board.headline
    if not entries or entries[0].place.rank != 1 or entries[0].rows is None:
        return list(entries)
    best = entries[0]
    found: dict[str, tuple[Difference, float]] = {}
    for entry in entries[1:]:
        if entry.place.rank is None or not entry.rows:
            continue
        pairs = [
            (row.family, float(a), float(b))
            for row, other in align(best.rows or (), entry.rows).both
            if (a := row.values.get(metric)) is not None and (b := other.values.get(metric)) is not None
        ]
        sums: dict[str, float] = {}
        for family, first, second in pairs:
            sums[family] = sums.get(family, 0.0) + second - first
        if len(sums) >= _LEAST_FAMILIES:
            families, firsts, seconds = zip(*pairs, strict=True)
            difference = compare_paired(firsts, seconds, families, width=section.facts.width)
            # Draws cannot say less than one in their number; the bound can.
            found[entry.name] = difference, min(difference.p, sign_flip_bound(np.array(list(sums.values()))))
    others = math.comb(len(entries), 2) - len(found)
    adjusted = holm([*(p for _, p in found.values()), *[1.0] * others])[: len(found)]
    gaps = {name: Gap(found[name][0], p) for name, p in zip(found, adjusted, strict=True)}
    return [replace(entry, gap=gaps.get(entry.name)) for entry in entries]


def _names(places: Sequence[Place]) -> dict[str, str]:
    """Call each run by its model, and by more where that is not enough."""
    more: Sequence[Callable[[RunView], str]] = (
        lambda run: f"graded by {run.grader}" if run.grader != run.model else "",
        lambda run: run.created[:16].replace("T", " "),
        lambda run: run.run_id[:8],
    )
    runs = [place.run for place in places]
    names = _distinct([run.model for run in runs], [[say(run) for run in runs] for say in more])
    return {run.run_id: name for run, name in zip(runs, names, strict=True)}


def _headings(sections: Sequence[Section]) -> list[str]:
    """Call each board by its task and data, and by more where that is not enough."""
    boards, runs = [section.board for section in sections], [section.newest for section in sections]
    settings = [parse_signature(board.signature)[1] for board in boards]
    # What people can read comes first: a digest of 12 digits tells boards apart, and nobody why.
    keys = sorted({key for one in settings for key in one}, key=lambda key: (_is_digest(settings, key), key))
    words = [[f"{key} {one[key]}" if key in one else "" for one in settings] for key in keys]
    digests = [f"data {run.dataset.digest.rpartition(':')[2][:8]}" for run in runs]
    numbers = [f"board {at}" for at in range(1, len(runs) + 1)]
    names = [f"{run.task} on {run.dataset.name} {run.dataset.version}".rstrip() for run in runs]
    return _distinct(names, [*words, digests, numbers])


def _is_digest(settings: Sequence[Mapping[str, str]], key: str) -> bool:
    return any(re.fullmatch("[0-9a-f]{12}", one.get(key, "")) for one in settings)


def _distinct(names: Sequence[str], more: Sequence[Sequence[str]]) -> list[str]:
    """Add to names that are alike what sets them apart, of each list only as far as it does."""
    names = list(names)
    for added in more:
        alike: dict[str, set[str]] = {}
        for name, word in zip(names, added, strict=True):
            alike.setdefault(name, set()).add(word)
        names = [
            f"{name} · {word}" if word and len(alike[name]) > 1 else name
            for name, word in zip(names, added, strict=True)
        ]
    return names
