"""The summary that a model under test wrote, and the form of the answer that a judge is asked for."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field

from clinical_evals.reading import REASONING_TAG, ReadResult, closes, well_formed

from .rubric import HIGHEST, LOWEST, is_empty

__all__ = ["RatingAnswer", "read_summary", "without_reasoning"]

_FENCED = re.compile(r"(?P<fence>`{3,}|~{3,})[^\S\n]*[\w+-]*[^\S\n]*\n(?P<inside>.*)\n?(?P=fence)", re.DOTALL)


class RatingAnswer(BaseModel):
    """The form of a judge's answer, for endpoints that take a response schema. Reading is more lenient."""

    model_config = ConfigDict(extra="forbid")

    factual_completeness: int = Field(alias="Factual Completeness", ge=LOWEST, le=HIGHEST)
    no_hallucinations: int = Field(alias="No Hallucinations", ge=LOWEST, le=HIGHEST)
    clinical_tone_and_structure: int = Field(alias="Clinical Tone & Structure", ge=LOWEST, le=HIGHEST)


def read_summary(text: str) -> ReadResult[str]:
    """Return the summary in an answer: without reasoning, a fence around it, and outer white space.

    Args:
        text: The answer as the model wrote it.

    Returns:
        The summary, well-formed Unicode; or the problem `empty` (no letter or digit is left) or
        `incomplete` (the answer ends while the model was still reasoning).
    """
    answer = without_reasoning(text)
    if answer is None:
        return ReadResult(None, "incomplete")
    answer = well_formed(answer).strip()
    fenced = _FENCED.fullmatch(answer)
    if fenced and fenced["fence"] not in fenced["inside"]:
        answer = fenced["inside"].strip()
    if is_empty(answer):
        return ReadResult(None, "empty")
    return ReadResult(answer)


def without_reasoning(text: str) -> str | None:
    """Set closed reasoning blocks aside.

    A closing tag that nothing opened ends reasoning that began with the text: some servers drop the opening
    tag. An opening tag in mid-text that nothing closes is text.

    Args:
        text: An answer as a model wrote it.

    Returns:
        What is left, or None if the text begins with reasoning that never ends.
    """
    kept: list[str] = []
    position = 0
    opened: int | None = None
    for tag in REASONING_TAG.finditer(text):
        if closes(tag):
            if opened is None:
                kept.clear()
            position, opened = tag.end(), None
        elif opened is None:
            kept.append(text[position : tag.start()])
            position = opened = tag.start()
    if opened is not None and not "".join(kept).strip():
        return None
    return "".join(kept) + text[position:]
