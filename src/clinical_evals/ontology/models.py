"""Results of scoring code sets, retrieval methods and decomposition.

The fields of `phenoforge.eval.models`, with the same names, and optional ones of our own after them.
"""

import math
from typing import Self

from pydantic import BaseModel, Field

from clinical_evals.statistics import Summary


class Interval(BaseModel):
    """A confidence interval; an end is None where it is undefined, as with a single cohort."""

    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Give the interval of a summarised mean."""
        lower, upper = (None if math.isnan(end) else end for end in (summary.lower, summary.upper))
        return cls(lower=lower, upper=upper)


class CohortEvalResult(BaseModel):
    """How well one method's codes match one cohort's curated codes.

    Attributes:
        cohort_id: Id of the cohort.
        cohort_name: Its display name, which retrieval methods get as the query.
        method: Label of the method under test.
        predicted_codes: The codes that the method gave, as it gave them.
        ground_truth_codes: The curated codes, as given.
        coverage: Mean best match of each curated code, in [0, 1].
        over_inclusion_penalty: Mean of 1 minus the best match of each predicted code, in [0, 1].
        hierarchical_score: Harmonic mean of coverage and 1 - over_inclusion_penalty.
        unresolvable_ground_truth: Curated codes that the vocabulary lacks; no score counts them.
        strict_set_score: One-to-one score in [0, 1]; see `clinical_evals.ontology.strict`.
        hierarchical_precision: Share of the predicted codes and their ancestors that are also the truth's.
        hierarchical_recall: Share of the true codes and their ancestors that are also the prediction's.
        hierarchical_f: Harmonic mean of the two.
        invalid_codes: Predicted codes that the vocabulary lacks; each earns 0.
        invalid_code_rate: Their share of the different predicted codes; None if nothing was predicted.
        counts: The whole numbers that all scores are ratios of; see `clinical_evals.ontology.scoring`.
    """

    cohort_id: str
    cohort_name: str
    method: str
    predicted_codes: list[str]
    ground_truth_codes: list[str]
    coverage: float
    over_inclusion_penalty: float
    hierarchical_score: float
    unresolvable_ground_truth: list[str]
    strict_set_score: float | None = None
    hierarchical_precision: float | None = None
    hierarchical_recall: float | None = None
    hierarchical_f: float | None = None
    invalid_codes: list[str] = Field(default_factory=list)
    invalid_code_rate: float | None = None
    counts: dict[str, int] = Field(default_factory=dict)


class BenchmarkReport(BaseModel):
    """All cohorts by all methods.

    Attributes:
        results: One result a cohort and method.
        mean_coverage_by_method: Mean coverage of each method over its cohorts.
        mean_over_inclusion_by_method: Mean over-inclusion penalty of each method.
        mean_hierarchical_score_by_method: Mean hierarchical score of each method.
        mean_strict_set_score_by_method: Mean strict set score of each method.
        mean_hierarchical_f_by_method: Mean hierarchical F of each method.
        intervals_by_method: For each method the interval of each mean, by the name of the result's field.
    """

    results: list[CohortEvalResult]
    mean_coverage_by_method: dict[str, float]
    mean_over_inclusion_by_method: dict[str, float]
    mean_hierarchical_score_by_method: dict[str, float]
    mean_strict_set_score_by_method: dict[str, float] = Field(default_factory=dict)
    mean_hierarchical_f_by_method: dict[str, float] = Field(default_factory=dict)
    intervals_by_method: dict[str, dict[str, Interval]] = Field(default_factory=dict)


class DecompositionTestCase(BaseModel):
    """A population described in free words and the cohort it should resolve to.

    Attributes:
        population_description: The description, as a study would phrase it.
        cohort_id: Cohort whose curated codes are the ground truth.
        source: Where the phrasing comes from; no score uses it.
    """

    population_description: str
    cohort_id: str
    source: str


class DecompositionCaseResult(BaseModel):
    """One description scored with and without decomposition.

    Attributes:
        cohort_id: Cohort whose curated codes are the ground truth.
        cohort_name: Its display name.
        population_description: The description that was decomposed.
        seed_terms: The terms that decomposition gave.
        baseline_hierarchical_score: Score of a search for the cohort's own name.
        decomposed_hierarchical_score: Score of the codes assembled from the terms.
        gap: Baseline minus decomposed; positive where decomposition cost accuracy.
        baseline_strict_set_score: The baseline under the strict set score.
        decomposed_strict_set_score: The assembled codes under the strict set score.
    """

    cohort_id: str
    cohort_name: str
    population_description: str
    seed_terms: list[str]
    baseline_hierarchical_score: float
    decomposed_hierarchical_score: float
    gap: float
    baseline_strict_set_score: float | None = None
    decomposed_strict_set_score: float | None = None


class DecompositionReport(BaseModel):
    """All decomposition cases.

    Attributes:
        results: One result a case.
        mean_gap: Mean of their gaps.
        gap_interval: Interval of that mean.
    """

    results: list[DecompositionCaseResult]
    mean_gap: float
    gap_interval: Interval | None = None
