"""Run the real `inspect` command in a folder of its own and read the log it wrote."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from clinical_evals import tasks

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
TASKS = tuple(getattr(tasks, name) for name in tasks.__all__)
"""All tasks of the suite."""


def inspect_eval(
    place: Path, *arguments: str, env: dict[str, str] | None = None, registry: bool = False
) -> EvalLog:
    """Run `inspect eval clinical_evals/grounding` with arguments and return its log.

    Args:
        place: The folder it runs in, empty of logs.
        *arguments: Arguments after the task's name.
        env: More environment variables.
        registry: Whether the result goes into the registry in `place`.
    """
    command = [str(Path(sys.executable).with_name("inspect")), "eval", "clinical_evals/grounding", *arguments]
    chosen = {} if registry else {"CLINICAL_EVALS_REGISTRY": "off"}
    done = subprocess.run(
        [*command, "--display", "none", "--log-dir", str(place / "logs")],
        cwd=place,
        env={**os.environ, **chosen, **(env or {})},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    logs = sorted((place / "logs").glob("*.eval"))
    assert logs, done.stdout + done.stderr
    return read_eval_log(str(logs[-1]))


def over_http(url: str, model: str) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment for a model of a local OpenAI-compatible server."""
    return ["--model", f"openai-api/local/{model}"], {"LOCAL_API_KEY": "sk-canary-key", "LOCAL_BASE_URL": url}


def samples(log: EvalLog) -> list[EvalSample]:
    """The log's samples; there must be some."""
    assert log.samples
    return log.samples


def value(sample: EvalSample) -> dict[str, Any]:
    """The values of a sample's grounding score."""
    assert sample.scores
    scored = sample.scores["grounding"].value
    assert isinstance(scored, dict)
    return scored


def means(log: EvalLog) -> dict[str, float]:
    """The mean of each figure of a run."""
    assert log.results
    return {score.name: score.metrics["mean"].value for score in log.results.scores}
