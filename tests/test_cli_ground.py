"""`clinical-evals ground` and `record`, from the worked example to every fault of an endpoint."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from openai_server import Server, serve

from clinical_evals.answers import read_extraction, read_verdicts
from clinical_evals.cli import cli
from clinical_evals.data_path import bundled

NOTE = bundled("examples", "t2dm_note.txt")
FIXTURE = bundled("examples", "t2dm_fixture.json")
KEY = "sk-very-secret-0815"
COMMAND = str(Path(sys.executable).with_name("clinical-evals"))


def run(*arguments: object, input: bytes | None = None, env: dict[str, str] | None = None) -> Result:
    clean = {
        "LLM_BASE_URL": None,
        "LLM_API_KEY": None,
        "LLM_MODEL": None,
        "LLM_TIMEOUT": None,
        "COLUMNS": "100",
    }
    return CliRunner().invoke(
        cli, ["ground", *map(str, arguments)], input=input, env={**clean, **(env or {})}
    )


def fixture_with(tmp_path: Path, change: dict[str, Any]) -> Path:
    """Write the worked fixture with some top-level fields replaced; None takes one away."""
    value = json.loads(FIXTURE.read_text(encoding="utf-8")) | change
    value = {key: item for key, item in value.items() if item is not None}
    path = tmp_path / "fixture.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def fails(result: Result, code: int, *parts: str) -> None:
    """The command failed with one line that holds these parts and printed no result."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


def test_the_worked_example_scores_what_the_method_promises() -> None:
    result = run("--note", NOTE, "--fixture", FIXTURE, "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert value["counts"] == {"grounded": 6, "partial": 1, "unsupported": 1, "total": 8}
    assert value["score"] == value["strictScore"] == (6 + 0.5 * 1) / 8 == 0.8125
    assert value["formula"] == "(grounded + 0.5 * partial) / total"
    assert (value["truncated"], value["extractedBy"], value["gradedBy"]) == (
        0,
        "written by hand",
        "written by hand",
    )
    note = NOTE.read_text(encoding="utf-8")
    first, second = value["verdicts"][:2]
    assert first["text"] == "type 2 diabetes (well controlled)"
    assert (first["label"], first["supportingQuote"]) == ("grounded", "type 2 diabetes, well controlled")
    assert note[first["start"] : first["end"]].lower() == first["supportingQuote"]
    assert (second["text"], second["label"]) == ("hypertension", "unsupported")
    assert (second["supportingQuote"], second["start"], second["end"]) == (None, None, None)
    assert "fake_span" in second["reasons"]
    assert "hypertension" not in note.lower()


def test_the_report_shows_scores_labels_quotes_and_reasons() -> None:
    report = run("--note", NOTE, "--fixture", FIXTURE).stdout
    assert "Grounding score (published): 0.8125 = (6 + 0.5 × 1) / 8" in report
    assert "Strict score: 0.8125" in report
    assert "p2  unsupported hypertension" in report
    assert "reasons: fake_span" in report
    assert "“type 2 diabetes, well controlled”" in report
    assert "\x1b" not in report


def test_strict_puts_the_strict_score_first_and_fails_on_an_ungrounded_claim(tmp_path: Path) -> None:
    result = run("--note", NOTE, "--fixture", FIXTURE, "--strict")
    assert result.exit_code == 1
    assert result.stdout.startswith("Strict score: 0.8125")
    verdicts = [{"id": "p1", "label": "grounded", "supportingQuote": "Type 2 diabetes, well controlled"}]
    extraction = {"problems": [{"condition": "type 2 diabetes"}]}
    good = fixture_with(tmp_path, {"extraction": extraction, "grounding": {"verdicts": verdicts}})
    assert run("--note", NOTE, "--fixture", good, "--strict").exit_code == 0


def test_out_saves_what_json_prints(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    out.write_text("old")
    result = run("--note", NOTE, "--fixture", FIXTURE, "--json", "--out", out)
    assert out.read_text(encoding="utf-8") == result.stdout
    assert list(tmp_path.iterdir()) == [out]


def test_a_note_from_standard_input_and_from_a_file_score_alike() -> None:
    piped = run("--note", "-", "--fixture", FIXTURE, "--json", input=NOTE.read_bytes())
    assert piped.stdout == run("--note", NOTE, "--fixture", FIXTURE, "--json").stdout


def test_byte_order_mark_and_line_ends_do_not_move_offsets(tmp_path: Path) -> None:
    text = NOTE.read_text(encoding="utf-8").replace("\n", "\r\n")
    path = tmp_path / "windows.txt"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    value = json.loads(run("--note", path, "--fixture", FIXTURE, "--json").stdout)
    assert value["score"] == 0.8125
    for verdict in value["verdicts"]:
        if verdict["supportingQuote"]:
            found = text[verdict["start"] : verdict["end"]]
            assert " ".join(found.lower().split()) == " ".join(verdict["supportingQuote"].lower().split())


def test_labels_are_the_graders_words_and_no_reason_to_refuse_a_fixture(tmp_path: Path) -> None:
    """REP-S04: a label that is none of the three is no verdict, and is counted."""
    verdicts = [{"id": "p1", "label": "ungrounded", "supportingQuote": "type 2 diabetes", "rationale": None}]
    path = fixture_with(tmp_path, {"grounding": {"verdicts": verdicts}})
    value = json.loads(run("--note", NOTE, "--fixture", path, "--json").stdout)
    assert (value["score"], value["invalidLabels"]) == (0.0, 1)
    assert "none of the three words, counted as unsupported: 1" in " ".join(
        run("--note", NOTE, "--fixture", path).stdout.split()
    )


def test_no_claims_give_no_score(tmp_path: Path) -> None:
    path = fixture_with(tmp_path, {"extraction": {}, "grounding": {"verdicts": []}, "gradedBy": None})
    value = json.loads(run("--note", NOTE, "--fixture", path, "--json").stdout)
    assert (value["score"], value["strictScore"], value["gradedBy"]) == (None, None, "fixture")
    assert "none, as there are no claims" in run("--note", NOTE, "--fixture", path).stdout


def test_claims_beyond_the_limit_are_counted() -> None:
    value = json.loads(run("--note", NOTE, "--fixture", FIXTURE, "--json", "--max-claims", 3).stdout)
    assert (value["counts"]["total"], value["truncated"], value["unknownIds"]) == (3, 5, 5)
    assert run("--note", NOTE, "--fixture", FIXTURE, "--max-claims", 0).exit_code == 2


def test_a_note_cannot_steer_the_terminal(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("Gout \x1b[2J[bold]stable[/bold].", encoding="utf-8")
    verdicts = [{"id": "p1", "label": "grounded", "supportingQuote": "Gout \x1b[2J[bold]stable[/bold]"}]
    extraction = {"problems": [{"condition": "gout\x1b[31m"}]}
    path = fixture_with(tmp_path, {"extraction": extraction, "grounding": {"verdicts": verdicts}})
    report = run("--note", note, "--fixture", path).stdout
    assert "\x1b" not in report
    assert "Gout �[2J[bold]stable[/bold]" in report


UNUSABLE_NOTES = [
    (b"", "the note is empty"),
    (b" \r\n\t", "the note is empty"),
    (b"\xef\xbb\xbf", "the note is empty"),
    (b"BP 120/80 \xff", "not UTF-8 at byte 10"),
    (b"\xef\xbb\xbfBP \xff", "not UTF-8 at byte 6"),
    ("Gout.".encode("utf-16"), "looks like UTF-16"),
    ("Gout.".encode("utf-16-le"), "NUL characters"),
]


@pytest.mark.parametrize(("data", "message"), UNUSABLE_NOTES)
def test_an_unusable_note_is_said_in_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(data)
    fails(run("--note", path, "--fixture", FIXTURE), 2, str(path), message)
    fails(run("--note", "-", "--fixture", FIXTURE, input=data), 2, "standard input", message)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    fails(run("--note", tmp_path / "no.txt", "--fixture", FIXTURE), 2, "no.txt", "No such file")
    fails(run("--note", tmp_path, "--fixture", FIXTURE), 2, str(tmp_path), "Is a directory")
    fails(run("--note", NOTE, "--fixture", tmp_path / "no.json"), 2, "no.json", "No such file")
    assert run("--fixture", FIXTURE).exit_code == 2


UNUSABLE_FIXTURES: list[tuple[dict[str, Any], str]] = [
    ({"extraction": None}, "field 'extraction' is missing"),
    ({"grounding": None}, "field 'grounding' is missing"),
    ({"grounding": {}}, "field 'grounding.verdicts' is missing"),
    ({"grounding": {"verdicts": {}}}, "field 'grounding.verdicts' input should be a valid list"),
    ({"grounding": {"verdicts": [{"label": "partial"}]}}, "field 'grounding.verdicts[0].id' is missing"),
    (
        {"grounding": {"verdicts": [{"id": 1, "label": "partial"}]}},
        "'grounding.verdicts[0].id' input should be",
    ),
    ({"grounding": {"verdicts": [{"id": "p1", "label": "x", "quote": "y"}]}}, "[0].quote' is not known"),
    ({"extraction": {"problem": []}}, "field 'extraction.problem' is not known"),
    ({"extraction": {"problems": [{}, {}]}}, "'extraction.problems[0].condition' is missing (and 1 more)"),
    (
        {"extraction": {"medications": [{"name": "x", "dosage": 5}]}},
        "'extraction.medications[0].dosage' input",
    ),
    ({"extraction": {"plan": "rest"}}, "field 'extraction.plan' input should be a valid list"),
    ({"extractedBy": 7}, "field 'extractedBy' input should be a valid string"),
    ({"model": "x"}, "field 'model' is not known"),
]


@pytest.mark.parametrize(("change", "message"), UNUSABLE_FIXTURES)
def test_an_unusable_fixture_names_file_and_field(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = fixture_with(tmp_path, change)
    fails(run("--note", NOTE, "--fixture", path), 2, str(path), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON at line 1, column 1"),
        ('{"extraction":\n oops}', "not JSON at line 2, column 2"),
        ("[]", "must be a JSON object"),
        ('{"extraction": {}, "extraction": {}}', "field 'extraction' stands twice"),
        ("[" * 100_000, "not JSON that can be read"),
    ],
)
def test_a_fixture_that_is_no_object(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "fixture.json"
    path.write_text(text)
    fails(run("--note", NOTE, "--fixture", path), 2, str(path), message)


def test_a_place_that_cannot_be_written_is_said_and_inputs_are_not_overwritten(tmp_path: Path) -> None:
    fails(
        run("--note", NOTE, "--fixture", FIXTURE, "--out", tmp_path / "no" / "x.json"), 2, "cannot be written"
    )
    fails(run("--note", NOTE, "--fixture", FIXTURE, "--out", tmp_path), 2, "cannot be written")
    fixture = fixture_with(tmp_path, {})
    before = fixture.read_bytes()
    fails(run("--note", NOTE, "--fixture", fixture, "--out", fixture), 2, "would overwrite the input")
    assert fixture.read_bytes() == before


def test_the_installed_command_prints_utf_8_and_no_traceback(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    note = tmp_path / "note.txt"
    note.write_text("Fièvre 38,5 °C.", encoding="utf-8")
    verdicts = [{"id": "p1", "label": "grounded", "supportingQuote": "Fièvre 38,5 °C"}]
    extraction = {"problems": [{"condition": "fièvre"}]}
    fixture = fixture_with(tmp_path, {"extraction": extraction, "grounding": {"verdicts": verdicts}})
    command = [COMMAND, "ground", "--note", str(note), "--fixture", str(fixture)]
    done = subprocess.run([*command, "--json"], env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout.decode("utf-8"))["verdicts"][0]["supportingQuote"] == "Fièvre 38,5 °C"
    report = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert "\\u201cFièvre 38,5 °C\\u201d".encode("latin-1") in report
    missing = subprocess.run([COMMAND, "ground", "--note", "no.txt"], capture_output=True, check=False)
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert missing.stderr.count(b"\n") == 1


def test_help_is_quick_and_lists_every_command() -> None:
    subprocess.run([COMMAND, "--help"], capture_output=True, check=True)
    started = time.perf_counter()
    shown = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    assert time.perf_counter() - started < 0.5
    for command in ("ground", "record", "leaderboard", "import", "ui", "attacks"):
        assert f"  {command} " in shown


# Live, over real HTTP.


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def live(server: Server, model: str, *arguments: object, **more: str) -> Result:
    env = {"LLM_BASE_URL": server.url, "LLM_API_KEY": KEY, "LLM_MODEL": model, **more}
    return run("--note", NOTE, *arguments, env=env)


@pytest.mark.parametrize(
    ("model", "calls"),
    [
        ("copier", 2),
        ("rate-limited", 4),
        ("flaky", 4),
        ("no-schema", 3),
        ("prose", 2),
        ("reasoning", 2),
        ("repaired", 4),
    ],
)
def test_a_live_run_extracts_and_grades_in_two_calls(server: Server, model: str, calls: int) -> None:
    before = server.count(model)
    result = live(server, model, "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert (value["score"], value["extractedBy"], value["gradedBy"]) == (1.0, model, model)
    assert value["counts"]["total"] > 5
    assert server.count(model) - before == calls


def test_the_grader_sees_nothing_of_the_extraction_call(server: Server) -> None:
    live(server, "copier-alone")
    extraction, grading = [call for call in server.requests if call.model == "copier-alone"]
    assert [message["role"] for message in grading.messages] == ["system", "user"]
    assert extraction.response_format is not None
    assert extraction.response_format["type"] == "json_schema"
    assert extraction.authorization == f"Bearer {KEY}"


FAILING = [
    ("unauthorized", 1, ["401 Unauthorized", "LLM_API_KEY"]),
    ("echoing", 1, ["403 Forbidden"]),
    ("truncated", 2, ["extraction could not be read", "cut off"]),
    ("empty", 2, ["extraction could not be read", "empty"]),
    ("garbage", 2, ["extraction could not be read"]),
    ("bad-grader", 3, ["grader's answer could not be read"]),
    ("refusal", 1, ["extraction was refused"]),
    ("no-choices", 1, ["not a chat completion"]),
    ("web-page", 1, ["not a chat completion"]),
]


@pytest.mark.parametrize(("model", "calls", "parts"), FAILING)
def test_a_failing_endpoint_or_model_gives_one_line_and_no_score(
    server: Server, tmp_path: Path, model: str, calls: int, parts: list[str]
) -> None:
    """REP-S18 for `ground`: not 0, no score, one line with the cause, no traceback, no key, no note."""
    before = server.count(model)
    out = tmp_path / "result.json"
    result = live(server, model, "--out", out)
    fails(result, 1, *parts)
    assert server.count(model) - before == calls
    assert KEY not in result.output
    assert "diabetes" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_slow_endpoint_is_given_up(server: Server) -> None:
    fails(live(server, "slow", LLM_TIMEOUT="0.2"), 1, "no answer within 0.2 s", "LLM_TIMEOUT")


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    env = {"LLM_BASE_URL": f"http://user:{KEY}@127.0.0.1:{port}/v1", "LLM_API_KEY": KEY, "LLM_MODEL": "m"}
    result = run("--note", NOTE, env=env)
    fails(result, 1, f"cannot connect to the endpoint at 127.0.0.1:{port}")
    assert KEY not in result.output


def test_nothing_is_asked_if_the_result_could_not_be_saved(server: Server, tmp_path: Path) -> None:
    fails(live(server, "copier-unsaved", "--out", tmp_path / "no" / "x.json"), 2, "cannot be written")
    assert server.count("copier-unsaved") == 0


SETTINGS = [
    ({}, "LLM_BASE_URL, LLM_API_KEY, LLM_MODEL"),
    ({"LLM_BASE_URL": "http://localhost/v1", "LLM_API_KEY": " "}, "needs LLM_API_KEY, LLM_MODEL"),
    ({"LLM_BASE_URL": "localhost:80", "LLM_API_KEY": "k", "LLM_MODEL": "m"}, "LLM_BASE_URL must be"),
    ({"LLM_BASE_URL": "http://h:x/v1", "LLM_API_KEY": "k", "LLM_MODEL": "m"}, "LLM_BASE_URL must be"),
    ({"LLM_BASE_URL": "http://h/v1", "LLM_API_KEY": "k\u00e9y", "LLM_MODEL": "m"}, "LLM_API_KEY holds"),
    ({"LLM_BASE_URL": "http://h/v1", "LLM_API_KEY": "k\ney", "LLM_MODEL": "m"}, "LLM_API_KEY holds"),
    *(
        (
            {"LLM_BASE_URL": "http://h/v1", "LLM_API_KEY": "k", "LLM_MODEL": "m", "LLM_TIMEOUT": bad},
            "LLM_TIMEOUT",
        )
        for bad in ("soon", "0", "-1", "nan", "inf")
    ),
]


@pytest.mark.parametrize(("env", "message"), SETTINGS)
def test_settings_that_cannot_be_used_are_named(env: dict[str, str], message: str) -> None:
    fails(run("--note", NOTE, env=env), 2, message)


def test_answers_are_read_as_leniently_as_they_are_safe() -> None:
    assert read_extraction('{"problems": null, "plan": [{"activity": "rest"}]}').value is not None
    assert read_extraction('{"extraction": {"medications": [{"name": "x", "dosage": 5}]}}').value is not None
    assert read_extraction("{}").problem == "misfit"
    assert read_extraction('{"problems": [["gout"]]}').problem == "misfit"
    assert read_verdicts('[{"id": "p1", "label": "grounded"}]').value == [{"id": "p1", "label": "grounded"}]
    assert read_verdicts('[{"label": "grounded"}]').problem == "misfit"
    assert read_verdicts('{"verdicts": []}').value == []
    assert read_verdicts('{"verdicts": [{"id": "p1"').problem == "incomplete"
    assert read_verdicts('[{"id": "p1"}, {"id": "p2"').problem == "incomplete"
