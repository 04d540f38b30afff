"""Inspect logs as results: what the hook would have kept."""

from collections.abc import Iterator
from pathlib import Path

from clinical_evals.registry.paths import open_binary
from clinical_evals.registry.record import RunRecord, SampleRow
from clinical_evals.registry.record_of_log import build_record, sample_row


class LogError(Exception):
    """A log that cannot be used; the message is one line and holds nothing of its samples."""


class UnfinishedError(LogError):
    """A log of an eval that still runs, or was killed."""


# What a row does not need, and what takes the time to read.
_UNREAD = {"messages", "events", "store", "attachments", "output", "timelines"}


def log_rows(location: str) -> Iterator[SampleRow]:
    """Yield the rows of a log, one sample in memory at a time."""
    from inspect_ai.log import read_eval_log_samples

    for sample in read_eval_log_samples(location, all_samples_required=False, exclude_fields=_UNREAD):
        yield sample_row(sample)


def read_header(path: str | Path, kept_for: str) -> RunRecord:
    """Read what a log says of the eval, without its samples; see `read_log`."""
    return _read(path, kept_for, with_rows=False)


def read_log(path: str | Path, kept_for: str) -> RunRecord:
    """Read a result from an Inspect log.

    Args:
        path: An `.eval` or `.json` log: a path, or an address in any store that fsspec knows.
        kept_for: Name of the registry it goes to.

    Raises:
        LogError: If it is not the log of a finished eval.
    """
    return _read(path, kept_for, with_rows=True)


def _read(path: str | Path, kept_for: str, with_rows: bool) -> RunRecord:
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path), header_only=True)
        if log.status == "started":
            raise UnfinishedError("the eval has not finished")
        return build_record(log, log_rows(str(path)) if with_rows else (), kept_for)
    except LogError:
        raise
    except OSError as error:
        raise LogError(error.strerror or type(error).__name__) from None
    except Exception as error:  # a file of any kind may be handed in, and its reader's words may repeat it
        raise LogError(f"not an Inspect log ({type(error).__name__})") from None


def is_spooled(path: str | Path) -> bool:
    """Tell whether a JSON file says that it is a spooled result."""
    return str(path).endswith(".json") and _head(path).startswith(b'{"format":"clinical-evals record')


def is_log(path: str | Path) -> bool:
    """Tell whether a file looks like an Inspect log, so that other files in a folder are passed over."""
    if str(path).endswith(".eval"):
        return True
    if not str(path).endswith(".json"):
        return False
    head = _head(path).lstrip()
    return head.startswith(b"{") and b'"version"' in head and b'"eval"' in head


def _head(path: str | Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        with open_binary(path) as file:
            return file.read(400)
    except Exception:  # stores have errors of their own, and reading the whole file will say what is wrong
        return b""
