"""From the spool into MLflow, by one process at a time."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.registry.location import Location
from clinical_evals.registry.lock import locked
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.spool import (
    REFUSED,
    DamagedError,
    SpoolError,
    kept,
    read_kept,
    set_aside,
    untold,
    waiting,
)

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_FAILURES_IN_A_ROW = 2
"""After so many failures the registry is taken to be down, and each further result would wait for nothing."""


@dataclass(slots=True)
class Delivery:
    """What became of a number of results.

    Attributes:
        sent: How many were brought into the registry.
        present: How many were there already.
        unreadable: Files that are no results, each with the reason.
        unsent: Results that the registry did not take, each with the reason.
        unfinished: Logs of evals that have not finished.
        elsewhere: Names of the other registries that left results are kept for, one for each.
    """

    sent: int = 0
    present: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    unsent: list[tuple[str, str]] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


class Deliverer:
    """Sends results to one registry; opens it when it is first needed.

    Args:
        location: The registry.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self._client: MlflowClient | None = None
        self._failures = 0
        self._given_up: str | None = None

    def open(self, wait: float) -> "MlflowClient":
        """Open the registry, and create it if it is new, which only one process may do at a time.

        Args:
            wait: Seconds to wait while another process sends.

        Raises:
            LockTimeout: If another process sends for longer.
            Exception: Whatever MLflow raises if the registry cannot be opened.
        """
        with locked(self.lock_path(), wait):
            return self._opened()

    def lock_path(self) -> Path:
        """Return the file that the one process which sends holds."""
        return self.location.spool / ".lock"

    def drain(
        self, *, wait: float, all_kept: bool = False, seen: Callable[[], None] | None = None
    ) -> Delivery:
        """Send what is in the spool. What can never be sent as it is moves to a folder of its own.

        Args:
            wait: Seconds to wait while another process sends.
            all_kept: Send also what is kept for another registry.
            seen: Called after each result.

        Raises:
            LockTimeout: If another process sends for longer.
        """
        delivery = Delivery()
        self._failures, self._given_up = 0, None
        if not waiting(self.location):
            return delivery
        with locked(self.lock_path(), wait):
            done: set[Path] = set()
            # Results may arrive while others are sent.
            while new := [path for path in waiting(self.location) if path not in done]:
                for path in new:
                    done.add(path)
                    self._deliver_file(path, delivery, all_kept)
                    if seen is not None:
                        seen()
        return delivery

    def deliver(self, record: RunRecord, name: str, delivery: Delivery) -> bool | None:
        """Send one result and note what became of it; call it under the lock.

        Args:
            record: The result.
            name: What to call it.
            delivery: Where to note it.

        Returns:
            Whether the registry has it; None if it will never take it as it is.
        """
        from clinical_evals.registry.store import reason, refused, send

        if self._given_up is not None:
            delivery.unsent.append((name, self._given_up))
            return False
        try:
            outcome = send(record, self._opened(), self.location)
        except Exception as error:  # a registry can fail in any way, and no way may lose a result
            delivery.unsent.append((name, reason(error)))
            if self._client is not None and refused(error):
                return None
            self._failures += 1
            if self._client is None or self._failures >= _FAILURES_IN_A_ROW:
                self._given_up = reason(error)
            return False
        self._failures = 0
        if outcome == "sent":
            delivery.sent += 1
        else:
            delivery.present += 1
        return True

    def has_whole(self, record: RunRecord) -> bool:
        """Tell whether the registry is known to hold the result of an eval that ran to its end.

        Args:
            record: The result; its rows are not needed.
        """
        from clinical_evals.registry.store import has_whole

        if record.status != "success" or self._client is None:
            return False
        with suppress(Exception):  # then sending it says what is wrong
            return has_whole(record, self._client)
        return False

    def newly_refused(self) -> list[Path]:
        """Return the results that were set aside since this was last asked."""
        folders = [folder / REFUSED for folder in (self.location.spool, self.location.overflow)]
        return [path for folder in folders for path in untold(kept(folder), folder)]

    def newly_elsewhere(self) -> bool:
        """Tell whether results came to wait here since this was last asked."""
        return bool(untold(waiting(self.location), self.location.spool))

    def _opened(self) -> "MlflowClient":
        from clinical_evals.registry.store import connect

        if self._client is None:
            self._client = connect(self.location)
        return self._client

    def _deliver_file(self, path: Path, delivery: Delivery, all_kept: bool) -> None:
        try:
            before = path.stat()
            record = read_kept(path)
        except FileNotFoundError:
            return
        except SpoolError as error:
            delivery.unreadable.append((str(path), str(error)))
            if isinstance(error, DamagedError):
                set_aside(path)
            return
        if record.kept_for != self.location.name and not all_kept:
            delivery.elsewhere.append(record.kept_for)
            return
        outcome = self.deliver(record, str(path), delivery)
        if outcome is None:
            set_aside(path)
        with suppress(FileNotFoundError):
            # A fuller result of the same eval may have taken its place in the meantime.
            if outcome and path.stat().st_mtime_ns == before.st_mtime_ns:
                path.unlink()
