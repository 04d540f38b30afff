"""The context rules beside negspacy on labelled sentences: quality for each assertion, and speed in one run.

    python benchmarks/context.py [--json]

negspacy 1.1.0 knows negation only and brings spaCy, so it is no dependency: where it cannot be imported,
its rows are left out and the output says so. To compare, install ``negspacy==1.1.0`` in a virtual environment
of its own and run this file there with ``PYTHONPATH=src``. It gets a blank English pipeline with a
sentencizer, and the mentions as its entities. Speed counts everything after loading: for the sentences a new
reader (document) a mention, for the bundled notes one a note, asked for all its gold spans.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from clinical_evals.grounding.context import Assertion, ContextReader

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
SETS = {"development": DATA / "context_dev.jsonl", "held-out": DATA / "context_sentences.jsonl"}
NOTES = DATA.parent.parent / "datasets" / "notes" / "notes.jsonl"
ASSERTIONS: tuple[str, ...] = get_args(Assertion)
ROUNDS = 5

# Reads all mentions [start, end) of one text, in order.
Engine = Callable[[str, Sequence[tuple[int, int]]], list[frozenset[str]]]


class Labelled(NamedTuple):
    """A mention at [start, end) of a text, with the assertions that hold."""

    text: str
    start: int
    end: int
    assertions: frozenset[str]


def load(path: Path) -> list[Labelled]:
    """Read labelled mentions; ``occurrence`` counts equal mentions in the text from 0."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        start = -1
        for _ in range(row.get("occurrence", 0) + 1):
            start = row["text"].index(row["mention"], start + 1)
        rows.append(Labelled(row["text"], start, start + len(row["mention"]), frozenset(row["assertions"])))
    return rows


def load_notes() -> list[tuple[str, list[tuple[int, int]]]]:
    """The bundled notes with their gold spans; of spans that overlap only the first, as spaCy demands."""
    notes = []
    for line in NOTES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        items = [item for category in row["gold"].values() for item in category]
        kept: list[tuple[int, int]] = []
        for start, end in sorted({(span["start"], span["end"]) for item in items for span in item["spans"]}):
            if not kept or start >= kept[-1][1]:
                kept.append((start, end))
        notes.append((row["note"], kept))
    return notes


def ours(text: str, mentions: Sequence[tuple[int, int]]) -> list[frozenset[str]]:
    """Every assertion, read by this package."""
    reader = ContextReader(text)
    return [frozenset(reader.assertions(start, end)) for start, end in mentions]


def load_negspacy() -> Engine | None:
    """Negation as negspacy reads it, or None where it is not installed."""
    try:
        import negspacy.negation  # type: ignore[import-not-found, unused-ignore]  # noqa: F401
        import spacy  # type: ignore[import-not-found, unused-ignore]
        from spacy.util import filter_spans  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    pipeline = spacy.blank("en")
    sentencizer: Any = pipeline.add_pipe("sentencizer")
    negex: Any = pipeline.add_pipe("negex", config={"ent_types": ["MENTION"]})

    def read(text: str, mentions: Sequence[tuple[int, int]]) -> list[frozenset[str]]:
        document = sentencizer(pipeline.make_doc(text))
        spans = [document.char_span(*at, label="MENTION", alignment_mode="expand") for at in mentions]
        document.set_ents(filter_spans(spans))
        negex(document)
        return [frozenset(["negated"]) if entity._.negex else frozenset() for entity in document.ents]

    return read


def quality(rows: Sequence[Labelled], engine: Engine, assertions: Sequence[str]) -> dict[str, Any]:
    """Precision, recall and F1 for each assertion, and the share of mentions with exactly the right set.

    With fewer than all assertions the exact share counts only those: an engine is not blamed for what it does
    not try. A ratio without a denominator is None.
    """
    found = [engine(row.text, [(row.start, row.end)])[0] for row in rows]
    result: dict[str, Any] = {}
    for assertion in assertions:
        true = sum(
            assertion in got and assertion in row.assertions for row, got in zip(rows, found, strict=True)
        )
        claimed = sum(assertion in got for got in found)
        there = sum(assertion in row.assertions for row in rows)
        result[assertion] = {
            "precision": true / claimed if claimed else None,
            "recall": true / there if there else None,
            "f1": 2 * true / (claimed + there) if claimed + there else None,
            "labelled": there,
        }
    tried = frozenset(assertions)
    exact = sum(got & tried == row.assertions & tried for row, got in zip(rows, found, strict=True))
    result["exact"] = exact / len(rows) if rows else None
    return result


def speed(texts: Sequence[tuple[str, list[tuple[int, int]]]], engine: Engine) -> float:
    """Mentions per second, the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for text, mentions in texts:
            engine(text, mentions)
        best = min(best, time.perf_counter() - began)
    return sum(len(mentions) for _, mentions in texts) / best


def speeds(texts: Sequence[tuple[str, list[tuple[int, int]]]], negspacy: Engine | None) -> dict[str, float]:
    """Mentions per second of each engine that is here, and their ratio."""
    result = {"ours_per_second": speed(texts, ours)}
    if negspacy is not None:
        result["negspacy_per_second"] = speed(texts, negspacy)
        result["speed_ratio"] = result["ours_per_second"] / result["negspacy_per_second"]
    return result


def main() -> None:
    """Print the comparison as a table, or as JSON."""
    parser = argparse.ArgumentParser(description="The context rules beside negspacy on labelled sentences.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    as_json = parser.parse_args().json
    negspacy = load_negspacy()
    report: dict[str, Any] = {"negspacy": negspacy is not None, "sets": {}}
    for name, path in SETS.items():
        if not path.exists():
            continue
        rows = load(path)
        entry: dict[str, Any] = {
            "mentions": len(rows),
            "ours": quality(rows, ours, ASSERTIONS),
            "ours_negation_exact": quality(rows, ours, ["negated"])["exact"],
            **speeds([(row.text, [(row.start, row.end)]) for row in rows], negspacy),
        }
        if negspacy is not None:
            entry["negspacy"] = quality(rows, negspacy, ["negated"])
        report["sets"][name] = entry
    if NOTES.exists():
        notes = load_notes()
        report["notes"] = {"mentions": sum(len(spans) for _, spans in notes), **speeds(notes, negspacy)}
    print(json.dumps(report, indent=2) if as_json else as_table(report))


def as_table(report: dict[str, Any]) -> str:
    """The report as plain text."""
    lines = []
    for name, entry in report["sets"].items():
        lines.append(
            f"{name}: {entry['mentions']} mentions, all assertions right: {_ratio(entry['ours']['exact'])}"
        )
        lines.append(f"  {'':<16}{'precision':>10}{'recall':>10}{'F1':>10}{'labelled':>10}")
        engines = [("", entry["ours"])] + ([("negspacy ", entry["negspacy"])] if "negspacy" in entry else [])
        for prefix, result in engines:
            for assertion, row in result.items():
                if assertion != "exact":
                    numbers = "".join(f"{_ratio(row[key]):>10}" for key in ("precision", "recall", "f1"))
                    lines.append(f"  {prefix + assertion:<16}{numbers}{row['labelled']:>10}")
        lines.append(f"  negated or not, right: {_ratio(entry['ours_negation_exact'])}")
        if "negspacy" in entry:
            lines.append(f"  negated or not, right, negspacy: {_ratio(entry['negspacy']['exact'])}")
        lines.extend(_speed_lines(entry))
    if "notes" in report:
        lines.append(f"bundled notes: {report['notes']['mentions']} mentions")
        lines.extend(_speed_lines(report["notes"]))
    if not report["negspacy"]:
        lines.append("negspacy is not installed here: compared with nothing. See the top of this file.")
    return "\n".join(lines)


def _speed_lines(entry: dict[str, Any]) -> list[str]:
    lines = [f"  mentions per second: {entry['ours_per_second']:,.0f}"]
    if "negspacy_per_second" in entry:
        lines.append(f"  mentions per second, negspacy: {entry['negspacy_per_second']:,.0f}")
        lines.append(f"  ratio: {entry['speed_ratio']:.2f}")
    return lines


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    main()
