"""The report that `clinical-evals ground` prints for a person."""

import io
import shutil
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from clinical_evals.files import printable

_STYLES = {"grounded": "green", "partial": "yellow", "unsupported": "red"}


def report(result: dict[str, Any], *, strict: bool, colour: bool) -> str:
    """Lay out a result: scores first, then every claim with its quote and the reasons against it.

    Args:
        result: The JSON result of `clinical-evals ground`.
        strict: Show the strict verdicts first.
        colour: Whether the output goes to a terminal.

    Returns:
        The report, ending in a line feed.
    """
    width = max(60, min(shutil.get_terminal_size((100, 24)).columns, 120))
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, highlight=False, soft_wrap=False)
    counts, strict_counts = result["counts"], result["strictCounts"]
    lines = [
        ("Grounding score (published)", result["score"], counts),
        ("Strict score", result["strictScore"], strict_counts),
    ]
    for name, score, of in reversed(lines) if strict else lines:
        console.print(_score_line(name, score, of))
    console.print(
        Text(f"Extraction: {printable(result['extractedBy'])}. Grading: {printable(result['gradedBy'])}.")
    )
    for message in _remarks(result):
        console.print(Text(message, "yellow"))
    for verdict in result["verdicts"]:
        console.print()
        _print_verdict(console, verdict, strict)
    return out.getvalue()


def _score_line(name: str, score: float | None, counts: dict[str, int]) -> Text:
    if score is None:
        return Text(f"{name}: none, as there are no claims")
    working = f"({counts['grounded']} + 0.5 × {counts['partial']}) / {counts['total']}"
    return Text.assemble(f"{name}: ", (f"{score:.4f}", "bold"), f" = {working}")


def _remarks(result: dict[str, Any]) -> list[str]:
    remarks = {
        "truncated": "Claims beyond the limit, not graded (--max-claims)",
        "invalidLabels": "Verdicts whose label is none of the three words, counted as unsupported",
        "unknownIds": "Verdicts for ids that no graded claim has",
    }
    return [f"{text}: {result[key]}" for key, text in remarks.items() if result[key]]


def _print_verdict(console: Console, verdict: dict[str, Any], strict: bool) -> None:
    published, strictly = verdict["label"], verdict["strictLabel"]
    first = strictly if strict else published
    head = Text.assemble(
        (f"{verdict['id']:<4}", "bold"), (f"{first:<12}", _STYLES[first]), _one_line(verdict["text"])
    )
    console.print(head)
    details = []
    if verdict["supportingQuote"] is not None:
        quote = _one_line(verdict["supportingQuote"])
        details.append(Text(f"“{quote}” ({verdict['start']}–{verdict['end']})", "dim"))
    if published != strictly:
        other = ("published", published) if strict else ("strict", strictly)
        details.append(Text(f"{other[0]}: {other[1]}"))
    if verdict["reasons"]:
        details.append(Text(f"reasons: {', '.join(verdict['reasons'])}", "red"))
    if verdict["rationale"]:
        details.append(Text(f"grader: {_one_line(verdict['rationale'])}", "dim"))
    for detail in details:
        console.print(Padding(detail, (0, 0, 0, 4), expand=False))


def _one_line(text: str) -> str:
    """Give a text on one line that cannot steer the terminal."""
    return printable(" ".join(text.split()))
