"""Finished results on disk until MLflow has them: a file is whole or absent, whatever happens."""

import os
from pathlib import Path

from pydantic import ValidationError

from clinical_evals.registry.record import RunRecord


class SpoolError(Exception):
    """A spooled result that cannot be read; says nothing of its content."""


def keep(record: RunRecord, folder: Path) -> Path:
    """Write a result to the spool, safe against a crash at any moment.

    Raises:
        OSError: If it cannot be written, such as on a full disk; nothing half-written is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.eval_id}.json"
    beside = folder / f".{record.eval_id}.{os.getpid()}.tmp"
    try:
        with beside.open("wb") as file:
            file.write(record.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(folder)
    return path


def kept(folder: Path) -> list[Path]:
    """Return the spooled results, oldest first."""
    found = []
    for path in folder.glob("*.json"):
        try:
            found.append((path.stat().st_mtime_ns, path))
        except FileNotFoundError:
            continue  # sent in the meantime
    return [path for _, path in sorted(found)]


def read_kept(path: Path) -> RunRecord:
    """Read a spooled result.

    Raises:
        SpoolError: If the file is not a result.
        FileNotFoundError: If it was sent in the meantime.
    """
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SpoolError(error.strerror or type(error).__name__) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"][:2])) or "the file"
        raise SpoolError(f"not a result of this registry ({where}: {first['type']})") from None


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
