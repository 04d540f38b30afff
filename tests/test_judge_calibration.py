"""Human ratings as people hand them in, and a judge held to them; the example that a newcomer runs first."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from clinical_evals.tasks import judge_calibration
from inspect_ai._util.error import PrerequisiteError
from registry_toys import everything_under, run, settle
from summary_toys import counts, evaluate_task, holds_to_its_formulas, scores

from clinical_evals.agreement import agreement
from clinical_evals.data_path import bundled
from clinical_evals.files import InputError
from clinical_evals.human_ratings import load_ratings
from clinical_evals.registry.cross_table import cross_tables
from clinical_evals.registry.importing import import_files
from clinical_evals.registry.location import locate
from clinical_evals.registry.resolve import read_samples
from clinical_evals.registry.store import connect
from clinical_evals.registry.verify import recount
from clinical_evals.summary.rubric import CRITERIA

pytestmark = pytest.mark.usefixtures("folder")

SECRET = "Mrs Canary, 7f3a9c"
EXAMPLE = {
    "dataset": str(bundled("examples", "ratings.csv")),
    "dialogues": str(bundled("examples", "rated_dialogues.jsonl")),
}
JUDGE = f"replay/{bundled('examples', 'ratings_judge.jsonl')}"


def test_the_example_runs_and_its_counts_make_the_confusion_plot(folder: Path) -> None:
    log = run(judge_calibration(**EXAMPLE), model=JUDGE)
    holds_to_its_formulas(log)
    human, judge = (
        [counts(score)[f"{rater}_factual"] for score in scores(log).values()] for rater in ("human", "judge")
    )
    (view,) = settle()
    rows = read_samples(connect(locate()), view.run_id)
    tables = {table.title: table for table in cross_tables(rows, view.facts)}
    assert list(tables) == ["Overall Quality", *CRITERIA]
    assert tables[CRITERIA[0]].counts == agreement(human, judge).confusion
    assert tables[CRITERIA[0]].raters == ("human", "judge")
    # By hand, of ratings.csv and ratings_judge.jsonl: people 9 3 2 9 3 3 9 3 4, the judge 9 5 3 10 4 4 9 4 5.
    factual = tables[CRITERIA[0]]
    assert (factual.within(0), factual.within(1), factual.total) == (2, 8, 9)
    assert recount(rows, view.facts, view.epochs, view.stored).mismatches == []
    (picture,) = folder.glob("mlruns/**/confusion.svg")
    assert "Clinical Tone &amp; Structure" in picture.read_text(encoding="utf-8")
    kept = everything_under(folder / "mlruns")
    for dialogue in (bundled("examples", "rated_dialogues.jsonl")).read_text(encoding="utf-8").splitlines():
        for said in json.loads(dialogue)["dialogue"].splitlines():
            assert said not in kept
    assert "Ankle sprain" not in kept


def test_a_log_of_before_gets_its_picture_when_it_is_imported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINICAL_EVALS_REGISTRY", "off")
    log = evaluate_task(judge_calibration(**EXAMPLE), JUDGE)
    assert not list(folder.glob("mlruns/**/*.svg"))
    assert import_files([log.location], locate(), wait=10).sent == 1
    assert len(list(folder.glob("mlruns/**/confusion.svg"))) == 1


FACTS = {
    "dialogue_id": "7",
    "system_index": "0",
    "dialogue": f"Doctor: {SECRET}?",
    "reference_summary": "",
    "automatic_summary": "Cough.",
    "OmissionRate": "0.25",
    "HallucinationRate": "1e-1",
}


def fact_scores(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(FACTS))
            writer.writeheader()
            writer.writerows(rows)
    return str(path)


def test_fact_scores_are_the_same_as_numbers_and_as_text(folder: Path) -> None:
    others = {"dialogue": "", "automatic_summary": "Cough, fever."}
    text = [
        FACTS,
        FACTS | others | {"system_index": "1", "OmissionRate": "", "HallucinationRate": "-1"},
        FACTS | others | {"system_index": "2", "OmissionRate": " 1 ", "HallucinationRate": "0.0"},
    ]
    numbers: list[dict[str, Any]] = [
        FACTS | {"system_index": 0, "OmissionRate": 0.25, "HallucinationRate": 0.1},
        FACTS | others | {"system_index": 1, "OmissionRate": None, "HallucinationRate": -1.0},
        FACTS | others | {"system_index": 2, "OmissionRate": 1, "HallucinationRate": 0},
    ]
    numbers[1].pop("dialogue")
    as_text = load_ratings(fact_scores(folder / "scores.csv", text))
    as_numbers = load_ratings(fact_scores(folder / "scores.jsonl", numbers))
    assert as_text == as_numbers
    assert [list(one.human.values()) for one in as_text.records] == [[0.75, 0.9], [None, None], [0, 1]]
    assert as_text.missing == {CRITERIA[0]: 1, CRITERIA[1]: 1}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, r"row 2: dialogue_id and system_index are those of .*row 1 too"),
        *(
            ({"system_index": "1", column: value}, rf"row 2: column '{column}' holds no share from 0 to 1, nor -1")
            for column in ("OmissionRate", "HallucinationRate")
            for value in ("-7", "1.01", "nan", "inf", "0,5", "1/2", SECRET, "-0.5", "٠")
        ),
        ({"system_index": ""}, r"row 2: column 'system_index' holds no id"),
        ({"dialogue_id": "8", "dialogue": ""}, r"row 2: column 'dialogue_id': no row before it gives the dialogue"),
        ({"system_index": "1", "dialogue": "Doctor: hi"}, r"row 2: column 'dialogue': another one than in an earlier"),
    ],
)  # fmt: skip
def test_fact_scores_that_cannot_be_used_are_named(
    folder: Path, kind: str, changed: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError, match=says) as error:
        load_ratings(fact_scores(folder / f"scores.{kind}", [FACTS, FACTS | changed]))
    assert "Canary" not in str(error.value)


@pytest.mark.parametrize("rate", [float("nan"), -7, -7.0, 2, True, [0.5]])
def test_numbers_that_are_no_rate_are_no_missing_ones(folder: Path, rate: object) -> None:
    path = fact_scores(folder / "scores.jsonl", [FACTS | {"OmissionRate": rate}])
    with pytest.raises(InputError, match="row 1: column 'OmissionRate' holds no share"):
        load_ratings(path)


def test_a_row_of_fact_scores_without_a_column_is_named(folder: Path) -> None:
    second = {name: value for name, value in FACTS.items() if name != "system_index"}
    with pytest.raises(InputError, match="row 2: no column 'system_index'"):
        load_ratings(fact_scores(folder / "scores.jsonl", [FACTS, second]))


HEADER = "id,rater,dialogue,summary,Factual Completeness,No Hallucinations,Clinical Tone & Structure"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([HEADER, "1,a,talk,cough,8,9,7", "2,a,talk,fever,8"], r"rated.csv, row 2: .*the header"),
        ([HEADER, "1,a,talk,cough,8,9,11"], r"row 1: column 'Clinical Tone & Structure' holds no number from 1 to 10$"),
        ([HEADER, "1,a,talk,cough,8,9,"] * 2, r"row 2: column 'Factual Completeness' holds no number"),
        ([HEADER, "1,a,talk,cough,8,9,7", "1,a,talk,cough,8,9,7"], r"row 2: a second rating of one summary"),
        ([HEADER, "1,a,talk,cough,,NA,-", "2,a,talk,fever,, ,?"], r"no summary has a rating; all are empty in: Factual Comp"),
        ([HEADER.replace("summary", SECRET), "1,a,talk,cough,8,9,7"], r"It has: \d+ columns whose names may be texts"),
        (["id,dialogue,summary,Human Clinical Tone and Structure score", "1,talk,cough,0"], r"column 'Human Clinical Tone and Structure score'"),
        (["id,dialogue,note & plan", "1,talk,cough"], r"no column for a criterion .* It has: 3 columns whose names may be texts"),
    ],
)  # fmt: skip
def test_a_table_of_ratings_that_cannot_be_used_is_said_in_one_line(
    folder: Path, lines: list[str], says: str
) -> None:
    path = folder / "rated.csv"
    lines = [line.replace(SECRET, f'"{SECRET}"') for line in lines]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=says) as error:
        judge_calibration(dataset=str(path))
    assert "\n" not in str(error.value)
    assert "Canary" not in str(error.value)


def test_of_two_ratings_under_one_key_none_is_right(folder: Path) -> None:
    path = folder / "rated.jsonl"
    path.write_text('{"dialogue": "talk", "summary": "cough", "completeness": 8, "completeness": 2}\n')
    with pytest.raises(InputError, match=r"rated.jsonl, row 1: field 'completeness' .*twice"):
        load_ratings(str(path))


def test_a_criterion_that_nobody_rated_is_not_compared(folder: Path) -> None:
    path = folder / "rated.csv"
    path.write_text(f"{HEADER}\n1,a,talk,cough,8,9,\n2,a,talk,fever,3,,NA\n", encoding="utf-8")
    found = load_ratings(str(path))
    assert found.criteria == CRITERIA[:2]
    assert found.missing == {CRITERIA[0]: 0, CRITERIA[1]: 1, CRITERIA[2]: 2}
    facts = (judge_calibration(dataset=str(path)).metadata or {})["clinical_evals"]
    assert facts["headline"] == "Factual Completeness kappa"


def test_a_criterion_that_only_the_second_rater_gave_counts(folder: Path) -> None:
    row = {"id": "1", "dialogue": "talk", "summary": "cough"}
    rows = [row | {"rater": "a", CRITERIA[0]: 8}, row | {"rater": "b", CRITERIA[0]: 6, CRITERIA[2]: 5}]
    (folder / "rated.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    (record,) = load_ratings(str(folder / "rated.jsonl")).records
    assert record.human == {CRITERIA[0]: 6, CRITERIA[2]: 5}


def test_rows_without_ids_are_numbered_and_it_is_said_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "rated.csv"
    path.write_text(f"{HEADER.partition(',')[2]}\na,talk,cough,8,9,7\na,talk,fever,3,4,2\n", encoding="utf-8")
    assert [record.id for record in load_ratings(str(path)).records] == ["1", "2"]
    assert caplog.text.count("no column for an id") == 1
