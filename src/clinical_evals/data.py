"""What every dataset needs: rows of a file, its card, and the digest that a result is compared by."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from .files import InputError, field_name, read_text

__all__ = [
    "AccessClass",
    "access_class",
    "digest_of",
    "first_problem",
    "read_card",
    "read_rows",
    "task_facts",
]

AccessClass = Literal["synthetic", "public", "restricted", "unspecified"]


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows of a JSONL or CSV file.

    Args:
        path: A file whose name ends in `.jsonl`, `.ndjson`, `.csv` or `.tsv`.

    Yields:
        Where the row stands (`FILE, row N`) and its fields. Line ends inside CSV cells stay as they are.

    Raises:
        InputError: The file cannot be read; names file and row.
    """
    kind = path.suffix.lower()
    if not path.exists():
        raise InputError(f"{path}: No such file or folder")
    if kind not in (".jsonl", ".ndjson", ".csv", ".tsv"):
        raise InputError(
            f"{path}: not a dataset; choose a .jsonl, .csv or .tsv file, or a folder of .txt files"
        )
    text = read_text(path)
    if kind in (".csv", ".tsv"):
        csv.field_size_limit(2**31 - 1)
        reader = csv.DictReader(
            io.StringIO(text, newline=""), delimiter="," if kind == ".csv" else "\t", strict=True
        )
        try:
            names = list(reader.fieldnames or ())
            if len(names) != len(set(names)):
                raise InputError(f"{path}: two columns have the same name")
            for number, row in enumerate(reader, 1):
                if None in row:
                    raise InputError(f"{path}, row {number}: has more fields than the header")
                yield f"{path}, row {number}", dict(row)
        except csv.Error as error:
            raise InputError(f"{path}, after row {reader.line_num}: {error}") from None
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, row {number}: no JSON, {getattr(error, 'msg', 'nested too deep')}"
            ) from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: not a JSON object")
        yield f"{path}, row {number}", row


def read_card(path: Path) -> dict[str, str]:
    """Read name, version and access class from the `key: value` lines that open a dataset's card."""
    _, _, head = read_text(path).partition("---\n")
    pairs = (line.partition(":") for line in head.partition("---")[0].splitlines())
    return {
        key.strip(): value.strip() for key, _, value in pairs if key.strip() in ("name", "version", "access")
    }


def access_class(given: str) -> AccessClass:
    """Give the access class that a card names; `unspecified` if it is none of the known ones."""
    return cast("AccessClass", given) if given in get_args(AccessClass) else "unspecified"


def digest_of(records: Iterable[Mapping[str, Any]]) -> str:
    """Digest a dataset's records, in order: 12 hex digits that change with any of them."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(json.dumps(record, sort_keys=True, ensure_ascii=True).encode() + b"\n")
    return digest.hexdigest()[:12]


def first_problem(error: ValidationError) -> str:
    """Say which field of a record is wrong and how, without its value."""
    first = error.errors(include_input=False, include_url=False)[0]
    return f"field '{'.'.join(map(field_name, first['loc']))}': {first['msg']}"


def task_facts(  # noqa: PLR0913 - one keyword a fact
    *,
    signature: str,
    headline: str,
    metrics: Mapping[str, Mapping[str, Any]],
    name: str,
    version: str,
    digest: str,
    samples: int,
    access: AccessClass,
    subject: str | None = None,
) -> dict[str, Any]:
    """Give a task's metadata: what the registry must know of a run to compare it with others.

    Args:
        signature: The scorer's signature line.
        headline: The metric that runs are ranked by, one of `metrics`.
        metrics: For each metric its `range` and whether `higher_is_better`.
        name: The dataset's name.
        version: Its version; empty if it has none.
        digest: Its digest; see `digest_of`.
        samples: Number of its samples.
        access: Its access class.
        subject: What is ranked, where that is no model; it stands in the place of the model's name.
    """
    dataset = {"name": name, "version": version, "digest": digest, "samples": samples, "access": access}
    return {
        "clinical_evals": {
            "signature": signature,
            "headline": headline,
            "dataset": dataset,
            "metrics": {metric: dict(facts) for metric, facts in metrics.items()},
            **({"subject": subject} if subject else {}),
        }
    }
