"""A lock between processes that the operating system frees when its holder dies."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class LockTimeout(Exception):
    """The lock was held by another process for longer than we wait."""


@contextmanager
def locked(path: Path, wait: float) -> Iterator[None]:
    """Hold the lock on a file.

    Args:
        path: The lock file; it is created, and stays.
        wait: Seconds to wait for another holder.

    Raises:
        LockTimeout: If another process holds it for longer.
        OSError: If the file cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + wait
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise LockTimeout(f"{path} is held by another process")
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)  # which frees the lock


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return True
        return False

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        with suppress(BlockingIOError, PermissionError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False
