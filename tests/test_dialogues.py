"""Dialogues, finished summaries and human ratings: real public files as they are, and what cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspecting import SHARED

from clinical_evals.agreement import agreement
from clinical_evals.checklists import read_checklists
from clinical_evals.dialogues import DialogueDataset, load_dialogues
from clinical_evals.files import InputError
from clinical_evals.finished_summaries import load_summaries
from clinical_evals.human_ratings import as_share, load_ratings
from clinical_evals.summary.rubric import CRITERIA
from clinical_evals.summary.token_f1 import token_f1

DATA = SHARED / "data"
SECRET = "zanzibar"


def _here(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (DATA / name).is_dir(), reason=f"the files of {name} are not here")


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _by_id(dataset: DialogueDataset) -> dict[str, Any]:
    return {record.id: record for record in dataset.records}


@_here("aci-bench")
def test_aci_bench_with_its_metadata() -> None:
    train = load_dialogues(str(DATA / "aci-bench" / "train.csv"))
    valid = load_dialogues(str(DATA / "aci-bench" / "valid.csv"))
    assert (len(train.records), len(valid.records)) == (67, 20)
    found = _by_id(train)
    assert found["D2N001"].kind == "virtassist"
    assert found["D2N001"].facts["cc"] == "annual exam"
    assert found["D2N034"].facts["patient_age"] == "69", "written 69.0"
    assert "patient_age" not in found["D2N026"].facts
    assert "ß" in train.records[9].dialogue + (train.records[9].reference or "")
    assert "\u202f" in (train.records[31].reference or "")
    assert all(record.reference for record in train.records + valid.records)
    for name, count in (
        ("aci_asr", 11),
        ("aci_asrcorr", 11),
        ("virtscribe_asr", 4),
        ("virtscribe_humantrans", 4),
    ):
        assert (
            len(load_dialogues(str(DATA / "aci-bench" / "src_experiment" / f"valid_{name}.csv")).records)
            == count
        )


@_here("mts-dialog")
def test_mts_dialog_with_its_oddities() -> None:
    train = load_dialogues(str(DATA / "mts-dialog" / "MTS-Dialog-TrainingSet.csv"))
    valid = load_dialogues(str(DATA / "mts-dialog" / "MTS-Dialog-ValidationSet.csv"))
    assert (len(train.records), len(valid.records)) == (1201, 100)
    assert train.records[0].kind == "GENHX"
    assert "Guest_clinican:" in "".join(train.records[row - 1].dialogue for row in (703, 932, 1104))
    assert sum("\n" in record.dialogue and "\r" not in record.dialogue for record in valid.records) > 90
    assert any("\r\n" in record.dialogue for record in train.records)


@_here("primock57")
def test_primock57_of_two_files() -> None:
    found = load_dialogues(str(DATA / "primock57"))
    assert len(found.records) == 29
    first = found.records[0]
    assert first.dialogue.startswith("doctor: Hello?")
    assert "<UNSURE>Hello how</UNSURE>" in first.dialogue
    assert first.facts["presenting_complaint"].startswith("I've been having")
    assert all(record.reference for record in found.records)


@_here("aci-bench")
def test_real_system_outputs_by_section() -> None:
    dataset = load_dialogues(str(DATA / "aci-bench" / "valid.csv"))
    path = DATA / "aci-bench" / "system_outputs_valid.jsonl"
    found = load_summaries(path, list(_by_id(dataset)), system="ablation_bart-large-xsum-samsum")
    assert list(found) == [record.id for record in dataset.records]
    right, other = [], []
    for number, record in enumerate(dataset.records):
        right.append(token_f1(record.reference or "", found[record.id]).f1)
        other.append(token_f1(record.reference or "", found[dataset.records[number - 1].id]).f1)
    assert min(right) > 0.3
    assert sum(r > o for r, o in zip(right, other, strict=True)) == 20, "another patient's summary is worse"
    with pytest.raises(InputError, match=r"it has: ablation_bart-large-xsum-samsum$"):
        load_summaries(path, list(found), system="gpt")
    with pytest.raises(InputError, match=r"row 1: column 'encounter_id' is the id of no dialogue"):
        load_summaries(path, ["D2N069"])


@_here("mts-dialog")
def test_human_fact_scores_and_their_missing_ones() -> None:
    found = load_ratings(str(DATA / "mts-dialog" / "human_fact_scores.jsonl"))
    assert (len(found.records), found.scale, found.criteria) == (200, "share", CRITERIA[:2])
    assert found.missing == {CRITERIA[0]: 2, CRITERIA[1]: 0}
    assert [number for number, one in enumerate(found.records, 1) if one.human[CRITERIA[0]] is None] == [
        195,
        196,
    ]
    assert len({one.family for one in found.records}) == 50
    # Recall of words follows human completeness; a shuffled summary's does not.
    human = [one.human[CRITERIA[0]] for one in found.records]
    recall = [token_f1(one.reference or "", one.summary).recall for one in found.records]
    families = [one.family for one in found.records]
    rated = [float("nan") if value is None else value for value in human]
    agreed = agreement(rated, recall, families, scale=None)
    assert (agreed.n, agreed.human_missing, agreed.clusters) == (198, 2, 50)
    assert agreed.spearman.lower > 0.3
    turned = agreement(rated, recall[40:] + recall[:40], families, scale=None)
    assert turned.spearman.upper < agreed.spearman.lower
    valid = load_dialogues(str(DATA / "mts-dialog" / "MTS-Dialog-ValidationSet.csv"))
    path = DATA / "mts-dialog" / "human_fact_scores.jsonl"
    assert len(load_summaries(path, list(_by_id(valid)), system="3")) == 50
    with pytest.raises(InputError, match=r"row 51: a second system's summaries; .*: 0, 1$"):
        load_summaries(path, list(_by_id(valid)))


@_here("primock57")
def test_checklists_of_clinicians() -> None:
    path = DATA / "primock57" / "consultation_checklists.jsonl"
    found = load_ratings(str(path))
    assert (len(found.records), found.unusable, found.criteria) == (6, 12, (CRITERIA[1],))
    first = found.records[0]
    assert first.id == "day1_consultation01/Clinician_1/1"
    assert first.summary.splitlines()[0] == (
        "Of diarrhoea for the last 3 days, needs to stay close to the toilet, affecting his day to day activities."
    )
    assert first.human == {CRITERIA[1]: 32 / 35}
    judged = list(read_checklists(path))
    assert (sum(one.correct for one in judged), sum(one.incorrect for one in judged)) == (128, 28)


def test_bundled_dialogues_and_their_rated_candidates() -> None:
    dataset = load_dialogues()
    assert len(dataset.records) >= 24
    assert dataset.access == "synthetic"
    rated = load_ratings()
    assert len(rated.records) == sum(len(record.ratings) for record in dataset.records)
    assert rated.missing == dict.fromkeys(CRITERIA, 0)


def test_a_users_table_and_folder(tmp_path: Path) -> None:
    table = tmp_path / "mine.tsv"
    table.write_bytes(
        "nr\tTalk\tletter\tward\tfacts\n7\tD: hi\tcough\tA\tmine\n8\tD: ho\t\tA\t\n".encode("utf-8-sig")
    )
    named = {"dialogue_field": "Talk", "reference_field": "letter", "id_field": "nr", "family_field": "ward"}
    found = load_dialogues(str(table), **named)
    assert [(one.id, one.family, one.reference) for one in found.records] == [
        ("7", "A", "cough"),
        ("8", "A", None),
    ]
    assert found.digest != load_dialogues(str(table), **{**named, "reference_field": None}).digest
    turns = [{"speaker": "nurse", "text": "hello"}, {"text": "hi"}]
    listed = load_dialogues(str(_write(tmp_path / "turns.jsonl", [{"dialogue": turns}])))
    assert [(one.id, one.dialogue) for one in listed.records] == [("1", "nurse: hello\nhi")]
    folder = tmp_path / "visits"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "a.reference.txt"):
        (folder / name).write_text(name, encoding="utf-8")
    assert [(one.id, one.reference) for one in load_dialogues(str(folder)).records] == [
        ("a", "a.reference.txt"),
        ("b", None),
    ]


@pytest.mark.parametrize(
    ("row", "options", "says"),
    [
        ({"text": SECRET}, {}, "row 1: no column 'dialogue'; name yours with -T dialogue_field=…. It has: text"),
        ({"dialogue": SECRET}, {"reference_field": "gold"}, "row 1: no column 'gold' for -T reference_field=…"),
        ({"dialogue": "  "}, {}, "row 1: column 'dialogue' holds no text"),
        ({"dialogue": [{"speaker": SECRET}]}, {}, "row 1: column 'dialogue' holds no text"),
        ({"dialogue": SECRET, "id": ""}, {}, "row 1: column 'id' holds no id"),
        ({"dialogue": SECRET, "note": [SECRET]}, {}, "row 1: column 'note' holds no text"),
        ({"dialogue": SECRET}, {"reference_field": "dialogue"}, "row 1: column 'dialogue' is named for dialogue and reference"),
        ({"dialogue": SECRET, "candidates": {"good": 3}}, {}, "row 1: field 'candidates.good': Input should be a valid string"),
        ({"dialogue": SECRET, "candidates": {"good": SECRET}, "ratings": {"good": {CRITERIA[0]: 3}}}, {}, "'good' needs exactly"),
        ({"dialogue": SECRET, "candidates": {"good": SECRET}, "ratings": {"good": dict.fromkeys(CRITERIA, 11)}}, {}, "'good' is not from 1 to 10"),
        ({"dialogue": SECRET, "ratings": {"good": dict.fromkeys(CRITERIA, 1)}}, {}, "'good' is none of the candidates"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_is_named_without_its_text(
    tmp_path: Path, row: dict[str, Any], options: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError) as error:
        load_dialogues(str(_write(tmp_path / "mine.jsonl", [row])), **options)
    assert says in str(error.value)
    assert str(tmp_path / "mine.jsonl") in str(error.value)
    assert SECRET not in str(error.value)


def test_finished_summaries(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "b", "summary": "x"},
        {"id": 7, "summary": ""},
        {"id": "c", "summary": None},
    ]
    ids = ["b", "7", "c", "d"]
    assert load_summaries(_write(tmp_path / "v.jsonl", rows), ids) == {"b": "x", "7": ""}, (
        "c and d: not answered"
    )
    for row, says in (
        ({"id": SECRET, "summary": "x"}, r"row 4: column 'id' is the id of no dialogue"),
        ({"id": "b", "summary": "y"}, r"row 4: a second summary for the dialogue"),
        ({"id": "d", "summary": [SECRET]}, r"row 4: column 'summary' holds no text"),
        ({"id": "d", "text": SECRET}, r"row 4: no column for the summary. It has: id, text"),
        ({"id": "d", "summary": "y", "system": "two"}, r"row 4: a second system's summaries"),
    ):
        with pytest.raises(InputError, match=says) as error:
            load_summaries(_write(tmp_path / "v.jsonl", [*rows, row]), ids)
        assert SECRET not in str(error.value)


def test_a_users_ratings(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    head = (
        "id,rater,dialogue,summary,Factual completeness,human_no_hallucinations,Clinical Tone and Structure\n"
    )
    body = "1,x,talk,cough,8,9/10,\n1,y,talk,cough,6,10,NA\n1,z,talk,cough,9,7.5,-\n2,x,talk,fever,1,2,3\n"
    path.write_text(head + body, encoding="utf-8")
    found = load_ratings(str(path))
    assert (found.scale, found.criteria) == ("rubric", CRITERIA)
    assert [list(one.human.values()) for one in found.records] == [[8, 9, None], [1, 2, 3]]
    assert found.missing == {CRITERIA[0]: 0, CRITERIA[1]: 0, CRITERIA[2]: 1}
    assert [one.family for one in found.records] == ["1", "1"], "summaries of one dialogue"
    assert found.records[0].by_rater["y"][CRITERIA[0]] == 6
    dialogues = load_dialogues(
        str(_write(tmp_path / "d.jsonl", [{"id": "q", "family": "f", "dialogue": "talk"}]))
    )
    by_id = _write(tmp_path / "r.jsonl", [{"dialogue_id": "q", "summary": "cough", "completeness": 4}])
    joined = load_ratings(str(by_id), dialogues=dialogues)
    assert [(one.dialogue, one.family, one.human) for one in joined.records] == [
        ("talk", "f", {CRITERIA[0]: 4.0})
    ]
    assert (as_share(1), as_share(10)) == (0, 1)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("1,,talk,cough,11,9,", r"row 1: column 'completeness' holds no number from 1 to 10"),
        (f"1,,talk,cough,{SECRET},9,", r"row 1: column 'completeness' holds no number"),
        ("1,,talk,cough,4/5,9,", r"row 1: column 'completeness' holds no number"),
        ("1,,talk,cough,3,9,\n1,,talk,cough,3,9,", r"row 2: a second rating of one summary"),
        ("1,a,talk,cough,3,9,\n1,b,talk,cold,3,9,", r"row 2: another summary or dialogue"),
        ("1,a,,cough,3,9,", r"row 1: column 'dialogue' holds no text"),
    ],
)
def test_a_rating_that_cannot_be_used_is_named(tmp_path: Path, row: str, says: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        f"id,rater,dialogue,summary,completeness,no hallucination,hallucinations\n{row}\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=says) as error:
        load_ratings(str(path))
    assert SECRET not in str(error.value)
