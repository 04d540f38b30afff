"""What the tests of the summary tasks share: small datasets, replayed judges, and what a log says."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.scorer import Score

from clinical_evals.judging import judge_step
from clinical_evals.registry.formula import evaluate

DIALOGUE = "Doctor: How much metformin?\nPatient: Five hundred milligrams, twice a day. And I'm fifty eight."
GOOD = "SUBJECTIVE: 58-year-old.\nPLAN: Metformin 500 mg twice daily."
RATED = {"Factual Completeness": 8, "No Hallucinations": 9, "Clinical Tone & Structure": 7}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def replay(folder: Path, name: str, *rows: Mapping[str, Any], task: str = "summary") -> str:
    write(folder / name / f"{task}.jsonl", [{"about": "Written by hand for a test.", "task": task}, *rows])
    return f"replay/{folder / name}"


def dialogues(folder: Path, count: int = 1, **fields: Any) -> str:
    return write(
        folder / "dialogues.jsonl",
        [{"id": f"d{number}", "dialogue": DIALOGUE, **fields} for number in range(1, count + 1)],
    )


def judged(sample: str, text: str, output: object, **more: Any) -> list[dict[str, Any]]:
    """A judge's answer to a summary, the same again at the repair turn."""
    step = judge_step(text)
    return [{"sample": sample, "step": s, "output": output, **more} for s in (step, f"{step}/repair")]


def evaluate_task(task: Task, model: str, **more: Any) -> EvalLog:
    (log,) = inspect_eval(task, model=model, display="none", log_dir="logs", **more)
    return log


def scores(log: EvalLog) -> dict[str, Score]:
    assert log.status == "success", log.error
    assert log.samples
    return {str(sample.id): next(iter((sample.scores or {}).values())) for sample in log.samples}


def value(score: Score) -> dict[str, float]:
    assert isinstance(score.value, dict)
    return {name: float(figure) for name, figure in score.value.items()}


def counts(score: Score) -> dict[str, int]:
    found: dict[str, int] = (score.metadata or {})["counts"]
    assert all(type(count) is int for count in found.values())
    return found


def holds_to_its_formulas(log: EvalLog) -> None:
    """Every figure of every scored sample follows from its counts, as `clinical-evals verify` has it."""
    declared = (log.eval.metadata or {})["clinical_evals"]["metrics"]
    formulas = {name: facts["formula"] for name, facts in declared.items() if "formula" in facts}
    for score in scores(log).values():
        if isinstance(score.value, dict):
            for name, figure in value(score).items():
                counted = evaluate(name, formulas, counts(score))
                assert math.isnan(figure) if counted is None else figure == pytest.approx(counted), name
