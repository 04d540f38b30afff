"""Texts in the registry, for who asks for them: `CLINICAL_EVALS_LOG_TEXT=1`.

The spool never holds a text. A spooled result only says which Inspect log the texts are to be read from, and
they go from there into the artifact `text/samples.jsonl.gz` when the result is sent. A dataset that is
restricted is left out, unless its card says `log_text: allowed`.
"""

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinical_evals.registry.redact import blacked_out

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ChatMessage
    from mlflow.tracking import MlflowClient

LOG_TEXT = "CLINICAL_EVALS_LOG_TEXT"
TAG = "text_logged"
"""Run tag: `true` if the texts are there, else why they are not; absent where nobody asked for them."""

ARTIFACT_FOLDER, ARTIFACT = "text", "samples.jsonl.gz"


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether texts are asked for."""
    return environment.get(LOG_TEXT, "").strip().lower() in ("1", "true", "yes", "on")


def text_source(log: "EvalLog", dataset: Mapping[str, Any]) -> str | None:
    """Say which log a run's texts are to be read from; None if they are not to be sent.

    Args:
        log: The run's log; only the header is read.
        dataset: What the task says of its dataset, empty for a task of another suite.
    """
    if not wanted() or dataset.get("log_text", dataset.get("access") != "restricted") is not True:
        return None
    place = log.location
    if not place:
        return None  # of a task that was interrupted no more is known
    return place if "://" in place else str(Path(place).absolute())


def send_text(run_id: str, source: str, client: "MlflowClient", folder: Path) -> None:
    """Upload the texts of a run as an artifact, and tag it with whether they are there.

    Args:
        run_id: The MLflow run.
        source: The Inspect log.
        client: The registry.
        folder: A folder for the file, which the caller removes.

    Raises:
        Exception: Whatever MLflow raises.
    """
    path = folder / ARTIFACT
    try:
        said = "true" if _write(source, path) else "no: the log holds no samples"
    except Exception as error:  # the log may have been moved, or be of any kind; the figures go in without it
        said = f"no: log not readable ({type(error).__name__})"
    if said == "true":
        client.log_artifact(run_id, str(path), ARTIFACT_FOLDER)
    client.set_tag(run_id, TAG, said)


def _write(source: str, path: Path) -> int:
    """Write one line for each sample and return their number; one sample in memory at a time."""
    number = 0
    with gzip.open(path, "wt", encoding="utf-8", errors="backslashreplace") as file:
        for line in _lines(source):
            file.write(blacked_out(json.dumps(line, ensure_ascii=False)) + "\n")
            number += 1
    return number


def _lines(source: str) -> Iterator[dict[str, Any]]:
    from inspect_ai.log import read_eval_log_samples

    for sample in read_eval_log_samples(source, all_samples_required=False, resolve_attachments=True):
        yield {
            "sample": sample.id,
            "epoch": sample.epoch,
            "input": _shown(sample.input),
            "output": sample.output.completion,
            "calls": list(_calls(sample)),
        }


def _calls(sample: "EvalSample") -> Iterator[dict[str, Any]]:
    """Every question that models were asked, and the answers; errors, which may repeat anything, are not."""
    from inspect_ai.event import ModelEvent

    for event in sample.events:
        if isinstance(event, ModelEvent):
            yield {"model": event.model, "input": _shown(event.input), "output": event.output.completion}


def _shown(asked: "str | list[ChatMessage]") -> str | list[dict[str, str]]:
    if isinstance(asked, str):
        return asked
    return [{"role": message.role, "content": message.text} for message in asked]
