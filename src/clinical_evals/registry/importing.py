"""`clinical-evals import`: spooled results and Inspect logs into the registry, as often as one likes."""

from collections.abc import Callable, Iterable
from pathlib import Path

from clinical_evals.files import InputError
from clinical_evals.registry.delivery import Deliverer, Delivery
from clinical_evals.registry.location import Location
from clinical_evals.registry.lock import locked
from clinical_evals.registry.logs import LogError, is_log, is_spooled, read_log
from clinical_evals.registry.spool import SpoolError, read_kept


def files_to_import(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are meant by files and folders; folders are searched through for results.

    Raises:
        InputError: If a path does not exist, or a folder holds no log and no spooled result.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if is_log(file) or is_spooled(file)]
            if not inside:
                raise InputError(
                    f"{path}: no Inspect logs (.eval, .json) and no spooled results in this folder"
                )
            found |= dict.fromkeys(inside)
        elif path.is_file():
            found[path] = None
        else:
            raise InputError(f"{path}: no such file or folder")
    return list(found)


def import_files(
    files: Iterable[Path], location: Location, *, wait: float, seen: Callable[[], None] | None = None
) -> Delivery:
    """Bring results into a registry, each at most once.

    Args:
        files: Inspect logs and spooled results. A spooled result is removed once the registry has it.
        location: The registry.
        wait: Seconds to wait while another process sends.
        seen: Called after each file.

    Raises:
        LockTimeout: If another process sends for longer.
    """
    delivery = Delivery()
    deliverer = Deliverer(location)
    with locked(deliverer.lock_path(), wait):
        for path in files:
            _import_file(path, deliverer, delivery)
            if seen is not None:
                seen()
    return delivery


def _import_file(path: Path, deliverer: Deliverer, delivery: Delivery) -> None:
    spooled = is_spooled(path)
    try:
        record = read_kept(path) if spooled else read_log(path, deliverer.location.name)
    except (LogError, SpoolError) as error:
        delivery.unreadable.append((str(path), str(error)))
        return
    except FileNotFoundError:  # a spooled result that the background sender was quicker with
        delivery.present += 1
        return
    if deliverer.deliver(record, str(path), delivery) and spooled:
        path.unlink(missing_ok=True)
