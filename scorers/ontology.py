"""The scorers of the ontology tasks: code sets in, counts and figures out.

Every figure is computed from the score's `counts`, whole numbers that hold no text; see
`clinical_evals.ontology.figures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clinical_evals.scorers.interval import interval
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState

from clinical_evals.ontology import opened
from clinical_evals.ontology.answers import read_code_answer
from clinical_evals.ontology.decomposition import DEFAULT_K, Resolution, score_case, unique_terms
from clinical_evals.ontology.figures import BASELINE, code_set_figures, decomposition_figures
from clinical_evals.ontology.models import CohortEvalResult
from clinical_evals.ontology.scoring import score_cohort

__all__ = ["MAX_TERMS", "code_set_scorer", "decomposition_scorer", "retrieval_scorer"]

MAX_TERMS = 50
"""The most terms of one answer that are resolved; the number cut is in the counts."""

_MOST_SHOWN = 500  # codes of a set that a log shows; a range can bring in 98,000


@scorer(name="retrieval", metrics={"*": [mean(), interval()]})
def retrieval_scorer(vocabulary: str | None = None) -> Scorer:
    """Score the codes that a retrieval method found for a cohort's name.

    Args:
        vocabulary: The file of the vocabulary. Default: the embedded one.

    Returns:
        A scorer whose value holds the figures of `clinical_evals.ontology.figures.FIGURES`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.metadata.get("answers")
        if answers is None:
            return _not_answered()
        result = _scored(state, target, answers["codes"], vocabulary)
        value = code_set_figures(result.counts)
        del value["invalid_code_rate"]  # the codes come from the vocabulary
        return _score(value, result, result.counts)

    return score


@scorer(name="decomposition", metrics={"*": [mean(), interval()]})
def decomposition_scorer(k: int = DEFAULT_K, dense: bool = False) -> Scorer:
    """Score the codes that a model's seed terms lead to, and the gap to a search with the right name.

    Args:
        k: How many codes each search gives.
        dense: Whether hybrid search has a dense half; else it is BM25.

    Returns:
        A scorer whose value holds the figures of `FIGURES` and `gap`, from -1 to 1, where less is better.
        A model that gave no usable answer has an empty set: its scores are 0 and its gap the whole baseline.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.metadata.get("answers")
        if answers is None:
            return _not_answered()
        terms = unique_terms(answers["terms"])
        scores = score_case(
            opened.hierarchy(),
            opened.resolver(k, dense),
            list(target),
            terms[:MAX_TERMS],
            state.metadata["queries"],
            cohort_id=str(state.sample_id),
            cohort_name="",
        )
        counts = dict(scores.decomposed.counts)
        counts |= {f"{BASELINE}{name}": count for name, count in scores.baseline.counts.items()}
        counts |= {
            "terms": len(terms),
            "terms_cut": max(0, len(terms) - MAX_TERMS),
            "terms_curated": sum(found.cohort_id is not None for found in scores.resolutions),
            "terms_without_code": sum(not found.codes for found in scores.resolutions),
        }
        return _score(
            decomposition_figures(counts),
            scores.decomposed,
            counts,
            failure=answers["failure"],
            shown={"terms": [_shown(found) for found in scores.resolutions]},
        )

    return score


@scorer(name="code_set", metrics={"*": [mean(), interval()]})
def code_set_scorer() -> Scorer:
    """Score the code list that a model wrote.

    Codes that the vocabulary lacks earn 0 and are counted as invalid, as is an entry without any code in it.

    Returns:
        A scorer whose value holds the figures of `FIGURES` and `invalid_code_rate`, the share of the answer's
        codes that do not exist (NaN where it named none).
    """

    async def score(state: TaskState, target: Target) -> Score:
        answers = state.metadata.get("answers")
        if answers is None:
            return _not_answered()
        hierarchy = opened.hierarchy()
        read = None if answers["failure"] else read_code_answer(state.output.completion, hierarchy).value
        codes = [*read.codes, *read.invalid] if read else []
        result = _scored(state, target, codes)
        counts = result.counts | {"ranges": len(read.ranges) if read else 0}
        return _score(
            code_set_figures(counts),
            result,
            counts,
            failure=answers["failure"],
            shown={"invalid": result.invalid_codes[:_MOST_SHOWN], "ranges": read.ranges if read else []},
        )

    return score


def _scored(
    state: TaskState, target: Target, codes: Sequence[str], vocabulary: str | None = None
) -> CohortEvalResult:
    return score_cohort(opened.hierarchy(vocabulary), str(state.sample_id), "", list(target), codes, "")


def _score(
    value: Mapping[str, float],
    result: CohortEvalResult,
    counts: Mapping[str, int],
    *,
    failure: str | None = None,
    shown: Mapping[str, Any] | None = None,
) -> Score:
    if failure:
        return Score(value=dict(value), reason=failure, metadata={"counts": dict(counts)})
    return Score(
        value=dict(value),
        answer=f"{counts['predicted']} codes",
        explanation=f"{counts['predicted']} codes for {counts['truth']} in the target"
        + (f"; {counts['invalid']} of them do not exist" if counts["invalid"] else "")
        + (
            f"; {counts['unresolvable']} of the target are not in this release"
            if counts["unresolvable"]
            else ""
        ),
        metadata={
            "counts": dict(counts),
            "codes": result.predicted_codes[:_MOST_SHOWN],
            "unresolvable": result.unresolvable_ground_truth,
            **(shown or {}),
        },
    )


def _shown(found: Resolution) -> dict[str, Any]:
    return {"term": found.term, "cohort": found.cohort_id, "codes": len(found.codes)}


def _not_answered() -> Score:
    return Score.unscored(reason="not_answered", explanation="The sample ended before it was answered.")
