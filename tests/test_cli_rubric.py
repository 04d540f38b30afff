"""`clinical-evals rubric`, offline and over real HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from openai_server import Server, serve

from clinical_evals.cli import cli

KEY = "sk-very-secret-0815"
DIALOGUE = "Doctor: How much metformin do you take?\nPatient: Five hundred milligrams, twice a day."
SUMMARY = "SUBJECTIVE: Takes metformin 500 mg twice daily.\nPLAN: Increase to 850 mg."
REFERENCE = "SUBJECTIVE: Takes metformin 500 mg twice daily."
ANSWER = '{"Factual Completeness": 8, "No Hallucinations": 9, "Clinical Tone & Structure": 7}'


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def files(tmp_path: Path) -> Path:
    texts = {"dialogue": DIALOGUE, "summary": SUMMARY, "reference": REFERENCE, "answer": ANSWER}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def rubric(files: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    clean = {"LLM_BASE_URL": None, "LLM_API_KEY": None, "LLM_MODEL": None, "LLM_TIMEOUT": None}
    given = ["--dialogue", str(files / "dialogue.txt"), "--summary", str(files / "summary.txt"), *arguments]
    return CliRunner().invoke(cli, ["rubric", *given], env={**clean, **(env or {})})


def result(done: Result, code: int = 0) -> dict[str, Any]:
    assert done.exit_code == code, done.output
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


def test_the_json_holds_what_it_promises(files: Path) -> None:
    arguments = [
        "--reference",
        str(files / "reference.txt"),
        "--fixture",
        str(files / "answer.txt"),
        "--json",
    ]
    value = result(rubric(files, *arguments))
    assert value["scores"] == {
        "Factual Completeness": 8,
        "No Hallucinations": 9,
        "Clinical Tone & Structure": 7,
    }
    assert value["overall"] == 8  # (40*8 + 40*9 + 20*7 + 50) // 100
    assert (value["unscored"], value["flags"], value["judgedBy"]) == (None, [], "fixture")
    shown = [(SUMMARY[fact["start"] : fact["end"]], fact["supported"]) for fact in value["facts"]]
    assert shown == [("500 mg", True), ("twice daily", True), ("850 mg", False)]
    assert value["factCounts"]["unsupported"] == 1
    assert value["tokenF1"] == pytest.approx(2 * 7 / (7 + 12))  # the reference's 7 words are among the 12
    without = result(rubric(files, "--fixture", str(files / "answer.txt"), "--json"))
    assert "tokenF1" not in without


def test_a_judge_that_cannot_be_read_gives_nulls_and_exit_1_and_code_still_speaks(files: Path) -> None:
    (files / "answer.txt").write_text(ANSWER[:-2], encoding="utf-8")
    value = result(rubric(files, "--fixture", str(files / "answer.txt"), "--json"), 1)
    assert (value["scores"], value["overall"], value["unscored"]) == (None, None, "judge answer incomplete")
    assert len(value["facts"]) == 3
    shown = rubric(files, "--fixture", str(files / "answer.txt"))
    assert shown.exit_code == 1
    assert shown.stdout.startswith("Not graded: judge answer incomplete\n")
    assert "“850 mg”" in shown.stdout


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ANSWER.replace("9", "null"), "judge answer lacks a field: No Hallucinations"),
        (
            '{"Factual Completeness": 8, "Secret": 2}',
            "judge answer lacks a field: No Hallucinations, Clinical Tone & Structure",
        ),
        (
            ANSWER.replace("9", "true"),
            "judge answer unreadable: it gave no whole number from 1 to 10 for No Hallucinations",
        ),
        (
            ANSWER.replace("8", "80").replace("9", "90"),
            "judge answer unreadable: its scores are on another scale than 1 to 10",
        ),
        (f"It says: {ANSWER}", "judge answer unreadable: it held another rating, or words around its own, that "
         "leave open which one counts"),
    ],
)  # fmt: skip
def test_why_there_is_no_grade_is_said_in_one_line(files: Path, answer: str, said: str) -> None:
    (files / "answer.txt").write_text(answer, encoding="utf-8")
    done = rubric(files, "--fixture", str(files / "answer.txt"))
    assert (done.exit_code, done.stdout.splitlines()[0]) == (1, f"Not graded: {said}")


def test_the_report_reads_from_the_grade_to_the_facts(files: Path) -> None:
    odd = ANSWER.replace("8", "11").replace("}", ', "Overall": 10}')
    (files / "answer.txt").write_text(odd, encoding="utf-8")
    done = rubric(files, "--fixture", str(files / "answer.txt"), "--reference", str(files / "reference.txt"))
    assert done.stdout.splitlines() == [
        "Overall Quality               9 of 10, computed from",
        "  Factual Completeness       10",
        "  No Hallucinations           9",
        "  Clinical Tone & Structure   7",
        "Flag: Factual Completeness: the judge's number lay outside 1 to 10; the nearest end counts",
        "Flag: the judge gave an overall grade of its own, which was ignored",
        "Judge: fixture",
        "Facts: 3, of which 2 are in the dialogue",
        "  dose “850 mg” (characters 66–72): not in the dialogue",
        "Against the reference: 2 of its 2 facts, fact F1 0.800, token F1 0.737, SOAP F1 0.500",
    ]


def test_a_fact_that_is_written_otherwise_says_how_it_was_read(files: Path) -> None:
    (files / "summary.txt").write_text(
        "Metformin 0.5 g twice daily, then b.i.d. for two weeks.", encoding="utf-8"
    )
    (files / "dialogue.txt").write_text("Nothing for now.", encoding="utf-8")
    lines = rubric(files, "--fixture", str(files / "answer.txt")).stdout.splitlines()
    assert lines[-4:] == [
        "  dose “0.5 g” (characters 10–15): read as 500 mg, not in the dialogue",
        "  frequency “twice daily” (characters 16–27): read as every 12 hours, not in the dialogue",
        "  frequency “b.i.d.” (characters 34–40): read as every 12 hours, not in the dialogue",
        "  duration “two weeks” (characters 45–54): read as 2 weeks, not in the dialogue",
    ]
    found = result(rubric(files, "--fixture", str(files / "answer.txt"), "--json"))["facts"]
    assert [fact["words"] for fact in found] == ["500 mg", "every 12 hours", "every 12 hours", "2 weeks"]


def test_without_a_judge_code_says_what_it_can(files: Path) -> None:
    done = rubric(files, "--no-judge")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "Not graded: no judge was to be asked",
        "Facts: 3, of which 2 are in the dialogue",
        "  dose “850 mg” (characters 66–72): not in the dialogue",
    ]
    value = result(rubric(files, "--no-judge", "--reference", str(files / "reference.txt"), "--json"))
    assert (value["scores"], value["overall"], value["unscored"], value["judgedBy"]) == (None,) * 4
    assert value["tokenF1"] == pytest.approx(2 * 7 / (7 + 12))
    both = rubric(files, "--no-judge", "--fixture", str(files / "answer.txt"))
    assert (both.exit_code, both.stderr.count("\n")) == (2, 1)


def test_an_empty_summary_asks_nobody(files: Path) -> None:
    (files / "summary.txt").write_text(" \n–\n", encoding="utf-8")
    assert rubric(files).stdout.endswith("Judge: none asked, as the summary is empty\nFacts: 0\n")
    value = result(rubric(files, "--json"))
    assert (set(value["scores"].values()), value["overall"], value["judgedBy"]) == ({1}, 1, None)


def test_the_report_cannot_steer_the_terminal(files: Path) -> None:
    (files / "summary.txt").write_text("Took 850\x1b]0;x\x07 \x1b[2J mg and 99 mg.", encoding="utf-8")
    done = rubric(files, "--fixture", str(files / "answer.txt"))
    assert done.exit_code == 0
    assert "99 mg" in done.stdout
    assert "\x1b" not in done.stdout


def test_unusable_input_is_one_line_and_exit_2(files: Path) -> None:
    (files / "empty.txt").write_text("\n", encoding="utf-8")
    (files / "bytes.txt").write_bytes(b"caf\xe9")
    cases = [
        (["--fixture", str(files / "absent.txt")], "absent.txt: No such file"),
        (["--reference", str(files / "empty.txt")], "empty.txt: the file is empty"),
        (["--dialogue", str(files / "empty.txt")], "empty.txt: the file is empty"),
        (["--fixture", str(files / "bytes.txt")], "bytes.txt: not UTF-8"),
        ([], "LLM_BASE_URL, LLM_API_KEY, LLM_MODEL"),
    ]
    for arguments, said in cases:
        done = rubric(files, *arguments)
        assert (done.exit_code, done.stdout) == (2, ""), said
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def live(server: Server, model: str) -> dict[str, str]:
    return {"LLM_BASE_URL": server.url, "LLM_API_KEY": KEY, "LLM_MODEL": model}


@pytest.mark.parametrize("model", ["copier", "prose", "reasoning", "no-schema", "repaired", "flaky"])
def test_live_survives_what_endpoints_do(server: Server, files: Path, model: str) -> None:
    value = result(rubric(files, "--json", env=live(server, model)))
    assert value["scores"]["Clinical Tone & Structure"] == 8
    assert value["judgedBy"] == model


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        ("truncated", "judge answer incomplete"),
        ("garbage", "judge answer unreadable: it held no JSON object that can be read"),
        ("refusal", "judge refused"),
        ("empty", "judge answer empty"),
    ],
)
def test_live_says_why_there_is_no_grade(server: Server, files: Path, model: str, cause: str) -> None:
    before = server.count(model)
    value = result(rubric(files, "--json", env=live(server, model)), 1)
    assert (value["scores"], value["unscored"]) == (None, cause)
    assert server.count(model) - before == (1 if model == "refusal" else 2)


def test_live_hides_key_and_text_when_the_endpoint_fails(server: Server, files: Path) -> None:
    done = rubric(files, env=live(server, "echoing"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "403 Forbidden" in done.stderr
    assert KEY not in done.stderr
    assert "metformin" not in done.stderr
