"""What every dataset needs: rows of a file, its card, and the digest that a result is compared by."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from .files import InputError, field_name, read_text
from .reading import DuplicateKeyError, unique_keys

__all__ = [
    "AccessClass",
    "access_class",
    "as_id",
    "card_facts",
    "card_of",
    "digest_of",
    "first_problem",
    "read_card",
    "read_rows",
    "task_facts",
    "warn_of_numbered_rows",
]

logger = logging.getLogger(__name__)

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
                if None in row or None in row.values():
                    given = sum(
                        len(value) if isinstance(value, list) else value is not None for value in row.values()
                    )
                    raise InputError(f"{path}, row {number}: has {given} fields, the header {len(names)}")
                yield f"{path}, row {number}", dict(row)
        except csv.Error as error:
            raise InputError(f"{path}, after row {reader.line_num}: {error}") from None
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=unique_keys)
        except DuplicateKeyError as error:
            raise InputError(f"{path}, row {number}: {error}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, row {number}: no JSON, {getattr(error, 'msg', 'nested too deep')}"
            ) from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, row {number}: not a JSON object")
        yield f"{path}, row {number}", row


def read_card(path: Path) -> dict[str, str]:
    """Read name, version and access class from the card of a dataset, as far as it has them.

    Args:
        path: The card, a Markdown file that opens with `key: value` lines (YAML) between two lines of `---`.

    Raises:
        InputError: If the card cannot be read, or names an access class that there is not; a typing error
            must not open data to everybody.
    """
    facts = card_facts(path)
    found = {key: str(facts[key]).strip() for key in ("name", "version", "access") if facts.get(key)}
    if "access" in found:
        found["access"] = found["access"].lower()
    if found.get("access", "unspecified") not in get_args(AccessClass):
        raise InputError(f"{path}: field 'access' must be one of: {', '.join(get_args(AccessClass))}")
    return found


def card_of(source: Path) -> Path | None:
    """Find the card of a dataset: `README.md` in its folder, or beside its file; None if there is none.

    Args:
        source: The dataset's folder or file.
    """
    card = (source if source.is_dir() else source.parent) / "README.md"
    return card if card.is_file() else None


def card_facts(path: Path) -> dict[str, Any]:
    """Read all that a card states between its two lines of `---`; nothing if it does not open with one.

    Values are texts, or lists of them: a version of 1.10 stays one.

    Raises:
        InputError: If these lines have no end, or are no `key: value` lines.
    """
    lines = read_text(path).splitlines()
    if not lines or lines[0].rstrip() != "---":
        return {}
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise InputError(f"{path}: the card that opens with '---' has no second line of '---'")
    import yaml  # type: ignore[import-untyped]

    try:
        facts = yaml.load("\n".join(lines[1:end]), Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        raise InputError(f"{path}: the lines between '---' and '---' are no 'key: value' lines") from None
    if facts is None or facts == "":
        return {}
    if not isinstance(facts, dict):
        raise InputError(f"{path}: the lines between '---' and '---' are no 'key: value' lines")
    return {str(key).strip(): value for key, value in facts.items()}


def access_class(given: str) -> AccessClass:
    """Give the access class that a card names; `unspecified` if it is none of the known ones."""
    return cast("AccessClass", given) if given in get_args(AccessClass) else "unspecified"


def as_id(value: object) -> str | None:
    """Return a value as an id, or None if it is none: no text or whole number, blank, or not printable."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return text if text.isprintable() and text else None


def warn_of_numbered_rows(where: str) -> None:
    """Say that a file's rows have no ids of their own.

    Args:
        where: Its first row, as `read_rows` names it.
    """
    logger.warning("%s has no column for an id: its rows are numbered", where.rpartition(", row ")[0])


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
    log_text: bool | None = None,
    subject: str | None = None,
    graded: bool = False,
    calibrated_by: Mapping[str, str] | None = None,
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
        log_text: Its texts may go into the registry, for who asks for that. Default: unless restricted.
        subject: What is ranked, where that is no model; it stands in the place of the model's name.
        graded: Whether a model grades the answers: that of the role `grader`, else the one under test.
        calibrated_by: Where to find how far that grader agrees with people: runs of `task` whose model is
            the grader and whose signature has the same `signature_key` give it as `metric`.
    """
    dataset = {
        "name": name,
        "version": version,
        "digest": digest,
        "samples": samples,
        "access": access,
        "log_text": access != "restricted" if log_text is None else log_text,
    }
    return {
        "clinical_evals": {
            "signature": signature,
            "headline": headline,
            "dataset": dataset,
            "metrics": {metric: dict(facts) for metric, facts in metrics.items()},
            **({"subject": subject} if subject else {}),
            **({"graded": True} if graded else {}),
            **({"calibrated_by": dict(calibrated_by)} if calibrated_by else {}),
        }
    }
