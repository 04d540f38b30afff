"""Run trivial samples and print the seconds, with whatever hooks the environment has.

`registry_overhead.py` uses it as a module, and as a script for an environment of its own.

Run: python benchmarks/trivial_run.py SAMPLES
"""

import sys
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

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


def seconds(samples: int) -> tuple[float, float]:
    """Time one run in the current folder, from call to return: by the clock, and of its processors."""
    began, used = time.perf_counter(), time.process_time()
    eval(trivial(samples), model="none", display="none", log_dir="logs")
    return time.perf_counter() - began, time.process_time() - used


if __name__ == "__main__":
    seconds(50)  # imports
    print(*seconds(int(sys.argv[1])))
