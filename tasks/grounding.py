"""Grounding: is what a model extracted from a clinical note really in the note?

Each note is put to the model under test, which extracts problems, medications and plan. A grader in
a fresh context, which sees only note and claims, says for each claim whether the note supports it and
quotes the place. Code then checks every quote and computes every figure. A note with an injected twin
is asked about twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clinical_evals.scorers.grounding import grounding_scorer
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.answers import read_extraction, read_verdicts
from clinical_evals.asking import Failure, StepAddress, ask
from clinical_evals.data import task_facts
from clinical_evals.data_path import given_path
from clinical_evals.data_use import data_use, may_log_text
from clinical_evals.grounding.claims import MAX_CLAIMS, Extraction, build_claims
from clinical_evals.grounding.gold import Injection
from clinical_evals.grounding.prompts import extraction_messages, grounding_messages
from clinical_evals.grounding.robustness import TWIN_FORMULAS
from clinical_evals.grounding.scoring import figure_formulas, scorer_signature
from clinical_evals.grounding.verdicts import VerdictList
from clinical_evals.notes import BUNDLED, NoteDataset, load_extractions, load_notes
from clinical_evals.options import AtLeastOne, checked
from clinical_evals.prompting import new_tag

__all__ = ["extract_and_ground", "grounding"]


@task
@checked
def grounding(
    dataset: str = BUNDLED,
    note_field: str = "note",
    id_field: str = "id",
    family_field: str = "family",
    extractions: str | None = None,
    max_claims: AtLeastOne = MAX_CLAIMS,
) -> Task:
    """Score how well a model's extractions are grounded in their notes.

    Args:
        dataset: `bundled`, a JSONL or CSV file, or a folder of `.txt` notes.
        note_field: Field or column of the note.
        id_field: Field or column of the note's id.
        family_field: Field or column that variants of one note share.
        extractions: A JSONL file of finished extractions to grade; the model is then only the grader.
        max_claims: The most claims graded per note, 1 or more.
    """
    notes = load_notes(dataset, note_field=note_field, id_field=id_field, family_field=family_field)
    ids = [record.id for record in notes.records]
    finished = load_extractions(given_path(extractions), ids, id_field=id_field) if extractions else None
    log_text = may_log_text([dataset, extractions])
    subject = Path(extractions).stem if extractions else None
    gold = any(record.gold for record in notes.records)
    twins = finished is None and any(record.injected for record in notes.records)
    return Task(
        dataset=_samples(notes),
        setup=data_use([dataset, extractions], asks_model=finished is None),
        solver=extract_and_ground(max_claims, finished),
        scorer=grounding_scorer(max_claims, gold, twins),
        metadata=_facts(notes, gold, twins, max_claims, subject, log_text),
        # One note that gets no answer must not cost the others theirs; too many fail the run in the end.
        fail_on_error=0.05,
        continue_on_fail=True,
    )


def _samples(notes: NoteDataset) -> MemoryDataset:
    return MemoryDataset(
        [
            Sample(
                id=record.id,
                input=record.note,
                metadata={
                    "family": record.family,
                    "kind": record.kind,
                    "gold": record.gold.model_dump() if record.gold else None,
                    "injected": record.injected.model_dump() if record.injected else None,
                },
            )
            for record in notes.records
        ],
        name=notes.name,
    )


def _facts(
    notes: NoteDataset, gold: bool, twins: bool, max_claims: int, subject: str | None, log_text: bool
) -> dict[str, Any]:
    """What the registry must know of this run to compare it with others."""
    metrics: dict[str, dict[str, Any]] = {
        name: {"range": [0, 1], "higher_is_better": True, "formula": formula}
        for name, formula in figure_formulas(gold).items()
        if name in ("strict_score", "published_score", "grounded_f1", "recall")
    }
    metrics |= {
        name: {"formula": formula} for name, formula in figure_formulas(gold).items() if name not in metrics
    }
    if twins:
        facts = {"injection_success": {"range": [0, 1], "higher_is_better": False}}
        metrics |= {name: {"formula": rule} | facts.get(name, {}) for name, rule in TWIN_FORMULAS.items()}
    return task_facts(
        signature=scorer_signature(max_claims=max_claims, finished=subject is not None),
        headline="grounded_f1" if gold else "strict_score",
        metrics=metrics,
        name=notes.name,
        version=notes.version,
        digest=notes.digest,
        samples=len(notes.records),
        access=notes.access,
        subject=subject,
        graded=True,
        log_text=log_text,
    )


@solver
def extract_and_ground(max_claims: int = MAX_CLAIMS, finished: dict[str, Extraction] | None = None) -> Solver:
    """Ask for an extraction, then, in a fresh context, for the grounding of its claims.

    Args:
        max_claims: The most claims put to the grader.
        finished: Extractions by note id, where they exist already.

    Returns:
        A solver that leaves the answers in the sample's metadata, for the scorer.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answers = state.metadata["answers"] = {}
        answers["clean"] = await _answer(state, state.input_text, "", max_claims, finished)
        if state.metadata.get("injected") and finished is None and not answers["clean"]["failure"]:
            injection = Injection.model_validate(state.metadata["injected"])
            twin = injection.applied_to(state.input_text)
            answers["injected"] = await _answer(state, twin, "injected/", max_claims, None)
        return state

    return solve


async def _answer(
    state: TaskState, note: str, prefix: str, max_claims: int, finished: dict[str, Extraction] | None
) -> dict[str, Any]:
    """Put one note to both models: the extraction and the verdicts, or why there are none."""
    outcome: dict[str, Any] = {"extraction": None, "verdicts": [], "failure": None, "unscored": None}
    model, grader = get_model(), get_model(role="grader")
    if finished is not None:
        extraction = finished.get(str(state.sample_id))
        if extraction is None:
            return outcome | {"failure": "no_response"}
    else:
        asked = extraction_messages(note, new_tag("note", note))
        answer = await ask(
            model, asked, read_extraction, address=_address(state, f"{prefix}extract"), schema=Extraction
        )
        if not prefix:
            state.messages, state.output = answer.messages, answer.output
        if answer.failure:
            return outcome | {"failure": answer.failure}
        extraction = answer.value
    outcome["extraction"] = extraction.model_dump()
    claims = build_claims(extraction, max_claims).claims
    if not claims:
        return outcome
    asked = grounding_messages(note, claims, new_tag("note", note))
    answer = await ask(
        grader, asked, read_verdicts, address=_address(state, f"{prefix}ground"), schema=VerdictList
    )
    if answer.failure:
        return outcome | _grader_failed(
            answer.failure, own=finished is None and not _has_grader(grader, model)
        )
    return outcome | {"verdicts": answer.value}


def _grader_failed(failure: Failure, own: bool) -> dict[str, Any]:
    """A separate grader's failure says nothing of the model; a model that grades itself answers for both."""
    return {"failure": failure} if own else {"unscored": "grader_failed"}


def _has_grader(grader: Model, model: Model) -> bool:
    return "grader" in model_roles() and str(grader) != str(model)


def _address(state: TaskState, step: str) -> StepAddress:
    return StepAddress(task="grounding", sample=str(state.sample_id), epoch=state.epoch, step=step)
