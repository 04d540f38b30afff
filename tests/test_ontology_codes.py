"""Codes as people and models write them, and the command that scores two files of them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from ontology_toys import icd

from clinical_evals.cli_codes import codes as command
from clinical_evals.ontology.codes import CodeList, read_code, read_codes
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("E11.21", "E11.21"),
        ("e1121", "E11.21"),
        ("E11.21 ", "E11.21"),
        ("\u00a0i10.\n", "I10"),
        ("E11.-", "E11"),
        ("E11.2-", "E11.2"),
        ("w22.01xa", "W22.01XA"),
        ("W2201XA", "W22.01XA"),
        ("c4a.0", "C4A.0"),
        ("QA0", "QA0"),
        ("I60-I69", "I60-I69"),
        ("i60 – i69", "I60-I69"),
        *((f"I60{dash}I69", "I60-I69") for dash in "\u2010\u2011\u2012—―\u2212"),
        ("E11.\u2013", "E11"),
        ("I94-O9A", "I94-O9A"),
        # Not the shape of one.
        ("", None),
        ("E1", None),
        ("E11.", "E11"),
        ("E11..2", None),
        ("E11.21345", None),
        ("E11 .2", None),
        ("250.00", None),
        ("E849.0", None),
        ("1", None),
        ("Diabetes", None),
        ("ı10", None),  # upper-cases to I10
        ("E١١", None),  # Arabic digits
        ("E11.9\nI10", None),
    ],
)
def test_one_canonical_form(written: str, code: str | None) -> None:
    assert read_code(written) == code


@given(st.from_regex(r"[A-Z][0-9][0-9A-Z](\.[0-9A-Z]{1,4})?", fullmatch=True), st.data())
def test_writing_a_code_otherwise_changes_nothing(code: str, data: st.DataObject) -> None:
    written = code.replace(".", "") if data.draw(st.booleans()) else code
    written = written.lower() if data.draw(st.booleans()) else written
    written += data.draw(st.sampled_from(["", ".", "-", ".-"]))
    assert read_code(f" {written}\t") == code == read_code(code)


def below(*codes: str) -> list[str]:
    return [code for header in codes for code in icd().descendants(header)]


E11 = below("E11")
STROKE = below("I60", "I61", "I63", "I68", "I69")


@pytest.mark.parametrize(
    ("answer", "codes", "invalid"),
    [
        # Lists in their many forms
        ("E11.9\nE11.65", ["E11.9", "E11.65"], []),
        ("E11.9, e1165 and i10", ["E11.9", "E11.65", "I10"], []),
        ("1. E11.9\n2. **E11.65**\n3) `I10`", ["E11.9", "E11.65", "I10"], []),
        ("- E11.9: Type 2 diabetes\n- I10 – Essential (primary) hypertension.", ["E11.9", "I10"], []),
        ("| Code | Name |\n|---|---|\n| E11.9 | T2DM |\n| E1199 | none |", ["E11.9"], ["E11.99"]),
        ("E11.9; E11.9; e119", ["E11.9"], []),
        # JSON, whole, fenced, wrapped in prose, broken off
        ('["E11.9", "I10"]', ["E11.9", "I10"], []),
        ('Here:\n```json\n["E11.9"]\n```\nDone, unlike E10.9.', ["E11.9"], []),
        ('The list is ["E11.9", "I10"].', ["E11.9", "I10"], []),
        ('{"codes": [{"code": "E11.9", "description": "see also E10.9"}]}', ["E11.9"], []),
        ('{"E11.9": "Type 2 diabetes", "I10": "Hypertension"}', ["E11.9", "I10"], []),
        ('{"conditions": [{"name": "T2DM", "icd10": ["E11.9"]}]}', ["E11.9"], []),
        ('{"include": ["E11.9"], "exclude": ["E10.9"]}', ["E11.9"], []),
        ('["E11.9", "E11.65",]', ["E11.9", "E11.65"], []),
        ('["E11.9", "E11.65", "I1', ["E11.9", "E11.65"], ["I1"]),
        ('["E11.9 - Type 2 diabetes", "Hypertension"]', ["E11.9"], ["Hypertension"]),
        ('[250.00, "I10"]', ["I10"], ["250.00"]),
        ("[" * 100_000, [], []),
        ("- E11.9: T2DM\n- H1N1, G6PD\n- E1199 Type 2 diabetes", ["E11.9"], ["E11.99"]),
        # Prose
        ("A1C is 9.1%, B12 is low; code E11.9 and E11.65.", ["E11.9", "E11.65"], []),
        ("Use E11.9 (not E10.9). Add I10.", ["E11.9", "I10"], []),
        ("E11.9, excluding E10.9 and E10", ["E11.9"], []),
        ("Included:\n- E11.9\n\n## Excluded codes\n- E10.9\n\n## Other\n- I10", ["E11.9", "I10"], []),
        ("I10 Essential hypertension, not intractable, E78.5", ["I10", "E78.5"], []),
        ("I cannot help with that.", [], []),
        ("", [], []),
        # Ranges and wildcards
        ("I60-I69", STROKE, []),
        ("I60 to I69", STROKE, []),
        ("I60–69 (cerebrovascular diseases)", STROKE, []),
        *((f"I60{dash}I69", STROKE, []) for dash in "\u2010\u2011\u2012–—―\u2212"),
        ("I61-I63", below("I61", "I63"), []),
        ("I60-I69 except I63 and I69.3", [c for c in STROKE if c[:3] != "I63" and c != "I69.3"], []),
        ("E11.2-E11.6", below("E11.2", "E11.6"), []),
        ("M05-M14", below("M10", "M1A"), []),  # the block knows that M1A is in it
        ("E11.*", E11, []),
        ("E11.x", E11, []),
        ("E11.2*\nE11.6%", below("E11.2", "E11.6"), []),
        # Emphasis is no wildcard
        ("**E11** and *E11.2*, __E11.6__", ["E11", "E11.2", "E11.6"], []),
        ("**E11.*** (type 2)", E11, []),
        ("* E11.2*\n*E11.6* only", [*below("E11.2"), "E11.6"], []),
        ("E11.-", ["E11"], []),
        ("I69-I60", [], ["I69-I60"]),
        ("A00-A09", [], ["A00-A09"]),
        # What is none of the vocabulary
        ("250.00, 401.9", [], ["250.00", "401.9"]),
        ("E849.0", [], ["E849.0"]),
        ("E11.99\nE11.9X", [], ["E11.99", "E11.9X"]),
        ('{"codes": [NaN, null, true, 5, "I10", "I10"]}', ["I10"], ["NaN", "null", "true", "5"]),
        ('[5, 250.00, null, {"code": "I10", "billable": true}]', ["I10"], ["5", "250.00", "null"]),
        ('{"codes": ["", " ", [], {}, {"name": "T2DM"}]}', [], ['""', '" "', "[]", "{}", '{"name": "T2DM"}']),
        ('[{"dx": "I10"}, {"code": "E11.9"}, {"code": null}]', ["I10", "E11.9"], ['{"code": null}']),
        ('{"codes": ["I64", "E14"]}', [], ["I64", "E14"]),
        ('{"codes": [["E11.9", null], ["I10"]]}', ["E11.9", "I10"], ["null"]),
        ('{"codes": ["I10"], "excluded": [null, "foo", "E11"]}', ["I10"], []),
        ('{"codes":' * 400 + '["I10"]' + "}" * 400, ["I10"], []),  # deeper than any answer; as prose
        # Reasoning
        ("<think>E10.9? No.</think>\nE11.9", ["E11.9"], []),
        ("perhaps E10.9</think>E11.9", ["E11.9"], []),
        ("<think>E10.9 and then", [], []),
    ],
)
def test_answers_are_read_as_a_person_would(answer: str, codes: list[str], invalid: list[str]) -> None:
    read = read_codes(answer, icd())
    assert sorted(read.codes) == sorted(codes)
    assert sorted(read.invalid) == sorted(invalid)


def test_a_block_that_only_heads_other_blocks_is_a_range_too() -> None:
    hierarchy = load_hierarchy(open_vocabulary())
    assert hierarchy.descendants("M80-M94") == ["M80-M94"]
    read = read_codes("M80-M94", hierarchy)
    assert {"M80.00XA", "M94.9"} <= set(read.codes)
    assert not read.invalid


def test_what_was_expanded_or_left_out_is_named() -> None:
    assert read_codes("I61-I63 but not I63.9; E11.*", icd()) == CodeList(
        codes=["I61", "I61.9", "I63", *sorted(E11, key=E11.index)],
        invalid=[],
        ranges=["I61-I63", "E11.*"],
        excluded=["I63.9"],
    )


def test_entries_that_are_read_already() -> None:
    read = read_codes(["e11.9", " I60-I69 ", "", "Type 2 diabetes " * 9], icd())
    assert read.codes == ["E11.9", *below("I60-I69")[1:]]
    assert [len(entry) for entry in read.invalid] == [40]


WRITTEN = {  # how an entry is written, and what it counts as
    "E11.9": "E11.9", "e119": "E11.9", " I10. ": "I10", "I10 (essential hypertension)": "I10", "i10": "I10",
    "E11.99": "E11.99", "e1199": "E11.99", "I64": "I64", "250.00": "250.00", "hypertension": "hypertension",
    "x" * 50: "x" * 39 + "…", "": '""', " ": '" "', None: "null", True: "true", math.nan: "NaN", 5: "5", 2.5: "2.5",
}  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(list(WRITTEN)), st.booleans(), st.booleans())), st.booleans())
def test_every_entry_is_valid_or_invalid_or_a_repeat(
    entries: list[tuple[object, bool, bool]], alone: bool
) -> None:
    given = [
        {"code": entry, "name": "essential hypertension"} if wrapped else [entry] if nested else entry
        for entry, wrapped, nested in (
            (e, w and isinstance(e, str) and bool(e.strip()), n) for e, w, n in entries
        )
    ]
    read = read_codes(json.dumps(given if alone else {"codes": given}), icd())
    counted = [WRITTEN[entry] for entry, _, _ in entries]  # type: ignore[index]
    repeats = len(counted) - len(set(counted))
    assert len(read.codes) + len(read.invalid) + repeats == len(given)
    assert {*read.codes, *read.invalid} == set(counted)


PIECES = st.sampled_from([*'EI016.-x*,[]{}":\n', " not ", "<think>", "</think>", "–", "E11", "I6"])


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_answer_breaks_the_reader(answer: str) -> None:
    read = read_codes(answer, icd())
    assert all(code in icd() for code in (*read.codes, *read.excluded))
    assert len(set(read.codes)) == len(read.codes)


def test_long_answers_are_read_in_time() -> None:
    for piece in ("E11.9 ", "E11.99,", "not ", "I60-", "((((", "[[", "E11.", "1. ", "I60-I69 "):
        read_codes(piece * (60_000 // len(piece)), icd())
    for filler in (" ", ",", "*", ":", "#", "`", "```\n", "<think>", "{", "-"):
        read_codes(f"E11.9{filler * 60_000}x I10", icd())


# --- The command ------------------------------------------------------------------------------------------


def write(path: Path, codes: list[str] | str) -> Path:
    path.write_text(codes if isinstance(codes, str) else "\n".join(codes), encoding="utf-8")
    return path


def run(tmp_path: Path, truth: list[str] | str, predicted: list[str] | str, *options: str) -> Result:
    files = write(tmp_path / "truth.txt", truth), write(tmp_path / "predicted.txt", predicted)
    return CliRunner().invoke(command, ["--truth", str(files[0]), "--predicted", str(files[1]), *options])


def scores(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_rep_s10_the_command_sets_retired_codes_aside(tmp_path: Path) -> None:
    both = ["E11.9", "H40.11X0"]
    assert scores(run(tmp_path, both, json.dumps(both), "--json")) == {
        "coverage": 1.0,
        "overInclusionPenalty": 0.0,
        "hierarchicalScore": 1.0,
        "strictSetScore": 1.0,
        "hierarchicalPrecision": 1.0,
        "hierarchicalRecall": 1.0,
        "hierarchicalF": 1.0,
        "unresolvableGroundTruth": ["H40.11X0"],
        "invalid": [],
    }


def test_rep_s11_the_command_reads_codes_as_written(tmp_path: Path) -> None:
    read = scores(
        run(tmp_path, ["W22.01XA", "E11.9", "I10"], ["w22.01xa", "E119", " i10. ", "e11.9"], "--json")
    )
    assert read["coverage"] == read["hierarchicalScore"] == read["strictSetScore"] == 1.0
    assert read["overInclusionPenalty"] == 0.0
    assert read["invalid"] == []


def test_the_command_prints_lines(tmp_path: Path) -> None:
    result = run(tmp_path, "\ufeffE11.21\r\nE11.22\r\n\r\nE11.29\r\n", "E11.2\nE11.99\n")
    assert result.exit_code == 0
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["coverage"] == "0.8333"
    assert lines["strictSetScore"] == "0.3333"
    assert lines["invalid"] == "E11.99"
    assert lines["unresolvableGroundTruth"] == "none"


@pytest.mark.parametrize(
    ("truth", "part"),
    [
        ("", "truth.txt: holds no code"),
        ('["E11.9", 250.0]', "truth.txt: entry 2 is no string"),
        ('["E11.9"', "truth.txt: begins like a JSON list but is none"),
        ('{"codes": ["E11.9"]}', "truth.txt: holds a JSON object"),
        ("[" * 100_000, "truth.txt: begins like a JSON list but is none"),
        ("5\n21\n", "truth.txt: holds no code of this release to compare with"),  # numbers of chapters
        ("250.00\nI64\nE11.99\n", "truth.txt: holds no code of this release to compare with"),
        ("hello\nH40.11X0\n", "truth.txt: holds no code of this release to compare with"),
    ],
)
def test_unusable_files(tmp_path: Path, truth: str, part: str) -> None:
    result = run(tmp_path, truth, "E11.9")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert part in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("written", "note"),
    [
        (
            "code,description\nE11.21,DM nephropathy\nE11.22,CKD, stage 3\n",
            "not read (lines: 2)",
        ),
        ('"E11.21";"DM nephropathy"\n"E11.22";"CKD"\n', "not read (lines: 2)"),
        ("E11.21 nephropathy\nE11.22 - kidney disease\n", "not read (lines: 2)"),
        ("E11.21\tnephropathy\nE11.22\n", "not read (lines: 1)"),
    ],
)
def test_a_code_with_its_description_is_the_code(tmp_path: Path, written: str, note: str) -> None:
    result = run(tmp_path, "E11.21\nE11.22\n", written)
    found = scores(run(tmp_path, "E11.21\nE11.22\n", written, "--json"))
    assert (found["strictSetScore"], found["invalid"]) == (1.0, [])
    assert note in result.stderr
    assert ("line 1 is taken for a header" in result.stderr) == written.startswith("code")


def test_several_codes_on_a_line_and_an_entry_without_end(tmp_path: Path) -> None:
    read = scores(
        run(tmp_path, "E11.9, I10\nE78.5;J45 I48\n", ["E11.9 I10", "E78.5", "J45", "I48"], "--json")
    )
    assert (read["strictSetScore"], read["invalid"]) == (1.0, [])
    read = scores(run(tmp_path, 'E11.9,\n"I10",\n', "I10\u2028E11.9\n", "--json"))
    assert (read["strictSetScore"], read["unresolvableGroundTruth"], read["invalid"]) == (1.0, [], [])
    read = scores(run(tmp_path, "I60- I69\n", "I60 – I69", "--json"))
    assert read["strictSetScore"] == 1.0
    read = scores(run(tmp_path, "E11.9", ["E11.9", "x" * 1_000_000, "E11.9, diabetes"], "--json"))
    assert read["invalid"] == ["x" * 39 + "…"]


def test_lists_without_end_are_cut_in_the_lines_for_people(tmp_path: Path) -> None:
    codes = [f"Z{number:03}.Q" for number in range(100, 200)]
    result = run(tmp_path, ["E11.9", *codes], codes)
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["unresolvableGroundTruth"].endswith("Z119.Q and 80 more; --json lists all")
    assert max(map(len, result.stdout.splitlines())) < 300


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes(range(256)), "not UTF-8 at byte 128"),
        ("E11.9\n".encode("utf-16"), "looks like UTF-16; save it as"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "truth.txt").write_bytes(data)
    for place in (tmp_path / "truth.txt", tmp_path, tmp_path / ("x" * 5_000)):
        result = CliRunner().invoke(command, ["--truth", str(place), "--predicted", str(place)])
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert said in result.stderr or place.name != "truth.txt"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth.txt", "E11.9")
    result = CliRunner().invoke(command, ["--truth", str(truth), "--predicted", str(tmp_path / "none.txt")])
    assert result.exit_code == 2
    assert "none.txt: No such file" in result.stderr


def test_an_empty_prediction_is_a_result(tmp_path: Path) -> None:
    read = scores(run(tmp_path, "E11.9", "[]", "--json"))
    assert read["coverage"] == read["hierarchicalScore"] == read["strictSetScore"] == 0.0
