"""Inspect logs as results: what the hook would have kept."""

from collections.abc import Iterator
from pathlib import Path

from clinical_evals.registry.record import RunRecord, SampleRow, build_record, sample_row


class LogError(Exception):
    """A log that cannot be used; the message is one line and holds nothing of its samples."""


# What a row does not need, and what takes the time to read.
_UNREAD = {"messages", "events", "store", "attachments", "output", "timelines"}


def log_rows(location: str) -> Iterator[SampleRow]:
    """Yield the rows of a log, one sample in memory at a time."""
    from inspect_ai.log import read_eval_log_samples

    for sample in read_eval_log_samples(location, all_samples_required=False, exclude_fields=_UNREAD):
        yield sample_row(sample)


def read_log(path: Path, kept_for: str) -> RunRecord:
    """Read a result from an Inspect log.

    Args:
        path: An `.eval` or `.json` log.
        kept_for: Name of the registry it goes to.

    Raises:
        LogError: If it is not the log of a finished eval.
    """
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path), header_only=True)
        if log.status == "started":
            raise LogError("the eval has not finished")
        return build_record(log, log_rows(str(path)), kept_for)
    except LogError:
        raise
    except OSError as error:
        raise LogError(error.strerror or type(error).__name__) from None
    except Exception as error:  # a file of any kind may be handed in, and its reader's words may repeat it
        raise LogError(f"not an Inspect log ({type(error).__name__})") from None


def is_spooled(path: Path) -> bool:
    """Tell whether a JSON file says that it is a spooled result."""
    try:
        with path.open("rb") as file:
            return file.read(60).startswith(b'{"format":"clinical-evals record')
    except OSError:
        return False


def is_log(path: Path) -> bool:
    """Tell whether a file looks like an Inspect log, so that other files in a folder are passed over."""
    if path.suffix == ".eval":
        return True
    if path.suffix != ".json":
        return False
    try:
        with path.open("rb") as file:
            head = file.read(400).lstrip()
    except OSError:
        return False
    return head.startswith(b"{") and b'"version"' in head and b'"eval"' in head
