"""The tasks retrieval, decomposition and code_set as `inspect eval` runs them, and what the registry keeps."""

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from clinical_evals.tasks import code_set, decomposition, retrieval
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.scorer import Score
from registry_toys import run, settle

from clinical_evals.ontology import opened
from clinical_evals.ontology.benchmark import SCORES, benchmark_cohorts
from clinical_evals.ontology.curated import load_value_sets
from clinical_evals.ontology.dense import DenseUnavailable
from clinical_evals.registry.formula import evaluate
from clinical_evals.registry.leaderboard import build_boards

pytestmark = pytest.mark.usefixtures("unregistered")

TARGET = {"include": ["E11.21", "E11.22", "E11.29"]}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def cases(folder: Path, ids: list[str], **fields: Any) -> str:
    rows = [{"case_id": case, "population_description": f"population {case}", **fields} for case in ids]
    return write(folder / "cases.jsonl", rows)


def answered(folder: Path, task: str, step: str, answers: Mapping[str, Any]) -> str:
    """Write a fixture that gives each sample its answer, and the same again when asked to repair it."""
    rows: list[Mapping[str, Any]] = [
        {"about": "Written by hand for a test; no model was asked.", "task": task}
    ]
    for sample, output in answers.items():
        row = dict(output) if isinstance(output, dict) and "stop_reason" in output else {"output": output}
        rows += [{"sample": sample, "step": asked, **row} for asked in (step, f"{step}/repair")]
    write(folder / f"{task}.jsonl", rows)
    return f"replay/{folder}"


def scores(log: EvalLog) -> dict[str, Score]:
    assert log.status == "success", log.error
    assert log.samples
    return {str(sample.id): next(iter((sample.scores or {}).values())) for sample in log.samples}


def figures(score: Score) -> dict[str, float]:
    assert isinstance(score.value, dict)
    return {name: float(value) for name, value in score.value.items()}


def counts(score: Score) -> dict[str, int]:
    found: dict[str, int] = (score.metadata or {})["counts"]
    assert all(type(count) is int for count in found.values())
    return found


def recounted(log: EvalLog, score: Score) -> dict[str, float]:
    """The figures as the registry recounts them, from the formulas of the task."""
    declared = (log.eval.metadata or {})["clinical_evals"]["metrics"]
    formulas = {name: metric["formula"] for name, metric in declared.items()}
    values = {name: evaluate(name, formulas, counts(score)) for name in formulas}
    return {name: math.nan if value is None else value for name, value in values.items()}


def same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(
        math.isclose(value, other[name], abs_tol=1e-12) or (math.isnan(value) and math.isnan(other[name]))
        for name, value in one.items()
    )


REFUSED = {"output": "", "stop_reason": "content_filter"}
HOSTILE = {
    "header": ({"codes": ["E11.2"], "excluded": []}, None),
    "spelled": ("```json\n[\"e1121\", \"E11.22 \", \"E11.29\", \"E11.21\"]\n```", None),
    "prose": ("Use E11.21, E11.22 and E11.29, but not E11.9.", None),
    "range": ({"codes": ["E11.21-E11.29"]}, None),
    "everything": ({"codes": ["A00-Z99"]}, None),
    "invented": ({"codes": ["E11.21", "E11.2X9", "250.40", "diabetes"]}, None),
    "nothing": ({"codes": []}, None),
    "cut": ('{"codes": ["E11.21", "E11.2', "invalid_response_format"),
    "apology": ("I'm sorry, I can't help with that.", "invalid_response_format"),
    "silence": ("", "no_response"),
    "refusal": (REFUSED, "refusal"),
    "odd": ({"codes": [None, True, 5, "", "E11.21", "e1121"]}, None),
    "surrogate": ({"codes": ["E11.21", "\ud83d"]}, None),
}  # fmt: skip


def test_code_set_on_hostile_answers(folder: Path) -> None:
    model = answered(folder, "code_set", "code_set", {name: answer for name, (answer, _) in HOSTILE.items()})
    log = run(code_set(cases(folder, list(HOSTILE), target=TARGET)), model=model)
    found = scores(log)
    assert {name: score.reason for name, score in found.items()} == {
        name: reason for name, (_, reason) in HOSTILE.items()
    }
    strict = {name: figures(score)["strict_set_score"] for name, score in found.items()}
    published = {name: figures(score)["hierarchical_score"] for name, score in found.items()}
    for name in ("spelled", "prose", "range"):
        assert strict[name] == published[name] == 1, name
    # The header satisfies the published score alone: 5/6. Matched one to one: 2 * (5/6) / (3 + 1).
    assert (published["header"], strict["header"]) == pytest.approx((5 / 6, 5 / 12))
    assert strict["everything"] < 0.001
    # One right code and three that do not exist: 2 * 1 / (3 + 4).
    assert strict["invented"] == pytest.approx(2 / 7)
    assert figures(found["invented"])["invalid_code_rate"] == 3 / 4
    # Four entries that are no codes, one code and its repeat.
    assert (figures(found["odd"])["invalid_code_rate"], strict["odd"]) == (4 / 5, pytest.approx(2 / 8))
    for name in ("nothing", "cut", "apology", "silence", "refusal"):
        assert strict[name] == published[name] == 0, name
        assert math.isnan(figures(found[name])["over_inclusion_penalty"]), name
    assert all(same(figures(score), recounted(log, score)) for score in found.values())
    assert len(json.dumps((found["everything"].metadata or {})["codes"])) < 10_000


def test_decomposition_resolves_scores_and_measures_the_gap(folder: Path) -> None:
    answers = {
        "curated": {"terms": ["atrial fibrillation", "Heart failure", "heart  failure"]},
        "prose": "- **atrial fibrillation**: the rhythm\n- heart failure",
        "many": {"terms": [f"asthma {number}" for number in range(60)]},
        "none": {"terms": []},
        "apology": "I'm sorry, I can't help with that.",
        "refusal": REFUSED,
    }
    model = answered(folder, "decomposition", "decompose", answers)
    file = cases(folder, list(answers), cohort_ids=["513", "519"])
    log = run(decomposition(file), model=model)
    found = scores(log)
    assert {name: score.reason for name, score in found.items() if score.reason} == {
        "apology": "invalid_response_format",
        "refusal": "refusal",
    }
    perfect = figures(found["curated"])
    assert perfect["hierarchical_score"] == perfect["strict_set_score"] == 1
    baseline = 1 + perfect["gap"]
    assert 0 < baseline < 1
    assert figures(found["prose"]) == perfect
    assert {name: counts(found["curated"])[name] for name in ("terms", "terms_curated", "terms_cut")} == {
        "terms": 2,
        "terms_curated": 2,
        "terms_cut": 0,
    }
    assert (counts(found["many"])["terms"], counts(found["many"])["terms_cut"]) == (60, 10)
    for name in ("none", "apology", "refusal"):
        assert figures(found[name])["hierarchical_score"] == 0
        assert figures(found[name])["gap"] == pytest.approx(baseline)
    assert all(same(figures(score), recounted(log, score)) for score in found.values())


def test_the_registry_ranks_methods_by_their_names_and_models_by_theirs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLINICAL_EVALS_REGISTRY")
    methods = [retrieval(method=method, k=5) for method in ("bm25", "expand_descendants")]
    logs = inspect_eval(methods, model="none", display="none", log_dir="logs")
    assert {log.eval.model for log in logs} == {"none/none"}
    file = cases(folder, ["a", "b"], cohort_ids=["513"])
    answered(folder, "decomposition", "decompose", {case: ["atrial fibrillation"] for case in ("a", "b")})
    model = answered(folder, "code_set", "code_set", {"a": {"codes": ["I48.*"]}, "b": REFUSED})
    inspect_eval([code_set(file), decomposition(file)], model=model, display="none", log_dir="logs")

    boards = {board.task: board for board in build_boards(settle())}
    ranked = [place.run for place in boards["retrieval"].places]  # one signature, so one board
    assert {(method.model, method.grader) for method in ranked} == {
        ("bm25", "bm25"),
        ("expand_descendants", "expand_descendants"),
    }
    (signature,) = {method.signature for method in ranked}
    assert signature.startswith("retrieval v=1 bm25s=")
    assert " dense_weight=0.5 k=5 " in signature
    (written,) = boards["code_set"].places
    assert (written.run.model, written.run.headline, written.run.scored) == (model, "strict_set_score", 2)
    assert written.run.failed == {"refusal": 1}
    (decomposed,) = boards["decomposition"].places
    assert (decomposed.run.model, decomposed.run.headline) == (model, "hierarchical_score")


def test_retrieval_gives_the_figures_of_the_benchmark() -> None:
    log = run(retrieval(method="bm25"))
    report = benchmark_cohorts(opened.vocabulary(), load_value_sets(opened.vocabulary()), ["bm25"])
    found = scores(log)
    assert len(found) == 23
    for result in report.results:
        figure = figures(found[result.cohort_id])
        assert figure["hierarchical_score"] == pytest.approx(result.hierarchical_score, abs=1e-12)
        assert figure["strict_set_score"] == pytest.approx(result.strict_set_score, abs=1e-12)
        assert counts(found[result.cohort_id]) == result.counts
        assert same(figure, recounted(log, found[result.cohort_id]))
    assert log.results
    for score in log.results.scores:
        if score.name in SCORES:  # same seed, same resampling, same order
            means = {name.rpartition("_")[2]: metric.value for name, metric in score.metrics.items()}
            interval = report.intervals_by_method["bm25"][score.name]
            assert means["lower"] == pytest.approx(interval.lower, abs=1e-12)
            assert means["upper"] == pytest.approx(interval.upper, abs=1e-12)


def test_retrieval_takes_a_table_and_leaves_out_what_holds_no_code(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = folder / "lists.csv"
    table.write_text("condition,code\nheart failure,I50.9\nasthma,J45.909\nold codes,H40.11X0\n")
    task = retrieval(method="bm25", cohorts=str(table))
    assert "1 of 3 cohorts hold no code" in caplog.text
    assert set(scores(run(task))) == {"heart failure", "asthma"}


def test_without_the_extra_dense_is_refused_and_hybrid_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(path: str | None = None) -> None:
        raise DenseUnavailable("dense retrieval needs the package x: pip install 'clinical-evals[dense]'")

    monkeypatch.setattr(opened, "dense_retriever", unavailable)
    with pytest.raises(PrerequisiteError, match=r"clinical-evals\\\[dense\]"):
        retrieval(method="dense")
    with pytest.raises(PrerequisiteError, match=r"clinical-evals\\\[dense\]"):
        decomposition(dense=True, k=11)
    assert facts(retrieval(method="hybrid"))["subject"] == "hybrid without dense"
    assert facts(retrieval(method="hybrid"))["signature"] == facts(retrieval(method="bm25"))["signature"]


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra [dense] is installed")
@pytest.mark.parametrize("display", [[], ["--display", "plain"]])
def test_inspect_shows_how_to_install_the_extra(folder: Path, display: list[str]) -> None:
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "clinical_evals/retrieval"]
    done = subprocess.run(
        [*command, "-T", "method=dense", "--model", "none", *display],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip install 'clinical-evals[dense]'" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        (retrieval, {"method": "bm52"}, "choose from: bm25, "),
        (retrieval, {"k": 0}, "option k "),
        (retrieval, {"dense_weight": 2}, "option dense_weight "),
        (retrieval, {"dense_weight": "much"}, "option dense_weight "),
        (retrieval, {"cohorts": "absent.csv"}, "absent.csv"),
        (retrieval, {"vocabulary": "absent.duckdb"}, "no such vocabulary"),
        (decomposition, {"k": True}, "option k "),
        (decomposition, {"cases": "absent.jsonl"}, "No such file"),
        (code_set, {"cases": "absent.jsonl"}, "No such file"),
    ],
)
def test_arguments_that_cannot_be_used_are_one_line(
    task: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        task(**arguments)
    assert "\n" not in str(caught.value)


def test_a_judged_run_still_goes_by_its_model() -> None:
    assert "subject" not in facts(code_set("default"))


def facts(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = (task.metadata or {})["clinical_evals"]
    return found
