"""Turn the log of a real run into a fixture that `replay/PATH` answers from."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalSample, read_eval_log_samples

from clinical_evals.files import InputError, replacing
from clinical_evals.replay import CallAddress

# What other stop reasons mean for the reader of an answer.
_STOP_REASONS = {"max_tokens": "max_tokens", "model_length": "max_tokens", "content_filter": "content_filter"}


@dataclass(slots=True)
class Recording:
    """The answers of one task in a run.

    Attributes:
        task: The task's name, as its calls say it.
        models: Every model that answered.
        rows: Fixture rows in the order of the calls, one for each sample, step and epoch.
        failed: Calls that got no answer and are left out.
    """

    task: str
    models: set[str] = field(default_factory=set)
    rows: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)
    failed: int = 0


def record_samples(samples: Iterable[EvalSample]) -> dict[str, Recording]:
    """Collect the answers of a run's samples by task.

    Calls that carry no address (see `clinical_evals.replay`) are not this suite's and are passed over. If a
    call was made again, its last answer counts.
    """
    recordings: dict[str, Recording] = {}
    for sample in samples:
        for event in sample.events:
            if not isinstance(event, ModelEvent):
                continue
            address = CallAddress.of(event.input)
            if address is None:
                continue
            recording = recordings.setdefault(address.task, Recording(address.task))
            if event.error is not None or event.output.empty or event.pending:
                recording.failed += 1
                continue
            recording.models.add(event.output.model or event.model)
            key = (address.sample, address.step, address.epoch)
            recording.rows.pop(key, None)
            recording.rows[key] = _row(address, event)
    return recordings


def record_log(log: Path, out: Path) -> list[tuple[Path, Recording]]:
    """Write the fixtures of a log.

    Args:
        log: An Inspect log (`.eval` or `.json`).
        out: A `.jsonl` file, or a folder, which gets one `TASK.jsonl` for each task.

    Returns:
        Each file written, with what went into it.

    Raises:
        InputError: If the log cannot be read or holds no calls of this suite, or a file exists or cannot be
            written.
    """
    if not log.is_file():
        raise InputError(f"{log}: no such file")
    recordings = record_samples(_samples(log))
    recordings = {task: recording for task, recording in recordings.items() if recording.rows}
    if not recordings:
        raise InputError(f"{log}: no answered call says which task, sample and step it belongs to")
    one_file = out.suffix == ".jsonl"
    if one_file and len(recordings) > 1:
        raise InputError(
            f"{out}: the log holds several tasks ({', '.join(sorted(recordings))}); give a folder"
        )
    written = []
    for task, recording in recordings.items():
        path = out if one_file else out / f"{task}.jsonl"
        _write(path, recording)
        written.append((path, recording))
    return written


def _samples(log: Path) -> Iterator[EvalSample]:
    try:
        yield from read_eval_log_samples(str(log), all_samples_required=False, resolve_attachments=True)
    except Exception as error:  # whatever the zip, JSON and pydantic below it raise
        raise InputError(f"{log}: not a readable Inspect log ({type(error).__name__})") from error


def _row(address: CallAddress, event: ModelEvent) -> dict[str, Any]:
    text = event.output.completion
    row = {
        "sample": address.sample,
        "step": address.step,
        "epoch": address.epoch,
        "output": _as_output(text),
    }
    stop_reason = _STOP_REASONS.get(event.output.stop_reason)
    if stop_reason is not None:
        row["stop_reason"] = stop_reason
    return row


def _as_output(text: str) -> object:
    """Return an object, which is easier to read in a diff, if it gives back the same text; else the text."""
    try:
        value = json.loads(text)
        same = isinstance(value, dict) and json.dumps(value, ensure_ascii=False) == text
    except (ValueError, RecursionError):
        return text
    return value if same else text


def _write(path: Path, recording: Recording) -> None:
    if path.exists():
        raise InputError(f"{path}: exists already; choose another place or remove it")
    models = ", ".join(sorted(recording.models))
    about = {
        "about": f"Recorded from a run, not written by hand: answers of {models} to task {recording.task}.",
        "task": recording.task,
    }
    rows = list(recording.rows.values())
    if all(row["epoch"] == 1 for row in rows):
        rows = [{key: value for key, value in row.items() if key != "epoch"} for row in rows]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written: {error.strerror}") from None
    with replacing(path) as file:
        for row in (about, *rows):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
