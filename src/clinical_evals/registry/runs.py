"""Runs read back from MLflow, each as what the registry says of it."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from clinical_evals.registry.aggregate import aggregate
from clinical_evals.registry.names import stored_names
from clinical_evals.registry.record import DatasetFacts, MetricFacts, RunRecord
from clinical_evals.registry.store import COMPLETE, declared_metrics, run_tags

if TYPE_CHECKING:
    from mlflow.entities import Experiment, Run
    from mlflow.tracking import MlflowClient

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric of one run. What is undefined is NaN.

    Attributes:
        mean: Mean over the samples for which it is defined.
        stderr: Standard error of the mean.
        lower: Lower end of the 95% interval.
        upper: Upper end of the 95% interval.
        n: Number of samples for which it is defined.
        undefined: Number of scored samples for which it is not.
        worst: The mean, had every unscored sample got the worst value.
        best: The mean, had every unscored sample got the best value.
    """

    mean: float = math.nan
    stderr: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    n: int = 0
    undefined: int = 0
    worst: float = math.nan
    best: float = math.nan


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as the registry shows it.

    Attributes:
        run_id: MLflow's id.
        eval_id: Inspect's id.
        attempted: Number of different samples of the dataset that were attempted.
        scored: Number of rows (a sample in one epoch) that were scored.
        rows: Number of rows that were attempted.
        unscored: Rows by cause that the model under test did not cause.
        failed: Rows by cause that it did cause.
        counts: Sums of the counts behind the values.
        figures: Metrics by readable name.
        facts: Range and direction by readable metric name.
        params: Arguments and settings.
        epochs: How often each sample was asked.
        stored: All numbers of the run by their stored names.
        artifacts: Address of the folder that holds its table of samples; empty if it has none.
        graded: Its answers were graded by a model.
        calibrated_by: Which runs say how far the grader can be believed; see `data.task_facts`.
    """

    run_id: str
    eval_id: str
    task: str
    model: str
    grader: str
    arguments: str
    status: str
    created: str
    signature: str
    headline: str
    dataset: DatasetFacts
    attempted: int
    scored: int
    rows: int
    unscored: dict[str, int]
    failed: dict[str, int]
    counts: dict[str, int]
    figures: dict[str, Figure]
    facts: dict[str, MetricFacts]
    params: dict[str, str]
    epochs: int
    stored: dict[str, float]
    artifacts: str = ""
    graded: bool = False
    calibrated_by: dict[str, str] | None = None

    @property
    def unscored_rate(self) -> float:
        """Share of attempted rows that are unscored; NaN if none was attempted."""
        return (self.rows - self.scored) / self.rows if self.rows else math.nan

    @property
    def failure_rate(self) -> float:
        """Share of scored rows that count 0 because the model failed; NaN if none was scored."""
        return sum(self.failed.values()) / self.scored if self.scored else math.nan

    @property
    def graded_by(self) -> str:
        """Name who graded it; empty if code alone scored it."""
        return self.grader if self.graded or self.grader != self.model else ""

    def figure(self, metric: str) -> Figure:
        """Return one metric; all NaN if the run does not have it."""
        return self.figures.get(metric, Figure())


def read_runs(client: "MlflowClient", task: str | None = None) -> list[RunView]:
    """Read the runs of this registry that were sent whole, oldest first.

    Args:
        client: An open registry.
        task: Only this task's.
    """
    names = {experiment.name: experiment.experiment_id for experiment in _experiments(client)}
    wanted = [identity for name, identity in names.items() if task is None or name == task]
    views = [view_run(run) for run in _runs(client, wanted) if "eval_id" in run.data.tags] if wanted else []
    return sorted(views, key=lambda view: (view.created, view.eval_id))


def _experiments(client: "MlflowClient") -> "Iterator[Experiment]":
    token = None
    while True:
        page = client.search_experiments(max_results=_PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _runs(client: "MlflowClient", experiments: list[str]) -> Iterator["Run"]:
    """Yield all runs: one search stops at 1,000 without saying so, so it goes by pages."""
    token = None
    while True:
        page = client.search_runs(
            experiments, f"tags.{COMPLETE} = 'true'", max_results=_PAGE, page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def view_run(run: "Run") -> RunView:
    """Read one run of MLflow."""
    uri = run.info.artifact_uri or ""
    return build_view(run.info.run_id, run.data.tags, run.data.metrics, run.data.params, uri)


def view_record(record: RunRecord) -> RunView:
    """Read a result as it would come back from MLflow; its run id is empty."""
    summed = aggregate(record)
    return build_view("", run_tags(record, summed), summed.metrics, record.params, "")


def build_view(
    run_id: str,
    tags: Mapping[str, str],
    metrics: Mapping[str, float],
    params: Mapping[str, str],
    artifacts: str,
) -> RunView:
    """Read a run's tags, metrics and parameters as MLflow stores them.

    Args:
        run_id: MLflow's id.
        tags: Its tags.
        metrics: Its metrics by stored name.
        params: Its parameters.
        artifacts: Address of its artifacts.
    """
    facts, stored = _declared(tuple(sorted(item for item in tags.items() if item[0].startswith("metrics."))))

    def number(metric: str, kind: str) -> float:
        return metrics.get(stored[metric, kind], math.nan)

    def count(metric: str, kind: str) -> int:
        return int(metrics.get(stored[metric, kind], 0))

    return RunView(
        run_id=run_id,
        eval_id=tags["eval_id"],
        task=tags.get("task", ""),
        model=tags.get("model", ""),
        grader=tags.get("grader", ""),
        arguments=tags.get("arguments", ""),
        status=tags.get("status", ""),
        created=tags.get("created", ""),
        signature=tags.get("signature", ""),
        headline=tags.get("headline", ""),
        dataset=DatasetFacts(
            name=tags.get("dataset_name", ""),
            version=tags.get("dataset_version", ""),
            digest=tags.get("dataset_digest", ""),
            samples=int(tags.get("dataset_samples", 0)),
            access=tags.get("dataset_access", ""),
        ),
        attempted=int(tags.get("attempted", 0)),
        scored=int(metrics.get("scored", 0)),
        rows=int(metrics.get("samples", 0)),
        unscored=json.loads(tags.get("unscored", "{}")),
        failed=json.loads(tags.get("failed", "{}")),
        counts={
            name.removeprefix("total_"): int(value)
            for name, value in metrics.items()
            if name.startswith("total_")
        },
        figures={
            metric: Figure(
                mean=number(metric, ""),
                stderr=number(metric, "stderr"),
                lower=number(metric, "lower"),
                upper=number(metric, "upper"),
                n=count(metric, "n"),
                undefined=count(metric, "undefined"),
                worst=number(metric, "worst"),
                best=number(metric, "best"),
            )
            for metric in facts
        },
        facts=facts,
        params=dict(params),
        epochs=int(tags.get("epochs", 1)),
        stored=dict(metrics),
        artifacts=artifacts,
        graded=tags.get("graded") == "true",
        calibrated_by=json.loads(tags["calibrated_by"]) if "calibrated_by" in tags else None,
    )


@lru_cache(maxsize=256)
def _declared(
    pieces: tuple[tuple[str, str], ...],
) -> tuple[dict[str, MetricFacts], dict[tuple[str, str], str]]:
    """Read what is declared of metrics, and how they are stored; many runs declare the same."""
    facts = {
        name: MetricFacts.model_validate(value) for name, value in declared_metrics(dict(pieces)).items()
    }
    return facts, stored_names(facts)
