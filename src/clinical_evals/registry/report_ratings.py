"""The ratings of two raters side by side, as heat maps of a report."""

from clinical_evals.registry.cross_table import CrossTable, cross_tables
from clinical_evals.registry.markup import Markup, element, joined
from clinical_evals.registry.report import Section
from clinical_evals.registry.report_tables import counted, folded

_MOST_RUNS = 10


def ratings(section: Section) -> Markup | None:
    """Show what two raters gave, where a task compares raters; all runs but the first are folded away."""
    parts: list[Markup] = []
    shown = section.all[:_MOST_RUNS]
    for entry in shown:
        found = cross_tables(entry.rows or (), entry.run.facts)
        heats = [element("div", _heat_table(one, entry.name), class_="scroll") for one in found]
        if heats:
            grid = element("div", *heats, class_="heats")
            parts.append(
                folded(entry.name, grid)
                if parts
                else joined(element("p", element("strong", entry.name)), grid)
            )
    if not parts:
        return None
    caption = (
        "Each cell counts samples: its row is the first rater's rating, its column the second's. Framed "
        "cells hold the same rating twice; right of them the second rater gave more. Kappa cannot be read "
        "off the shades, for it also depends on how often each rating is given."
    )
    more = len(section.all) - len(shown)
    rest = element("p", f"Those of {counted(more, 'more run')} are not shown.") if more > 0 else None
    return element(
        "figure",
        element("h3", "Ratings side by side"),
        *parts,
        rest,
        element("figcaption", caption),
        aria_label="Ratings side by side",
    )


def _heat_table(table: CrossTable, whose: str) -> Markup:
    """Lay out a table with a number in each cell, shaded by it; the cells of one mind are framed.

    Args:
        table: The table.
        whose: The run it is of, for who cannot see where it stands.
    """
    rows, columns = table.raters
    lines = [
        element(
            "tr",
            element("th", rating, scope="row"),
            *(
                element("td", number, class_=f"heat-{table.shade(number)}{' same' if row == at else ''}")
                for at, number in enumerate(numbers)
            ),
        )
        for row, (rating, numbers) in enumerate(zip(table.ratings(), table.counts, strict=True))
    ]
    caption = joined(element("strong", table.title), f": {table.agreed()}")
    return element(
        "table",
        element("caption", caption),
        element(
            "thead",
            element("tr", element("td"), element("th", f"{columns} →", scope="colgroup", colspan=len(lines))),
            element(
                "tr",
                element("th", f"{rows} ↓", scope="col"),
                *(element("th", rating, scope="col") for rating in table.ratings()),
            ),
        ),
        element("tbody", *lines),
        class_="heat",
        aria_label=f"{table.title}, {whose}: samples by rating of {rows} (rows) and of {columns} (columns)",
    )
