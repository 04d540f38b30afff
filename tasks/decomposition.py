"""Decomposition: can a model turn a population description into the terms that lead to the right codes?

The model names seed terms. Code turns each into ICD-10-CM codes, by a curated set where exactly one matches
best and by hybrid search where none does, and scores their union against the case's target. Beside it stands
the gap to a search that is given the right name: what decomposition cost.
"""

from __future__ import annotations

from clinical_evals.scorers.ontology import MAX_TERMS, decomposition_scorer
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.asking import StepAddress, ask
from clinical_evals.data import digest_of, task_facts
from clinical_evals.data_use import data_use, may_log_text
from clinical_evals.ontology import opened
from clinical_evals.ontology.answers import TermAnswer, read_terms
from clinical_evals.ontology.cases import BUNDLED, CaseSet, load_cases
from clinical_evals.ontology.curated import load_cohorts
from clinical_evals.ontology.decomposition import DEFAULT_K
from clinical_evals.ontology.figures import FIGURES, GAP, ontology_signature
from clinical_evals.ontology.prompts import decompose_messages, decompose_prompt_digest
from clinical_evals.options import AtLeastOne, checked
from clinical_evals.prompting import new_tag

__all__ = ["case_samples", "decompose", "decomposition"]


@task
@checked
def decomposition(cases: str = BUNDLED, k: AtLeastOne = DEFAULT_K, dense: bool = False) -> Task:
    """Score how well a model decomposes population descriptions into seed terms.

    Ranked by the published hierarchical score, since the gap is defined by it. The strict set score stands
    beside it. The baseline of the gap is a search for the names of the case's cohorts; a case of ours that no
    bundled cohort stands for has no such name, and there it is a search for the description itself.

    Args:
        cases: `bundled` (all 85), `default` (the 23 published ones), `harder` (ours), or a JSONL file.
        k: How many codes each search gives, for a term and for the baseline.
        dense: Give hybrid search its dense half, which needs the extra [dense]. Without it it is BM25.
    """
    con = opened.vocabulary()
    found = load_cases(con, cases)
    opened.resolver(k, dense)
    curated = digest_of({"id": cohort.cohort_id, "codes": cohort.codes} for cohort in load_cohorts(con))
    return Task(
        dataset=case_samples(found),
        setup=data_use([cases]),
        solver=decompose(),
        scorer=decomposition_scorer(k, dense),
        metadata=task_facts(
            signature=ontology_signature(
                "decomposition",
                con,
                prompts=decompose_prompt_digest(),
                k=k,
                max_terms=MAX_TERMS,
                dense="on" if dense else "off",
                value_sets=curated,
            ),
            headline="hierarchical_score",
            metrics=FIGURES | GAP,
            name=found.name,
            version=found.version,
            digest=found.digest,
            samples=len(found.cases),
            access=found.access,
            log_text=may_log_text([cases]),
        ),
        fail_on_error=0.05,
        continue_on_fail=True,
    )


def case_samples(found: CaseSet) -> MemoryDataset:
    """Give one sample a case: the description as input, the target codes as target."""
    return MemoryDataset(
        [
            Sample(
                id=case.case_id,
                input=case.description,
                target=case.target,
                metadata={
                    "family": case.family,
                    "difficulty": case.difficulty,
                    "queries": list(case.queries),
                },
            )
            for case in found.cases
        ],
        name=found.name,
    )


@solver
def decompose() -> Solver:
    """Ask for the seed terms of a description, and leave them in the sample's metadata for the scorer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = await ask(
            get_model(),
            decompose_messages(state.input_text, new_tag("description", state.input_text)),
            read_terms,
            address=StepAddress("decomposition", str(state.sample_id), state.epoch, "decompose"),
            schema=TermAnswer,
        )
        state.messages, state.output = answer.messages, answer.output
        state.metadata["answers"] = {"terms": answer.value or [], "failure": answer.failure}
        return state

    return solve
