"""What the registry costs a run: 2,000 trivial samples, hook on against hook off, in turns, in one process.

Each pair of runs starts with the other of the two, so that a machine that grows slower favours neither. The
time is that of `inspect_ai.eval` from call to return. Run: python benchmarks/registry_overhead.py
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from clinical_evals.registry import hook

METRICS = [f"{kind}_{name}" for kind in ("note", "problem", "medication", "plan") for name in ("a", "b", "c")]


@scorer(name="trivial", metrics={"*": [mean()]})
def trivial_scorer() -> Scorer:
    """Score with as many values and counts as the suite's tasks have."""

    async def score(state: TaskState, target: Target) -> Score:
        return Score(value=dict.fromkeys(METRICS, 0.5), metadata={"counts": dict.fromkeys(METRICS, 3)})

    return score


@solver
def trivial_solver() -> Solver:
    """Do nothing."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return state

    return solve


def trivial(samples: int) -> Task:
    """Build the task."""
    facts = {
        "signature": "trivial v=1",
        "headline": METRICS[0],
        "dataset": {
            "name": "trivial",
            "version": "1",
            "digest": "sha256:0",
            "samples": samples,
            "access": "synthetic",
        },
        "metrics": {name: {"range": [0, 1], "higher_is_better": True} for name in METRICS},
    }
    return Task(
        name="trivial",
        dataset=MemoryDataset(
            [Sample(id=f"s{index:05}", input="x") for index in range(samples)], name="trivial"
        ),
        solver=trivial_solver(),
        scorer=trivial_scorer(),
        metadata={"clinical_evals": facts},
    )


def seconds(samples: int, registry: str) -> float:
    """Time one run with `CLINICAL_EVALS_REGISTRY` set so."""
    os.environ["CLINICAL_EVALS_REGISTRY"] = registry
    began = time.perf_counter()
    eval(trivial(samples), model="none", display="none", log_dir="logs")
    return time.perf_counter() - began


def main() -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        seconds(50, "off")  # imports
        seconds(50, "on")
        runs: dict[str, list[float]] = {"on": [], "off": []}
        for pair in range(options.pairs):
            for registry in ("on", "off") if pair % 2 else ("off", "on"):
                runs[registry].append(seconds(options.samples, registry))
                for child in hook._children:
                    child.wait()  # what one run started must not slow the next
        os.chdir(Path(folder).parent)
    ratios = [on / off for on, off in zip(runs["on"], runs["off"], strict=True)]
    result = {
        "samples": options.samples,
        "seconds_off": [round(value, 2) for value in runs["off"]],
        "seconds_on": [round(value, 2) for value in runs["on"]],
        "ratio": round(statistics.median(ratios), 4),
        "ratio_of_fastest": round(min(runs["on"]) / min(runs["off"]), 4),
        "target": 1.03,
    }
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:>16}  {value}")


if __name__ == "__main__":
    main()
