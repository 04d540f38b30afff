"""Bad options of a task end in one line that names the option; nothing else comes out."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clinical_evals.tasks import (
    code_set,
    decomposition,
    grounding,
    judge_calibration,
    retrieval,
    summary,
)
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspecting import TASKS
from rich.text import Text

from clinical_evals.ontology import dense

NOBODYS: list[Any] = [{}, {"a": 1}, float("nan"), [{}]]
"""What no option of any task takes."""
ODD: list[Any] = [-1, True, [1, 2], ".", "nope", "\0", "[/red]", "x" * 5000]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_whatever_an_option_is_given_the_answer_is_a_task_or_one_line(
    task: Callable[..., Task], unregistered: Path
) -> None:
    for option in inspect.signature(task).parameters:
        for value in (*NOBODYS, *ODD):
            try:
                task(**{option: value})
            except PrerequisiteError as error:
                line = Text.from_markup(str(error.message)).plain
                assert "\n" not in line
                assert len(line) <= 600
            else:
                assert value not in NOBODYS, option


@pytest.mark.parametrize(
    ("task", "options", "line"),
    [
        (summary, {"judges": 5}, "option judges (-T judges=…) should be a valid string or a valid list, got 5"),
        (summary, {"summaries": 5}, "option summaries (-T summaries=…) should be a valid string, got 5"),
        (summary, {"dataset": ["/red"]}, "option dataset (-T dataset=…) should be a valid string, got ['/red']"),
        (retrieval, {"k": True}, "option k (-T k=…) should be a valid integer, got True"),
        (retrieval, {"dense_weight": 2}, "option dense_weight (-T dense_weight=…) should be less than or equal to 1, got 2"),
        (grounding, {"max_claims": 0}, "option max_claims (-T max_claims=…) should be greater than or equal to 1, got 0"),
    ],
)  # fmt: skip
def test_the_line_names_the_option(task: Callable[..., Task], options: dict[str, Any], line: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        task(**options)
    assert Text.from_markup(str(caught.value.message)).plain == line


def test_the_advice_for_dense_search_keeps_its_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(dense.DenseUnavailable) as missing:
        dense.load_encoder(dense.BUNDLED_MODEL)
    with pytest.raises(PrerequisiteError) as caught:
        retrieval(method="dense")
    shown = Text.from_markup(str(caught.value.message)).plain
    assert shown == str(missing.value)
    assert "clinical-evals[dense]" in shown


@pytest.mark.parametrize("task", [code_set, decomposition, grounding, judge_calibration, summary])
def test_a_task_that_asks_a_model_refuses_none_before_the_first_sample(
    task: Callable[..., Task], folder: Path
) -> None:
    with pytest.raises(PrerequisiteError, match="'none' answers nothing"):
        inspect_eval(task, model="none", display="none", log_dir="logs", limit=1)
    assert not (folder / "mlruns").exists()
