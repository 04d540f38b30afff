"""From a population description to codes by way of seed terms, and what that detour costs.

Decomposition turns a description into clinical terms. Each term resolves to a curated set if exactly one
cohort matches it best, else to what hybrid search finds for it; the union is scored against the codes that
the description should resolve to. Beside it stands a baseline: hybrid search for the cohort's own name, that
is, with the right term given. The gap between the two is what decomposition cost, or saved if it is negative.
Terms themselves are not compared with anything: only the codes that they lead to count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.data_path import bundled
from clinical_evals.ontology.cohorts import Cohort, CuratedError
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.models import (
    CohortEvalResult,
    DecompositionCaseResult,
    DecompositionReport,
    DecompositionTestCase,
    Interval,
)
from clinical_evals.ontology.retrieval import Retriever, build_retrievers, check_k
from clinical_evals.ontology.scoring import score_cohort
from clinical_evals.statistics import summarise

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.dense import DenseRetriever

__all__ = [
    "DEFAULT_K",
    "DEFAULT_TEST_CASES",
    "CaseScores",
    "Resolution",
    "TermResolver",
    "score_case",
    "score_decomposition",
    "unique_terms",
]

DEFAULT_K = 10
"""How many codes a search gives for one term, as in the published pipeline."""


def _load_default_cases() -> list[DecompositionTestCase]:
    lines = bundled("decomposition", "default_cases.jsonl").read_text(encoding="utf-8").split("\n")
    return [DecompositionTestCase.model_validate_json(line) for line in lines if line.strip()]


DEFAULT_TEST_CASES: list[DecompositionTestCase] = _load_default_cases()
"""The 23 published cases, one a bundled cohort."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one seed term led to.

    Attributes:
        term: The term.
        cohort_id: The curated cohort that it matched; None if it was searched for.
        codes: The cohort's codes, or those that the search found.
    """

    term: str
    cohort_id: str | None
    codes: list[str]


class TermResolver:
    """Turns terms into codes: by a curated set where one matches, else by search."""

    def __init__(self, cohorts: Sequence[Cohort], retriever: Retriever, k: int = DEFAULT_K) -> None:
        """Resolve against these cohorts and this retriever.

        Args:
            cohorts: The curated sets that a term may match.
            retriever: What is asked otherwise; `hybrid` in the published pipeline.
            k: How many codes it is asked for.

        Raises:
            ValueError: If `k` is not positive.
        """
        check_k(k)
        self._cohorts = list(cohorts)
        self._retriever = retriever
        self._k = k

    def resolve(self, term: str) -> Resolution:
        """Give the codes of a term. A cohort without codes is no match."""
        from clinical_evals.ontology.curated import find_matching_cohort

        cohort = find_matching_cohort(term, self._cohorts)
        if cohort is not None and cohort.codes:
            return Resolution(term, cohort.cohort_id, list(cohort.codes))
        return Resolution(term, None, self.search([term]))

    def search(self, queries: Iterable[str]) -> list[str]:
        """Give the union of what the retriever finds for each query, without a look at the curated sets."""
        found = (hit.code for query in queries for hit in self._retriever.search(query, self._k))
        return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class CaseScores:
    """One description with and without decomposition.

    Attributes:
        resolutions: What each term led to.
        decomposed: The union of their codes, scored.
        baseline: What search finds for the right name, scored.
    """

    resolutions: list[Resolution]
    decomposed: CohortEvalResult
    baseline: CohortEvalResult

    @property
    def gap(self) -> float:
        """Baseline minus decomposed, by the published score, in [-1, 1]; more than 0 is a loss."""
        return self.baseline.hierarchical_score - self.decomposed.hierarchical_score


def unique_terms(terms: Iterable[str]) -> list[str]:
    """Give the terms without blank ones and repeats; case and runs of blanks make no difference."""
    kept: dict[str, str] = {}
    for term in terms:
        text = " ".join(term.split())
        if text:
            kept.setdefault(text.casefold(), text)
    return list(kept.values())


def score_case(
    hierarchy: Hierarchy,
    resolver: TermResolver,
    target: Sequence[str],
    terms: Iterable[str],
    queries: Sequence[str],
    *,
    cohort_id: str,
    cohort_name: str,
) -> CaseScores:
    """Score the terms that a description was turned into.

    Args:
        hierarchy: The hierarchy of the vocabulary that the resolver searches.
        resolver: Turns terms into codes.
        target: The codes that the description should resolve to.
        terms: The terms. None at all gives an empty set, which scores 0.
        queries: What the baseline searches for.
        cohort_id: Id of the cohort or case.
        cohort_name: Its name.
    """
    resolutions = [resolver.resolve(term) for term in unique_terms(terms)]
    assembled = list(dict.fromkeys(code for resolution in resolutions for code in resolution.codes))

    def scored(codes: Sequence[str], method: str) -> CohortEvalResult:
        return score_cohort(hierarchy, cohort_id, cohort_name, target, codes, method)

    return CaseScores(
        resolutions, scored(assembled, "decomposed"), scored(resolver.search(queries), "baseline")
    )


def score_decomposition(
    con: DuckDBPyConnection,
    library_dir: Path | None,
    decompose_fn: Callable[[str], list[str]],
    dense: DenseRetriever | None = None,
    k: int = DEFAULT_K,
    fanout_threshold: int = 100,
    test_cases: list[DecompositionTestCase] | None = None,
) -> DecompositionReport:
    """Score a decomposition function on descriptions with known cohorts.

    Args:
        con: An open vocabulary.
        library_dir: Folder of curated cohorts; see `load_curated_concept_set`. None for the bundled ones.
        decompose_fn: Turns a description into seed terms.
        dense: A dense retriever for `hybrid`. Without one it is BM25.
        k: How many codes each search gives.
        fanout_threshold: Passed on to the loading of the cohorts.
        test_cases: The cases. Default: `DEFAULT_TEST_CASES`.

    Returns:
        One result a case, the mean gap (NaN without any case) and its 95% bootstrap interval by cohort.

    Raises:
        CuratedError: If the library lacks a case's cohort.
        ValueError: If `k` is not positive.
    """
    from clinical_evals.ontology.curated import BUNDLED, load_cohorts
    from clinical_evals.ontology.vocabulary import load_hierarchy

    cases = DEFAULT_TEST_CASES if test_cases is None else test_cases
    cohorts = load_cohorts(con, BUNDLED if library_dir is None else library_dir, fanout_threshold)
    by_id = {cohort.cohort_id: cohort for cohort in cohorts}
    for case in cases:  # before the first call of a model that may cost money
        if case.cohort_id not in by_id:
            raise CuratedError(f"{library_dir or 'bundled value sets'}: no cohort {case.cohort_id!r}")
    resolver = TermResolver(cohorts, build_retrievers(con, dense)["hybrid"], k)
    hierarchy = load_hierarchy(con)
    results = []
    for case in cases:
        cohort = by_id[case.cohort_id]
        terms = list(decompose_fn(case.population_description))
        scores = score_case(
            hierarchy,
            resolver,
            cohort.codes,
            terms,
            [cohort.name],
            cohort_id=cohort.cohort_id,
            cohort_name=cohort.name,
        )
        results.append(
            DecompositionCaseResult(
                cohort_id=cohort.cohort_id,
                cohort_name=cohort.name,
                population_description=case.population_description,
                seed_terms=terms,
                baseline_hierarchical_score=scores.baseline.hierarchical_score,
                decomposed_hierarchical_score=scores.decomposed.hierarchical_score,
                gap=scores.gap,
                baseline_strict_set_score=scores.baseline.strict_set_score,
                decomposed_strict_set_score=scores.decomposed.strict_set_score,
            )
        )
    summary = summarise(
        [result.gap for result in results], [result.cohort_id for result in results], limits=(-1, 1)
    )
    return DecompositionReport(
        results=results,
        mean_gap=summary.mean,
        gap_interval=Interval.of(summary),
    )
