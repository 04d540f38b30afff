"""Span verification beside two plain ways of doing it: ratios measured in one run.

A note of 20,000 characters and 40 quotes from it: half of them to the letter, the others with single
spaces, every second of these in capitals. `per claim` folds the
note anew for every quote, as the published method does; `bare find` is only str.find on text that is
folded already, the least that any method must pay.
"""

import random
import time
from collections.abc import Callable
from statistics import median

from clinical_evals.grounding.spans import FoldedNote, fold
from clinical_evals.notes import load_notes


def note_and_quotes(ascii_only: bool, length: int = 20_000, count: int = 40) -> tuple[str, list[str]]:
    """Join bundled notes to one of the length wanted, and draw lines of it as quotes."""
    text = "\n\n".join(record.note for record in load_notes().records)
    if ascii_only:
        text = text.encode("ascii", "ignore").decode()
    note = (text * (1 + length // len(text)))[: length - 1] + ("e" if ascii_only else "é")
    lines = sorted({line.strip()[:160] for line in note.splitlines() if len(line.strip()) > 20})
    quotes = random.Random(0).sample(lines, count)
    for at in range(count // 2, count):
        quotes[at] = " ".join(quotes[at].split())
        if at % 2:
            quotes[at] = quotes[at].upper()
    return note, quotes


def paired(methods: dict[str, Callable[[], object]], rounds: int = 30) -> dict[str, float]:
    """Time methods in turn, round by round, and give the median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, method in methods.items():
            repeats = 1 if name == "per claim" else 20
            start = time.perf_counter()
            for _ in range(repeats):
                method()
            seconds[name].append((time.perf_counter() - start) / repeats)
    return {name: median(times) for name, times in seconds.items()}


def main() -> None:
    """Print one line for ASCII text and one for text with other characters."""
    for kind, ascii_only in (("ASCII note", True), ("note with other characters", False)):
        note, quotes = note_and_quotes(ascii_only)
        ready, ready_quotes = fold(note), [fold(quote) for quote in quotes]

        def ours(note: str = note, quotes: list[str] = quotes) -> object:
            folded = FoldedNote(note)
            return [folded.find(quote) for quote in quotes]

        def per_claim(note: str = note, quotes: list[str] = quotes) -> object:
            return [fold(note).find(fold(quote)) for quote in quotes]

        def bare(ready: str = ready, quotes: list[str] = ready_quotes) -> object:
            return [ready.find(quote) for quote in quotes]

        assert all(ours())  # type: ignore[call-overload]
        times = paired({"ours": ours, "per claim": per_claim, "bare find": bare})
        faster, slower = times["per claim"] / times["ours"], times["ours"] / times["bare find"]
        print(
            f"span verification, {kind}, {len(note):,} characters, {len(quotes)} quotes: "
            f"{times['ours'] * 1e6:.0f} us; {faster:.1f}x faster than folding the note per claim, "
            f"{slower:.2f}x the time of bare str.find"
        )


if __name__ == "__main__":
    main()
