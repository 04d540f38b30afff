"""The report that `clinical-evals rubric` prints for a person."""

from typing import Any

from clinical_evals.files import printable

_FLAGS = {
    "out of range": "the judge's number lay outside 1 to 10; the nearest end counts",
    "overall ignored": "the judge gave an overall grade of its own, which was ignored",
}


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
        lines.append(f"Not graded: {result['unscored'] or 'no judge was to be asked'}")
    else:
        lines.append(f"{'Overall Quality':<28} {result['overall']:>2} of 10, computed from")
        lines += [f"  {name:<26} {score:>2}" for name, score in result["scores"].items()]
    for flag in result["flags"]:
        kind, _, criterion = flag.partition(": ")
        lines.append(": ".join(["Flag", *([criterion] if criterion else []), _FLAGS.get(kind, kind)]))
    if result["scores"] is not None or result["judgedBy"]:
        lines.append(f"Judge: {printable(result['judgedBy'] or 'none asked, as the summary is empty')}")
    counts = result["factCounts"]
    lines.append(
        f"Facts: {counts['facts']}"
        + (f", of which {counts['supported']} are in the dialogue" if counts["facts"] else "")
        + (f" and {counts['copied']} are copied from it" if counts["copied"] else "")
    )
    for fact in result["facts"]:
        if not fact["supported"]:
            why = "copied from the dialogue" if fact["copied"] else "not in the dialogue"
            text = printable(" ".join(summary[fact["start"] : fact["end"]].split()))
            read = "" if fact["words"].lower() == text.lower() else f"read as {fact['words']}, "
            lines.append(f"  {fact['kind']} “{text}” (characters {fact['start']}–{fact['end']}): {read}{why}")
    if "tokenF1" in result:
        lines.append(
            f"Against the reference: {counts['found']} of its {counts['referenceFacts']} facts, "
            + ", ".join(
                f"{label} {_number(result[name])}"
                for label, name in (("fact F1", "factF1"), ("token F1", "tokenF1"), ("SOAP F1", "soapF1"))
            )
        )
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
