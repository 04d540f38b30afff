"""`clinical-evals rubric`: grade one summary of one dialogue, offline from a judge's answer or live."""

import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from clinical_evals.files import InputError, read_text


@click.command()
@click.option(
    "--dialogue", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The dialogue, text."
)
@click.option(
    "--summary", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Its summary, text."
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A summary that a person wrote, to compare words and facts with.",
)
@click.option(
    "--fixture",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A judge's answer, as it wrote it, instead of asking one: no network, no key.",
)
@click.option("--no-judge", is_flag=True, help="Ask nobody: only what code can say, without network and key.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of a report.")
def rubric(
    dialogue: Path,
    summary: Path,
    reference: Path | None,
    fixture: Path | None,
    no_judge: bool,
    as_json: bool,
) -> None:
    """Grade a summary: three scores from a judge, the overall grade and all else from code.

    Without --fixture the judge is asked at an OpenAI-compatible endpoint: LLM_BASE_URL, LLM_API_KEY,
    LLM_MODEL, and LLM_TIMEOUT in seconds. Dialogue and summary are then sent to that endpoint. An empty
    summary is graded 1 throughout, and nobody is asked.

    Exit codes: 0 graded, 1 no grade could be had (what code can say is still printed), 2 unusable input.
    """
    from clinical_evals.live import LiveError

    try:
        if no_judge and fixture is not None:
            raise InputError("--no-judge and --fixture: choose one")
        result, written = _grade(dialogue, summary, reference, fixture, judged=not no_judge)
    except InputError as error:
        _fail(error, 2)
    except LiveError as error:
        _fail(error, 1)
    if as_json:
        sys.stdout.buffer.write((json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode())
        sys.stdout.buffer.flush()
    else:
        from clinical_evals.rubric_report import report

        click.echo(report(result, written), nl=False)
    if result["unscored"]:
        raise SystemExit(1)


def _grade(
    dialogue_path: Path,
    summary_path: Path,
    reference_path: Path | None,
    fixture_path: Path | None,
    *,
    judged: bool,
) -> tuple[dict[str, Any], str]:
    """Read everything that can be wrong, then ask and score; give the result and the summary."""
    dialogue, summary = read_text(dialogue_path), read_text(summary_path)
    reference = read_text(reference_path) if reference_path else None
    for path, text in ((dialogue_path, dialogue), (reference_path, reference)):
        if text is not None and not text.strip():
            raise InputError(f"{path}: the file is empty")
    answer = read_text(fixture_path) if fixture_path else None

    from clinical_evals.live import Settings, rate_live
    from clinical_evals.summary.judge import read_rating
    from clinical_evals.summary.rubric import EMPTY_RATING, Rating, is_empty
    from clinical_evals.summary.scoring import score_summary

    rating: Rating | None = EMPTY_RATING if judged else None
    unscored: str | None = None
    judge: str | None = None
    if judged and not is_empty(summary):
        # An answer from a file would be the same after the repair turn.
        if answer is not None:
            reading, judge = read_rating(answer), "fixture"
        else:
            settings = Settings.from_environment(os.environ)
            reading, judge = rate_live(dialogue, summary, settings), settings.model
        rating, unscored = reading.value, reading.detail
    result = score_summary(dialogue, summary, reference, rating).as_json()
    head = {name: result.pop(name) for name in ("scores", "overall")}
    return head | {"unscored": unscored} | result | {"judgedBy": judge}, summary


def _fail(error: Exception, code: int) -> NoReturn:
    click.echo(f"Error: {error}", err=True)
    raise SystemExit(code)
