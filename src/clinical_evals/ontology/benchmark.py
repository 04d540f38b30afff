"""Every method against every cohort: the published report, with intervals, and a sweep over its settings."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from clinical_evals.ontology.cohorts import Cohort
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.models import BenchmarkReport, CohortEvalResult, Interval
from clinical_evals.ontology.retrieval import (
    Hit,
    Retriever,
    build_retrievers,
    check_dense_weight,
    check_k,
    expand_descendants,
    reciprocal_rank_fusion,
)
from clinical_evals.ontology.scoring import score_cohort
from clinical_evals.statistics import summarise

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.dense import DenseRetriever

DEFAULT_METHODS = ("bm25", "hybrid", "expand_descendants")
METHODS = ("bm25", "dense", "hybrid", "bm25_descendants", "expand_descendants", "best")
"""All methods. `bm25_descendants` takes all codes below the k that BM25 finds; `best` takes no k."""

SCORES = ("coverage", "over_inclusion_penalty", "hierarchical_score", "strict_set_score", "hierarchical_f")
"""The fields of a result that are averaged."""

SWEEP_K = (5, 10, 25, 50, 100)
SWEEP_DENSE_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)

KEPT_BACK, TUNING = "ccsr-kept-back", "ccsr-tuning"


class SweepPoint(NamedTuple):
    """The means of one method at one setting.

    Attributes:
        method: `bm25`, or `hybrid` if there is a dense retriever.
        k: Number of codes asked for.
        dense_weight: The dense one's share; None for `bm25`.
        coverage: Mean coverage.
        over_inclusion_penalty: Mean over-inclusion penalty.
        hierarchical_score: Mean hierarchical score.
        strict_set_score: Mean strict set score.
        cohorts: Number of cohorts.
    """

    method: str
    k: int
    dense_weight: float | None
    coverage: float
    over_inclusion_penalty: float
    hierarchical_score: float
    strict_set_score: float
    cohorts: int


def run_benchmark(
    con: "DuckDBPyConnection",
    library_dir: Path | None,
    cohort_ids: Sequence[str],
    methods: Sequence[str] | None = None,
    dense: "DenseRetriever | None" = None,
    k: int = 25,
    fanout_threshold: int = 100,
    dense_weight: float = 0.5,
) -> BenchmarkReport:
    """Run every method on every cohort of a library and average the scores.

    The query is the cohort's own name; only `expand_descendants` sees the truth, from whose shortest code it
    starts.

    Args:
        con: An open vocabulary.
        library_dir: Folder of curated cohorts; see `load_curated_concept_set`. None for the bundled ones.
        cohort_ids: Ids of the cohorts to run.
        methods: Some of `METHODS`. Default: `DEFAULT_METHODS`.
        dense: A dense retriever. Without one, `dense` is skipped and `hybrid` is BM25.
        k: Number of codes that each method may return; `best` decides itself.
        fanout_threshold: Passed on to the loading of the truth.
        dense_weight: The dense one's share in `hybrid`, from 0 to 1.

    Raises:
        ValueError: If a method is unknown or a setting is out of range.
        CuratedError: If a cohort cannot be loaded.
    """
    from clinical_evals.ontology.curated import load_curated_concept_set

    cohorts = [
        load_curated_concept_set(con, library_dir, cohort_id, fanout_threshold) for cohort_id in cohort_ids
    ]
    return benchmark_cohorts(con, cohorts, methods, dense, k, dense_weight)


def benchmark_cohorts(
    con: "DuckDBPyConnection",
    cohorts: Sequence[Cohort],
    methods: Sequence[str] | None = None,
    dense: "DenseRetriever | None" = None,
    k: int = 25,
    dense_weight: float = 0.5,
    progress: Callable[[int, int], None] | None = None,
) -> BenchmarkReport:
    """Run every method on cohorts that are loaded already; see `run_benchmark`.

    Args:
        progress: Called with the number of cohorts done and the number of all.
    """
    from clinical_evals.ontology.vocabulary import load_hierarchy

    chosen = list(dict.fromkeys(DEFAULT_METHODS if methods is None else methods))
    check_methods(chosen)
    check_k(k)
    retrievers = build_retrievers(con, dense, dense_weight=dense_weight)
    hierarchy = load_hierarchy(con)
    results = []
    for done, cohort in enumerate(cohorts, start=1):
        for method in chosen:
            codes = predict_codes(method, cohort, retrievers, hierarchy, k)
            if codes is not None:
                scored = score_cohort(hierarchy, cohort.cohort_id, cohort.name, cohort.codes, codes, method)
                results.append(scored)
        if progress is not None:
            progress(done, len(cohorts))
    return build_report(results)


def predict_codes(
    method: str, cohort: Cohort, retrievers: Mapping[str, Retriever], hierarchy: Hierarchy, k: int = 25
) -> list[str] | None:
    """Give the codes that a method returns for a cohort's name.

    Args:
        method: One of `METHODS`.
        cohort: The cohort; a method other than `expand_descendants` sees its name only.
        retrievers: As `build_retrievers` gives them.
        hierarchy: The hierarchy of the same vocabulary.
        k: Number of codes asked for. `best` is not asked for a number.

    Returns:
        The codes; None if the method needs an index that is not there.
    """
    if method == "expand_descendants":
        return expand_descendants(hierarchy, cohort.codes)
    if method not in retrievers:
        return None
    # No set has more codes than the vocabulary, so `best` stays free to decide.
    hits = retrievers[method].search(cohort.name, max(len(hierarchy), 1) if method == "best" else k)
    return [hit.code for hit in hits]


def build_report(results: Sequence[CohortEvalResult]) -> BenchmarkReport:
    """Average results by method, with the 95% bootstrap interval of each mean.

    A score that is undefined for a cohort is left out of that mean.
    """
    by_method: dict[str, list[CohortEvalResult]] = {}
    for result in results:
        by_method.setdefault(result.method, []).append(result)
    means: dict[str, dict[str, float]] = {score: {} for score in SCORES}
    intervals: dict[str, dict[str, Interval]] = {}
    for method, of_method in by_method.items():
        intervals[method] = {}
        for score in SCORES:
            given = (getattr(result, score) for result in of_method)
            summary = summarise([math.nan if value is None else value for value in given], limits=(0, 1))
            if summary.n:
                means[score][method] = summary.mean
            intervals[method][score] = Interval.of(summary)
    return BenchmarkReport(
        results=list(results),
        mean_coverage_by_method=means["coverage"],
        mean_over_inclusion_by_method=means["over_inclusion_penalty"],
        mean_hierarchical_score_by_method=means["hierarchical_score"],
        mean_strict_set_score_by_method=means["strict_set_score"],
        mean_hierarchical_f_by_method=means["hierarchical_f"],
        intervals_by_method=intervals,
    )


def sweep(
    con: "DuckDBPyConnection",
    cohorts: Sequence[Cohort],
    dense: "DenseRetriever | None" = None,
    ks: Sequence[int] = SWEEP_K,
    dense_weights: Sequence[float] = SWEEP_DENSE_WEIGHTS,
) -> list[SweepPoint]:
    """Score BM25 at every k and, with a dense retriever, hybrid at every k and weight.

    Both retrievers are asked once for the greatest k: a ranking's first k codes are its answer to k.

    Raises:
        ValueError: If there is no k or a setting is out of range.
    """
    from clinical_evals.ontology.vocabulary import load_hierarchy

    if not ks:
        raise ValueError("ks must name at least one k")
    for k in ks:
        check_k(k)
    for weight in dense_weights:
        check_dense_weight(weight)
    hierarchy = load_hierarchy(con)
    retrievers = build_retrievers(con, dense)
    names = [cohort.name for cohort in cohorts]
    lexical = [retrievers["bm25"].search(name, max(ks)) for name in names]
    points = []
    for k in ks:
        points.append(_point("bm25", k, None, hierarchy, cohorts, [hits[:k] for hits in lexical]))
    if dense is None:
        return points
    semantic = [dense.search(name, max(ks)) for name in names]
    for k in ks:
        for weight in dense_weights:
            fused = [
                reciprocal_rank_fusion([one[:k], other[:k]], k, weights=[1 - weight, weight])
                for one, other in zip(lexical, semantic, strict=True)
            ]
            points.append(_point("hybrid", k, weight, hierarchy, cohorts, fused))
    return points


def load_benchmark_cohorts(con: "DuckDBPyConnection", source: str | Path) -> list[Cohort]:
    """Load cohorts by the names that `load_cohorts` knows, or one half of the CCSR categories.

    `ccsr-tuning` is the half that `best` was fitted on, `ccsr-kept-back` the other one.
    """
    from clinical_evals.ontology.curated import CCSR, load_cohorts

    if source in (KEPT_BACK, TUNING):
        wanted = source == TUNING
        return [cohort for cohort in load_cohorts(con, CCSR) if is_tuning(cohort.cohort_id) == wanted]
    return load_cohorts(con, source)


def is_tuning(cohort_id: str) -> bool:
    """Say whether a CCSR category is of the half that `best` was fitted on; a digest of its id decides."""
    return hashlib.sha256(cohort_id.encode()).digest()[0] % 2 == 0


def check_methods(methods: Sequence[str]) -> None:
    """Refuse a method that there is none of."""
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"unknown method {method!r}; choose from: {', '.join(METHODS)}")


def _point(
    method: Literal["bm25", "hybrid"],
    k: int,
    dense_weight: float | None,
    hierarchy: Hierarchy,
    cohorts: Sequence[Cohort],
    answers: Sequence[Sequence[Hit]],
) -> SweepPoint:
    report = build_report(list(_score_all(method, hierarchy, cohorts, answers)))
    return SweepPoint(
        method,
        k,
        dense_weight,
        report.mean_coverage_by_method.get(method, math.nan),
        report.mean_over_inclusion_by_method.get(method, math.nan),
        report.mean_hierarchical_score_by_method.get(method, math.nan),
        report.mean_strict_set_score_by_method.get(method, math.nan),
        len(cohorts),
    )


def _score_all(
    method: str, hierarchy: Hierarchy, cohorts: Sequence[Cohort], answers: Sequence[Sequence[Hit]]
) -> Iterator[CohortEvalResult]:
    for cohort, hits in zip(cohorts, answers, strict=True):
        codes = [hit.code for hit in hits]
        yield score_cohort(hierarchy, cohort.cohort_id, cohort.name, cohort.codes, codes, method)
