"""Datasets of doctor-patient dialogues: the bundled one, a table, a folder, and three public layouts.

The public layouts are known by their columns: ACI-Bench (`dialogue`, `note`, with the encounter's facts from
the `_metadata.csv` beside it), MTS-Dialog (`section_header`, `section_text`) and PriMock57
(`transcripts.jsonl` with `notes.jsonl` beside it). Texts stay as they are, misspelt speakers and marks of the
transcribers included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from .files import InputError, field_name, read_text, shown_names
from .summary.rubric import CRITERIA, HIGHEST, LOWEST

__all__ = [
    "BUNDLED",
    "DialogueDataset",
    "DialogueRecord",
    "identity_of",
    "load_dialogues",
    "pick_field",
    "spoken_text",
    "text_of",
]

BUNDLED = "bundled"

DIALOGUE_FIELDS = ("dialogue", "dialog", "transcript", "conversation", "utterances")
REFERENCE_FIELDS = ("reference", "reference_summary", "note", "section_text")
ID_FIELDS = ("id", "ID", "encounter_id", "dialogue_id")
_KIND_FIELDS = ("kind", "section_header", "dataset")


class DialogueRecord(BaseModel):
    """One dialogue and what is known about it.

    Attributes:
        id: Unique in the dataset.
        family: Dialogues that are variants of one another share it; intervals are clustered by it.
        kind: Kind of dialogue, or the section it is about; free text.
        dialogue: The dialogue, one turn a line.
        reference: A summary that a person wrote, if there is one.
        candidates: Summaries of known quality, by name.
        ratings: For each candidate that people rated, its score in each criterion, from 1 to 10.
        facts: What else the dataset says of the encounter, such as `patient_age`.
    """

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    family: str
    kind: str = ""
    dialogue: str
    reference: str | None = None
    candidates: dict[str, str] = Field(default_factory=dict)
    ratings: dict[str, dict[str, int]] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)


class DialogueDataset(BaseModel):
    """A dataset and what a result must name about it.

    Attributes:
        name: Its name, or the file's.
        version: Its card's version; empty for a file without a card.
        access: Its card's access class.
        digest: 12 hex digits of a hash over all its records.
        records: The dialogues, in order.
    """

    name: str
    version: str
    access: AccessClass
    digest: str
    records: list[DialogueRecord]


def load_dialogues(
    source: str = BUNDLED,
    *,
    dialogue_field: str | None = None,
    reference_field: str | None = None,
    id_field: str | None = None,
    family_field: str | None = None,
) -> DialogueDataset:
    """Load dialogues.

    Args:
        source: `bundled`; a `.jsonl`, `.csv` or `.tsv` file; or a folder, which holds `dialogues.jsonl`, the
            files of PriMock57, or `.txt` files (`NAME.txt` a dialogue, `NAME.reference.txt` its reference).
        dialogue_field: The column that holds the dialogue: text, or a list of turns with `speaker` and
            `text`. Default: `dialogue`, or another usual name.
        reference_field: The one that holds the reference. Default: `reference`, `reference_summary`, `note`
            or `section_text`, if there.
        id_field: The one that holds the id. Default: `id`, `ID`, `encounter_id` or `dialogue_id`; where a
            file has none, the row number is taken.
        family_field: The one that holds the family. Default: `family`, if there; else each is its own.

    Returns:
        The dataset. Fields named `candidates`, `ratings` and `kind` are read too, if present.

    Raises:
        InputError: The source cannot be used; names file, row and column, and none of its text.
    """
    path = bundled("dialogues", "dialogues.jsonl") if source == BUNDLED else given_path(source)
    rows = _folder_rows(path) if path.is_dir() else _file_rows(path)
    records = list(_records(rows, dialogue_field, reference_field, id_field, family_field))
    if not records:
        raise InputError(f"{path}: holds no dialogues")
    card = card_of(path)
    described = read_card(card) if card else {}
    facts = {"name": path.stem, "version": "", "access": "unspecified"} | described
    return DialogueDataset(
        name=facts["name"],
        version=facts["version"],
        access=access_class(facts["access"]),
        digest=digest_of(record.model_dump() for record in records),
        records=records,
    )


def spoken_text(turns: object) -> str | None:
    """Return a list of turns as text, one a line (`speaker: words`); None if it is no such list.

    Args:
        turns: Objects with `text` and, if known, `speaker`.
    """
    if not isinstance(turns, list) or not turns:
        return None
    lines = []
    for turn in turns:
        if not isinstance(turn, Mapping) or not isinstance(turn.get("text"), str):
            return None
        speaker = turn.get("speaker")
        lines.append(f"{speaker}: {turn['text']}" if isinstance(speaker, str) and speaker else turn["text"])
    return "\n".join(lines)


def pick_field(
    row: Mapping[str, Any], where: str, given: str | None, usual: Iterable[str], option: str
) -> str | None:
    """Choose the column that a row's value is read from.

    Args:
        row: The row.
        where: Where it stands, for the error.
        given: The column that the user named, if any.
        usual: The columns to look for otherwise, in order.
        option: What a user names it with, for the error.

    Returns:
        Its name, or None if the user named none and none of the usual ones is there.

    Raises:
        InputError: The row has no column of the name given.
    """
    if given is None:
        return next((name for name in usual if name in row), None)
    if given not in row:
        raise InputError(
            f"{where}: no column '{field_name(given)}' for -T {option}=…. It has: {shown_names(row)}"
        )
    return given


def identity_of(row: Mapping[str, Any], where: str, column: str | None) -> str:
    """Return a row's id, or its number if there is no column for it.

    Raises:
        InputError: The column holds no id.
    """
    value = where.rpartition(" ")[2] if column is None else row[column]
    identity = as_id(value)
    if identity is None:
        raise InputError(f"{where}: column '{field_name(column)}' holds no id")
    return identity


def text_of(row: Mapping[str, Any], where: str, column: str) -> str:
    """Return the text of a column: a text, or a list of turns.

    Raises:
        InputError: It holds no text.
    """
    value = row[column]
    text = value if isinstance(value, str) else spoken_text(value)
    if text is None or not text.strip():
        raise InputError(f"{where}: column '{field_name(column)}' holds no text")
    return text


Rows = Iterator[tuple[str, dict[str, Any]]]


def _file_rows(path: Path) -> Rows:
    """Read a file's rows, with what the layout it belongs to keeps beside it."""
    if path.name == "transcripts.jsonl":
        yield from _primock_rows(path)
        return
    metadata: dict[str, dict[str, str]] | None = None
    for where, row in read_rows(path):
        if metadata is None:
            metadata = _aci_metadata(path) if {"dialogue", "note", "dataset"} <= row.keys() else {}
        facts = metadata.get(str(row.get("encounter_id") or row.get("id")))
        yield where, (row | {"facts": facts} if facts else row)


def _aci_metadata(path: Path) -> dict[str, dict[str, str]]:
    """Read the encounters' facts of ACI-Bench, if the file is there; ages written `69.0` become `69`."""
    beside = path.with_name(f"{path.stem}_metadata.csv")
    if not beside.is_file():
        return {}
    found: dict[str, dict[str, str]] = {}
    for where, row in read_rows(beside):
        if "encounter_id" not in row:
            raise InputError(f"{where}: no column 'encounter_id'. It has: {shown_names(row)}")
        facts = {
            name: value.strip()
            for name, value in row.items()
            if value and value.strip() and name not in ("encounter_id", "dataset", "id")
        }
        if "patient_age" in facts:
            facts["patient_age"] = facts["patient_age"].removesuffix(".0")
        found[str(row["encounter_id"]).strip()] = facts
    return found


def _primock_rows(path: Path) -> Rows:
    """Read PriMock57's transcripts, each with the clinician's note of the file beside them."""
    notes: dict[str, Mapping[str, Any]] = {}
    beside = path.with_name("notes.jsonl")
    if beside.is_file():
        for where, row in read_rows(beside):
            if "id" not in row:
                raise InputError(f"{where}: no column 'id'. It has: {shown_names(row)}")
            notes[str(row["id"])] = row
    for where, row in read_rows(path):
        note = notes.get(str(row.get("id")), {})
        complaint = note.get("presenting_complaint")
        facts = {"presenting_complaint": complaint} if isinstance(complaint, str) and complaint else {}
        yield where, row | {"reference": note.get("note"), "facts": facts}


def _folder_rows(path: Path) -> Rows:
    """Read the rows of a folder."""
    for name in ("dialogues.jsonl", "transcripts.jsonl"):
        if (path / name).is_file():
            return _file_rows(path / name)
    suffix = ".reference.txt"
    texts = sorted(file for file in path.glob("*.txt") if not file.name.endswith(suffix))
    if texts:
        return _text_rows(texts, suffix)
    tables = sorted(file.name for kind in ("jsonl", "csv", "tsv") for file in path.glob(f"*.{kind}"))
    if tables:
        raise InputError(f"{path}: a folder of several files; choose one of: {', '.join(tables)}")
    raise InputError(f"{path}: the folder holds no .txt file")


def _text_rows(files: Sequence[Path], suffix: str) -> Rows:
    for file in files:
        reference = file.with_name(file.stem + suffix)
        row = {"id": file.stem, "dialogue": read_text(file)}
        yield str(file), row | ({"reference": read_text(reference)} if reference.is_file() else {})


def _records(
    rows: Rows,
    dialogue_field: str | None,
    reference_field: str | None,
    id_field: str | None,
    family_field: str | None,
) -> Iterator[DialogueRecord]:
    seen: dict[str, str] = {}
    for where, row in rows:
        spoken = pick_field(row, where, dialogue_field, DIALOGUE_FIELDS, "dialogue_field")
        if spoken is None:
            raise InputError(
                f"{where}: no column 'dialogue'; name yours with -T dialogue_field=…. "
                f"It has: {shown_names(row)}"
            )
        written = pick_field(row, where, reference_field, REFERENCE_FIELDS, "reference_field")
        if written == spoken:
            raise InputError(f"{where}: column '{field_name(spoken)}' is named for dialogue and reference")
        named = pick_field(row, where, id_field, ID_FIELDS, "id_field")
        kin = pick_field(row, where, family_field, ("family",), "family_field")
        if named is None and not seen:
            warn_of_numbered_rows(where)
        identity = identity_of(row, where, named)
        if identity in seen:
            raise InputError(
                f"{where}: the id of column '{field_name(named)}' is that of {seen[identity]} too"
            )
        seen[identity] = where
        family = str(row[kin] if kin and row[kin] is not None else "").strip()
        kind = next((row[name] for name in _KIND_FIELDS if isinstance(row.get(name), str)), "")
        yield _record(
            where,
            id=identity,
            family=family or identity,
            kind=kind.strip(),
            dialogue=text_of(row, where, spoken),
            reference=_reference(row, where, written),
            # In a table these are columns of the user's own.
            **{
                name: row[name]
                for name in ("candidates", "ratings", "facts")
                if row.get(name) and not isinstance(row[name], str)
            },
        )


def _reference(row: Mapping[str, Any], where: str, column: str | None) -> str | None:
    """Return the reference; None where a dataset has none for this dialogue."""
    value = row[column] if column else None
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        raise InputError(f"{where}: column '{field_name(column)}' holds no text")
    return value


def _record(where: str, **given: Any) -> DialogueRecord:
    try:
        record = DialogueRecord.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error)}") from None
    for name, scores in record.ratings.items():
        if name not in record.candidates:
            raise InputError(f"{where}: column 'ratings': '{field_name(name)}' is none of the candidates")
        if set(scores) != set(CRITERIA):
            raise InputError(
                f"{where}: column 'ratings': '{field_name(name)}' needs exactly: {', '.join(CRITERIA)}"
            )
        if not all(LOWEST <= score <= HIGHEST for score in scores.values()):
            raise InputError(f"{where}: column 'ratings': '{field_name(name)}' is not from 1 to 10")
    return record
