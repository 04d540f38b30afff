"""The child process that brings results into MLflow, so that no eval waits for it.

It is started when the first result is kept, or during a long run, to open the registry meanwhile. Each line
on its standard input, and the end of it, means that there is something in the spool. It ends by itself when
its parent has ended, and dies for nothing else.
"""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from clinical_evals.registry.delivery import Deliverer, Delivery
from clinical_evals.registry.location import Location, locate
from clinical_evals.registry.store import reason

_LONGEST_WAIT = 300.0
_LONGEST_LOG = 100_000


def main(arguments: list[str]) -> None:
    """Send what is in the spool of a folder's registry until standard input ends.

    Args:
        arguments: The folder.
    """
    if hasattr(os, "nice"):
        os.nice(10)  # the eval comes first
    location = locate(Path(arguments[0]))
    deliverer = Deliverer(location)
    try:
        deliverer.open(_LONGEST_WAIT)
    except Exception as error:
        _note(location, f"not open yet: {reason(error)}")
    for _ in sys.stdin:
        _drain(deliverer)
    _drain(deliverer)


def _drain(deliverer: Deliverer) -> None:
    try:
        delivery = deliverer.drain(wait=_LONGEST_WAIT)
    except Exception as error:
        delivery = Delivery(unsent=[("all", reason(error))])
    for name, why in (*delivery.unsent, *delivery.unreadable):
        _note(deliverer.location, f"{name} not sent: {why}")


def _note(location: Location, line: str) -> None:
    """Write to the log beside the spool: ids and causes, never what was evaluated."""
    path = location.spool / "sender.log"
    with suppress(OSError):
        grown = path.exists() and path.stat().st_size > _LONGEST_LOG
        with path.open("w" if grown else "a", encoding="utf-8") as log:
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
