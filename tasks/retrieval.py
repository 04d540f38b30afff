"""Retrieval: which ICD-10-CM codes does a search method find for a cohort's name?

No model is asked: run it with `--model none`. The result stands in the leaderboard under the method's name.
"""

from __future__ import annotations

import logging
from typing import Annotated

from clinical_evals.scorers.ontology import retrieval_scorer
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import Field

from clinical_evals.data import AccessClass, access_class, digest_of, read_card, task_facts
from clinical_evals.data_path import bundled, given_path
from clinical_evals.files import InputError
from clinical_evals.ontology import opened
from clinical_evals.ontology.benchmark import (
    KEPT_BACK,
    TUNING,
    check_methods,
    load_benchmark_cohorts,
    predict_codes,
)
from clinical_evals.ontology.ccsr import ccsr_version
from clinical_evals.ontology.cohorts import Cohort
from clinical_evals.ontology.curated import BUNDLED, CCSR
from clinical_evals.ontology.dense import DenseUnavailable
from clinical_evals.ontology.figures import FIGURES, ontology_signature
from clinical_evals.options import AtLeastOne, checked

__all__ = ["retrieval", "retrieve"]

_NAMED = (BUNDLED, CCSR, KEPT_BACK, TUNING)

logger = logging.getLogger(__name__)


@task
@checked
def retrieval(
    method: str = "best",
    cohorts: str = BUNDLED,
    k: AtLeastOne = 25,
    dense_weight: Annotated[float, Field(ge=0, le=1)] = 0.5,
    vocabulary: str | None = None,
) -> Task:
    """Score a retrieval method against curated code sets, with each cohort's name as the query.

    Args:
        method: `best`, `bm25`, `bm25_descendants`, `hybrid`, `dense`, or `expand_descendants`, which starts
            from the truth. `dense` needs the extra [dense]; without it `hybrid` is BM25 and is ranked as
            `hybrid without dense`.
        cohorts: `bundled`, `ccsr`, one half of it (`ccsr-kept-back`, `ccsr-tuning`), a file or a folder.
            Cohorts without any code of the release are left out, with a warning that says how many.
        k: How many codes the method may return; `best` decides itself.
        dense_weight: The dense ranking's share in `hybrid`, from 0 to 1.
        vocabulary: A file that `clinical-evals vocab build` wrote. Default: the embedded ICD-10-CM release.
    """
    file = str(given_path(vocabulary)) if vocabulary else None
    source = cohorts if cohorts in _NAMED else str(given_path(cohorts))
    try:
        check_methods([method])
    except ValueError as error:
        raise InputError(str(error)) from None
    con = opened.vocabulary(file)
    dense, subject = _dense(method, file)
    found = load_benchmark_cohorts(con, source)
    kept = [cohort for cohort in found if cohort.resolvable]
    if not kept:
        raise InputError(f"{cohorts}: holds no cohort with a code of this release")
    if len(kept) < len(found):
        logger.warning("%d of %d cohorts hold no code of this release", len(found) - len(kept), len(found))
    name, version, access = _origin(cohorts)
    return Task(
        dataset=MemoryDataset(
            [
                Sample(
                    id=cohort.cohort_id,
                    input=cohort.name,
                    target=cohort.codes,
                    metadata={"family": cohort.cohort_id},
                )
                for cohort in kept
            ],
            name=name,
        ),
        solver=retrieve(method, k, dense_weight, dense, file),
        scorer=retrieval_scorer(file),
        metadata=task_facts(
            # Methods are ranked against each other, so the method is no part of it.
            signature=ontology_signature("retrieval", con, k=k, dense_weight=float(dense_weight)),
            headline="hierarchical_score",
            metrics=FIGURES,
            name=name,
            version=version,
            digest=digest_of(
                {"id": cohort.cohort_id, "name": cohort.name, "codes": cohort.codes} for cohort in kept
            ),
            samples=len(kept),
            access=access,
            subject=subject,
        ),
        fail_on_error=0.05,
        continue_on_fail=True,
    )


@solver
def retrieve(
    method: str,
    k: int = 25,
    dense_weight: float = 0.5,
    dense: bool = False,
    vocabulary: str | None = None,
) -> Solver:
    """Search for the codes of a sample's text.

    Args:
        method: One of `clinical_evals.ontology.benchmark.METHODS`.
        k: How many codes it may return.
        dense_weight: The dense ranking's share in `hybrid`.
        dense: Whether there is a dense index.
        vocabulary: The file of the vocabulary. Default: the embedded one.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        cohort = Cohort(str(state.sample_id), state.input_text, list(state.target))
        retrievers = opened.retrievers(vocabulary, dense, dense_weight)
        codes = predict_codes(method, cohort, retrievers, opened.hierarchy(vocabulary), k) or []
        state.metadata["answers"] = {"codes": codes}
        state.output = ModelOutput.from_content(model=method, content="\n".join(codes))
        return state

    return solve


def _dense(method: str, vocabulary: str | None) -> tuple[bool, str]:
    """Say whether the method has a dense index, and under which name its result is ranked."""
    if method not in ("dense", "hybrid"):
        return False, method
    try:
        opened.dense_retriever(vocabulary)
    except DenseUnavailable as error:
        if method == "dense":
            raise
        logger.warning("%s; `hybrid` is BM25", error)
        return False, "hybrid without dense"
    return True, method


def _origin(cohorts: str) -> tuple[str, str, AccessClass]:
    """Name, version and access class of a source of cohorts."""
    if cohorts == BUNDLED:
        card = read_card(bundled("value_sets", "README.md"))
        return card["name"], card.get("version", ""), access_class(card.get("access", ""))
    if cohorts in _NAMED:
        return cohorts, ccsr_version(), "public"
    return given_path(cohorts).name, "", "unspecified"
