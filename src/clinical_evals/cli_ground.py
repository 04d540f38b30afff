"""`clinical-evals ground`: score the grounding of one note, offline from a fixture or live."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from clinical_evals.files import InputError, decode_text, read_text, replacing


@click.command()
@click.option("--note", required=True, metavar="FILE|-", help="The note, UTF-8 text; - reads standard input.")
@click.option(
    "--fixture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Answers to score instead of asking a model: no network, no key.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of a report.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Also save the JSON result here."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Put the strict verdicts first, and exit with 1 unless every claim is strictly grounded.",
)
@click.option(
    "--max-claims",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    metavar="N",
    help="The most claims to grade; those cut are counted.",
)
def ground(
    note: str, fixture: Path | None, as_json: bool, out: Path | None, strict: bool, max_claims: int
) -> None:
    """Score how well what was extracted from a note is grounded in the note's own text.

    Without --fixture two models are asked at an OpenAI-compatible endpoint: LLM_BASE_URL, LLM_API_KEY,
    LLM_MODEL, and LLM_TIMEOUT in seconds. The note is then sent to that endpoint.

    Exit codes: 0 scored, 1 no score could be had (or --strict found a claim that is not grounded), 2 unusable
    input.
    """
    from clinical_evals.live import LiveError

    try:
        result = _score(note, fixture, out, max_claims)
    except InputError as error:
        _fail(error, 2)
    except LiveError as error:
        _fail(error, 1)
    if as_json:
        _print_bytes(_dump(result))
    else:
        from clinical_evals.ground_report import report

        click.echo(report(result, strict=strict, colour=sys.stdout.isatty()), nl=False)
    if strict and any(verdict["strictLabel"] != "grounded" for verdict in result["verdicts"]):
        raise SystemExit(1)


def _score(note_name: str, fixture_path: Path | None, out: Path | None, max_claims: int) -> dict[str, Any]:
    """Read everything that can be wrong, then ask, score and save."""
    note = _read_note(note_name)
    for given in (Path(note_name), fixture_path):
        if out is not None and given is not None and given.exists() and out.exists() and out.samefile(given):
            raise InputError(f"{out}: --out would overwrite the input")
    from clinical_evals.ground_fixture import read_ground_fixture
    from clinical_evals.grounding.scoring import score_note
    from clinical_evals.live import Settings, ask_live

    source = (
        Settings.from_environment(os.environ) if fixture_path is None else read_ground_fixture(fixture_path)
    )
    # The output is opened first: nobody is asked, and pays, for a result that cannot be saved.
    saving: contextlib.AbstractContextManager[IO[str] | None] = (
        replacing(out) if out is not None else contextlib.nullcontext()
    )
    with saving as file:
        answers = ask_live(note, source, max_claims) if isinstance(source, Settings) else source
        scored = score_note(note, answers.extraction, answers.verdicts, max_claims=max_claims)
        result = scored.as_json() | {"extractedBy": answers.extracted_by, "gradedBy": answers.graded_by}
        if file is not None:
            file.write(_dump(result))
    return result


def _read_note(name: str) -> str:
    if name == "-":
        stream = sys.stdin.buffer
        if stream.isatty():
            click.echo(
                "Reading the note from the terminal; end it with Ctrl-D on a line of its own.", err=True
            )
        name = "standard input"
        note = decode_text(stream.read(), name)
    else:
        note = read_text(Path(name))
    if not note.strip():
        raise InputError(f"{name}: the note is empty")
    return note


def _dump(result: dict[str, Any]) -> str:
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"


def _print_bytes(text: str) -> None:
    """Print as UTF-8, whatever the terminal speaks: JSON is UTF-8."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _fail(error: Exception, code: int) -> NoReturn:
    click.echo(f"Error: {error}", err=True)
    raise SystemExit(code)
