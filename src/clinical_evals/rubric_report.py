"""The report that `clinical-evals rubric` prints for a person."""

from typing import Any

from clinical_evals.ground_report import printable


def report(result: dict[str, Any], summary: str) -> str:
    """Lay out a result: the grades first, then each fact that the dialogue does not support.

    Args:
        result: The JSON result of `clinical-evals rubric`.
        summary: The summary, from which the places of facts are shown.

    Returns:
        The report, ending in a line feed.
    """
    lines = []
    if result["scores"] is None:
        lines.append(f"Not graded: {result['unscored']}")
    else:
        lines.append(f"{'Overall Quality':<26} {result['overall']:>3} of 10, computed from")
        lines += [f"  {name:<24} {score:>3}" for name, score in result["scores"].items()]
    lines += [f"Flag: {flag}" for flag in result["flags"]]
    if result["judgedBy"]:
        lines.append(f"Judge: {printable(result['judgedBy'])}")
    counts = result["factCounts"]
    lines.append(
        f"Facts: {counts['facts']}, of which {counts['supported']} are in the dialogue"
        + (f" and {counts['copied']} are copied from it" if counts["copied"] else "")
    )
    if "tokenF1" in result:
        lines.append(
            f"Against the reference: {counts['found']} of its {counts['referenceFacts']} facts, "
            + ", ".join(
                f"{label} {_number(result[name])}"
                for label, name in (("fact F1", "factF1"), ("token F1", "tokenF1"), ("SOAP F1", "soapF1"))
            )
        )
    for fact in result["facts"]:
        if not fact["supported"]:
            why = "copied from the dialogue" if fact["copied"] else "not in the dialogue"
            text = printable(" ".join(summary[fact["start"] : fact["end"]].split()))
            lines.append(f"  {fact['kind']} “{text}” ({fact['start']}–{fact['end']}): {why}")
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
