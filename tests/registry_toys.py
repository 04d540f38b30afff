"""Small real tasks and results for the tests of the registry."""

import hashlib
import math
import os
import signal
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pyarrow.parquet as pq
from inspect_ai import Task, task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.asking import EndpointError
from clinical_evals.registry import hook
from clinical_evals.registry.delivery import Deliverer
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import DatasetFacts, MetricFacts, RunRecord, SampleRow
from clinical_evals.registry.runs import RunView, read_runs
from clinical_evals.registry.store import connect

CANARY = "canary-7f3a9c"

Answer = Mapping[str, float] | Score | str
"""What a toy sample comes to: a score, or `endpoint`, `bug` or `endless` for what happens on the way."""


@scorer(name="toy", metrics={"*": [mean()]})
def toy_scorer(answers: Mapping[str, Answer] | None = None) -> Scorer:
    """Give each sample the score written down for it."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = (answers or {})[str(state.sample_id)]
        if isinstance(answer, Score):
            return answer
        assert isinstance(answer, Mapping)
        return Score(
            value=dict(answer),
            answer=CANARY,
            explanation=CANARY,
            metadata={"counts": {"claims": 4, "note": CANARY}, "quote": CANARY},
        )

    return score


@solver
def toy_solver(answers: Mapping[str, Answer] | None = None) -> Solver:
    """Fail where it is written down."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = (answers or {})[str(state.sample_id)]
        if answer == "endpoint":
            raise EndpointError(f"EndpointError: {CANARY}")
        if answer == "endless":
            await anyio.sleep_forever()
        if answer == "bug":
            raise RuntimeError(CANARY)
        state.output.completion = CANARY
        state.metadata["answers"] = CANARY
        return state

    return solve


def toy(
    answers: Sequence[Answer],
    *,
    name: str = "toy",
    signature: str = "toy v=1",
    digest: str = "sha256:0123",
    metrics: Sequence[str] = ("quality",),
    of_suite: bool = True,
) -> Task:
    """Build a task with one sample for each answer, two samples a family."""
    by_id = {f"s{index:03}": answer for index, answer in enumerate(answers)}
    facts = {
        "signature": signature,
        "headline": metrics[0],
        "dataset": {
            "name": "toys",
            "version": "1",
            "digest": digest,
            "samples": len(answers),
            "access": "synthetic",
        },
        "metrics": {metric: {"range": [0, 1], "higher_is_better": True} for metric in metrics},
    }
    samples = [
        Sample(
            id=identity,
            input=CANARY,
            target=CANARY,
            metadata={"family": f"family-{index // 2}", "note": CANARY},
        )
        for index, identity in enumerate(by_id)
    ]
    return Task(
        name=name,
        dataset=MemoryDataset(samples, name="toys"),
        solver=toy_solver(by_id),
        scorer=toy_scorer(by_id),
        metadata=({"clinical_evals": facts} if of_suite else {}) | {"note": CANARY},
        fail_on_error=False,
    )


@task
def prompted(prompt: str, api_key: str, endpoint: str) -> Task:
    """Build a task whose signature names its prompt by a digest, as the suite's tasks do."""
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:12]
    return toy([{"quality": 0.5}, {"quality": 1.0}], name="prompted", signature=f"toy v=1 prompt={digest}")


def run(what: Task, **options: Any) -> EvalLog:
    """Run a task in the current folder, as `inspect eval` does."""
    options = {"model": "none", "display": "none", "log_dir": str(Path.cwd() / "logs")} | options
    return inspect_eval(what, **options)[0]


def settle() -> list[RunView]:
    """Wait until the current folder's registry has everything, and read it."""
    location = locate()
    delivery = Deliverer(location).drain(wait=30)
    assert not delivery.unsent
    return read_runs(connect(location))


def all_runs(folder: Path | None = None) -> list[Any]:
    """Read MLflow's own runs, whole or not, that are not deleted."""
    client = connect(locate(folder))
    found = client.search_experiments()
    return list(client.search_runs([experiment.experiment_id for experiment in found]))


def end_senders() -> None:
    """Kill the children that this process has started."""
    for child in hook._children:
        with suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
    hook._children.clear()


def everything_under(folder: Path) -> str:
    """Return all bytes in a folder, and what is compressed in them, as text."""
    texts: list[str] = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        texts.append(path.read_bytes().decode("latin-1"))
        if path.suffix == ".parquet":
            texts.append(repr(pq.read_table(path).to_pydict()))
            texts.append(repr(pq.read_metadata(path).metadata))
        if path.suffix == ".db":
            with sqlite3.connect(path) as database:
                texts += database.iterdump()
    return "\n".join(texts)


def record(
    values: Iterable[float | None],
    *,
    model: str = "m/one",
    eval_id: str | None = None,
    unscored: int = 0,
    cause: str = "endpoint error",
    failed: int = 0,
    dataset_samples: int | None = None,
    **changed: Any,
) -> RunRecord:
    """Build a result whose metric `quality` has these values."""
    rows = [
        SampleRow(
            sample=f"s{index:03}",
            epoch=1,
            family=f"f{index}",
            status="scored",
            values={"quality": None if value is None or math.isnan(value) else value},
        )
        for index, value in enumerate(values)
    ]
    rows += [
        SampleRow(sample=f"t{index:03}", epoch=1, family=f"g{index}", status="unscored", cause=cause)
        for index in range(unscored)
    ]
    rows += [
        SampleRow(
            sample=f"u{index:03}", epoch=1, family=f"h{index}", status="failed", cause="refusal",
            values={"quality": 0.0},
        )
        for index in range(failed)
    ]  # fmt: skip
    facts: dict[str, Any] = {
        "eval_id": eval_id or f"eval-{model.replace('/', '-')}",
        "task": "toy",
        "model": model,
        "grader": model,
        "arguments": "0",
        "status": "success",
        "created": "2026-01-02T03:04:05+00:00",
        "completed": "2026-01-02T03:05:05+00:00",
        "signature": "toy v=1",
        "headline": "quality",
        "dataset": DatasetFacts(
            name="toys",
            version="1",
            digest="sha256:0123",
            samples=len(rows) if dataset_samples is None else dataset_samples,
            access="synthetic",
        ),
        "metrics": {"quality": MetricFacts(range=(0, 1))},
        "epochs": 1,
        "params": {},
        "tags": {},
        "totals": {},
        "kept_for": "mlruns",
        "rows": rows,
    }
    return RunRecord(**(facts | changed))
