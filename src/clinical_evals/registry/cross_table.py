"""What two raters gave the same samples, counted, and as a picture for MLflow.

A table is drawn for each pair of counts that a task declares a kappa of, so whole points of a known scale. It
follows from the counts of the rows alone, and holds no text of any sample.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from clinical_evals.agreement import SCALE, confusion_matrix
from clinical_evals.registry.markup import Markup, element
from clinical_evals.registry.record import MetricFacts, RunRecord, SampleRow

ARTIFACT = "confusion.svg"
"""Name of the picture among a run's artifacts."""

_SHADES = 5
_CELL, _MARGIN, _GAP, _HEAD = 34, 56, 44, 84
_MOST_ACROSS = 2
_NARROWEST = 640
# A picture is shown on any page, so it brings its own background; letters stand out 4.5 to 1 on each shade.
_FILLS = ("#ffffff", "#e3f0f1", "#bcdcdf", "#86c0c5", "#24767f", "#0f4f57")
_LETTERS = ("#566269", "#1c2429", "#1c2429", "#1c2429", "#ffffff", "#ffffff")
_INK, _QUIET, _RULE = "#1c2429", "#566269", "#d5dad8"


@dataclass(frozen=True, slots=True)
class CrossTable:
    """How often two raters gave which two ratings.

    Attributes:
        title: What was rated.
        raters: Who stands in the rows, and who in the columns.
        counts: Samples by rating of the first and of the second, both from the lowest up.
        lowest: The lowest rating.
    """

    title: str
    raters: tuple[str, str]
    counts: tuple[tuple[int, ...], ...]
    lowest: int

    @property
    def total(self) -> int:
        """Number of samples that both rated."""
        return self.within(len(self.counts))

    def within(self, points: int) -> int:
        """Count the samples whose two ratings are at most so many points apart."""
        return sum(
            number
            for row, numbers in enumerate(self.counts)
            for column, number in enumerate(numbers)
            if abs(row - column) <= points
        )

    def shade(self, number: int) -> int:
        """Grade a cell from 0, no sample, to 5, the most of any cell."""
        most = max(map(max, self.counts))
        return -(-_SHADES * number // most) if most else 0

    def ratings(self) -> range:
        """Return the ratings that there are, from the lowest up."""
        return range(self.lowest, self.lowest + len(self.counts))

    def agreed(self) -> str:
        """Say in words how often the two were of one mind."""
        same, near, total = self.within(0), self.within(1), self.total
        shares = f"{same:,} of {total:,} ({same / total:.0%})", f"{near:,} ({near / total:.0%})"
        return f"same rating {shares[0]}, at most one point apart {shares[1]}"


def cross_tables(rows: Sequence[SampleRow], facts_of: Mapping[str, MetricFacts]) -> list[CrossTable]:
    """Count what each declared pair of raters gave, over the samples that both rated.

    Args:
        rows: The rows of a run; only scored ones count, as in its figures.
        facts_of: What is declared of each metric.

    Returns:
        A table a pair; none for a pair without a sample, or with ratings that are off the scale.
    """
    of_pair: dict[tuple[str, ...], dict[str, str | None]] = {}
    for name, facts in facts_of.items():
        if facts.statistic is not None and len(facts.of) == 2:
            of_pair.setdefault(facts.of, {})[name] = facts.statistic
    found = []
    for pair, metrics in of_pair.items():
        if "quadratic_weighted_kappa" not in metrics.values():
            continue
        first, second = pair
        scored = [row.counts for row in rows if row.status in ("scored", "failed")]
        rated = [counts for counts in scored if first in counts and second in counts]
        if not rated:
            continue
        try:
            counts = confusion_matrix([one[first] for one in rated], [one[second] for one in rated], *SCALE)
        except ValueError:
            continue
        found.append(CrossTable(_title(list(metrics)), _raters(first, second), counts, SCALE[0]))
    return found


def write_picture(record: RunRecord, path: Path) -> Path | None:
    """Write the cross-tables of a run as one SVG picture.

    Args:
        record: The run.
        path: The file to write.

    Returns:
        The same path; None if the run has no such table.
    """
    tables = cross_tables(record.rows, record.metrics)
    if not tables:
        return None
    path.write_text(_picture(record, tables), encoding="utf-8")
    return path


def _picture(record: RunRecord, tables: Sequence[CrossTable]) -> str:
    size = len(tables[0].counts) * _CELL
    across = min(_MOST_ACROSS, len(tables))
    step_x, step_y = _MARGIN + size + _GAP, _HEAD + size + _GAP
    width = max(across * step_x + _GAP, _NARROWEST)
    rows, columns = tables[0].raters
    heading = textwrap.wrap(f"{record.task}: {record.model}", width // 11)
    top = 14 + 22 * len(heading)
    foot = top + 20 + -(-len(tables) // across) * step_y
    dataset = f"{record.dataset.name} {record.dataset.version}".strip()
    notes = textwrap.wrap(
        f"Rows: {rows}. Columns: {columns}. Numbers are samples; framed: the same rating. "
        f"{dataset} ({record.dataset.digest}). {record.signature}",
        width // 8,
    )
    height = foot + 18 * len(notes) + 12
    panels = (
        element(
            "g",
            *_panel(table),
            transform=f"translate({_GAP + at % across * step_x},{top + 20 + at // across * step_y})",
        )
        for at, table in enumerate(tables)
    )
    return element(
        "svg",
        element("title", f"{record.task}: {', '.join(table.title for table in tables)}: {rows} by {columns}"),
        element("rect", width=width, height=height, fill="#ffffff"),
        *(_text(line, _GAP, 34 + 22 * at, 17, weight=650) for at, line in enumerate(heading)),
        *panels,
        *(_text(line, _GAP, foot + 18 * at, 12, _QUIET) for at, line in enumerate(notes)),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        font_family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
        fill=_INK,
        role="img",
    )


def _panel(table: CrossTable) -> list[Markup]:
    """Draw one table: title, agreement, ratings along two sides, cells."""
    rows, columns = table.raters
    middle = len(table.counts) * _CELL / 2
    turned = f"translate(12,{_HEAD + middle:g}) rotate(-90)"
    labels, boxes, numbers, frames = [], [], [], []
    for at, rating in enumerate(table.ratings()):
        centre = (at + 0.5) * _CELL
        labels.append(_text(rating, _MARGIN + centre, _HEAD - 8))
        labels.append(_text(rating, _MARGIN - 14, _HEAD + centre + 4))
        for column, number in enumerate(table.counts[at]):
            shade = table.shade(number)
            x, y = _MARGIN + column * _CELL, _HEAD + at * _CELL
            place = {"x": x, "y": y, "width": _CELL, "height": _CELL}
            boxes.append(element("rect", **place, fill=_FILLS[shade]))
            numbers.append(_text(number, x + _CELL / 2, y + _CELL / 2 + 4, fill=_LETTERS[shade]))
            if column == at:
                frames.append(element("rect", **place))
    return [
        _text(table.title, 0, 14, 15, weight=650),
        _text(table.agreed(), 0, 33, 12, _QUIET),
        element(
            "g",
            _text(columns, _MARGIN + middle, 57),
            element("g", _text(rows, 0, 0), transform=turned),
            *labels,
            font_size=12,
            fill=_QUIET,
            text_anchor="middle",
        ),
        element("g", *boxes, stroke=_RULE),
        element("g", *frames, fill="none", stroke=_INK, stroke_width=1.5),
        element("g", *numbers, font_size=12, text_anchor="middle"),
    ]


def _text(
    words: object,
    x: float,
    y: float,
    size: int | None = None,
    fill: str | None = None,
    weight: int | None = None,
) -> Markup:
    return element("text", words, x=f"{x:g}", y=f"{y:g}", font_size=size, font_weight=weight, fill=fill)


def _title(metrics: list[str]) -> str:
    """Name what the metrics of one pair have in common: the words that all begin with."""
    words = zip(*(name.split() for name in metrics), strict=False)
    return " ".join(same[0] for same in takewhile(lambda at: len(set(at)) == 1, words)) or metrics[0]


def _raters(first: str, second: str) -> tuple[str, str]:
    """Name two raters by what differs between their counts: human and judge of `human_tone`, `judge_tone`."""
    one, other = first.split("_"), second.split("_")
    while len(one) > 1 and len(other) > 1 and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return " ".join(one), " ".join(other)
