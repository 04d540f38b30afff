"""Loading notes and extractions from what people have, and saying what is wrong with it in one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspecting import SHARED

from clinical_evals.files import InputError
from clinical_evals.notes import load_extractions, load_notes

NOTE = "Asthma is stable. CANARY-7731"


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def jsonl(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_jsonl_csv_and_folder_give_the_same_notes(tmp_path: Path) -> None:
    text = 'Line one\r\nline two, "quoted"'
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "a.txt").write_text(NOTE, encoding="utf-8")
    sources = [
        load_notes(
            written(
                tmp_path / "n.jsonl", "\ufeff" + jsonl({"id": "a", "note": NOTE}, {"id": "b", "note": text})
            )
        ),
        load_notes(
            written(
                tmp_path / "n.csv", f'key,text\r\na,{NOTE}\r\nb,"{text.replace(chr(34), chr(34) * 2)}"\r\n'
            ),
            note_field="text",
            id_field="key",
        ),
        load_notes(str(folder)),
    ]
    assert [[(record.id, record.note, record.family) for record in source.records] for source in sources] == [
        [("a", NOTE, "a"), ("b", text, "b")]
    ] * 3
    assert len({source.digest for source in sources}) == 1
    assert {source.access for source in sources} == {"unspecified"}


def test_rows_without_ids_are_numbered_and_families_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "n.jsonl", jsonl({"note": "one", "patient": 7}, {"note": "two", "patient": 7}))
    records = load_notes(path, family_field="patient").records
    assert [(record.id, record.family) for record in records] == [("1", "7"), ("2", "7")]


def test_the_digest_follows_every_word(tmp_path: Path) -> None:
    one = load_notes(written(tmp_path / "1.jsonl", jsonl({"id": "a", "note": "fever"}))).digest
    other = load_notes(written(tmp_path / "2.jsonl", jsonl({"id": "a", "note": "Fever"}))).digest
    assert one != other


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("n.jsonl", jsonl({"id": "a", "text": NOTE}), "row 1: no field 'note' for the note"),
        ("n.jsonl", jsonl({"id": "a", "note": " \n"}), "row 1: field 'note' holds no text"),
        ("n.jsonl", jsonl({"id": "a", "note": None}), "row 1: field 'note' holds no text"),
        ("n.jsonl", jsonl({"id": "a", "note": NOTE}, {"id": "a", "note": NOTE}), "row 2: the id of field 'id' is that of"),
        ("n.jsonl", jsonl({"id": "a", "note": NOTE}) + "{", "row 2: no JSON"),
        ("n.jsonl", "[1]\n", "row 1: not a JSON object"),
        ("n.jsonl", "", "holds no notes"),
        ("n.jsonl", "[" * 100_000, "row 1: no JSON"),
        ("n.jsonl", b"{\"note\": \"\xff\"}", "not UTF-8 at byte 10"),
        ("n.csv", "id,note\na,b,c\n", "row 1: has 3 fields, the header 2"),
        ("n.csv", "id,note\na\n", "row 1: has 1 fields, the header 2"),
        ("n.csv", f"{NOTE[:20]},b\na,b\n", "2 columns whose names may be texts (is there a header?)"),
        ("n.jsonl", '{"id": "a", "note": "x", "note": "y"}\n', "row 1: field 'note' stands twice in one object"),
        ("n.jsonl", jsonl({"id": "a\0b", "note": NOTE}), "row 1: field 'id' holds no id"),
        ("n.xlsx", "x", "not a dataset; choose a .jsonl, .csv or .tsv file"),
        (
            "n.jsonl",
            jsonl({"id": "a", "note": NOTE, "gold": {"problems": [{"condition": "x", "spans": [{"quote": "asthma", "start": 0, "end": 6}]}]}}),
            "row 1: field 'gold.problems.0.spans': the note does not hold the quote at 0:6",
        ),
        ("n.jsonl", jsonl({"id": "a", "note": NOTE, "gold": {"problems": [{"spans": []}]}}), "row 1: field 'gold.problems.0.spans'"),
        ("n.jsonl", jsonl({"id": "a", "note": NOTE, "injected": {"goal": "plant", "at": 0, "text": "x"}}), "'injected.target'"),
    ],
)  # fmt: skip
def test_unusable_notes_are_named_without_their_text(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_notes(written(tmp_path / name, content))
    assert message in str(caught.value)
    assert "CANARY-7731" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.jsonl: No such file"):
        load_notes(str(tmp_path / "absent.jsonl"))
    with pytest.raises(InputError, match=r"the folder holds no \.txt file"):
        load_notes(str(tmp_path))


def test_extractions_are_read_and_strangers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    written(
        path,
        jsonl(
            {"id": "a", "problems": ["asthma"]}, {"id": "b", "extraction": {"plan": [{"activity": "rest"}]}}
        ),
    )
    found = load_extractions(path, ["a", "b", "c"])
    assert found["a"].problems[0].condition == "asthma"
    assert found["b"].plan[0].activity == "rest"
    assert "c" not in found
    with pytest.raises(InputError, match=r"row 2: field 'id' is the id of no note in the dataset"):
        load_extractions(path, ["a"])
    written(path, jsonl({"id": "a", "problems": [{"name": "CANARY-7731"}]}))
    with pytest.raises(InputError, match=r"row 1: field 'problems\.0\.condition'") as caught:
        load_extractions(path, ["a"])
    assert "CANARY-7731" not in str(caught.value)


REAL = [
    ("aci-bench/train.csv", "note", "encounter_id", 67),
    ("aci-bench/valid.csv", "note", "encounter_id", 20),
    ("medec/MEDEC-MS-Validation-first300.csv", "Text", "Text ID", 300),
    ("primock57/notes.jsonl", "note", "id", 29),
    ("mts-dialog/MTS-Dialog-ValidationSet.csv", "section_text", "ID", 100),
]


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not beside the checkout")
@pytest.mark.parametrize(("path", "note", "identity", "count"), REAL)
def test_real_files_load_whole(path: str, note: str, identity: str, count: int) -> None:
    dataset = load_notes(str(SHARED / "data" / path), note_field=note, id_field=identity)
    assert len(dataset.records) == count
