"""Read the clinicians' evaluation workbooks of PriMock57 (Moramarco et al. 2022), kept as cells of sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .data import read_rows
from .files import InputError

__all__ = ["JudgedNote", "read_checklists"]

_BROKEN = {"#REF!", "#N/A", "#VALUE!", "#NAME?"}
_NOTE = re.compile(r"note (\d+)(?: \(for reference\))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgedNote:
    """One system's note and what a clinician found of its lines.

    Attributes:
        consultation: Id of the consultation.
        clinician: Who judged.
        note: Number of the note in the workbook.
        lines: The note's lines, continued ones (`↳`) put to the line they continue.
        correct: Number of cells found correct; a line and what continues it are a cell each.
        incorrect: Number of cells found incorrect.
        unjudged: Number of cells without a judgement.
    """

    consultation: str
    clinician: str
    note: str
    lines: tuple[str, ...]
    correct: int
    incorrect: int
    unjudged: int

    @property
    def share_correct(self) -> float | None:
        """Share of the judged cells that are correct; None if none was judged."""
        judged = self.correct + self.incorrect
        return self.correct / judged if judged else None


def read_checklists(path: Path) -> Iterator[JudgedNote]:
    """Read every note that stands beside a checklist, with the judgements of its lines.

    Only the sheet `Checklist` is read. The sheets `Note 1` to `Note 4` hold no judgement, broken references
    (`#REF!`) and, copied from one template, most often the notes of another consultation.

    Args:
        path: `consultation_checklists.jsonl`.

    Raises:
        InputError: A row has no sheets; names file, row and column.
    """
    for where, row in read_rows(path):
        consultation, clinician = str(row.get("id", "")), str(row.get("clinician", ""))
        cells = _sheet(row.get("sheets"), where)
        if not cells:
            continue
        for column, heading in enumerate(cells[0]):
            named = _NOTE.fullmatch(heading.strip())
            if named is None:
                continue
            lines: list[str] = []
            judged = {"c": 0, "i": 0, "": 0}
            for line in cells[1:]:
                text = line[column].strip() if column < len(line) else ""
                if not text or text in _BROKEN:
                    continue
                verdict = line[column + 1].strip().lower() if column + 1 < len(line) else ""
                judged[verdict if verdict in judged else ""] += 1
                if text.startswith("↳") and lines:
                    lines[-1] += " " + text.lstrip("↳ ")
                else:
                    lines.append(text.lstrip("↳ "))
            yield JudgedNote(
                consultation,
                clinician,
                named[1],
                tuple(lines),
                correct=judged["c"],
                incorrect=judged["i"],
                unjudged=judged[""],
            )


def _sheet(sheets: object, where: str) -> Sequence[Sequence[str]]:
    """Return the rows of the sheet that holds the checklist: `Checklist`, or the only one."""
    if not isinstance(sheets, dict) or not sheets:
        raise InputError(f"{where}: column 'sheets' holds no sheets")
    rows: Any = sheets.get("Checklist", next(iter(sheets.values())))
    fits = isinstance(rows, list) and all(
        isinstance(line, list) and all(isinstance(cell, str) for cell in line) for line in rows
    )
    if not fits:
        raise InputError(f"{where}: column 'sheets': a sheet must be a list of rows of texts")
    return cast("Sequence[Sequence[str]]", rows)
