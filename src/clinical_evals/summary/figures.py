"""The figures of a summary out of its counts, how each follows from them, and the signature they rank under.

Counts are whole numbers without text, so whoever holds them can compute every figure again. See
`clinical_evals.registry.formula` for the language of the formulas.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from clinical_evals.signature import code_digest, signature

from .facts import COPIED_WORDS
from .prompts import prompts_digest
from .rubric import CRITERIA, HIGHEST, LOWEST, overall_quality
from .sections import COMPARED

__all__ = [
    "CALIBRATED_BY",
    "OVERALL",
    "SHORT",
    "code_figures",
    "figure_facts",
    "overall_formula",
    "panel_facts",
    "rubric_figures",
    "summary_signature",
]

VERSION = 1
"""Raised when the same answers come to other numbers in a way that the digests of code do not show."""

OVERALL = "Overall Quality"
SHORT = dict(zip(CRITERIA, ("factual", "hallucinations", "tone"), strict=True))
"""What the counts call each criterion."""

CALIBRATED_BY = {
    "task": "judge_calibration",
    "metric": f"{OVERALL} kappa",
    "signature_key": "rubric",
}
"""Where the registry finds how far a judge agrees with people: runs with the same prompt and reader."""

# What a rating does not depend on.
_BESIDE_THE_RUBRIC = (
    "attacks.py",
    "calibration.py",
    "dates.py",
    "fact_patterns.py",
    "fact_reading.py",
    "facts.py",
    "figures.py",
    "prompts.py",
    "readings.py",
    "scoring.py",
    "sections.py",
    "speech_readings.py",
    "spoken.py",
    "token_f1.py",
    "units.py",
)

_POINTS: dict[str, Any] = {"range": [LOWEST, HIGHEST], "higher_is_better": True}
_SHARE: dict[str, Any] = {"range": [0, 1], "higher_is_better": True}


def overall_formula(prefix: str = "") -> str:
    """Say how Overall Quality follows from the three scores' counts, which begin with `prefix`."""
    factual, hallucinations, tone = (f"{prefix}{name}" for name in SHORT.values())
    weighted = f"40 * {factual} + 40 * {hallucinations} + 20 * {tone} + 50"
    return f"max({LOWEST}, min({HIGHEST}, floor(ratio({weighted}, 100))))"


def figure_facts(*, judged: bool, references: bool) -> dict[str, dict[str, Any]]:
    """Give range, direction and formula of each figure of a run, the headline first.

    Args:
        judged: The summaries are rated by a judge.
        references: The dataset has reference summaries.
    """
    expected = "reference_facts" if references else "dialogue_facts"
    ratio = f"first(ratio(supported, supported + unsupported), zero_if({expected}))"
    support = {"fact_support": _SHARE | {"formula": ratio}}
    facts: dict[str, dict[str, Any]] = {}
    if judged:
        facts[OVERALL] = _POINTS | {"formula": overall_formula()}
        # What code counted stands next to what a judge said, however little room a table has.
        facts |= support
        facts |= {criterion: _POINTS | {"formula": count} for criterion, count in SHORT.items()}
    if not references:
        return facts | support
    found = "ratio(found, reference_facts)"
    sections = ", ".join(
        f"ratio(2 * {name}_overlap, {name}_reference + {name}_candidate)" for name in COMPARED
    )
    formulas = {
        "token_f1": "ratio(2 * token_overlap, reference_tokens + candidate_tokens)",
        "token_precision": "first(ratio(token_overlap, candidate_tokens), zero_if(reference_tokens))",
        "token_recall": "first(ratio(token_overlap, reference_tokens), zero_if(candidate_tokens))",
        "soap_f1": f"mean({sections})",
    }
    facts |= {"fact_f1": _SHARE | {"formula": f"harmonic(fact_support, {found})"}} | support
    return facts | {name: _SHARE | {"formula": formula} for name, formula in formulas.items()}


def panel_facts(judges: int) -> dict[str, dict[str, Any]]:
    """Declare how far a panel's judges agree: Krippendorff's alpha of each criterion over the samples.

    Args:
        judges: Number of judges; one has nobody to agree with.
    """
    if judges < 2:
        return {}
    return {
        f"{criterion} alpha": {
            "range": [-1, 1],
            "higher_is_better": True,
            "statistic": "krippendorff_alpha",
            "of": [f"judge{number}_{short}" for number in range(1, judges + 1)],
        }
        for criterion, short in SHORT.items()
    }


def rubric_figures(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Compute Overall Quality and the three scores; None where no judge's rating is counted."""
    scores = [counts.get(short) for short in SHORT.values()]
    given = [score for score in scores if score is not None]
    overall = overall_quality(*given) if len(given) == len(scores) else None
    return {OVERALL: overall, **dict(zip(CRITERIA, scores, strict=True))}


def code_figures(counts: Mapping[str, int], *, references: bool) -> dict[str, float | None]:
    """Compute what code finds without a judge, each 0 to 1; None where it is not defined.

    A summary that states no fact in words of its own has a support of 0 where there is a fact to state:
    otherwise saying nothing checkable would leave the mean untouched.

    Args:
        counts: The counts of `score_summary`.
        references: Whether the dataset has reference summaries.
    """
    expected = counts.get("reference_facts" if references else "dialogue_facts", 0)
    support = _first(
        _ratio(counts["supported"], counts["supported"] + counts["unsupported"]), 0.0 if expected else None
    )
    if not references:
        return {"fact_support": support}
    overlap, wanted, given = (
        counts.get(name, 0) for name in ("token_overlap", "reference_tokens", "candidate_tokens")
    )
    sections = [
        _ratio(
            2 * counts.get(f"{name}_overlap", 0),
            counts.get(f"{name}_reference", 0) + counts.get(f"{name}_candidate", 0),
        )
        for name in COMPARED
    ]
    known = [section for section in sections if section is not None]
    return {
        "fact_f1": _harmonic(support, _ratio(counts.get("found", 0), counts.get("reference_facts", 0))),
        "fact_support": support,
        "token_f1": _ratio(2 * overlap, wanted + given),
        "token_precision": _first(_ratio(overlap, given), 0.0 if wanted else None),
        "token_recall": _first(_ratio(overlap, wanted), 0.0 if given else None),
        "soap_f1": sum(known) / len(known) if known else None,
    }


def summary_signature(task: str, *, judged: bool, **settings: str | int | float) -> str:
    """Write the one line that names every setting that can change a task's number.

    Args:
        task: `summary` or `judge_calibration`.
        judged: A judge is asked, so its prompt and the reader of its answer count, together as `rubric`.
        **settings: The task's own settings.
    """
    if judged:
        settings["prompts"] = prompts_digest()
        reader = code_digest("clinical_evals.summary", leave_out=_BESIDE_THE_RUBRIC)
        settings["rubric"] = hashlib.sha256(f"{prompts_digest()} {reader}".encode()).hexdigest()[:12]
    return signature(
        task,
        VERSION,
        copied_words=COPIED_WORDS,
        rules=code_digest("clinical_evals.summary", leave_out=("attacks.py", "prompts.py")),
        **settings,
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _first(value: float | None, other: float | None) -> float | None:
    return other if value is None else value


def _harmonic(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0
