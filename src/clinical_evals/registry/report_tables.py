"""The tables of a report. What is undefined reads n/a."""

import math
from collections.abc import Callable, Mapping, Sequence

from clinical_evals.registry.markup import Markup, breakable, element, joined
from clinical_evals.registry.record import MetricFacts
from clinical_evals.registry.report import Entry, Section, hard_samples, unscored_samples
from clinical_evals.registry.runs import Figure

_MOST_IDS = 6
_MOST_NAMED = 6
_VERSIONS = (
    ("clinical-evals", "package_version"),
    ("Inspect", "inspect_version"),
    ("git commit", "git_commit"),
)
_TOTALS = (
    ("tokens read", "input_tokens", ",.0f"),
    ("tokens written", "output_tokens", ",.0f"),
    ("seconds", "wall_seconds", ",.0f"),
    ("cost (USD)", "cost_usd", ",.4f"),
)


def number(value: float, sign: str = "") -> str:
    """Write a value of a metric."""
    return "n/a" if math.isnan(value) else f"{value:{sign}.3f}".replace("-", "−")


def interval(lower: float, upper: float, sign: str = "") -> str:
    """Write an interval; one that is not defined is said to be so."""
    return "[n/a]" if math.isnan(lower) else f"[{number(lower, sign)}, {number(upper, sign)}]"


def percent(value: float) -> str:
    """Write a share."""
    if math.isnan(value):
        return "n/a"
    return "<1%" if 0 < value < 0.005 else f"{value:.0%}"


def p_value(p: float) -> str:
    """Write a p-value."""
    return "n/a" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def direction(facts: MetricFacts) -> str:
    """Say which values are better."""
    if facts.higher_is_better:
        return "More is better"
    return "Nearer to 0 is better" if facts.is_best_at_0 else "Less is better"


def counted(number_: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number_:,} {noun}{'' if number_ == 1 else 's'}"


def named(names: Sequence[str]) -> str:
    """List names, of many the first."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def table(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, texts: Sequence[int] = (0,)
) -> Markup:
    """Lay out a table that scrolls in a box of its own.

    Args:
        caption: What it shows.
        header: Column names; the first column names the row.
        rows: The cells.
        texts: Columns that hold words, not numbers.
    """

    def kind(column: int) -> str | None:
        return "text" if column in texts else "num"

    def content(cell: object, column: int) -> Markup:
        is_name = isinstance(cell, str) and not isinstance(cell, Markup) and column in texts
        return breakable(str(cell)) if is_name else joined(cell)

    head = element(
        "tr",
        *(element("th", breakable(name), scope="col", class_=kind(at)) for at, name in enumerate(header)),
    )
    lines = [
        element(
            "tr",
            element("th", content(row[0], 0), scope="row"),
            *(element("td", content(cell, at), class_=kind(at)) for at, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    inner = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", *lines),
    )
    return element("div", inner, class_="scroll", role="region", tabindex=0, aria_label=caption)


def matrix(
    caption: str,
    corner: str,
    names: Sequence[str],
    entries: Sequence[Entry],
    cell: Callable[[str, Entry], object],
    label: Callable[[str], object] = str,
) -> Markup:
    """Lay out a cell for each name and run; whichever are fewer go across."""
    if len(entries) > len(names):
        by_run = [[entry.name, *(cell(name, entry) for name in names)] for entry in entries]
        return table(caption, ["run", *names], by_run)
    by_name = [[label(name), *(cell(name, entry) for entry in entries)] for name in names]
    return table(caption, [corner, *(entry.name for entry in entries)], by_name)


def ranking(section: Section) -> Markup:
    """Show who stands where, with the remarks folded away."""
    metric = section.board.headline
    measures = dict.fromkeys(one.metric for entry in section.entries for one in entry.place.calibrations)
    header = ["run", "rank", metric, "95% interval", "samples", "scored", "unscored", "failed"]
    header += [f"judge and people: {measure}" for measure in measures]
    rows = []
    for entry in section.entries:
        run, figure = entry.run, entry.run.figure(metric)
        grader = joined("graded by ", breakable(run.graded_by)) if run.graded_by else None
        rows.append(
            [
                joined(breakable(entry.name), grader and element("small", grader)),
                "–" if entry.place.rank is None else entry.place.rank,
                element("strong", number(figure.mean)),
                interval(figure.lower, figure.upper),
                f"{figure.n:,}",
                f"{run.scored:,} of {run.rows:,}",
                percent(run.unscored_rate),
                percent(run.failure_rate),
                *(_agreement(entry, measure) for measure in measures),
            ]
        )
    notes = [
        element("li", element("strong", entry.name), f": {entry.place.note}")
        for entry in section.entries
        if entry.place.note
    ]
    remarks = folded(counted(len(notes), "remark"), element("ul", *notes)) if notes else None
    return joined(table("Ranking", header, rows), remarks)


def _agreement(entry: Entry, measure: str) -> str:
    return " / ".join(str(one) for one in entry.place.calibrations if one.metric == measure) or "–"


def differences(section: Section) -> Markup:
    """Show how runs differ from the best one."""
    rows = [
        [
            entry.name,
            number(gap.difference.mean, "+"),
            interval(gap.difference.lower, gap.difference.upper, "+"),
            p_value(gap.p),
            f"{gap.difference.n:,}",
            f"{gap.difference.higher:,}",
            f"{gap.difference.lower_count:,}",
            f"{gap.difference.equal:,}",
        ]
        for entry in section.entries
        if (gap := entry.gap) is not None
    ]
    header = ["run", "difference", "95% interval", "p (Holm)", "pairs", "higher", "lower", "equal"]
    return table(f"{section.board.headline} less that of {section.entries[0].name}", header, rows)


def metrics(section: Section) -> Markup:
    """Show the metrics that count most, and fold all others away."""
    main = section.board.metrics
    every = dict.fromkeys(name for entry in section.all for name in entry.run.figures)
    others = [name for name in every if name not in main]
    shown = _metrics("Mean, 95% interval, number of samples", main, section)
    if not others:
        return shown
    return joined(
        shown,
        folded(
            f"{counted(len(others), 'more metric')}",
            _metrics("Mean, 95% interval, number of samples", others, section),
        ),
    )


def _metrics(caption: str, names: Sequence[str], section: Section) -> Markup:
    facts = {name: facts for entry in section.all for name, facts in entry.run.facts.items()}
    said = {name: direction(one).lower() for name, one in facts.items() if not one.higher_is_better}
    return matrix(
        caption,
        "metric",
        names,
        section.entries,
        lambda name, entry: _figure(entry.run.figure(name)),
        lambda name: joined(breakable(name), element("small", said[name]) if name in said else None),
    )


def _figure(figure: Figure) -> Markup:
    if math.isnan(figure.mean):
        return joined("n/a")
    undefined = f", {figure.undefined} without" if figure.undefined else ""
    return joined(
        number(figure.mean),
        element("small", f"{interval(figure.lower, figure.upper)} · n {figure.n:,}{undefined}"),
    )


def failures(section: Section) -> Markup:
    """Show what went wrong, whose fault it was, and what the mean could have been."""
    metric = section.board.headline
    rows = []
    for entry in section.all:
        run, figure = entry.run, entry.run.figure(metric)
        if not run.unscored and not run.failed:
            continue
        rows.append(
            [
                entry.name,
                f"{run.rows - run.scored:,} of {run.rows:,} ({percent(run.unscored_rate)})",
                _causes(run.unscored),
                number(figure.worst),
                number(figure.best),
                f"{sum(run.failed.values()):,} of {run.scored:,} ({percent(run.failure_rate)})",
                _causes(run.failed),
                _ids(unscored_samples(entry)),
            ]
        )
    if not rows:
        return element("p", "Every sample of every run was scored, and no model failed to answer.")
    header = ["run", "unscored", "causes", "worst case", "best case", "failed", "causes", "unscored samples"]
    return table(
        f"Unscored and failed samples; worst and best case of {metric}", header, rows, texts=(0, 2, 6, 7)
    )


def apart(section: Section) -> Markup:
    """Show the runs that are not ranked, with what differs."""
    metric = section.board.headline
    rows = [
        [
            entry.name,
            entry.place.note,
            number((figure := entry.run.figure(metric)).mean),
            interval(figure.lower, figure.upper),
            f"{entry.run.scored:,} of {entry.run.rows:,}",
        ]
        for entry in section.apart
    ]
    return table(
        "Listed apart", ["run", "what differs", metric, "95% interval", "scored"], rows, texts=(0, 1)
    )


def hardest(section: Section) -> Markup | None:
    """Show the samples with the least good values."""
    samples = hard_samples(section)
    if not samples:
        return None
    rows = [
        [one.sample, *(number(math.nan if value is None else value) for value in one.values)]
        for one in samples
    ]
    header = ["sample", *(entry.name for entry in section.entries)]
    return table(f"Samples with the least good {section.board.headline} over all runs", header, rows)


def counts(section: Section) -> Markup | None:
    """Show the sums of the counts behind the values, reasons among them."""
    names = sorted({name for entry in section.all for name in entry.run.counts})
    if not names:
        return None
    return matrix(
        "Counts behind the values, summed over the scored samples",
        "count",
        names,
        section.all,
        lambda name, entry: f"{entry.run.counts[name]:,}" if name in entry.run.counts else "–",
    )


def versions(section: Section) -> Markup:
    """Show with what each run was made."""
    totals = [one for one in _TOTALS if any(one[1] in entry.run.stored for entry in section.all)]
    header = ["run", "started", *(label for label, _ in _VERSIONS), *(label for label, _, _ in totals)]
    header += ["eval id", "run id"]
    rows = []
    for entry in section.all:
        run = entry.run
        rows.append(
            [
                entry.name,
                run.created[:16].replace("T", " ") or "n/a",
                *(_version(name, entry.versions) for _, name in _VERSIONS),
                *(
                    f"{run.stored[name]:{layout}}" if name in run.stored else "n/a"
                    for _, name, layout in totals
                ),
                element("code", run.eval_id),
                element("code", run.run_id) if run.run_id != run.eval_id else "in no registry",
            ]
        )
    texts = (0, 2, 3, 4, len(header) - 2, len(header) - 1)
    return table("Versions and costs", header, rows, texts=texts)


def arguments(section: Section) -> Markup | None:
    """Show the arguments and settings of each run."""
    names = sorted({name for entry in section.all for name in entry.run.params})
    if not names:
        return None
    return matrix(
        "Arguments and settings",
        "setting",
        names,
        section.all,
        lambda name, entry: breakable(entry.run.params.get(name, "–")),
    )


def folded(title: str, *content: object) -> Markup:
    """Fold something away under its title."""
    return element("details", element("summary", title), *content)


def _version(name: str, known: Mapping[str, str]) -> object:
    value = known.get(name)
    if not value:
        return "n/a"
    if name != "git_commit":
        return value
    commit, dash, dirty = value.partition("-")
    return joined(element("code", commit[:12]), " with changes" if dash and dirty else None)


def _causes(causes: Mapping[str, int]) -> str:
    return ", ".join(f"{cause} {number_:,}" for cause, number_ in sorted(causes.items())) or "–"


def _ids(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_IDS:,} more" if len(names) > _MOST_IDS else ""
    return (", ".join(names[:_MOST_IDS]) + more) or "–"
