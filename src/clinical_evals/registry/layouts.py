"""Sheets of a table with what stands around it, drawn for a terminal, as Markdown and as HTML."""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from clinical_evals.files import printable

FORMATS = ("table", "json", "csv", "md", "html")
"""How boards and histories can be written."""

WIDTH = 110
"""Columns of a table that is not shown in a terminal."""


GAP = 2
"""Spaces between two columns of a table in a terminal."""
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name and whether it holds text, which may be folded, or numbers, which may not."""

    name: str
    text: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table.

    Attributes:
        title: What it shows.
        lines: What must be known to read it.
        columns: Its columns.
        rows: Its rows; none at all leaves the table out.
        notes: Lines below the table.
    """

    title: str
    lines: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def draw_text(sheets: Sequence[Sheet], width: int = WIDTH) -> str:
    """Draw sheets for a terminal. Numbers stay whole; what is text is folded where there is no room.

    Args:
        sheets: The sheets.
        width: Its columns.
    """
    lines: list[str] = []
    for index, sheet in enumerate(sheets):
        lines += [""] if index else []
        for line in (sheet.title, *sheet.lines):
            lines += _wrapped(line, width)
        lines += ["", *_drawn(sheet, width), ""] if sheet.rows else []
        for line in sheet.notes:
            lines += _wrapped(line, width)
    return "\n".join(lines)


def _drawn(sheet: Sheet, width: int) -> list[str]:
    """Draw the table alone."""
    from rich.cells import cell_len

    heads = [
        [printable(column.name)] if column.text else on_lines(printable(column.name)).split("\n")
        for column in sheet.columns
    ]
    rows = [list(map(printable, row)) for row in sheet.rows]
    widths = [
        max(cell_len(text) for text in (*head, *column))
        for head, column in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    while (over := sum(widths) + GAP * (len(widths) - 1) - width) > 0:
        texts = [at for at, column in enumerate(sheet.columns) if column.text and widths[at] > _NARROWEST]
        if not texts:
            break
        widest = max(texts, key=widths.__getitem__)
        rest = max((widths[at] for at in texts if at != widest), default=0)
        widths[widest] -= min(over, max(1, widths[widest] - max(rest, _NARROWEST)))

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell + " " * (wide - cell_len(cell)) if column.text else cell.rjust(wide)
            for cell, wide, column in zip(cells, widths, sheet.columns, strict=True)
        ]
        return (" " * GAP).join(padded).rstrip()

    tallest = max(map(len, heads))
    lines = [
        line([cells[at] for cells in ([""] * (tallest - len(head)) + head for head in heads)])
        for at in range(tallest)
    ]
    lines.append("─" * (sum(widths) + GAP * (len(widths) - 1)))
    for row in rows:
        folded = [_folded(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        tallest = max(map(len, folded))
        lines += [line([part[at] if at < len(part) else "" for part in folded]) for at in range(tallest)]
    return lines


def _folded(cell: str, width: int) -> list[str]:
    from rich.cells import cell_len, chop_cells

    return [cell] if cell_len(cell) <= width else chop_cells(cell, width)


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(printable(line), width, break_on_hyphens=False) or [""]


def draw_markdown(sheets: Sequence[Sheet]) -> str:
    """Write sheets as Markdown tables."""
    lines: list[str] = []
    for sheet in sheets:
        lines += ["", f"### {_marked_down(sheet.title)}", ""]
        lines += [*(f"{_marked_down(line)}  " for line in sheet.lines), ""]
        if sheet.rows:
            names = [_marked_down(column.name) for column in sheet.columns]
            lines.append(f"| {' | '.join(names)} |")
            lines.append(
                "|" + "|".join(" --- " if column.text else " ---: " for column in sheet.columns) + "|"
            )
            lines += [f"| {' | '.join(map(_marked_down, row))} |" for row in sheet.rows]
            lines.append("")
        lines += [f"{_marked_down(line)}  " for line in sheet.notes]
    return "\n".join(lines).strip()


def draw_html(sheets: Sequence[Sheet], title: str) -> str:
    """Write sheets as one page that loads nothing.

    Args:
        sheets: The sheets.
        title: The page's title.
    """
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_escaped(title)}</title>",
        f"<style>{_STYLE}</style></head>",
        f"<body><h1>{_escaped(title)}</h1>",
    ]
    for sheet in sheets:
        parts.append(f"<section><h2>{_escaped(sheet.title)}</h2>")
        parts += [f"<p>{_escaped(line)}</p>" for line in sheet.lines]
        if sheet.rows:
            parts.append('<div class="table"><table><thead><tr>')
            parts += [f"<th{_class(column)}>{_escaped(column.name)}</th>" for column in sheet.columns]
            parts.append("</tr></thead><tbody>")
            for row in sheet.rows:
                cells = zip(sheet.columns, row, strict=True)
                line = "".join(f"<td{_class(column)}>{_escaped(cell)}</td>" for column, cell in cells)
                parts.append(f"<tr>{line}</tr>")
            parts.append("</tbody></table></div>")
        parts += [f'<p class="note">{_escaped(line)}</p>' for line in sheet.notes]
        parts.append("</section>")
    return "\n".join([*parts, "</body></html>"])


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def on_lines(name: str) -> str:
    """Break a header into its words, so that a column is no wider than its numbers."""
    return name.replace("_", "\n").replace(" ", "\n")


def widest_line(name: str) -> int:
    """Return how wide a column's header is when it is drawn for a terminal."""
    return max(map(len, on_lines(name).split("\n")))


_STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1rem; color: #1c1c1c; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p { margin: .2rem 0; overflow-wrap: anywhere; } .note { color: #555; }
.table { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
td { white-space: nowrap; } th { border-bottom: 2px solid #888; }
.text { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 7rem; }
"""


def _class(column: Column) -> str:
    return ' class="text"' if column.text else ""


def _marked_down(text: str) -> str:
    text = printable(text.replace("\n", " "))
    for special in "\\|<>*_`[]":
        text = text.replace(special, f"\\{special}")
    return text
