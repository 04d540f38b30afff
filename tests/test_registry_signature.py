"""The signature names every setting that can change a number: each argument of each task is changed in turn."""

import ast
import inspect
import json
import shutil
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import clinical_evals.tasks
import duckdb
import pytest
from inspect_ai import Task
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, EvalStats
from inspect_ai.model import GenerateConfig, ModelConfig

from clinical_evals.ontology import opened
from clinical_evals.ontology.vocabulary import embedded_path
from clinical_evals.registry.record import RunRecord
from clinical_evals.registry.record_of_log import build_record
from clinical_evals.signature import code_digest, parse_signature, signature
from clinical_evals.summary import figures

TASKS: dict[str, Callable[..., Task]] = {
    name: getattr(clinical_evals.tasks, name) for name in clinical_evals.tasks.__all__
}
ARGUMENTS = [
    (name, argument) for name, task in TASKS.items() for argument in inspect.signature(task).parameters
]

Arguments = dict[str, Any]

NOTE = {"id": "a", "note": "The cough is better."}
DIALOGUE = {"id": "a", "dialogue": "Doctor: Better? Patient: Yes.", "reference": "The cough is better."}
RATING = {"id": "a", "summary": "Better.", "Factual Completeness": 7}
CASE = {"case_id": "a", "population_description": "Adults with diabetes", "target": {"include": ["E11.9"]}}


def write(folder: Path, name: str, *rows: Mapping[str, Any]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def other_vocabulary(folder: Path) -> str:
    """The embedded release under another name."""
    path = folder / "other.duckdb"
    shutil.copy(embedded_path(), path)
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE about SET value = '2031-04-01' WHERE key = 'release'")
    return str(path)


# The base and what is changed in it, by task and argument. A new argument must be added here, or below.
CHANGES: dict[tuple[str, str], Callable[[Path], tuple[Arguments, Arguments]]] = {
    ("grounding", "dataset"): lambda at: ({}, {"dataset": write(at, "n.jsonl", NOTE)}),
    ("grounding", "extractions"): lambda at: (
        {"dataset": write(at, "n.jsonl", NOTE)},
        {"extractions": write(at, "e.jsonl", {"id": "a", "problems": ["cough"]})},
    ),
    ("grounding", "max_claims"): lambda at: ({}, {"max_claims": 39}),
    ("summary", "dataset"): lambda at: ({}, {"dataset": write(at, "d.jsonl", DIALOGUE)}),
    ("summary", "summaries"): lambda at: ({}, {"summaries": "good"}),
    ("summary", "system"): lambda at: (
        {
            "dataset": write(at, "d.jsonl", DIALOGUE),
            "summaries": write(
                at, "s.jsonl", *({"id": "a", "summary": f"By {system}.", "system": system} for system in "xy")
            ),
            "system": "x",
        },
        {"system": "y"},
    ),
    ("summary", "judges"): lambda at: ({}, {"judges": "mockllm/a,mockllm/b"}),
    ("judge_calibration", "dataset"): lambda at: (
        {}, {"dataset": write(at, "r.jsonl", RATING | {"dialogue": "Better?"})}
    ),
    ("judge_calibration", "dialogues"): lambda at: (
        {
            "dataset": write(at, "r.jsonl", RATING),
            "dialogues": write(at, "d.jsonl", DIALOGUE),
        },
        {"dialogues": write(at, "e.jsonl", DIALOGUE | {"dialogue": "Doctor: Worse? Patient: Yes."})},
    ),
    ("decomposition", "cases"): lambda at: ({}, {"cases": write(at, "c.jsonl", CASE)}),
    ("decomposition", "k"): lambda at: ({}, {"k": 11}),
    ("decomposition", "dense"): lambda at: ({}, {"dense": True}),
    ("code_set", "cases"): lambda at: ({}, {"cases": write(at, "c.jsonl", CASE)}),
    ("retrieval", "method"): lambda at: ({}, {"method": "bm25"}),
    ("retrieval", "cohorts"): lambda at: ({}, {"cohorts": "ccsr-kept-back"}),
    ("retrieval", "k"): lambda at: ({}, {"k": 24}),
    ("retrieval", "dense_weight"): lambda at: ({}, {"dense_weight": 0.25}),
    ("retrieval", "vocabulary"): lambda at: ({}, {"vocabulary": other_vocabulary(at)}),
}  # fmt: skip

# Arguments that cannot change a number as long as the data are equal: they say where in a file something
# stands, and what was found there is in the digest. Each row holds the same data under two names.
PLACES: dict[tuple[str, str], tuple[str, str, Arguments]] = {
    ("grounding", "note_field"): ("dataset", "note", NOTE),
    ("grounding", "id_field"): ("dataset", "id", NOTE),
    ("grounding", "family_field"): ("dataset", "family", NOTE | {"family": "f"}),
    ("summary", "dialogue_field"): ("dataset", "dialogue", DIALOGUE),
    ("summary", "reference_field"): ("dataset", "reference", DIALOGUE),
    ("summary", "id_field"): ("dataset", "id", DIALOGUE),
    ("summary", "family_field"): ("dataset", "family", DIALOGUE | {"family": "f"}),
    ("summary", "summary_field"): ("summaries", "summary", {"id": "a", "summary": "Better."}),
    ("judge_calibration", "dialogue_field"): ("dataset", "dialogue", RATING | {"dialogue": "Better?"}),
    ("judge_calibration", "summary_field"): ("dataset", "summary", RATING | {"dialogue": "Better?"}),
    ("judge_calibration", "id_field"): ("dataset", "id", RATING | {"dialogue": "Better?"}),
    ("judge_calibration", "family_field"): (
        "dataset",
        "family",
        RATING | {"dialogue": "Better?", "family": "f"},
    ),
}


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build no search index: nothing is searched for here, and the dense one needs an extra."""
    monkeypatch.setattr(opened, "resolver", lambda k, dense=False: None)


def record_of(task: Task, **changed: Any) -> RunRecord:
    """What would be kept of a run of a task."""
    roles = {
        role: [ModelConfig(model=str(model)) for model in (models if isinstance(models, list) else [models])]
        for role, models in (task.model_roles or {}).items()
    }
    facts: dict[str, Any] = {
        "created": "2026-01-02T03:04:05+00:00", "task": task.name, "dataset": EvalDataset(), "model": "m/one",
        "config": EvalConfig(), "metadata": task.metadata, "model_roles": roles or None,
    }  # fmt: skip
    spec = EvalSpec.model_validate(facts | changed)
    return build_record(EvalLog(eval=spec, stats=EvalStats(), status="success"), [], "mlruns")


def ranked_by(task: Task) -> tuple[str, str, str]:
    """By what a run of a task is told apart from others of the same model."""
    record = record_of(task)
    return record.signature, record.dataset.digest, record.model


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_every_argument_is_in_the_signature_or_cannot_change_a_number(
    name: str, argument: str, tmp_path: Path
) -> None:
    if (name, argument) in PLACES:
        source, usual, row = PLACES[name, argument]
        base: Arguments = {}
        if source == "summaries":
            base = {"dataset": write(tmp_path, "d.jsonl", DIALOGUE)}
        renamed = {("elsewhere" if field == usual else field): value for field, value in row.items()}
        for folder in ("1", "2"):
            (tmp_path / folder).mkdir()
        before = TASKS[name](**base, **{source: write(tmp_path / "1", "data.jsonl", row)})
        after = TASKS[name](
            **base, **{source: write(tmp_path / "2", "data.jsonl", renamed), argument: "elsewhere"}
        )
        assert ranked_by(after) == ranked_by(before)
        return
    assert (name, argument) in CHANGES, (
        f"say in CHANGES or PLACES what {name} -T {argument}=… does to a number"
    )
    base, changed = CHANGES[name, argument](tmp_path)
    assert ranked_by(TASKS[name](**base | changed)) != ranked_by(TASKS[name](**base))


def test_nothing_is_said_of_arguments_that_there_are_not() -> None:
    assert set(CHANGES) | set(PLACES) == set(ARGUMENTS)
    assert not set(CHANGES) & set(PLACES)


@pytest.mark.parametrize("name", TASKS)
def test_a_signature_is_one_line_and_can_be_read_back(name: str) -> None:
    line = record_of(TASKS[name]()).signature
    scorer, settings = parse_signature(line)
    assert scorer == name
    version = int(settings.pop("v"))
    assert signature(scorer, version, **settings) == line
    assert len(line) < 400
    # A digest of the rules: a change of code is a change of setting.
    assert len(settings["rules"]) == 12


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "a\tb", ""])
def test_a_setting_that_could_not_be_read_back_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="signature part"):
        signature("toy", 1, setting=value)


def test_a_byte_of_code_or_table_changes_the_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "toyrules"
    package.mkdir()
    for file in ("__init__.py", "rules.py", "words.csv", "weights.json", "prompts.py"):
        (package / file).write_text("1\n", encoding="utf-8")
    real = resources.files
    monkeypatch.setattr(resources, "files", lambda name: package if name == "toyrules" else real(name))
    seen = set()
    for file in ("rules.py", "words.csv", "weights.json", "added.py", "prompts.py"):
        code_digest.cache_clear()
        seen.add(code_digest("toyrules", leave_out=("prompts.py",)))
        (package / file).write_text("1 \n", encoding="utf-8")
    code_digest.cache_clear()
    assert len(seen) == 5
    assert (
        code_digest("toyrules", leave_out=("prompts.py",)) in seen
    )  # the prompts have a digest of their own
    code_digest.cache_clear()


def grader(**config: Any) -> dict[str, Any]:
    return {"model_roles": {"grader": ModelConfig(model="m/judge", config=GenerateConfig(**config))}}


def test_how_a_grader_was_asked_is_part_of_the_signature() -> None:
    """A grader at another temperature is another measuring instrument."""
    task = TASKS["grounding"]()
    plain = record_of(task, **grader()).signature
    assert plain != record_of(task).signature
    changed: list[Arguments] = [
        {"temperature": 1.0}, {"temperature": 0.0}, {"seed": 1}, {"top_p": 0.5}, {"max_tokens": 10},
        {"system_message": "Be kind."}, {"system_message": "Be kind!"}, {"reasoning_effort": "high"},
        {"extra_body": {"mode": "x"}}, {"stop_seqs": ["."]}, {"reasoning_tokens": 5}, {"num_choices": 2},
    ]  # fmt: skip
    lines = [record_of(task, **grader(**config)).signature for config in changed]
    assert len({plain, *lines}) == len(changed) + 1
    assert "Be kind" not in "".join(lines)
    for line in lines:
        assert parse_signature(line)[1]["grader"] == "m/judge"
    # How long one waits for it, and with what key, is not.
    for config in (
        {"max_retries": 3},
        {"timeout": 9},
        {"max_connections": 2},
        {"extra_headers": {"x-key": "k"}},
    ):
        assert record_of(task, **grader(**config)).signature == plain


def test_long_prompts_that_differ_at_their_end_differ_in_the_signature() -> None:
    """Case REP-S16: MLflow cuts parameters and tags without a word."""
    task = TASKS["grounding"]()
    runs = [record_of(task, **grader(system_message="x" * 6000 + end)) for end in "AB"]
    assert runs[0].signature != runs[1].signature
    kept = [value for run in runs for value in (*run.params.values(), *run.tags.values(), run.signature)]
    assert max(map(len, kept)) < 600
    assert runs[0].params["grader.system_message"] != runs[1].params["grader.system_message"]


def test_what_a_judge_is_read_by_is_in_its_signature_and_nothing_else_is() -> None:
    """A calibration holds as long as the reader does: an edit of the fact check must not end it."""
    folder = Path(figures.__file__).parent
    reader: set[str] = set()
    pending = ["judge.py", "panel.py", "answers.py"]
    while pending:
        name = pending.pop()
        if name in reader:
            continue
        reader.add(name)
        tree = ast.parse((folder / name).read_text(encoding="utf-8"))
        pending += [
            f"{node.module}.py"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        ]
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert files - reader == set(figures._BESIDE_THE_RUBRIC)
