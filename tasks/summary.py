"""Summary: is a model's summary of a clinical dialogue complete, free of invention, and clinically written?

The model under test writes the summary, or finished ones are graded. A judge in a fresh context, which sees
only dialogue and summary, gives three whole numbers; code computes the overall grade, checks the summary's
facts against the dialogue and compares its words with a reference.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from clinical_evals.scorers.interval import interval
from clinical_evals.scorers.summary import panel_agreement, summary_scorer
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model, model_roles
from inspect_ai.scorer import Metric, mean
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.asking import StepAddress, ask
from clinical_evals.data import task_facts
from clinical_evals.data_path import given_path
from clinical_evals.data_use import data_use, may_log_text, read_data_use
from clinical_evals.dialogues import BUNDLED, DialogueDataset, load_dialogues
from clinical_evals.files import InputError
from clinical_evals.finished_summaries import load_summaries
from clinical_evals.judging import judge_step, judges_of_run, no_answers, rate
from clinical_evals.options import checked
from clinical_evals.summary.answers import read_summary
from clinical_evals.summary.figures import CALIBRATED_BY, figure_facts, panel_facts, summary_signature
from clinical_evals.summary.prompts import summary_messages

__all__ = ["summarise_and_judge", "summary"]

NO_JUDGE = "none"

logger = logging.getLogger(__name__)


@task
@checked
def summary(  # noqa: PLR0913, PLR0917 - one parameter a field that a user may name
    dataset: str = BUNDLED,
    dialogue_field: str | None = None,
    reference_field: str | None = None,
    id_field: str | None = None,
    family_field: str | None = None,
    summaries: str | None = None,
    summary_field: str | None = None,
    system: str | int | None = None,
    judges: str | list[str] | None = None,
) -> Task:
    """Score summaries of dialogues.

    Args:
        dataset: `bundled`, a JSONL, CSV or TSV file, or a folder; the layouts of ACI-Bench, MTS-Dialog and
            PriMock57 are known.
        dialogue_field: Field or column of the dialogue.
        reference_field: Field or column of the reference summary.
        id_field: Field or column of the dialogue's id.
        family_field: Field or column that variants of one dialogue share.
        summaries: Finished summaries to grade, a file or the name of a bundled candidate (`good`,
            `incomplete`, `hallucinating`, `informal`); the model is then only the judge.
        summary_field: Field or column of the summary in that file.
        system: Whose summaries are taken, if the file holds several systems'.
        judges: Models that judge as a panel, separated by commas; the same as
            `--model-role grader=A,B,C`. `none`: no judge, only what code can say.
    """
    dialogues = load_dialogues(
        dataset,
        dialogue_field=dialogue_field,
        reference_field=reference_field,
        id_field=id_field,
        family_field=family_field,
    )
    finished = _finished(dialogues, summaries, id_field, summary_field, system) if summaries else None
    log_text = may_log_text([dataset, summaries])
    panel = _panel(judges)
    judged = panel != [NO_JUDGE]
    asked = _assigned() if panel is None else len(panel) if judged else 0
    references = any(record.reference for record in dialogues.records)
    metrics: list[Metric | dict[str, list[Metric]]] = [{"*": [mean(), interval()]}]
    if asked > 1:
        metrics.append(panel_agreement(asked))
    return Task(
        dataset=_samples(dialogues),
        setup=data_use(
            [dataset, summaries],
            asks_model=finished is None or (judged and not panel and "grader" not in model_roles()),
        ),
        solver=summarise_and_judge(finished, judged),
        scorer=summary_scorer(judged, references),
        metrics=metrics,
        model_roles={"grader": panel} if panel and judged else None,
        metadata=task_facts(
            signature=summary_signature(
                "summary", judged=judged, answers="handed-in" if finished is not None else "asked-for"
            ),
            headline=next(iter(figure_facts(judged=judged, references=references))),
            metrics=figure_facts(judged=judged, references=references) | panel_facts(asked),
            name=dialogues.name,
            version=dialogues.version,
            digest=dialogues.digest,
            samples=len(dialogues.records),
            access=dialogues.access if dataset == BUNDLED else read_data_use(dataset).access,
            log_text=log_text,
            subject=_subject(summaries, system),
            graded=judged,
            calibrated_by=CALIBRATED_BY if judged else None,
        ),
        fail_on_error=0.05,
        continue_on_fail=True,
    )


def _samples(dialogues: DialogueDataset) -> MemoryDataset:
    return MemoryDataset(
        [
            Sample(
                id=record.id,
                input=record.dialogue,
                metadata={"family": record.family, "kind": record.kind, "reference": record.reference},
            )
            for record in dialogues.records
        ],
        name=dialogues.name,
    )


def _finished(
    dialogues: DialogueDataset,
    summaries: str,
    id_field: str | None,
    summary_field: str | None,
    system: str | int | None,
) -> dict[str, str]:
    """Take the dataset's candidates of that name, or read the file."""
    candidates = {
        record.id: record.candidates[summaries]
        for record in dialogues.records
        if summaries in record.candidates
    }
    if candidates:
        return candidates
    path = given_path(summaries)
    if not path.is_file():
        names = sorted({name for record in dialogues.records for name in record.candidates})
        raise InputError(
            f"summaries: no file {path}"
            + (f", and no candidate of that name; choose from: {', '.join(names)}" if names else "")
        )
    ids = [record.id for record in dialogues.records]
    found = load_summaries(
        path,
        ids,
        id_field=id_field,
        summary_field=summary_field,
        system=None if system is None else str(system),
    )
    if len(found) < len(ids):
        logger.warning(
            "%s has a summary for %d of %d dialogues; one without counts as not answered, so lowest",
            summaries, len(found), len(ids),
        )  # fmt: skip
    return found


def _subject(summaries: str | None, system: str | int | None) -> str | None:
    """Name what is ranked when the summaries are given: their file or candidate, and the system."""
    if summaries is None:
        return None
    name = given_path(summaries).stem
    return name if system is None else f"{name}:{system}"


def _panel(judges: str | list[str] | None) -> list[str] | None:
    if judges is None:
        return None
    names = judges.split(",") if isinstance(judges, str) else [str(judge) for judge in judges]
    panel = [name.strip() for name in names if name.strip()]
    if not panel or (NO_JUDGE in panel and len(panel) > 1):
        raise InputError("judges must name models, separated by commas, or be 'none'")
    if "grader" in model_roles():
        raise InputError("name the judges either by -T judges=… or by --model-role grader=…, not both")
    for name in panel:
        if name != NO_JUDGE:
            try:
                get_model(name, memoize=False)
            except ValueError as error:
                raise InputError(f"judges: {error}") from None
    return panel


def _assigned() -> int:
    """Count the judges that the role assigns; without it the model judges itself."""
    assigned = model_roles().get("grader")
    return len(assigned) if isinstance(assigned, list) else 1


@solver
def summarise_and_judge(finished: dict[str, str] | None = None, judged: bool = True) -> Solver:
    """Ask for a summary, then, each in a fresh context, for the judges' ratings of it.

    Args:
        finished: Summaries by dialogue id, where they exist already.
        judged: Ask the judges; else the summary is only compared by code.

    Returns:
        A solver that leaves the answers in the sample's metadata, for the scorer.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answers = state.metadata["answers"] = no_answers()
        address = StepAddress("summary", str(state.sample_id), state.epoch, "summarise")
        if finished is None:
            asked = summary_messages(state.input_text)
            answer = await ask(get_model(), asked, read_summary, address=address, repair=False)
            state.messages, state.output = answer.messages, answer.output
            written, answers["failure"] = answer.value, answer.failure
        else:
            written = finished.get(str(state.sample_id))
            answers["failure"] = "no_response" if written is None else None
        if written is not None:
            answers["summary"] = written
            if judged:
                judge = replace(address, step=judge_step(written))
                answers |= await rate(judges_of_run(), state.input_text, written, judge)
        return state

    return solve
