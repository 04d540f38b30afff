"""Ask judges for their ratings of a summary: each in a fresh context, with one repair turn."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import Model, get_model, model_roles

from .asking import EndpointError, StepAddress, ask
from .summary.answers import RatingAnswer
from .summary.judge import PROBLEMS, RatingReading, read_rating
from .summary.panel import combine_readings
from .summary.prompts import judge_messages
from .summary.rubric import EMPTY_RATING, is_empty
from .summary.scoring import panel_counts

__all__ = ["judge_step", "judges_of_run", "no_answers", "rate"]


def judge_step(summary: str) -> str:
    """Name the call that asks for a rating of this summary, for replay and recording."""
    return f"judge/{hashlib.sha256(summary.encode('utf-8', 'replace')).hexdigest()[:8]}"


def judges_of_run() -> list[Model]:
    """Return the models of the role `grader`, several or one; the model under test if there is none."""
    assigned: Any = model_roles().get("grader")
    if isinstance(assigned, list):
        return list(assigned)
    return [get_model(role="grader")]


def no_answers() -> dict[str, Any]:
    """Give a sample's answers before anyone was asked; a scorer reads them."""
    return {"summary": None, "failure": None, "rating": None, "flags": [], "unscored": None, "counts": {}}


async def rate(judges: Sequence[Model], dialogue: str, summary: str, address: StepAddress) -> dict[str, Any]:
    """Have a summary rated, by each judge in a fresh context; an empty one is rated by rule.

    Args:
        judges: At least one.
        dialogue: The dialogue.
        summary: The summary.
        address: Which call this is; its step is that of the summary.

    Returns:
        `rating`, the three scores, with `flags`, or why there is none as `unscored`; and `counts`.

    Raises:
        EndpointError: An endpoint failed and no judge gave a rating.
    """
    if is_empty(summary):
        return {"rating": list(EMPTY_RATING.scores.values())}
    readings = await _ask_judges(judges, dialogue, summary, address)
    panel = combine_readings(readings)
    counts = panel_counts(readings)
    if panel.value is None:
        return {"unscored": PROBLEMS[panel.problem or "unreadable"].reason, "counts": counts}
    return {
        "rating": list(panel.value.scores.values()),
        "flags": list(panel.value.flags),
        "counts": counts,
    }


async def _ask_judges(
    judges: Sequence[Model], dialogue: str, summary: str, address: StepAddress
) -> list[RatingReading]:
    """Ask each judge, one after the other.

    A judge whose endpoint fails has no rating, as one that cannot be read, as long as another one has.
    """
    readings: list[RatingReading] = []
    failed: EndpointError | None = None
    for judge in judges:
        try:
            answer = await ask(
                judge,
                judge_messages(dialogue, summary),
                read_rating,
                address=address,
                schema=RatingAnswer,
                heed_cut=True,
            )
        except EndpointError as error:
            failed = error
            readings.append(RatingReading(None, "empty"))
            continue
        read = answer.reading
        readings.append(read if isinstance(read, RatingReading) else read_rating("", refused=True))
    if failed is not None and not any(reading.value for reading in readings):
        raise failed
    return readings
