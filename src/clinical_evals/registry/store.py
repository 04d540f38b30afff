"""The MLflow side: one run per result, exactly once."""

import hashlib
import json
import logging
import os
import platform
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from clinical_evals.registry.aggregate import Aggregates, aggregate
from clinical_evals.registry.cross_table import ARTIFACT, write_picture
from clinical_evals.registry.database import check_database, create_database
from clinical_evals.registry.location import Location
from clinical_evals.registry.names import safe_name, stored_names
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.rows import write_rows
from clinical_evals.registry.text import send_text

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_T = TypeVar("_T")

COMPLETE = "complete"
"""Tag that becomes `true` last. Until then it says who sends the run and since when."""
_REPLACED = "replaced"
"""What the tag becomes where a fuller run took a run's place and it could not be deleted."""
_LONGEST_SENDING = 3600.0

# MLflow takes at most 1,000 items, 100 parameters and 100 tags a call, and cuts tags at 8,000 characters.
_METRICS_PER_CALL = 800
_SETTINGS_PER_CALL = 100
_LONGEST_TAG = 7_500
_DIGEST_LENGTH = 36


def connect(location: Location) -> "MlflowClient":
    """Open a registry, creating the local one if it is new.

    MLflow's telemetry is off, and a server that does not answer is given up on soon.

    Raises:
        Exception: Whatever MLflow raises if it cannot be opened; see `reason`.
    """
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    from mlflow.tracking import MlflowClient

    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    if location.database is not None and not location.database.exists():
        create_database(location.database)
    check_database(location.uri)
    client = MlflowClient(tracking_uri=location.uri)
    client.search_experiments(max_results=1)
    return client


def reason(error: BaseException) -> str:
    """Say in one line why the registry could not be used, without credentials."""
    lines = str(error).strip().splitlines()
    said = re.sub(r"//[^/@\s]*@", "//", lines[0] if lines else "")
    while error.__context__ is not None and len(said) > 160:
        error = error.__context__  # the outer layers of a connection error only repeat the address
        said = re.sub(r"//[^/@\s]*@", "//", str(error).strip().partition("\n")[0])
    return f"{type(error).__name__}: {said[:160]}".rstrip(": ")


def refused(error: BaseException) -> bool:
    """Tell whether the registry will never take a result as it is, however often it is sent."""
    from mlflow.exceptions import MlflowException

    return isinstance(error, MlflowException) and error.error_code in (
        "INVALID_PARAMETER_VALUE",
        "BAD_REQUEST",
    )


def has_whole(record: RunRecord, client: "MlflowClient") -> bool:
    """Tell whether a registry holds the result of an eval that ran to its end; rows are not looked at."""
    found = client.get_experiment_by_name(record.task)
    if found is None or found.lifecycle_stage == "deleted":
        return False
    runs = _runs_of(record, found.experiment_id, client)
    return any(_is_complete(run) and run.data.tags.get("status") == "success" for run in runs)


def send(record: RunRecord, client: "MlflowClient", location: Location) -> Literal["sent", "present"]:
    """Bring a result into MLflow, unless it is there.

    A run that was broken off on an earlier attempt is replaced, and so is an interrupted run by one with more
    samples. Two processes of one folder must not send the same result at the same time; the spool's lock sees
    to that. Of two folders that do, one result stays.

    Returns:
        `sent`, or `present` if the whole result was there already.

    Raises:
        Exception: Whatever MLflow raises; what was begun is replaced on the next attempt.
    """
    experiment = _experiment(record.task, client, location)
    summed = aggregate(record)
    sender = hashlib.sha256(f"{platform.node()}\0{location.home}".encode()).hexdigest()[:12]
    if not _tidy(record, summed, experiment, client, sender):
        return "present"
    run_id = client.create_run(
        experiment,
        start_time=_milliseconds(record.created),
        tags={"eval_id": record.eval_id, COMPLETE: f"{sender} {time.time():.0f}"},
        run_name=record.model,
    ).info.run_id
    _log_all(run_id, record, summed, client)
    _log_dataset(run_id, record, client)
    with tempfile.TemporaryDirectory() as folder:
        client.log_artifact(run_id, str(write_rows(record.rows, Path(folder) / "samples.parquet")))
        picture = write_picture(record, Path(folder) / ARTIFACT)
        if picture is not None:
            client.log_artifact(run_id, str(picture))
        if record.text_log is not None:
            send_text(run_id, record.text_log, client, Path(folder))
    client.set_terminated(run_id, summed.status, end_time=_milliseconds(record.completed))
    client.set_tag(run_id, COMPLETE, "true")
    _tidy(record, summed, experiment, client, sender)
    return "sent"


def _tidy(
    record: RunRecord, summed: Aggregates, experiment: str, client: "MlflowClient", sender: str
) -> bool:
    """Remove all runs of a result but the fullest whole one; tell whether the result still has to be sent.

    All senders follow the same rule among whole runs, and none removes a run that another may be sending, so
    that never both of two are removed.
    """
    runs = _runs_of(record, experiment, client)
    whole = sorted(filter(_is_complete, runs), key=lambda run: (*_fullness(run), run.info.run_id))
    for run in runs:
        if run not in whole and _is_broken_off(run, sender):
            _remove(run, client)
    for run in whole[1:]:
        _remove(run, client)
    return not whole or _fullness(whole[0]) > (-summed.metrics["samples"], record.status != "success")


def _fullness(run: "Run") -> tuple[float, bool]:
    """Sort the run with the most samples first, and one that ended before one that was interrupted."""
    return -run.data.metrics.get("samples", 0), run.data.tags.get("status") != "success"


def _is_complete(run: "Run") -> bool:
    return run.data.tags.get(COMPLETE) == "true"


def _is_broken_off(run: "Run", sender: str) -> bool:
    """Tell whether nobody is sending a run any more: it was ours, or it was begun long ago."""
    who, _, since = run.data.tags.get(COMPLETE, "").partition(" ")
    if who == _REPLACED:
        return False
    return who in ("", sender) or not since.isdigit() or time.time() - int(since) > _LONGEST_SENDING


def _remove(run: "Run", client: "MlflowClient") -> None:
    """Delete a run; who may write but not delete marks it instead, and it is read no more."""
    from mlflow.exceptions import MlflowException

    try:
        client.delete_run(run.info.run_id)
    except MlflowException as error:
        if error.error_code not in ("PERMISSION_DENIED", "UNAUTHENTICATED"):
            raise
        client.set_tag(run.info.run_id, COMPLETE, _REPLACED)


def _experiment(task: str, client: "MlflowClient", location: Location) -> str:
    """Return the id of a task's experiment; another process may create it at the same moment."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(task)
    if found is None:
        root = location.artifact_root
        place = None if root is None else (root / safe_name(task).replace("/", "_")).absolute().as_uri()
        try:
            return client.create_experiment(task, artifact_location=place)
        except MlflowException:
            found = client.get_experiment_by_name(task)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def _runs_of(record: RunRecord, experiment: str, client: "MlflowClient") -> "list[Run]":
    return list(client.search_runs([experiment], f"tags.eval_id = '{record.eval_id}'"))


def _log_all(run_id: str, record: RunRecord, summed: Aggregates, client: "MlflowClient") -> None:
    from mlflow.entities import Metric, Param, RunTag

    when = _milliseconds(record.completed)
    headline = stored_names(record.metrics).get((record.headline, ""))
    ordered = sorted(summed.metrics.items(), key=lambda item: item[0] != headline)
    metrics = [Metric(name, value, when, 0) for name, value in ordered]
    params = [Param(safe_name(name), value) for name, value in record.params.items()]
    tags = [RunTag(name, value) for name, value in run_tags(record, summed).items()]
    calls = max(-(-len(metrics) // _METRICS_PER_CALL), -(-max(len(params), len(tags)) // _SETTINGS_PER_CALL))
    for call in range(calls):
        client.log_batch(
            run_id,
            _piece(metrics, _METRICS_PER_CALL, call),
            _piece(params, _SETTINGS_PER_CALL, call),
            _piece(tags, _SETTINGS_PER_CALL, call),
        )


def _piece(values: list[_T], size: int, index: int) -> list[_T]:
    return values[index * size : (index + 1) * size]


def run_tags(record: RunRecord, summed: Aggregates) -> dict[str, str]:
    """Write what a run is about as MLflow tags; empty ones are left out."""
    dataset = record.dataset
    tags = {
        "eval_id": record.eval_id,
        "task": record.task,
        "model": record.model,
        "grader": record.grader,
        "arguments": record.arguments,
        "dataset_name": dataset.name,
        "dataset_version": dataset.version,
        "dataset_digest": dataset.digest,
        "dataset_samples": str(dataset.samples),
        "dataset_access": dataset.access,
        "attempted": str(summed.attempted),
        "signature": record.signature,
        "headline": record.headline,
        "epochs": str(record.epochs),
        "status": record.status,
        "created": record.created,
        "unscored": json.dumps(summed.unscored),
        "failed": json.dumps(summed.failed),
        "graded": "true" if record.graded else "",
        "calibrated_by": json.dumps(record.calibrated_by) if record.calibrated_by else "",
        "mlflow.source.name": record.task,
        **record.tags,
        **dict(_in_pieces("metrics", record)),
    }
    if "git_commit" in record.tags:
        tags["mlflow.source.git.commit"] = record.tags["git_commit"].removesuffix("-dirty")
    return {name: value for name, value in tags.items() if value}


def _in_pieces(name: str, record: RunRecord) -> Iterator[tuple[str, str]]:
    """Write what the task declares of its metrics into as many tags as it takes."""
    piece: dict[str, object] = {}
    number = 0
    for metric, facts in record.metrics.items():
        grown = {**piece, metric: facts.model_dump(mode="json", exclude_defaults=True)}
        if piece and len(json.dumps(grown)) > _LONGEST_TAG:
            yield f"{name}.{number}", json.dumps(piece)
            number += 1
            grown = {metric: grown[metric]}
        piece = grown
    yield f"{name}.{number}", json.dumps(piece)


def _log_dataset(run_id: str, record: RunRecord, client: "MlflowClient") -> None:
    """Show the dataset in MLflow's own place for it, which holds 36 characters of its digest."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    dataset = Dataset(
        name=record.dataset.name,
        digest=record.dataset.digest.rpartition(":")[2][:_DIGEST_LENGTH] or "none",
        source_type="local",
        source=json.dumps({"version": record.dataset.version, "access": record.dataset.access}),
        profile=json.dumps({"samples": record.dataset.samples}),
    )
    client.log_inputs(run_id, [DatasetInput(dataset, [InputTag("mlflow.data.context", "evaluation")])])


def _milliseconds(when: str) -> int:
    return int(datetime.fromisoformat(when).timestamp() * 1000)


def declared_metrics(tags: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Read back what `send` wrote of a run's metrics: range and direction by readable name."""
    found: dict[str, dict[str, object]] = {}
    number = 0
    while (piece := tags.get(f"metrics.{number}")) is not None:
        found |= json.loads(piece)
        number += 1
    return found
