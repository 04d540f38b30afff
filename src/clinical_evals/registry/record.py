"""One finished task as ids and numbers: what is spooled, sent and counted, and nothing else."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

SampleStatus = Literal["scored", "failed", "unscored", "cancelled"]
Statistic = Literal["quadratic_weighted_kappa", "krippendorff_alpha", "spearman"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SampleRow(_Strict):
    """One sample of one epoch.

    Attributes:
        sample: The sample's id.
        epoch: From 1.
        family: Samples with the same family are variants of one another.
        status: `scored`; `failed`: scored 0 because the model under test refused or answered unreadably;
            `unscored`: something else failed; `cancelled`: never finished.
        cause: Why it failed or is unscored.
        values: Score values by metric; None where the metric is not defined for the sample.
        counts: What the values were computed from.
        seconds: Working time.
        input_tokens: Tokens that all models read, cached ones included.
        output_tokens: Tokens that all models wrote.
    """

    sample: str
    epoch: int
    family: str
    status: SampleStatus
    cause: str | None = None
    values: dict[str, FiniteFloat | None] = Field(default_factory=dict)
    counts: dict[str, int] = Field(default_factory=dict)
    seconds: FiniteFloat | None = None
    input_tokens: int = 0
    output_tokens: int = 0


class DatasetFacts(_Strict):
    """Which data a run is about. `samples` is how many the whole dataset has."""

    name: str
    version: str
    digest: str
    samples: int
    access: str


class MetricFacts(_Strict):
    """What a task declares of a metric.

    Attributes:
        range: Its least and greatest value.
        higher_is_better: Its direction. What is not, and lies as far on either side of 0 as it can, such as a
            bias, is best at 0.
        formula: How a sample's value follows from its counts; see `registry.formula`.
        statistic: What is computed from the counts of all samples, for a metric that no single sample has:
            `quadratic_weighted_kappa`, `krippendorff_alpha` or `spearman`.
        of: The counts it is computed of, one a rater.
    """

    range: tuple[FiniteFloat, FiniteFloat] | None = None
    higher_is_better: bool = True
    formula: str | None = None
    statistic: Statistic | None = None
    of: tuple[str, ...] = ()

    @property
    def is_best_at_0(self) -> bool:
        """Tell whether neither more nor less is better, but nearer to 0."""
        return not self.higher_is_better and self.range is not None and self.range[0] == -self.range[1]

    @property
    def width(self) -> float | None:
        """Its greatest less its least value; None if it declares no range."""
        return None if self.range is None else abs(self.range[1] - self.range[0])

    def worth(self, value: float) -> float:
        """Turn a value so that more is better."""
        if self.is_best_at_0:
            return -abs(value)
        return value if self.higher_is_better else -value


class RunRecord(_Strict):
    """A finished task.

    Attributes:
        format: Version of this layout.
        model: The model under test, or what the task ranks in its place, such as a search method.
        arguments: Digest of the task's arguments: the same model with other arguments is another contender.
        status: Inspect's status: `success`, `error` or `cancelled`.
        created: ISO time at which it was started.
        tags: Further facts about the run.
        totals: Tokens, cost and time of the whole run.
        graded: A model grades the answers: the grader.
        calibrated_by: Which runs say how far the grader can be believed; see `data.task_facts`.
        text_log: The Inspect log to read texts from, where they were asked for; see `registry.text`.
        kept_for: Name of the registry it is meant for; see `Location.name`.
    """

    format: Literal["clinical-evals record 1"] = "clinical-evals record 1"
    eval_id: str
    task: str
    model: str
    grader: str
    arguments: str
    status: str
    created: str
    completed: str
    signature: str
    headline: str
    dataset: DatasetFacts
    metrics: dict[str, MetricFacts]
    epochs: int
    params: dict[str, str]
    tags: dict[str, str]
    totals: dict[str, FiniteFloat]
    graded: bool = False
    calibrated_by: dict[str, str] | None = None
    text_log: str | None = None
    kept_for: str
    rows: list[SampleRow]
