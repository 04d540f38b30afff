"""Turn the log of a real run into a fixture that `replay/PATH` answers from."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalSample, read_eval_log_samples

from clinical_evals.files import InputError, replacing
from clinical_evals.replay import CallAddress

_Key = tuple[str, str, int]
_LONGEST_FOLDER = 60
# What other stop reasons mean for the reader of an answer.
_STOP_REASONS = {"max_tokens": "max_tokens", "model_length": "max_tokens", "content_filter": "content_filter"}


@dataclass(slots=True)
class Recording:
    """The answers of one task in a run: of all models, or of one where several answered the same calls.

    Attributes:
        task: The task's name, as its calls say it.
        asked: The one model, as the run names it; empty if the answers are of all models.
        models: Every model that answered, as it calls itself.
        rows: Fixture rows in the order of the calls, one for each sample, step and epoch.
        failed: Calls that got no answer and are left out.
        repeated: Answers that are left out because the same model answered the same call again.
        silent: Models of the task that answered no call, where each model has a recording of its own.
    """

    task: str
    asked: str = ""
    models: set[str] = field(default_factory=set)
    rows: dict[_Key, dict[str, Any]] = field(default_factory=dict)
    failed: int = 0
    repeated: int = 0
    silent: tuple[str, ...] = ()

    def add(self, call: "_Call") -> None:
        """Take in a call; of several answers of one model the last counts."""
        if call.row is None:
            self.failed += 1
            return
        self.models.add(call.answered_as)
        self.repeated += self.rows.pop(call.key, None) is not None
        self.rows[call.key] = call.row


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a run: who was asked, and the fixture row of the answer; None if there was no answer."""

    task: str
    key: _Key
    model: str
    answered_as: str
    row: dict[str, Any] | None


def record_samples(samples: Iterable[EvalSample], model: str | None = None) -> list[Recording]:
    """Collect the answers of a run's samples by task.

    Calls that carry no address (see `clinical_evals.replay`) are not this suite's and are passed over. Where
    several models answered the same call, as the judges of a panel do, each has a recording of its own.

    Args:
        samples: The samples.
        model: Only the answers of this model.

    Raises:
        InputError: If no call was made to that model.
    """
    by_task: dict[str, list[_Call]] = {}
    models: dict[str, None] = {}
    for call in _calls(samples):
        models[call.model] = None
        if model in (None, call.model, call.answered_as):
            by_task.setdefault(call.task, []).append(call)
    if model is not None and models and not by_task:
        raise InputError(f"--model {model}: not asked in this run; choose from: {', '.join(models)}")
    recordings: dict[tuple[str, str], Recording] = {}
    for task, calls in by_task.items():
        apart = _have_a_call_in_common(calls)
        for call in calls:
            asked = call.model if apart else ""
            recordings.setdefault((task, asked), Recording(task, asked)).add(call)
    found = [recording for recording in recordings.values() if recording.rows]
    for recording in found:
        others = [one for one in recordings.values() if one.task == recording.task]
        recording.silent = tuple(one.asked for one in others if one.asked and not one.rows)
    return found


def _calls(samples: Iterable[EvalSample]) -> Iterator[_Call]:
    for sample in samples:
        for event in sample.events:
            address = CallAddress.of(event.input) if isinstance(event, ModelEvent) else None
            if not isinstance(event, ModelEvent) or address is None:
                continue
            answered = event.error is None and not event.output.empty and not event.pending
            yield _Call(
                address.task,
                (address.sample, address.step, address.epoch),
                event.model,
                event.output.model or event.model,
                _row(address, event) if answered else None,
            )


def _have_a_call_in_common(calls: Iterable[_Call]) -> bool:
    """Tell whether any call was put to more than one model."""
    asked: dict[_Key, str] = {}
    return any(asked.setdefault(call.key, call.model) != call.model for call in calls)


def record_log(log: Path, out: Path, model: str | None = None) -> list[tuple[Path, Recording]]:
    """Write the fixtures of a log.

    Args:
        log: An Inspect log (`.eval` or `.json`).
        out: A `.jsonl` file, or a folder, which gets one `TASK.jsonl` for each task; where several models
            answered the same calls, a folder for each model, which gets it.
        model: Only the answers of this model.

    Returns:
        Each file written, with what went into it.

    Raises:
        InputError: If the log cannot be read or holds no calls of this suite, or a file exists or cannot be
            written; then none is.
    """
    if not log.is_file():
        raise InputError(f"{log}: no such file")
    recordings = record_samples(_samples(log), model)
    if not recordings:
        raise InputError(f"{log}: no answered call says which task, sample and step it belongs to")
    if out.suffix == ".jsonl":
        paths = [out]
        tasks, models = sorted({one.task for one in recordings}), sorted({one.asked for one in recordings})
        if len(tasks) > 1:
            raise InputError(f"{out}: the log holds several tasks ({', '.join(tasks)}); give a folder")
        if len(models) > 1:
            raise InputError(
                f"{out}: several models answered the same calls ({', '.join(models)}); give a folder, or "
                "choose one with --model"
            )
    else:
        folders = _folders(one.asked for one in recordings)
        paths = [out / folders[one.asked] / f"{one.task}.jsonl" for one in recordings]
    for path in paths:
        if path.exists():
            raise InputError(f"{path}: exists already; choose another place or remove it")
    written = list(zip(paths, recordings, strict=True))
    for at, (path, recording) in enumerate(written):
        try:
            _write(path, recording)
        except InputError:
            for earlier, _ in written[:at]:
                earlier.unlink()
            raise
    return written


def _folders(models: Iterable[str]) -> dict[str, str]:
    """Name a folder for each model, in letters that stand in any path and in a list of judges."""
    names: dict[str, str] = {}
    for model in dict.fromkeys(models):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", model)[-_LONGEST_FOLDER:].strip("._")
        if model and (not name or name in names.values()):
            name += f"-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
        names[model] = name
    return names


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
