"""Plots as inline SVG that needs no script and keeps its type size on a phone.

A plot is a list: one row a run, with its name, a track and its value in words. Tracks are drawn in per cent
of their width, so that they fit any page while points, lines and letters stay as they are.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from clinical_evals.registry.markup import Markup, breakable, element

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 5
_BINS = 20
_MOST_BARS = 15
_TALLEST = 36


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Return where a value lies, in per cent of the width."""
        return _percent(self.share(value))

    def share(self, value: float) -> float:
        """Return where a value lies, as a share of the width."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a plot. What is undefined is NaN.

    Attributes:
        name: Whose row it is.
        value: The point.
        lower: Lower end of the line through it.
        upper: Its upper end.
        said: The value in words, as it stands beside the track.
        first: Whether it stands out.
    """

    name: str
    value: float
    lower: float = math.nan
    upper: float = math.nan
    said: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """One row of a plot of single values."""

    name: str
    values: Sequence[float]
    said: str = ""
    mean: float = field(default=math.nan)


def axis_over(values: Sequence[float], limits: tuple[float, float] | None = None) -> Axis:
    """Choose a scale that shows all values, with round ticks.

    Args:
        values: What is to be shown; NaN is passed over.
        limits: The least and greatest value that there can be: the scale does not go beyond.
    """
    known = [value for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else limits or (0.0, 1.0)
    if limits is not None and high - low > 0.6 * (limits[1] - limits[0]):
        low, high = min(low, limits[0]), max(high, limits[1])
    if high - low < 1e-9:
        room = abs(high) * 0.05 or 0.05
        low, high = low - room, high + room
    raw = (high - low) / (_TICKS - 1)
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in _STEPS if size * factor >= 0.85 * raw)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    if limits is not None:
        low, high = max(low, min(limits)), min(high, max(limits))
    first = math.ceil(low / step - 1e-9)
    ticks = [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]
    return Axis(low, high, tuple(0.0 if abs(tick) < step / 1e6 else tick for tick in ticks))


def interval_plot(marks: Sequence[Mark], axis: Axis, *, about: str, zero: bool = False) -> Markup:
    """Draw a point and its interval a row.

    Args:
        marks: The rows.
        axis: Their scale.
        about: What is shown, for who cannot see it.
        zero: Whether 0 is a line of its own.
    """
    rows = []
    for mark in marks:
        parts = []
        tone = "first" if mark.first else "other"
        if not math.isnan(mark.lower):
            ends = (axis.at(mark.lower), axis.at(mark.upper))
            parts.append(_line(*ends, "0", "0", f"span {tone}"))
            parts += [_line(end, end, "-5", "5", f"end {tone}") for end in ends]
        if not math.isnan(mark.value):
            parts.append(element("circle", cx=axis.at(mark.value), r=5, class_=f"point {tone}"))
        drawn = [*_grid(axis, zero), _from("50%", parts)]
        rows.append(_row(mark.name, mark.said, drawn, about))
    return _plot(rows, axis)


def range_plot(marks: Sequence[Mark], axis: Axis, *, about: str) -> Markup:
    """Draw a point within the band of what it could have been a row."""
    rows = []
    for mark in marks:
        left, right = sorted(axis.share(end) for end in (mark.lower, mark.upper))
        band = element(
            "rect", x=_percent(left), width=_percent(right - left), y=-7, height=14, rx=3, class_="band"
        )
        point = element("circle", cx=axis.at(mark.value), r=5, class_="point first")
        rows.append(_row(mark.name, mark.said, [*_grid(axis), _from("50%", [band, point])], about))
    return _plot(rows, axis)


def spread_plot(spreads: Sequence[Spread], axis: Axis, *, about: str) -> Markup:
    """Draw how single values lie: bars count them, all rows on one scale, the mean is a line."""
    bars = [_bars(spread.values, axis, _few_values(spreads)) for spread in spreads]
    tallest = max((number for of_row in bars for _, _, number in of_row), default=1)
    rows = []
    for spread, of_row in zip(spreads, bars, strict=True):
        parts = [_line("0", "100%", "0", "0", "grid")]
        for left, width, number in of_row:
            height = max(2.0, _TALLEST * number / tallest)
            place = {"x": _percent(left), "width": _percent(width), "y": f"{-height:.1f}"}
            parts.append(element("rect", **place, height=f"{height:.1f}", class_="bin"))
        if not math.isnan(spread.mean):
            at = axis.at(spread.mean)
            parts.append(_line(at, at, f"{-_TALLEST - 3}", "0", "mean"))
        rows.append(_row(spread.name, spread.said, [*_grid(axis), _from("100%", parts)], about, "tall"))
    return _plot(rows, axis)


def _few_values(spreads: Sequence[Spread]) -> list[float]:
    """Return the different values if they are few enough to have a bar each, else nothing."""
    values = sorted({value for spread in spreads for value in spread.values})
    return values if len(values) <= _MOST_BARS else []


def _bars(values: Sequence[float], axis: Axis, few: Sequence[float]) -> list[tuple[float, float, int]]:
    """Count values: left end and width of each bar as shares of the width, and the number."""
    if few:
        gaps = [axis.share(b) - axis.share(a) for a, b in pairwise(few)]
        width = 0.7 * min([*gaps, 0.06])
        return [(axis.share(value) - width / 2, width, count) for value, count in Counter(values).items()]
    bins = Counter(min(int(axis.share(value) * _BINS + 1e-9), _BINS - 1) for value in values)
    return [((index + 0.08) / _BINS, 0.84 / _BINS, count) for index, count in sorted(bins.items())]


def _grid(axis: Axis, zero: bool = False) -> list[Markup]:
    return [
        _line(axis.at(tick), axis.at(tick), "0", "100%", "zero" if zero and tick == 0 else "grid")
        for tick in axis.ticks
    ]


def _line(left: str, right: str, top: str, bottom: str, kind: str) -> Markup:
    return element("line", x1=left, x2=right, y1=top, y2=bottom, class_=kind)


def _from(height: str, parts: Sequence[Markup]) -> Markup:
    """Measure pixels from a height of the row, which is as high as its name is long."""
    return element("svg", *parts, y=height, width="100%", height="1", overflow="visible")


def _row(name: str, said: str, parts: Sequence[Markup], about: str, kind: str = "") -> Markup:
    label = f"{name}: {about} {said}"
    return element(
        "li",
        element("span", breakable(name), class_="who"),
        element("div", element("svg", *parts, role="img", aria_label=label), class_=f"track {kind}".strip()),
        element("span", said, class_="say"),
    )


def _plot(rows: Sequence[Markup], axis: Axis) -> Markup:
    letters = [
        element("text", f"{tick:.10g}".replace("-", "−"), x=axis.at(tick), y=13, text_anchor="middle")
        for tick in axis.ticks
    ]
    scale = element("div", element("svg", *letters), class_="track scale")
    return element("ul", *rows, element("li", scale, class_="axis", aria_hidden="true"), class_="plot")


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
