"""What `compare` and `gate` promise, held against simulated runs where the truth is known.

Run: ``python benchmarks/gate.py [ROUNDS]``. Two kinds of samples: labels (80% right, one in eight changed by
the candidate) and shares (means near 0.8, each changed a little). The margin is 0.05; the candidate is worse
by just that where false passes are counted, and as good where power is.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from clinical_evals.paired import compare_paired, gate_paired

MARGIN = 0.05
Floats = NDArray[np.float64]


def draw_labels(generator: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    """Draw right and wrong answers of two runs, the second right `drop` less often."""
    base = (generator.random(n) < 0.8).astype(float)
    chance = generator.random(n)
    return base, np.where(base == 1, chance >= (0.06 + drop) / 0.8, chance < 0.3).astype(float)


def draw_shares(generator: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    """Draw scores of two runs, the second lower by `drop` in the mean."""
    base = generator.beta(8, 2, n)
    return base, base - drop + generator.normal(0, 0.15, n)


def main() -> None:
    """Print one line a kind and number of samples."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print(f"at least {rounds} rounds, margin {MARGIN}\n")
    print(f"{'samples':<16}{'interval covers':>16}{'false passes':>14}{'power':>8}{'undecided':>11}")
    for kind, draw in (("labels", draw_labels), ("shares", draw_shares)):
        for n in (50, 200, 1_000):
            generator = np.random.default_rng(n)
            covered = false_passes = passes = undecided = 0
            times = rounds * max(
                1, 200 // n
            )  # few samples cost little, and their shares are the closest call
            for seed in range(times):
                base, candidate = draw(generator, n, MARGIN)
                found = compare_paired(base, candidate, resamples=2_000, seed=seed)
                covered += found.lower <= -MARGIN <= found.upper
                false_passes += gate_paired(base, candidate, margin=MARGIN, width=1).verdict == "pass"
                verdict = gate_paired(*draw(generator, n, 0.0), margin=MARGIN, width=1).verdict
                passes += verdict == "pass"
                undecided += verdict == "undecided"
            shares = (covered, false_passes, passes, undecided)
            cells = [f"{share / times:.1%}" for share in shares]
            print(f"{n:>5} {kind:<10}{cells[0]:>16}{cells[1]:>14}{cells[2]:>8}{cells[3]:>11}")


if __name__ == "__main__":
    main()
