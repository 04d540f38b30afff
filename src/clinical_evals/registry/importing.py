"""`clinical-evals import`: spooled results and Inspect logs into the registry, as often as one likes."""

from collections.abc import Callable, Iterable
from pathlib import Path

from clinical_evals.files import InputError
from clinical_evals.registry.delivery import Deliverer, Delivery
from clinical_evals.registry.location import Location
from clinical_evals.registry.lock import locked
from clinical_evals.registry.logs import LogError, UnfinishedError, is_log, is_spooled, read_header, read_log
from clinical_evals.registry.paths import find_files, is_remote, shown
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.spool import SpoolError, read_kept


def files_to_import(paths: Iterable[str | Path]) -> list[str | Path]:
    """Return the files that are meant by files and folders; folders are searched through for results.

    Args:
        paths: Paths, or addresses in any store that fsspec knows.

    Raises:
        InputError: If a path does not exist, or a folder holds no log and no spooled result.
    """
    found: dict[str | Path, None] = {}
    for path in paths:
        inside = list(find_files(path, lambda file: is_log(file) or is_spooled(file)))
        if not inside:
            raise InputError(
                f"{shown(path)}: no Inspect logs (.eval, .json) and no spooled results in this folder"
            )
        found |= dict.fromkeys(inside)
    return list(found)


def import_files(
    files: Iterable[str | Path], location: Location, *, wait: float, seen: Callable[[], None] | None = None
) -> Delivery:
    """Bring results into a registry, each at most once.

    Args:
        files: Inspect logs and spooled results. A spooled result is removed once the registry has it.
        location: The registry.
        wait: Seconds to wait while another process sends.
        seen: Called after each file.

    Raises:
        LockTimeout: If another process sends for longer.
        Exception: Whatever MLflow raises if the registry cannot be opened.
    """
    delivery = Delivery()
    deliverer = Deliverer(location)
    deliverer.open(wait)  # before logs are read for nothing
    for path in files:
        _import_file(path, deliverer, delivery, wait)
        if seen is not None:
            seen()
    return delivery


def _import_file(path: str | Path, deliverer: Deliverer, delivery: Delivery, wait: float) -> None:
    spooled = is_spooled(path)
    try:
        record = read_kept(path) if spooled else _read_log(path, deliverer)
    except UnfinishedError:
        delivery.unfinished.append(shown(path))
        return
    except (LogError, SpoolError) as error:
        delivery.unreadable.append((shown(path), str(error)))
        return
    except FileNotFoundError:  # a spooled result that the background sender was quicker with
        delivery.present += 1
        return
    if record is None:
        delivery.present += 1
        return
    # Reading took its time, in which others may send.
    with locked(deliverer.lock_path(), wait):
        if deliverer.deliver(record, shown(path), delivery) and spooled and not is_remote(path):
            Path(path).unlink(missing_ok=True)


def _read_log(path: str | Path, deliverer: Deliverer) -> RunRecord | None:
    """Read a log, or only as much of it as tells that its result is there."""
    name = deliverer.location.name
    return None if deliverer.has_whole(read_header(path, name)) else read_log(path, name)
