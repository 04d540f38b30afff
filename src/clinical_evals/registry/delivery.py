"""From the spool into MLflow, by one process at a time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.registry.location import Location
from clinical_evals.registry.lock import locked
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.spool import SpoolError, kept, read_kept

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


@dataclass(slots=True)
class Delivery:
    """What became of a number of results.

    Attributes:
        sent: How many were brought into the registry.
        present: How many were there already.
        unreadable: Files that are no results, each with the reason.
        unsent: Results that the registry did not take, each with the reason.
        elsewhere: Names of the other registries that left results are kept for, one for each.
    """

    sent: int = 0
    present: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    unsent: list[tuple[str, str]] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


class Deliverer:
    """Sends results to one registry; opens it when it is first needed.

    Args:
        location: The registry.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self._client: MlflowClient | None = None

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
        """Send what is in the spool.

        Args:
            wait: Seconds to wait while another process sends.
            all_kept: Send also what is kept for another registry.
            seen: Called after each result.

        Raises:
            LockTimeout: If another process sends for longer.
        """
        delivery = Delivery()
        if not kept(self.location.spool):
            return delivery
        with locked(self.lock_path(), wait):
            done: set[Path] = set()
            # Results may arrive while others are sent.
            while new := [path for path in kept(self.location.spool) if path not in done]:
                for path in new:
                    done.add(path)
                    self._deliver_file(path, delivery, all_kept)
                    if seen is not None:
                        seen()
        return delivery

    def deliver(self, record: RunRecord, name: str, delivery: Delivery) -> bool:
        """Send one result and note what became of it; call it under the lock.

        Args:
            record: The result.
            name: What to call it.
            delivery: Where to note it.

        Returns:
            Whether the registry has it.
        """
        from clinical_evals.registry.store import reason, send

        try:
            outcome = send(record, self._opened(), self.location)
        except Exception as error:  # a registry can fail in any way, and no way may lose a result
            delivery.unsent.append((name, reason(error)))
            return False
        if outcome == "sent":
            delivery.sent += 1
        else:
            delivery.present += 1
        return True

    def _opened(self) -> "MlflowClient":
        from clinical_evals.registry.store import connect

        if self._client is None:
            self._client = connect(self.location)
        return self._client

    def _deliver_file(self, path: Path, delivery: Delivery, all_kept: bool) -> None:
        try:
            record = read_kept(path)
        except FileNotFoundError:
            return
        except SpoolError as error:
            delivery.unreadable.append((str(path), str(error)))
            return
        if record.kept_for != self.location.name and not all_kept:
            delivery.elsewhere.append(record.kept_for)
        elif self.deliver(record, str(path), delivery):
            path.unlink(missing_ok=True)
