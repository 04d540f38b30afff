"""`clinical-evals codes`: how well one list of codes matches another."""

import json
import re
from pathlib import Path

import click

from clinical_evals.cli_vocab import unusable_input, vocabulary_option
from clinical_evals.files import InputError, read_text

_SEPARATORS = re.compile(r"[,;\"']|\s[-–—]+\s")
_COLUMNS = re.compile(r"[,;\t]")
_MOST_SHOWN = 20  # codes of one kind, in the lines for people; JSON holds all


@click.command()
@click.option("--truth", type=click.Path(path_type=Path), required=True, help="The curated codes.")
@click.option("--predicted", type=click.Path(path_type=Path), required=True, help="The codes to score.")
@vocabulary_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def codes(truth: Path, predicted: Path, vocab_path: Path | None, as_json: bool) -> None:
    """Score the codes of one file against those of another, with credit for near misses.

    Each file holds one code a line (or several, parted by commas, semicolons or blanks) or a JSON list of
    codes, written in any usual way (e1121, E11.21, E11.-). Of a line that goes on in words ("E11.21,
    nephropathy") the code is taken, and the command says so.
    A header or block counts as itself, not as the codes below it. True codes that the vocabulary lacks are
    set aside and listed; predicted ones that it lacks are invalid and earn nothing.
    """
    with unusable_input():
        true_codes, predicted_codes = _read(truth), _read(predicted)
        if not true_codes:
            raise InputError(f"{truth}: holds no code to compare with")
        scores = _score(true_codes, predicted_codes, vocab_path)
        if scores is None:
            raise InputError(f"{truth}: holds no code of this release to compare with")
    if as_json:
        click.echo(json.dumps(scores, indent=2))
        return
    for name, value in scores.items():
        click.echo(f"{name:<24} {f'{value:.4f}' if isinstance(value, float) else _listed(value)}")


def _listed(codes: list[str]) -> str:
    further = len(codes) - _MOST_SHOWN
    more = f" and {further} more; --json lists all" if further > 0 else ""
    return ("; ".join(codes[:_MOST_SHOWN]) or "none") + more


def _score(truth: list[str], predicted: list[str], vocab: Path | None) -> dict[str, float | list[str]] | None:
    """Return the scores by their names, or None if no true code is one of the vocabulary."""
    from clinical_evals.ontology.codes import shown
    from clinical_evals.ontology.scoring import score_cohort
    from clinical_evals.ontology.vocabulary import open_vocabulary

    with open_vocabulary(vocab) as con:
        scored = score_cohort(con, "", "", truth, predicted, "")
    if not scored.counts["truth"]:
        return None
    ours = (
        scored.strict_set_score,
        scored.hierarchical_precision,
        scored.hierarchical_recall,
        scored.hierarchical_f,
    )
    strict, precision, recall, f = (value for value in ours if value is not None)
    return {
        "coverage": scored.coverage,
        "overInclusionPenalty": scored.over_inclusion_penalty,
        "hierarchicalScore": scored.hierarchical_score,
        "strictSetScore": strict,
        "hierarchicalPrecision": precision,
        "hierarchicalRecall": recall,
        "hierarchicalF": f,
        "unresolvableGroundTruth": [shown(code) for code in scored.unresolvable_ground_truth],
        "invalid": [shown(code) for code in scored.invalid_codes],
    }


def _read(path: Path) -> list[str]:
    """Read the codes of a file: a JSON list, or lines; what is no code stays as it is written."""
    text = read_text(path)
    if text.lstrip().startswith("{"):
        raise InputError(f"{path}: holds a JSON object; write a JSON list of codes, or one code a line")
    if not text.lstrip().startswith("["):
        return _read_lines(path, [line for line in map(str.strip, text.splitlines()) if line])
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: begins like a JSON list but is none") from None
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str):
            raise InputError(f"{path}: entry {number} is no string; write codes as strings")
    return [entry for entry in entries if entry.strip()]


def _read_lines(path: Path, lines: list[str]) -> list[str]:
    """Read a code or several a line; words behind a code are left out, and so is such a table's header."""
    from clinical_evals.ontology.codes import read_code

    found, with_words = [], 0
    for line in lines:
        parts = _SEPARATORS.sub(" ", line).split()
        # A block with blanks (I60 - I69) is one code.
        if read_code(line):
            found.append(line)
        elif all(map(read_code, parts)):
            found += parts
        elif parts and read_code(parts[0]):
            found.append(parts[0])
            with_words += 1
        else:
            found.append(line)
    if with_words:
        header = found[0] == lines[0] and not read_code(lines[0]) and _COLUMNS.search(lines[0]) is not None
        note = f"{path}: words behind a code are not read (lines: {with_words})"
        click.echo(f"Note: {note}{'; line 1 is taken for a header' if header else ''}", err=True)
        if header:
            del found[0]
    return found
