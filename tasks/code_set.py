"""Code set: does a model know the ICD-10-CM codes of a study population by itself?

The model writes the code list. Code reads it as a person would, expands what it abbreviates, and scores it
against the case's target.
"""

from __future__ import annotations

from clinical_evals.scorers.ontology import code_set_scorer
from clinical_evals.tasks.decomposition import case_samples
from inspect_ai import Task, task
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.asking import StepAddress, ask
from clinical_evals.data import task_facts
from clinical_evals.data_use import data_use, may_log_text
from clinical_evals.ontology import opened
from clinical_evals.ontology.answers import CodeAnswer, read_code_answer
from clinical_evals.ontology.cases import BUNDLED, load_cases
from clinical_evals.ontology.figures import FIGURES, INVALID, ontology_signature
from clinical_evals.ontology.prompts import code_set_messages, code_set_prompt_digest
from clinical_evals.options import checked
from clinical_evals.prompting import new_tag

__all__ = ["code_set", "write_codes"]


@task
@checked
def code_set(cases: str = BUNDLED) -> Task:
    """Score the code lists that a model writes for population descriptions.

    Ranked by the strict set score. The published hierarchical score, which stands beside it, lets one code
    answer for a whole set: E11.2 alone scores 0.833 against its three leaves. A model that writes its own
    list could live on that, and on the ancestors that hierarchical F credits (0.727 for the same list); the
    strict score matches code by code, 0.417 here, so it rises only with codes that are right.

    Args:
        cases: `bundled` (all 85), `default` (the 23 published ones), `harder` (ours), or a JSONL file.
    """
    con = opened.vocabulary()
    found = load_cases(con, cases)
    return Task(
        dataset=case_samples(found),
        setup=data_use([cases]),
        solver=write_codes(),
        scorer=code_set_scorer(),
        metadata=task_facts(
            signature=ontology_signature("code_set", con, prompts=code_set_prompt_digest()),
            headline="strict_set_score",
            metrics=FIGURES | INVALID,
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


@solver
def write_codes() -> Solver:
    """Ask for the code list of a description. The scorer reads it off the output once more."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        hierarchy = opened.hierarchy()
        answer = await ask(
            get_model(),
            code_set_messages(state.input_text, new_tag("description", state.input_text)),
            lambda text: read_code_answer(text, hierarchy),
            address=StepAddress("code_set", str(state.sample_id), state.epoch, "code_set"),
            schema=CodeAnswer,
        )
        state.messages, state.output = answer.messages, answer.output
        state.metadata["answers"] = {"failure": answer.failure}
        return state

    return solve
