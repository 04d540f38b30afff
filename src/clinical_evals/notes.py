"""Datasets of clinical notes: the bundled one, a JSONL or CSV file, or a folder of text files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .data import (
    AccessClass,
    access_class,
    as_id,
    card_of,
    digest_of,
    first_problem,
    read_card,
    read_rows,
    warn_of_numbered_rows,
)
from .data_path import bundled, given_path
from .files import InputError, read_text, shown_names
from .grounding.claims import Extraction
from .grounding.gold import Gold, Injection, Lure

__all__ = [
    "BUNDLED",
    "NoteDataset",
    "NoteRecord",
    "check_note",
    "load_extractions",
    "load_notes",
]

BUNDLED = "bundled"


class NoteRecord(BaseModel):
    """One note and what is known about it.

    Attributes:
        id: Unique in the dataset.
        family: Notes that are variants of one another share it; intervals are clustered by it.
        kind: Kind of note, free text.
        note: The note, exactly as it is.
        gold: What should be found in it, if known.
        lures: Claims that a careless reader would make.
        injected: Text to be put into the note for its injected twin.
    """

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    family: str
    kind: str = ""
    note: str
    gold: Gold | None = None
    lures: list[Lure] = Field(default_factory=list)
    injected: Injection | None = None


class NoteDataset(BaseModel):
    """A dataset and what a result must name about it.

    Attributes:
        name: Its name, or the file's.
        version: Its card's version; empty for a file without a card.
        access: Its card's access class.
        digest: 12 hex digits of a hash over all its records.
        records: The notes, in order.
    """

    name: str
    version: str
    access: AccessClass
    digest: str
    records: list[NoteRecord]


def load_notes(
    source: str = BUNDLED, *, note_field: str = "note", id_field: str = "id", family_field: str = "family"
) -> NoteDataset:
    """Load notes.

    Args:
        source: `bundled`, a `.jsonl` or `.csv` file, or a folder of `.txt` files. A `README.md` in the folder
            or beside the file is its card, if it opens as one.
        note_field: The field or column that holds the note.
        id_field: The one that holds the id; where a file has none, the row number is taken.
        family_field: The one that holds the family; where a file has none, each note is its own.

    Returns:
        The dataset. Fields named `gold`, `lures`, `injected` and `kind` are read too, if present.

    Raises:
        InputError: The source cannot be used; names file, row and field, and none of its text.
    """
    if source == BUNDLED:
        return _dataset(
            list(_records(bundled("notes", "notes.jsonl"))), **read_card(bundled("notes", "README.md"))
        )
    path = given_path(source)
    if path.is_dir():
        files = sorted(path.glob("*.txt"))
        if not files:
            raise InputError(f"{path}: the folder holds no .txt file")
        records = [
            _record({"note": read_text(file), "id": file.stem}, str(file), "note", "id", family_field)
            for file in files
        ]
    else:
        records = list(_records(path, note_field, id_field, family_field))
    card = card_of(path)
    described = read_card(card) if card else {}
    return _dataset(records, **{"name": path.stem, "version": "", "access": "unspecified"} | described)


def _records(
    path: Path, note_field: str = "note", id_field: str = "id", family_field: str = "family"
) -> Iterator[NoteRecord]:
    seen: dict[str, str] = {}
    for where, row in read_rows(path):
        if note_field not in row:
            raise InputError(
                f"{where}: no field '{note_field}' for the note; name it with -T note_field=…. "
                f"It has: {shown_names(row)}"
            )
        for field, usual in ((id_field, "id"), (family_field, "family")):
            if field not in row and field != usual:
                raise InputError(f"{where}: no field '{field}'. It has: {shown_names(row)}")
        if id_field not in row and not seen:
            warn_of_numbered_rows(where)
        row.setdefault(id_field, where.rpartition(" ")[2])
        record = _record(row, where, note_field, id_field, family_field)
        if record.id in seen:
            raise InputError(f"{where}: the id of field '{id_field}' is that of {seen[record.id]} too")
        seen[record.id] = where
        yield record
    if not seen:
        raise InputError(f"{path}: holds no notes")


def _record(
    row: Mapping[str, Any], where: str, note_field: str, id_field: str, family_field: str
) -> NoteRecord:
    note, identity, family = row[note_field], row[id_field], row.get(family_field)
    if not isinstance(note, str) or not note.strip():
        raise InputError(f"{where}: field '{note_field}' holds no text")
    identity = as_id(identity)
    if identity is None:
        raise InputError(f"{where}: field '{id_field}' holds no id")
    extra = {
        name: row[name] for name in ("gold", "lures", "injected", "kind") if row.get(name) not in (None, "")
    }
    try:
        extra = {
            name: json.loads(value) if name != "kind" and isinstance(value, str) else value
            for name, value in extra.items()
        }
        record = NoteRecord.model_validate(
            {
                "id": identity,
                "family": str(family or "").strip() or identity,
                "note": note,
                **extra,
            }
        )
    except (json.JSONDecodeError, RecursionError):
        raise InputError(f"{where}: an annotation field is no JSON") from None
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error)}") from None
    problem = check_note(record)
    if problem:
        raise InputError(f"{where}: {problem}")
    return record


def check_note(record: NoteRecord) -> str | None:
    """Prove that every annotated place of a note holds the words it is said to hold.

    Args:
        record: The note and its annotations.

    Returns:
        None if all do; else the first that does not, named by field and offsets, without its text.
    """
    spans = [
        (f"gold.{kind}.{number}.spans", span)
        for kind in ("problems", "medications", "plan")
        for number, item in enumerate(getattr(record.gold, kind, ()))
        for span in item.spans
    ]
    spans += [(f"lures.{number}", lure) for number, lure in enumerate(record.lures)]
    for field, span in spans:
        if record.note[span.start : span.end] != span.quote:
            return f"field '{field}': the note does not hold the quote at {span.start}:{span.end}"
    injected = record.injected
    if injected and injected.at > len(record.note):
        return f"field 'injected.at': {injected.at} is beyond the end of the note, {len(record.note)}"
    if injected and injected.goal != "inflate" and not injected.target:
        return f"field 'injected.target': goal '{injected.goal}' needs one"
    return None


def _dataset(records: Sequence[NoteRecord], name: str, version: str, access: str) -> NoteDataset:
    return NoteDataset(
        name=name,
        version=version,
        access=access_class(access),
        digest=digest_of(record.model_dump() for record in records),
        records=list(records),
    )


def load_extractions(path: Path, ids: Sequence[str], *, id_field: str = "id") -> dict[str, Extraction]:
    """Load finished extractions, such as a vendor's, to be graded against a dataset's notes.

    Args:
        path: A JSONL file; each row has the note's id and `problems`, `medications`, `plan`, or these
            under `extraction`.
        ids: The ids of the notes.
        id_field: The field that holds the id.

    Returns:
        The extraction of each note that has one. A note without one counts as not answered.

    Raises:
        InputError: A row cannot be used, or belongs to no note; names file, row and field.
    """
    known = set(ids)
    found: dict[str, Extraction] = {}
    for where, row in read_rows(path):
        identity = str(row.get(id_field, ""))
        if identity not in known:
            raise InputError(f"{where}: field '{id_field}' is the id of no note in the dataset")
        if identity in found:
            raise InputError(f"{where}: a second extraction for the same note")
        answer = row.get("extraction", row)
        if isinstance(answer, str):
            try:
                answer = json.loads(answer)
            except (ValueError, RecursionError):
                raise InputError(f"{where}: field 'extraction' is no JSON") from None
        if not isinstance(answer, dict) or not any(
            key in answer for key in ("problems", "medications", "plan")
        ):
            raise InputError(f"{where}: needs at least one of the fields 'problems', 'medications', 'plan'")
        try:
            found[identity] = Extraction.model_validate(answer)
        except ValidationError as error:
            raise InputError(f"{where}: {first_problem(error)}") from None
    if not found:
        raise InputError(f"{path}: holds no extractions")
    return found
