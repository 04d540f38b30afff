"""The scorers of the summary tasks: the models' answers in, checked figures out."""

from __future__ import annotations

import math
from typing import Any

from clinical_evals.scorers.interval import interval
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, mean, metric, scorer
from inspect_ai.solver import TaskState

from clinical_evals.agreement import agreement, krippendorff_alpha
from clinical_evals.summary.calibration import Scale, calibration_counts, calibration_figures
from clinical_evals.summary.figures import SHORT
from clinical_evals.summary.rubric import EMPTY_RATING, HIGHEST, LOWEST, Rating
from clinical_evals.summary.scoring import SummaryResult, score_summary, undefined_as_nan

__all__ = ["calibration_scorer", "judge_agreement", "panel_agreement", "summary_scorer"]


@scorer(name="summary", metrics={"*": [mean(), interval()]})
def summary_scorer(judged: bool = True, references: bool = True) -> Scorer:
    """Score a summary: the judges' rating, and what code finds in it.

    Args:
        judged: A judge was asked; else there are only the figures of code.
        references: The dataset has reference summaries.

    Returns:
        A scorer whose value holds `Overall Quality` and the three criteria, 1 to 10, and `fact_support`;
        with references also `fact_f1`, `token_f1`, `token_precision`, `token_recall` and `soap_f1`, 0 to 1.
        NaN is "not defined for this summary". A model that gave no summary is scored as for an empty one.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.metadata.get("answers")
        if answers is None:
            return _not_answered()
        if answers["unscored"]:
            return _unscored(answers["unscored"], answers["counts"])
        rating = Rating.of(answers["rating"], tuple(answers["flags"])) if answers["rating"] else None
        if answers["failure"] and judged:
            rating = EMPTY_RATING
        reference = state.metadata.get("reference") if references else None
        result = score_summary(state.input_text, answers["summary"] or "", reference, rating)
        counts = result.counts | answers["counts"]
        value = undefined_as_nan(result.figures(judged=judged, references=references))
        if answers["failure"]:
            return Score(value=dict(value), reason=answers["failure"], metadata={"counts": counts})
        return Score(
            value=dict(value),
            answer=f"{len(answers['summary'].split())} words",
            explanation=_explanation(result),
            metadata={**result.as_json(), "counts": counts},
        )

    return score


@scorer(name="judge_calibration", metrics={"*": [mean(), interval()]})
def calibration_scorer(scale: Scale, unit: int, names: dict[str, str]) -> Scorer:
    """Score a judge's rating against a person's.

    Args:
        scale: The scale of the human ratings.
        unit: Parts of a point that ratings are counted in.
        names: What is compared, with what its counts are called.

    Returns:
        A scorer whose value holds `… absolute error` and `… bias` of each thing compared, in points or
        shares. A judge that cannot be read leaves the sample unscored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.metadata.get("answers")
        if answers is None:
            return _not_answered()
        if answers["unscored"]:
            return _unscored(answers["unscored"], answers["counts"])
        rating = Rating.of(answers["rating"], tuple(answers["flags"]))
        counts = calibration_counts(state.metadata["human"], rating, scale, unit)
        value = undefined_as_nan(calibration_figures(counts, names, unit))
        return Score(
            value=dict(value),
            answer=", ".join(map(str, rating.scores.values())),
            metadata={
                "human": state.metadata["human"],
                "judge": rating.scores,
                "counts": counts | answers["counts"],
            },
        )

    return score


@metric(scores="unreduced")
def judge_agreement(names: dict[str, str], unit: int, cluster: str = "family") -> Metric:
    """Agreement of a judge with people over a run, each figure with its 95% bootstrap interval.

    Args:
        names: What is compared, with what its counts are called.
        unit: Parts of a point that ratings are counted in.
        cluster: The sample metadata that summaries of one dialogue share.

    Returns:
        For each thing compared `… kappa` (whole points only), `… alpha`, `… spearman`, `… bias` and `… mae`,
        each with `… lower` and `… upper`; NaN where a figure is not defined.
    """

    def compute(scores: list[SampleScore]) -> Value:
        found: dict[str, Any] = {}
        families = [str((score.sample_metadata or {}).get(cluster) or score.sample_id) for score in scores]
        for name, short in names.items():
            human, judge = (
                [_count(score, f"{rater}_{short}") / unit for score in scores] for rater in ("human", "judge")
            )
            compared = agreement(human, judge, families, scale=(LOWEST, HIGHEST) if unit == 1 else None)
            for label, figure in {
                "kappa": compared.quadratic_weighted_kappa,
                "alpha": compared.krippendorff_ordinal,
                "spearman": compared.spearman,
                "bias": compared.bias,
                "mae": compared.mean_absolute_error,
            }.items():
                if label != "kappa" or unit == 1:
                    found[f"{name} {label}"] = figure.value
                    found[f"{name} {label} lower"] = figure.lower
                    found[f"{name} {label} upper"] = figure.upper
        return found

    return compute


@metric(scores="unreduced")
def panel_agreement(judges: int) -> Metric:
    """Krippendorff's alpha of a panel's judges over a run, for each criterion.

    Args:
        judges: Number of judges.
    """

    def compute(scores: list[SampleScore]) -> Value:
        return {
            f"{criterion} alpha": krippendorff_alpha(
                [
                    [_count(score, f"judge{number}_{short}") for score in scores]
                    for number in range(1, judges + 1)
                ]
            )
            for criterion, short in SHORT.items()
        }

    return compute


def _count(score: SampleScore, name: str) -> float:
    """Return a count of a sample; NaN where it is not counted."""
    return float((score.score.metadata or {}).get("counts", {}).get(name, math.nan))


def _explanation(result: SummaryResult) -> str:
    counts = result.counts
    facts = (
        f"{counts['supported']} of {counts['supported'] + counts['unsupported']} facts are in the dialogue"
        + (f", {counts['copied']} more are copied from it" if counts["copied"] else "")
    )
    if result.rating is None:
        return facts
    scores = ", ".join(f"{name} {score}" for name, score in result.rating.scores.items())
    return f"{scores}; {facts}" + "".join(f"; {flag}" for flag in result.rating.flags)


def _unscored(reason: str, counts: dict[str, int]) -> Score:
    return Score.unscored(reason=reason, metadata={"counts": counts})


def _not_answered() -> Score:
    return Score.unscored(reason="not_answered", explanation="The sample ended before it was answered.")
