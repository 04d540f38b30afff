"""The check of a summary's numbers on labelled pairs: precision and recall of what it flags, and speed.

    python benchmarks/facts.py [--json] [--errors]

A pair is a dialogue, a summary and one fact of the summary, labelled supported or not. Flagged is a fact
that the check calls unsupported; one that it does not read as a fact is not flagged. The held-out pairs
were written before the rules and are not used to tune them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinical_evals.summary.facts import check_facts

PAIRS = Path(__file__).resolve().parent.parent / "tests" / "data" / "fact_pairs.jsonl"
WORDS = 1500
SHOWN = ("fact", "kind", "supported", "summary", "dialogue")
ROUNDS = 5
MIXED = 5  # labelled dialogues in each long one
TALK = "Patient: I just feel tired, and my back aches when I sit for too long at the desk."


def load(path: Path = PAIRS) -> list[dict[str, Any]]:
    """Read the labelled pairs."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_flagged(row: dict[str, Any]) -> bool:
    """Say whether the check calls the row's fact, at its first place in the summary, unsupported."""
    start = row["summary"].index(row["fact"])
    end = start + len(row["fact"])
    checked = check_facts(row["dialogue"], row["summary"]).facts
    return any(
        not fact.supported and not fact.copied for fact in checked if fact.start < end and start < fact.end
    )


def quality(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Precision and recall of flagging; None where nothing is flagged or nothing is to be flagged."""
    flagged = [is_flagged(row) for row in rows]
    right = sum(flag and not row["supported"] for flag, row in zip(flagged, rows, strict=True))
    wrong = [row for flag, row in zip(flagged, rows, strict=True) if flag == row["supported"]]
    unsupported = sum(not row["supported"] for row in rows)
    return {
        "pairs": len(rows),
        "unsupported": unsupported,
        "precision": right / sum(flagged) if any(flagged) else None,
        "recall": right / unsupported if unsupported else None,
        "wrong": [{key: row[key] for key in SHOWN} for row in wrong],
    }


def speed(rows: Sequence[dict[str, Any]]) -> float:
    """Checks per second of dialogues of about 1,500 words: some of the pairs' lines among plain talk."""
    texts = list(dict.fromkeys(row["dialogue"] for row in rows))
    summaries = list(dict.fromkeys(row["summary"] for row in rows))
    dialogues = []
    for at in range(0, len(texts) - MIXED, MIXED):
        lines = "\n".join(texts[at : at + MIXED]).splitlines()
        plain = (WORDS - len(" ".join(lines).split())) // len(TALK.split()) // len(lines)
        dialogues.append("\n".join(line + ("\n" + TALK) * plain for line in lines))
    summary = "\n".join(summaries[:12])
    began = time.perf_counter()
    for number in range(ROUNDS):
        for dialogue in dialogues:
            check_facts(f"{dialogue}\nRound {number}", summary)  # no dialogue is met twice
    return ROUNDS * len(dialogues) / (time.perf_counter() - began)


def main() -> None:
    """Print the numbers, or one JSON object."""
    parser = argparse.ArgumentParser(description="Precision, recall and speed of the check of facts.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--errors", action="store_true", help="print the pairs of the dev set that go wrong")
    options = parser.parse_args()
    rows = load()
    report: dict[str, Any] = {
        name: quality([row for row in rows if row["set"] == name]) for name in ("dev", "held_out")
    }
    wrong = {name: entry.pop("wrong") for name, entry in report.items()}
    report["dialogues_per_second"] = speed(rows)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for name in ("dev", "held_out"):
        entry = report[name]
        print(
            f"{name}: {entry['pairs']} pairs, {entry['unsupported']} unsupported; "
            f"precision {entry['precision']:.3f}, recall {entry['recall']:.3f}"
        )
    print(f"dialogues of {WORDS:,} words checked per second: {report['dialogues_per_second']:,.0f}")
    if options.errors:
        for row in wrong["dev"]:
            print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
