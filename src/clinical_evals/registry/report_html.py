"""A report as one HTML file that loads nothing, runs nothing, and holds no text of any note."""

import base64
import hashlib
import math
from collections.abc import Sequence
from importlib.resources import files
from itertools import chain

from clinical_evals.registry import report_tables as tables
from clinical_evals.registry.markup import Markup, element, joined
from clinical_evals.registry.plots import Mark, Spread, axis_over, interval_plot, range_plot, spread_plot
from clinical_evals.registry.report import Section
from clinical_evals.registry.report_limits import limits
from clinical_evals.registry.report_ratings import ratings
from clinical_evals.registry.report_tables import counted, interval, named, number, p_value

_ALPHA = 0.05


def as_page(sections: Sequence[Section], made: str) -> str:
    """Lay out a report.

    Args:
        sections: Its boards; at least one.
        made: When it was made, in words.
    """
    style = files("clinical_evals.registry").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    names = list(dict.fromkeys(section.board.task for section in sections))
    title = f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}: report"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(style)),  # ours, and it holds no `<`
    )
    runs = sum(len(section.all) for section in sections)
    top = element(
        "header",
        element("p", "clinical-evals report", class_="eyebrow"),
        element("h1", ", ".join(names)),
        element(
            "p",
            f"{counted(runs, 'run')} on {counted(len(sections), 'board')}. Made {made}. "
            "Every figure was computed by code from counts; nothing here is text of a note, a dialogue "
            "or an answer.",
            class_="quiet",
        ),
        _contents(sections),
    )
    body = element(
        "body",
        element("a", "Skip to the figures", href="#board-1", class_="skip"),
        top,
        element("main", *(_board(section, at) for at, section in enumerate(sections, 1)), limits(sections)),
        element(
            "footer",
            element(
                "p",
                "To count a run again from its samples: ",
                element("code", "clinical-evals verify RUN"),
                ". To set two runs side by side: ",
                element("code", "clinical-evals compare A B"),
                ".",
            ),
        ),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en") + "\n"


def _contents(sections: Sequence[Section]) -> Markup:
    links = [
        element("li", element("a", section.heading, href=f"#board-{at}"))
        for at, section in enumerate(sections, 1)
    ]
    links.append(element("li", element("a", "What these figures do not mean", href="#limits")))
    return element("nav", element("ul", *links), aria_label="Contents")


def _board(section: Section, at: int) -> Markup:
    parts: list[Markup | None] = [element("h2", section.heading, id=f"heading-{at}")]
    if section.board.differs:
        parts.append(
            element(
                "p", f"Not comparable with the first board of {section.board.task}: {section.board.differs}.",
                class_="warning",
            )
        )  # fmt: skip
    parts.append(_unread(section))
    if section.entries:
        parts += [element("p", sentence, class_="lead") for sentence in _lead(section)]
        parts += [_headline(section), tables.ranking(section)]
        if section.left_out:
            parts.append(element("p", f"{counted(section.left_out, 'more ranked run')} not shown."))
        parts += [_differences(section), _values(section), element("h3", "Metrics"), tables.metrics(section)]
    else:
        parts.append(element("p", "No run of this board can be ranked.", class_="lead"))
    parts.append(ratings(section))
    parts += [element("h3", "What was not scored, and why"), _bounds(section), tables.failures(section)]
    if section.apart:
        parts += [element("h3", "Listed apart"), tables.apart(section)]
    if section.entries:
        parts.append(_folded("Samples with the least good values", tables.hardest(section)))
    parts += [
        _folded("Counts behind the values", tables.counts(section)),
        _folded("Arguments and settings", tables.arguments(section)),
        element("h3", "Signature and versions"),
        _signature(section),
        tables.versions(section),
    ]
    return element("section", *parts, id=f"board-{at}", aria_labelledby=f"heading-{at}")


def _unread(section: Section) -> Markup | None:
    """Say whose samples could not be read, and what is not shown for that reason."""
    items = [
        element("li", element("strong", entry.name), f": {entry.problem}")
        for entry in section.all
        if entry.problem
    ]
    if not items:
        return None
    first = " As the first run is one, no run is compared with it." if section.all[0].problem else ""
    return element(
        "div",
        element(
            "p",
            "The samples of some runs could not be read. Their means and intervals were recorded apart and "
            "stand; values of single samples, differences to the best run, ratings side by side and the "
            f"names of unscored samples are not shown of them.{first}",
        ),
        element("ul", *items),
        class_="warning",
    )


def _folded(title: str, content: Markup | None) -> Markup | None:
    return None if content is None else tables.folded(title, content)


def _lead(section: Section) -> list[Markup]:
    """Say in a sentence or two what the board comes to."""
    metric, best = section.board.headline, section.entries[0]
    figure = best.run.figure(metric)
    if best.place.rank is None and not math.isnan(figure.mean):
        return [joined("No run of this board can be ranked: no sample was answered.")]
    if math.isnan(figure.mean):
        return [joined("No run of this board has a value of ", element("code", metric), ".")]
    ranked = sum(entry.place.rank is not None for entry in section.entries)
    first = joined(
        element("strong", best.name),
        " stands first with " if ranked > 1 else " is the only run that can be ranked, with ",
        element("code", metric),
        f" {number(figure.mean)} {interval(figure.lower, figure.upper)} over {counted(figure.n, 'sample')}.",
    )
    gaps = [(entry, entry.gap) for entry in section.entries if entry.gap is not None]
    equal = [entry.name for entry, gap in gaps if not gap.p < _ALPHA]
    if not gaps:
        return [first]
    if equal:
        return [first, joined("Not told apart from it at 5%: ", element("strong", named(equal)), ".")]
    entry, gap = gaps[0]
    way = "lower" if gap.difference.mean < 0 else "higher"
    size = number(abs(gap.difference.mean))
    rest = f"; all others differ from the first too (Holm, {_ALPHA:.0%})" if len(gaps) > 1 else ""
    return [
        first,
        joined(
            f"On the same samples {entry.name} is {size} {way}, 95% interval "
            f"{interval(gap.difference.lower, gap.difference.upper, '+')}, p {p_value(gap.p)}{rest}."
        ),
    ]


def _headline(section: Section) -> Markup:
    metric = section.board.headline
    figures = [(entry, entry.run.figure(metric)) for entry in section.entries]
    axis = axis_over(
        list(chain.from_iterable((one.mean, one.lower, one.upper) for _, one in figures)), section.facts.range
    )
    marks = [
        Mark(
            entry.name,
            one.mean,
            one.lower,
            one.upper,
            f"{number(one.mean)} {interval(one.lower, one.upper)}",
            entry.place.rank == 1,
        )
        for entry, one in figures
    ]
    caption = f"{metric}, mean and 95% interval. {_direction(section)}{_cut(section, axis.low, axis.high)}"
    return _figure(metric, caption, interval_plot(marks, axis, about=metric))


def _direction(section: Section) -> str:
    return f"{tables.direction(section.facts)}."


def _cut(section: Section, low: float, high: float) -> str:
    """Say that an axis shows a part of what there can be."""
    limits = section.facts.range
    if limits is None or (low <= min(limits) and high >= max(limits)):
        return ""
    said = f" The axis shows {low:g} to {high:g} of the possible {min(limits):g} to {max(limits):g}."
    return said.replace("-", "−")


def _differences(section: Section) -> Markup | None:
    gaps = [(entry, entry.gap) for entry in section.entries if entry.gap is not None]
    if not gaps:
        return None
    best = section.entries[0].name
    ends = [
        value
        for _, gap in gaps
        for value in (gap.difference.mean, gap.difference.lower, gap.difference.upper)
    ]
    marks = [
        Mark(
            entry.name,
            gap.difference.mean,
            gap.difference.lower,
            gap.difference.upper,
            f"{number(gap.difference.mean, '+')} {interval(gap.difference.lower, gap.difference.upper, '+')}",
            gap.p < _ALPHA,
        )
        for entry, gap in gaps
    ]
    caption = (
        f"{section.board.headline} less that of {best}, sample by sample, with 95% interval. An interval "
        "that holds 0 does not tell the two apart; nor does it show that they are equal. Filled: differs at "
        "5% after Holm's correction for all pairs of the board."
    )
    plot = interval_plot(marks, axis_over([0.0, *ends]), about=f"difference to {best}", zero=True)
    title = "Difference to the best run"
    return joined(_figure(title, caption, plot), _folded("The same as a table", tables.differences(section)))


def _values(section: Section) -> Markup | None:
    metric = section.board.headline
    spreads = []
    for entry in section.entries:
        values = sorted(entry.values(metric))
        if values:
            middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
            said = f"median {number(middle)}, {values[0]:.2f} to {values[-1]:.2f}"
            spreads.append(Spread(entry.name, values, said, entry.run.figure(metric).mean))
    if not spreads:
        return None
    every = [value for spread in spreads for value in spread.values]
    limits = section.facts.range
    axis = axis_over([*every, *limits] if limits else every, limits)
    caption = f"How the samples' {metric} lies: bars count samples, all on one scale; the line is the mean."
    return _figure("Values of single samples", caption, spread_plot(spreads, axis, about=metric))


def _bounds(section: Section) -> Markup | None:
    metric = section.board.headline
    marks = [
        Mark(entry.name, one.mean, one.worst, one.best, f"{number(one.worst)} to {number(one.best)}")
        for entry in section.all
        if not math.isnan((one := entry.run.figure(metric)).worst) and not math.isnan(one.mean)
    ]
    if not marks:
        return None
    axis = axis_over([end for mark in marks for end in (mark.lower, mark.upper)], section.facts.range)
    caption = (
        f"Unscored samples are in no mean. The band is what the mean of {metric} could have been, had all of "
        f"them got the worst or the best value; the point is the mean.{_cut(section, axis.low, axis.high)}"
    )
    plot = range_plot(marks, axis, about=f"{metric} between")
    return _figure("Worst and best case", caption, plot, headed=False)


def _figure(title: str, caption: str, plot: Markup, *, headed: bool = True) -> Markup:
    heading = element("h3", title) if headed else None
    return element("figure", heading, plot, element("figcaption", caption), aria_label=title)


def _signature(section: Section) -> Markup:
    dataset = section.newest.dataset
    facts = [
        ("scorer signature", element("code", section.board.signature)),
        ("dataset", f"{dataset.name} {dataset.version}".strip()),
        ("dataset digest", element("code", dataset.digest)),
        ("samples", f"{dataset.samples:,}"),
        ("access class", dataset.access or "not stated"),
    ]
    return element(
        "dl", *(joined(element("dt", name), element("dd", value)) for name, value in facts), class_="facts"
    )
