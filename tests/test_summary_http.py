"""The summary tasks over real HTTP: real dialogues, published ratings, and every fault of a judge."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from clinical_evals.tasks import judge_calibration, summary
from inspecting import SHARED
from openai_server import Server, fault_of, serve
from summary_toys import GOOD, dialogues, evaluate_task, holds_to_its_formulas, scores, value, write

from clinical_evals.dialogues import load_dialogues
from clinical_evals.human_ratings import load_ratings
from clinical_evals.summary.rubric import CRITERIA

ACI = SHARED / "data" / "aci-bench"
pytestmark = pytest.mark.usefixtures("unregistered")
needs_aci = pytest.mark.skipif(not ACI.is_dir(), reason="../shared/data is not beside the checkout")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def over_http(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "sk-canary-key")
    monkeypatch.setenv("LOCAL_BASE_URL", server.url)


@needs_aci
def test_real_dialogues_over_http_with_every_fault_of_a_judge(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_http(monkeypatch, server)
    source = str(ACI / "train.csv")
    asked = {record.id: fault_of(record.dialogue) for record in load_dialogues(source).records[:48]}
    log = evaluate_task(
        summary(dataset=source),
        "openai-api/local/copier",
        model_roles={"grader": "openai-api/local/mixed"},
        limit=48,
    )
    found = scores(log)
    reasons = {
        "truncated": "judge_answer_incomplete",
        "refusal": "judge_refused",
        "garbage": "judge_answer_unreadable",
    }
    assert {d: score.reason for d, score in found.items()} == {
        d: reasons.get(fault) for d, fault in asked.items()
    }
    assert {"truncated", "refusal", "garbage", "flaky", "prose", "repaired"} <= set(asked.values())
    holds_to_its_formulas(log)
    for score in found.values():
        if score.reason is None:
            assert all(1 <= value(score)[name] <= 10 for name in CRITERIA)
            assert 0 < value(score)["token_f1"] < 1
    tally = Counter(fault in reasons for fault in asked.values())
    assert log.results
    overall = next(score for score in log.results.scores if score.name == "Overall Quality")
    assert (overall.scored_samples, overall.unscored_samples) == (tally[False], tally[True])


@pytest.mark.parametrize(
    ("model", "judge", "reason"),
    [("refusal", "copier", "refusal"), ("empty", "copier", "no_response"), ("truncated", "copier", None)],
)
def test_faults_of_the_model_over_http(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    unregistered: Path,
    model: str,
    judge: str,
    reason: str | None,
) -> None:
    over_http(monkeypatch, server)
    log = evaluate_task(
        summary(dataset=dialogues(unregistered)),
        f"openai-api/local/{model}",
        model_roles={"grader": f"openai-api/local/{judge}"},
    )
    assert scores(log)["d1"].reason == reason


def test_a_judge_whose_endpoint_fails_leaves_the_sample_unscored(
    server: Server, monkeypatch: pytest.MonkeyPatch, unregistered: Path
) -> None:
    over_http(monkeypatch, server)
    finished = write(unregistered / "vendor.jsonl", [{"id": "d1", "summary": GOOD}])
    task = summary(dataset=dialogues(unregistered), summaries=finished)
    log = evaluate_task(
        task, "openai-api/local/copier", model_roles={"grader": "openai-api/local/unauthorized"}
    )
    (sample,) = log.samples or []
    assert sample.error
    assert sample.error.message.startswith("EndpointError")
    assert "sk-canary-key" not in sample.error.message
    assert not sample.scores


@needs_aci
def test_a_vendors_published_summaries_of_aci_bench(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    over_http(monkeypatch, server)
    path = ACI / "system_outputs_valid.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    system = next(
        row[name] for row in rows[:1] for name in ("system", "system_index", "model") if name in row
    )
    task = summary(dataset=str(ACI / "valid.csv"), summaries=str(path), system=str(system))
    log = evaluate_task(task, "openai-api/local/copier")
    found = {d: score for d, score in scores(log).items() if score.reason is None}
    assert len(found) >= 15
    holds_to_its_formulas(log)
    mean = {}
    for name in ("token_f1", "fact_support", "fact_f1"):
        known = [figure for score in found.values() if not math.isnan(figure := value(score)[name])]
        assert len(known) >= 15, name
        mean[name] = sum(known) / len(known)
    assert 0.2 < mean["token_f1"] < 0.95
    assert 0.3 < mean["fact_support"] <= 1
    assert 0.1 < mean["fact_f1"] < 1


@pytest.mark.parametrize(
    ("source", "criteria", "count"),
    [
        ("mts-dialog/human_fact_scores.jsonl", CRITERIA[:2], 200),
        # Six of the workbooks' eighteen notes were judged.
        ("primock57/consultation_checklists.jsonl", CRITERIA[1:2], 6),
    ],
)
def test_published_human_ratings_calibrate_a_judge(
    server: Server, monkeypatch: pytest.MonkeyPatch, source: str, criteria: tuple[str, ...], count: int
) -> None:
    path = SHARED / "data" / source
    if not path.is_file():
        pytest.skip("../shared/data is not beside the checkout")
    over_http(monkeypatch, server)
    rated = load_ratings(str(path))
    log = evaluate_task(judge_calibration(dataset=str(path)), "openai-api/local/copier")
    found = scores(log)
    assert len(found) == len(rated.records) == count
    holds_to_its_formulas(log)
    assert log.results
    given = {name: m.value for score in log.results.scores for name, m in score.metrics.items()}
    for name in criteria:
        people = [one.human.get(name) for one in rated.records]
        errors = [value(found[one.id])[f"{name} absolute error"] for one in rated.records]
        known = [error for error, human in zip(errors, people, strict=True) if human is not None]
        # People counted facts, so the errors are shares, and there is a rank correlation but no kappa.
        assert given[f"{name} mae"] == pytest.approx(sum(known) / len(known))
        assert 0 <= max(known) <= 1
        assert -1 <= given[f"{name} spearman"] <= 1
        assert given[f"{name} mae lower"] <= given[f"{name} mae"] <= given[f"{name} mae upper"]
        assert f"{name} kappa" not in given
