"""Finished results on disk until MLflow has them: a file is whole or absent, whatever happens."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from clinical_evals.registry.location import Location
from clinical_evals.registry.paths import open_binary
from clinical_evals.registry.record import RunRecord

REFUSED = "refused"
"""Folder inside the spool for what can never be sent as it is; it is kept, and tried again when asked for."""


class SpoolError(Exception):
    """A spooled result that cannot be read; says nothing of its content."""


class DamagedError(SpoolError):
    """A file that is no result, or one of another version."""


def keep_somewhere(record: RunRecord, location: Location) -> Path:
    """Write a result to the spool or, where that cannot be written, to the user's own folder for such things.

    Raises:
        OSError: If neither can be written: the reason of the first.
    """
    try:
        return keep(record, location.spool)
    except OSError as error:
        try:
            return keep(record, location.overflow)
        except OSError:
            raise error from None


def waiting(location: Location) -> list[Path]:
    """Return the spooled results of a registry, oldest first, wherever they had to be kept."""
    return [*kept(location.spool), *kept(location.overflow)]


def set_aside(path: Path) -> None:
    """Move a result that can never be sent as it is out of the way of the others."""
    folder = path.parent / REFUSED
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        path.replace(folder / path.name)


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
        with suppress(FileNotFoundError):  # sent in the meantime
            found.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(found)]


def untold(paths: Iterable[Path], folder: Path) -> list[Path]:
    """Return those of the paths that came since this was last asked, so that each is told once."""
    told = folder / ".told"
    new: list[Path] = []
    with suppress(OSError):
        last = told.stat().st_mtime_ns if told.exists() else 0
        for path in paths:
            with suppress(FileNotFoundError):
                state = path.stat()
                if max(state.st_mtime_ns, state.st_ctime_ns) > last:
                    new.append(path)
        if new:
            told.touch()
    return new


def read_kept(path: str | Path) -> RunRecord:
    """Read a spooled result.

    Args:
        path: A path, or an address in any store that fsspec knows.

    Raises:
        DamagedError: If the file is not a result.
        SpoolError: If it cannot be read now.
        FileNotFoundError: If it was sent in the meantime.
    """
    try:
        with open_binary(path) as file:
            return RunRecord.model_validate_json(file.read())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SpoolError(error.strerror or type(error).__name__) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"][:2])) or "the file"
        raise DamagedError(f"not a result of this registry ({where}: {first['type']})") from None


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
