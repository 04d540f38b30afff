"""Files to import, here or in any store that fsspec knows (`s3://`, `gs://`, `az://`, `file://`, …)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from clinical_evals.files import InputError
from clinical_evals.registry.location import without_credentials

_LONGEST_SHOWN = 200


def is_remote(path: str | Path) -> bool:
    """Tell whether a path is an address such as `s3://bucket/logs`."""
    return isinstance(path, str) and "://" in path


def shown(path: str | Path) -> str:
    """Return a path as it may be printed: short, and an address without its credentials."""
    text = without_credentials(str(path)) if is_remote(path) else str(path)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN // 2]}…{text[-20:]}"


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        OSError: If it cannot be opened.
    """
    if not is_remote(path):
        return Path(path).open("rb")
    import fsspec

    file: IO[bytes] = fsspec.open(str(path), "rb").open()
    return file


def find_files(path: str | Path, wanted: Callable[[str | Path], bool]) -> Iterator[str | Path]:
    """Yield a file itself, or the wanted files in a folder and the folders below, in order.

    Args:
        path: A path or an address.
        wanted: Tells which files of a folder are meant.

    Raises:
        InputError: If there is no such file or folder, or its store cannot be used.
    """
    try:
        files = _in_store(str(path)) if is_remote(path) else _here(Path(path))
    except OSError as error:
        raise InputError(f"{shown(path)}: {error.strerror or type(error).__name__}") from None
    if files is None:
        yield path
    else:
        yield from filter(wanted, files)


def _here(path: Path) -> list[str | Path] | None:
    """List a folder; None for a file."""
    if path.is_dir():
        return list[str | Path](sorted(path.rglob("*")))
    if path.is_file():
        return None
    raise InputError(f"{shown(path)}: no such file or folder")


def _in_store(path: str) -> list[str | Path] | None:
    """List a folder of a store; None for a file."""
    import fsspec

    try:
        store: Any
        store, inside = fsspec.core.url_to_fs(path)
        if store.isfile(inside):
            return None
        if store.isdir(inside):
            return [str(store.unstrip_protocol(name)) for name in sorted(store.find(inside))]
    except OSError:
        raise
    except ImportError as error:
        raise InputError(f"{shown(path)}: needs another package: {error}") from None
    except Exception as error:  # each store has errors of its own, whose words may hold an address
        raise InputError(f"{shown(path)}: cannot be opened ({type(error).__name__})") from None
    raise InputError(f"{shown(path)}: no such file or folder")
