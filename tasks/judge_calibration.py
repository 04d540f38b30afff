"""Judge calibration: how far does a judge agree with people who rated the same summaries?

The judge is the model under test. It sees each dialogue and summary as in the task `summary`, and code
compares its ratings with the human ones: kappa, Krippendorff's alpha, rank correlation, bias and mean error.
"""

from __future__ import annotations

from clinical_evals.scorers.interval import interval
from clinical_evals.scorers.summary import calibration_scorer, judge_agreement
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import mean
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.asking import StepAddress
from clinical_evals.data import task_facts
from clinical_evals.data_use import data_use, may_log_text, read_data_use
from clinical_evals.dialogues import BUNDLED, load_dialogues
from clinical_evals.human_ratings import RatedSummaries, load_ratings
from clinical_evals.judging import judge_step, no_answers, rate
from clinical_evals.options import checked
from clinical_evals.summary.calibration import calibration_facts, targets, unit_of
from clinical_evals.summary.figures import summary_signature

__all__ = ["judge_calibration", "rate_summaries"]


@task
@checked
def judge_calibration(
    dataset: str = BUNDLED,
    dialogues: str | None = None,
    dialogue_field: str | None = None,
    summary_field: str | None = None,
    id_field: str | None = None,
    family_field: str | None = None,
) -> Task:
    """Compare a judge's ratings with human ones.

    Args:
        dataset: `bundled`, or a table of summaries with human ratings; MTS-Dialog's fact scores and
            PriMock57's checklists are known.
        dialogues: A dataset of dialogues that the table names by id, if it does not hold them itself.
        dialogue_field: Field or column of the dialogue.
        summary_field: Field or column of the summary.
        id_field: Field or column of the summary's id.
        family_field: Field or column that summaries of one dialogue share.
    """
    spoken = load_dialogues(dialogues or BUNDLED) if dialogues or dataset == BUNDLED else None
    rated = load_ratings(
        dataset,
        dialogues=spoken,
        id_field=id_field,
        dialogue_field=dialogue_field,
        summary_field=summary_field,
        family_field=family_field,
    )
    log_text = may_log_text([dataset, dialogues])
    unit = unit_of(rated.scale, (value for record in rated.records for value in record.human.values()))
    names = targets(rated.scale, rated.criteria)
    facts = calibration_facts(names, rated.scale, unit)
    bundled = spoken if dataset == BUNDLED else None
    return Task(
        dataset=_samples(rated),
        setup=data_use([dataset, dialogues]),
        solver=rate_summaries(),
        scorer=calibration_scorer(rated.scale, unit, names),
        metrics=[{"*": [mean(), interval()]}, judge_agreement(names, unit)],
        metadata=task_facts(
            signature=summary_signature("judge_calibration", judged=True, scale=rated.scale),
            headline=next(iter(facts)),
            metrics=facts,
            name=rated.name,
            version=bundled.version if bundled else "",
            digest=rated.digest,
            samples=len(rated.records),
            access=bundled.access if bundled else read_data_use(dataset).access,
            log_text=log_text,
        ),
        fail_on_error=0.05,
        continue_on_fail=True,
    )


def _samples(rated: RatedSummaries) -> MemoryDataset:
    return MemoryDataset(
        [
            Sample(
                id=record.id,
                input=record.dialogue,
                metadata={"family": record.family, "summary": record.summary, "human": record.human},
            )
            for record in rated.records
        ],
        name=rated.name,
    )


@solver
def rate_summaries() -> Solver:
    """Ask the model for its rating of each summary; it is left in the sample's metadata, for the scorer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        written = state.metadata["summary"]
        address = StepAddress("judge_calibration", str(state.sample_id), state.epoch, judge_step(written))
        answers = await rate([get_model()], state.input_text, written, address)
        state.metadata["answers"] = no_answers() | answers | {"summary": written}
        return state

    return solve
