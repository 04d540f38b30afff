"""The tasks summary and judge_calibration as `inspect eval` runs them, on replayed models."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from clinical_evals.tasks import judge_calibration, summary
from inspect_ai._util.error import PrerequisiteError
from registry_toys import settle
from summary_toys import (
    GOOD,
    RATED,
    counts,
    dialogues,
    evaluate_task,
    holds_to_its_formulas,
    judged,
    replay,
    scores,
    value,
    write,
)

from clinical_evals.agreement import agreement, krippendorff_alpha
from clinical_evals.registry.leaderboard import build_boards
from clinical_evals.summary.figures import OVERALL, figure_facts
from clinical_evals.summary.rubric import CRITERIA

pytestmark = pytest.mark.usefixtures("unregistered")


def test_the_replayed_models_keep_their_order_and_every_figure_follows_from_counts(folder: Path) -> None:
    means: dict[str, dict[str, float]] = {}
    for name in ("good", "incomplete", "hallucinating", "informal"):
        log = evaluate_task(summary(summaries=name), "replay/faithful")
        holds_to_its_formulas(log)
        found = [value(score) for score in scores(log).values()]
        assert len(found) == 24
        means[name] = {key: sum(one[key] for one in found) / 24 for key in found[0]}
        assert (log.eval.metadata or {})["clinical_evals"]["subject"] == name
    overall = [means[name]["Overall Quality"] for name in means]
    assert overall == sorted(overall, reverse=True)
    assert len(set(overall)) == 4
    # The fact check alone, without any judge, tells an invented summary from a true one.
    assert means["good"]["fact_support"] > 0.95
    assert means["hallucinating"]["fact_support"] < 0.75
    for name in ("gaming", "overreaching"):
        log = evaluate_task(summary(), f"replay/{name}", model_roles={"grader": "replay/faithful"})
        holds_to_its_formulas(log)
        graded = [value(score)["Overall Quality"] for score in scores(log).values()]
        assert len(graded) == 24
        assert sum(graded) / 24 < means["good"]["Overall Quality"] - 3


def test_what_code_counted_stands_next_to_what_a_judge_said() -> None:
    for references in (True, False):
        assert list(figure_facts(judged=True, references=references))[:2] == [OVERALL, "fact_support"]
    assert next(iter(figure_facts(judged=False, references=True))) == "fact_f1"


def test_whose_fault_decides(folder: Path) -> None:
    rows = [
        {"sample": "d1", "step": "summarise", "output": "", "stop_reason": "content_filter"},
        {"sample": "d2", "step": "summarise", "output": " \n"},
        {"sample": "d3", "step": "summarise", "output": "<think>The dose is"},
        *({"sample": f"d{n}", "step": "summarise", "output": GOOD} for n in range(4, 9)),
    ]
    answers: dict[str, tuple[object, dict[str, Any]]] = {
        "d4": (RATED, {}),
        "d5": (json.dumps(RATED)[:-3], {"stop_reason": "max_tokens"}),
        "d6": ("I am unable to score this.", {}),
        "d7": ("", {"stop_reason": "content_filter"}),
        "d8": ({"Factual Completeness": 8, "No Hallucinations": 9}, {}),
    }
    judge = [row for d, (output, more) in answers.items() for row in judged(d, GOOD, output, **more)]
    # The model is its own judge: its failure as a judge still says nothing of its summary.
    log = evaluate_task(
        summary(dataset=dialogues(folder, 8, reference=GOOD)), replay(folder, "own", *rows, *judge)
    )
    found = scores(log)
    assert {d: found[d].reason for d in found} == {
        "d1": "refusal",
        "d2": "no_response",
        "d3": "invalid_response_format",
        "d4": None,
        "d5": "judge_answer_incomplete",
        "d6": "judge_answer_unreadable",
        "d7": "judge_refused",
        "d8": "judge_answer_lacks_a_field",
    }
    for d in ("d1", "d2", "d3"):
        figures = value(found[d])
        assert [figures.pop(name) for name in ("Overall Quality", *CRITERIA)] == [1, 1, 1, 1]
        assert set(figures.values()) == {0.0}
    for d in ("d5", "d6", "d7", "d8"):
        assert str(found[d].value) == "nan"
        assert {name: counts(found[d])[name] for name in ("judges", "judges_rated")} == {
            "judges": 1,
            "judges_rated": 0,
        }
    assert [value(found["d4"])[name] for name in CRITERIA] == [8, 9, 7]
    assert value(found["d4"])["Overall Quality"] == 8
    assert value(found["d4"])["fact_f1"] == value(found["d4"])["soap_f1"] == 1
    holds_to_its_formulas(log)
    # An empty summary asked no judge, and the judge saw nothing of how the summary came about.
    asked = [event for sample in log.samples or [] for event in sample.events if event.event == "model"]
    assert len(asked) == 8 + 1 + 2 + 2 + 1 + 2
    for event in asked[8:]:
        assert "You write the clinical summary" not in str(event.input[0].content)


def test_a_panel_gives_the_median_and_its_agreement(folder: Path) -> None:
    ratings = {"a": [(8, 9, 7), (4, 6, 9)], "b": [(9, 9, 9), (5, 7, 9)], "c": [(2, 1, 10), (3, 9, 8)]}
    finished = write(folder / "vendor.jsonl", [{"id": f"d{n}", "summary": GOOD} for n in (1, 2)])
    models = [
        replay(
            folder,
            name,
            *(
                row
                for n in (1, 2)
                for row in judged(f"d{n}", GOOD, dict(zip(CRITERIA, given[n - 1], strict=True)))
            ),
        )
        for name, given in ratings.items()
    ]
    seen = []
    for order in (models, models[::-1]):
        task = summary(dataset=dialogues(folder, 2), summaries=finished, judges=",".join(order))
        log = evaluate_task(task, models[0])
        found = scores(log)
        seen.append({d: value(score) for d, score in found.items()})
        alpha = krippendorff_alpha([[8, 4], [9, 5], [2, 3]])
        assert log.results
        given = {name: m.value for score in log.results.scores for name, m in score.metrics.items()}
        assert given["Factual Completeness alpha"] == pytest.approx(alpha)
        facts = (log.eval.metadata or {})["clinical_evals"]
        assert facts["metrics"]["Factual Completeness alpha"]["of"] == [
            f"judge{n}_factual" for n in (1, 2, 3)
        ]
        assert facts["subject"] == "vendor"
    assert [seen[0]["d1"][name] for name in CRITERIA] == [8, 9, 9]
    assert [seen[0]["d2"][name] for name in CRITERIA] == [4, 7, 9]
    assert seen[0] == seen[1]
    assert counts(found["d1"])["judge1_factual"] == 2  # the order of the last run


def test_one_failing_judge_of_a_panel_is_left_out_and_counted(folder: Path) -> None:
    finished = write(folder / "vendor.jsonl", [{"id": "d1", "summary": GOOD}, {"id": "d2", "summary": "-"}])
    good = replay(folder, "good", *judged("d1", GOOD, RATED))
    bad = replay(folder, "bad", *judged("d1", GOOD, "no"))
    task = summary(dataset=dialogues(folder, 2), summaries=finished)
    found = scores(evaluate_task(task, good, model_roles={"grader": [bad, good]}))
    assert [value(found["d1"])[name] for name in CRITERIA] == [8, 9, 7]
    assert {name: counts(found["d1"])[name] for name in ("judges", "judges_rated")} == {
        "judges": 2,
        "judges_rated": 1,
    }
    assert "judge1_factual" not in counts(found["d1"])
    # A summary without a word is graded by rule; there is no row of a judge for it.
    assert value(found["d2"])["Overall Quality"] == 1
    assert found["d2"].reason is None


def test_a_summary_that_is_missing_or_judged_by_nobody(folder: Path) -> None:
    finished = write(folder / "vendor.jsonl", [{"id": "d1", "summary": GOOD}])
    log = evaluate_task(
        summary(dataset=dialogues(folder, 2, reference=GOOD), summaries=finished, judges="none"), "none"
    )
    found = scores(log)
    assert value(found["d1"])["token_f1"] == 1
    assert "Overall Quality" not in value(found["d1"])
    assert found["d2"].reason == "no_response"
    assert set(value(found["d2"]).values()) == {0.0}
    facts = (log.eval.metadata or {})["clinical_evals"]
    assert facts["headline"] == "fact_f1"
    assert "prompts=" not in facts["signature"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"summaries": "nobody"}, "choose from: good, hallucinating, incomplete, informal"),
        ({"judges": ","}, "judges must name models"),
        ({"judges": "none,replay/faithful"}, "judges must name models"),
        ({"dataset": "nowhere.csv"}, "No such file"),
        ({"dialogue_field": "talk"}, "talk"),
    ],
)
def test_unusable_arguments_are_said(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(PrerequisiteError, match=said):
        summary(**arguments)


def test_calibration_gives_the_agreement_that_follows_from_its_counts(folder: Path) -> None:
    log = evaluate_task(judge_calibration(), "replay/overreaching")
    found = scores(log)
    assert len(found) == 96
    holds_to_its_formulas(log)
    human, judge = (
        [counts(score)[f"{rater}_overall"] for score in found.values()] for rater in ("human", "judge")
    )
    families = [str(sample.metadata["family"]) for sample in log.samples or []]
    expected = agreement(human, judge, families)
    assert log.results
    given = {name: m.value for score in log.results.scores for name, m in score.metrics.items()}
    assert given["Overall Quality kappa"] == pytest.approx(expected.quadratic_weighted_kappa.value)
    assert given["Overall Quality kappa lower"] == pytest.approx(expected.quadratic_weighted_kappa.lower)
    assert given["Overall Quality bias"] == pytest.approx(expected.bias.value)
    assert expected.bias.value > 2
    metrics = (log.eval.metadata or {})["clinical_evals"]["metrics"]
    assert metrics["Overall Quality kappa"] == {
        "range": [-1, 1],
        "higher_is_better": True,
        "statistic": "quadratic_weighted_kappa",
        "of": ["human_overall", "judge_overall"],
    }


def test_calibration_with_a_table_of_ones_own(folder: Path) -> None:
    table = folder / "rated.csv"
    table.write_text(
        "id,dialogue,summary,factual completeness,No Hallucinations\n"
        "s1,Doctor: hello,S: greeted,7.5,9\ns2,Doctor: bye,S: left,4,NA\ns3,Doctor: so,S: so,3,2\n"
    )
    rows = [
        row
        for sample, text, rated in (
            ("s1", "S: greeted", RATED),
            ("s2", "S: left", RATED),
            ("s3", "S: so", "I would rather not"),
        )
        for row in judged(sample, text, rated)
    ]
    log = evaluate_task(
        judge_calibration(dataset=str(table)), replay(folder, "judge", *rows, task="judge_calibration")
    )
    found = scores(log)
    assert value(found["s1"])["Factual Completeness bias"] == 0.5
    assert value(found["s2"])["Factual Completeness absolute error"] == 4
    assert math.isnan(value(found["s2"])["No Hallucinations bias"])
    assert found["s3"].reason == "judge_answer_unreadable"
    holds_to_its_formulas(log)
    # Kappa needs whole points, and Overall Quality all three criteria.
    facts = (log.eval.metadata or {})["clinical_evals"]
    assert facts["headline"] == "Factual Completeness alpha"
    assert not [name for name in facts["metrics"] if "kappa" in name or "Overall" in name]


def test_restricted_dialogues_go_to_no_hosted_judge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-key")
    dataset = dialogues(folder)
    (folder / "README.md").write_text("---\naccess: restricted\n---\n")
    model = replay(
        folder, "own", {"sample": "d1", "step": "summarise", "output": GOOD}, *judged("d1", GOOD, RATED)
    )
    log = evaluate_task(summary(dataset=dataset, judges="openai/gpt-4o"), model)
    assert log.status == "error"
    (sample,) = log.samples or []
    assert sample.error
    assert "is restricted and must not be sent to openai/gpt-4o" in sample.error.message
    log = evaluate_task(summary(dataset=dataset), model)
    assert value(scores(log)["d1"])["Overall Quality"] == 8
    facts = (log.eval.metadata or {})["clinical_evals"]["dataset"]
    assert (facts["access"], facts["log_text"]) == ("restricted", False)


def test_the_registry_ranks_the_summaries_not_their_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLINICAL_EVALS_REGISTRY")
    for name in ("incomplete", "good"):
        evaluate_task(summary(summaries=name, judges="replay/faithful"), "replay/gaming")
    (board,) = build_boards(settle())
    ranked = [place.run for place in board.places]
    assert [(one.model, one.grader, one.headline) for one in ranked] == [
        ("good", "replay/faithful", "Overall Quality"),
        ("incomplete", "replay/faithful", "Overall Quality"),
    ]
    assert ranked[0].signature.endswith("grader=replay/faithful")
