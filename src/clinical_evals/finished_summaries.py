"""Load finished summaries, such as a vendor's, to be graded against a dataset's dialogues."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .data import read_rows
from .dialogues import ID_FIELDS, identity_of, pick_field
from .files import InputError, field_name, shown_names

__all__ = ["load_summaries"]

_ID_FIELDS = ("dialogue_id", "encounter_id", *ID_FIELDS)
SUMMARY_FIELDS = ("summary", "prediction", "automatic_summary", "generated_summary", "output")
_SYSTEM_FIELDS = ("system", "system_index", "model")


def load_summaries(
    path: Path,
    ids: Sequence[str],
    *,
    id_field: str | None = None,
    summary_field: str | None = None,
    system: str | None = None,
) -> dict[str, str]:
    """Load the finished summaries of a dataset's dialogues.

    A file may hold the summaries of several systems, by a column `system`, `system_index` or `model`, of
    which one is chosen. It may hold the sections of a summary a row each, by a column `section`, as ACI-Bench
    publishes them; they are put together in the file's order, a blank line between them.

    Args:
        path: A JSONL, CSV or TSV file.
        ids: The ids of the dialogues.
        id_field: The column that holds the dialogue's id. Default: `dialogue_id`, `encounter_id` or `id`.
        summary_field: The one that holds the summary. Default: `summary`, `prediction`, `automatic_summary`,
            `generated_summary` or `output`.
        system: The system whose summaries are taken; needed if the file holds several.

    Returns:
        The summary of each dialogue that has one, in the file's order. One without, or with null, counts as
        not answered; an empty text is an answer.

    Raises:
        InputError: A row cannot be used, belongs to no dialogue or is there twice; names file, row and
            column, and none of its text.
    """
    known = set(ids)
    systems: dict[str, str] = {}
    parts: dict[str, dict[str, str]] = {}
    read_any = False
    for where, row in read_rows(path):
        read_any = True
        named = pick_field(row, where, id_field, _ID_FIELDS, "id_field")
        written = pick_field(row, where, summary_field, SUMMARY_FIELDS, "summary_field")
        if named is None or written is None:
            missing = "the dialogue's id" if named is None else "the summary"
            raise InputError(f"{where}: no column for {missing}. It has: {shown_names(row)}")
        maker = _maker(row)
        systems.setdefault(maker, where)
        if system is not None and maker != system:
            continue
        if system is None and len(systems) > 1:
            raise InputError(
                f"{where}: a second system's summaries; choose one with -T system=…: "
                f"{', '.join(map(_shown, systems))}"
            )
        identity = identity_of(row, where, named)
        if identity not in known:
            raise InputError(f"{where}: column '{field_name(named)}' is the id of no dialogue of the dataset")
        section = str(row.get("section") or "")
        sections = parts.setdefault(identity, {})
        if section in sections or (sections and "" in (section, *sections)):
            raise InputError(f"{where}: a second summary for the dialogue of column '{field_name(named)}'")
        summary = row[written]
        if summary is None:
            continue
        if not isinstance(summary, str):
            raise InputError(f"{where}: column '{field_name(written)}' holds no text")
        sections[section] = summary
    if not read_any:
        raise InputError(f"{path}: holds no summaries")
    if system is not None and system not in systems:
        raise InputError(
            f"{path}: no summaries of the system given; it has: {', '.join(map(_shown, systems))}"
        )
    return {
        identity: "\n\n".join(text.strip("\r\n") for text in sections.values())
        if len(sections) > 1
        else next(iter(sections.values()))
        for identity, sections in parts.items()
        if sections
    }


def _shown(system: str) -> str:
    """Return a system's name if it looks like one; a column of another kind may hold a summary's text."""
    return system if re.fullmatch(r"[\w.:/@+-]{1,80}", system) else f"(a name of {len(system)} characters)"


def _maker(row: Mapping[str, Any]) -> str:
    """Return the name of the system that wrote a row's summary; empty if the file does not say."""
    value = next((row[name] for name in _SYSTEM_FIELDS if row.get(name) not in (None, "")), "")
    return str(value)
