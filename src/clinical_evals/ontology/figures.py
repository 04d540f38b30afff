"""The figures of a scored code set out of its counts, their ranges, and the signature they are ranked under.

Counts are whole numbers without text, so whoever holds them can recompute every figure; see
`clinical_evals.ontology.scoring.score_cohort` for what each count is.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from importlib import resources
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from clinical_evals.ontology.metrics import MAX_DISTANCE, harmonic_mean
from clinical_evals.ontology.strict import strict_ratio
from clinical_evals.signature import code_digest, signature

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "BASELINE",
    "FIGURES",
    "GAP",
    "INVALID",
    "code_set_figures",
    "decomposition_figures",
    "ontology_signature",
]

VERSION = 1

BASELINE = "baseline_"
"""What the names of a baseline's counts begin with."""


def _share(formula: str) -> dict[str, Any]:
    return {"range": [0, 1], "higher_is_better": True, "formula": formula}


def _cost(formula: str, least: int = 0) -> dict[str, Any]:
    return {"range": [least, 1], "higher_is_better": False, "formula": formula}


def _harmonic_of_counts(prefix: str = "") -> str:
    coverage = f"ratio({prefix}coverage_credit, {MAX_DISTANCE} * {prefix}truth)"
    precision = f"ratio({prefix}precision_credit, {MAX_DISTANCE} * {prefix}predicted)"
    return f"first(harmonic({coverage}, {precision}), zero_if({prefix}truth))"


FIGURES: dict[str, dict[str, Any]] = {
    "hierarchical_score": _share(_harmonic_of_counts()),
    "strict_set_score": _share(f"ratio(2 * strict_credit, {MAX_DISTANCE} * (truth + predicted))"),
    "coverage": _share(f"ratio(coverage_credit, {MAX_DISTANCE} * truth)"),
    "over_inclusion_penalty": _cost(f"1 - ratio(precision_credit, {MAX_DISTANCE} * predicted)"),
    "hierarchical_precision": _share("ratio(shared_nodes, predicted_nodes)"),
    "hierarchical_recall": _share("ratio(shared_nodes, truth_nodes)"),
    "hierarchical_f": _share("first(harmonic(hierarchical_recall, hierarchical_precision), zero_if(truth))"),
}
"""The figures of every scored code set: range, direction, and the formula by which the registry recounts
them; see `clinical_evals.registry.formula`."""

INVALID = {"invalid_code_rate": _cost("ratio(invalid, predicted)")}
GAP = {"gap": _cost(f"{_harmonic_of_counts(BASELINE)} - hierarchical_score", least=-1)}

# Files that decide no number of a task; all others of the package do, or may. `_BEST` stands for those of the
# method `best`.
_BEST = "best"
_BYSTANDERS = {
    "retrieval": ("lookup.py", "prompts.py", "answers.py", "cases.py", "decomposition.py"),
    "decomposition": ("lookup.py", "prompts.py", "benchmark.py", _BEST),
    "code_set": (
        "lookup.py",
        "prompts.py",
        "benchmark.py",
        "decomposition.py",
        "retrieval.py",
        "dense.py",
        _BEST,
    ),
}


def code_set_figures(counts: Mapping[str, int], prefix: str = "") -> dict[str, float]:
    """Compute the figures of one code set; those of `score_cohort`, to rounding.

    One difference: where nothing was predicted, over-inclusion, precision and the rate of invalid codes are
    undefined here (NaN), while the published functions give 0, 1 and none. Silence must not look precise. The
    scores that combine both sides are 0 then, as published.

    Args:
        counts: The counts that `score_cohort` gives.
        prefix: What the names of the counts begin with.

    Returns:
        The figures of `FIGURES` and `invalid_code_rate`; all NaN if there are no true codes to compare with.
    """
    truth, predicted, invalid = (counts[f"{prefix}{name}"] for name in ("truth", "predicted", "invalid"))
    if not truth:
        return dict.fromkeys([*FIGURES, *INVALID], math.nan)
    coverage = counts[f"{prefix}coverage_credit"] / (MAX_DISTANCE * truth)
    precision = _ratio(counts[f"{prefix}precision_credit"], MAX_DISTANCE * predicted)
    shared = counts[f"{prefix}shared_nodes"]
    node_precision = _ratio(shared, counts[f"{prefix}predicted_nodes"])
    node_recall = _ratio(shared, counts[f"{prefix}truth_nodes"])
    return {
        "hierarchical_score": harmonic_mean(coverage, precision) if predicted else 0.0,
        "strict_set_score": strict_ratio(counts[f"{prefix}strict_credit"], truth, predicted),
        "coverage": coverage,
        "over_inclusion_penalty": 1.0 - precision,
        "hierarchical_precision": node_precision,
        "hierarchical_recall": node_recall,
        "hierarchical_f": harmonic_mean(node_recall, node_precision) if predicted else 0.0,
        "invalid_code_rate": _ratio(invalid, predicted),
    }


def decomposition_figures(counts: Mapping[str, int]) -> dict[str, float]:
    """Compute the figures of a decomposed description, and the gap to its baseline.

    Args:
        counts: Counts of the assembled set, and those of the baseline under the prefix `BASELINE`.
    """
    figures = code_set_figures(counts)
    del figures["invalid_code_rate"]  # the codes come from the vocabulary
    baseline = code_set_figures(counts, BASELINE)["hierarchical_score"]
    return figures | {"gap": baseline - figures["hierarchical_score"]}


def ontology_signature(
    task: str, con: DuckDBPyConnection, *, prompts: str | None = None, **settings: str | int | float
) -> str:
    """Write the one line that names every setting that can change a task's number.

    Args:
        task: `retrieval`, `decomposition` or `code_set`.
        con: The vocabulary that codes are looked up in; its release and a digest of its origin go in.
        prompts: Digest of the prompt, where a model is asked.
        **settings: The task's own settings.
    """
    from clinical_evals.ontology.vocabulary import read_about

    about = read_about(con)
    origin = hashlib.sha256(json.dumps(sorted(about.items())).encode()).hexdigest()[:12]
    if prompts is not None:
        settings["prompts"] = prompts
    if task != "code_set":
        settings["bm25s"] = version("bm25s")
    return signature(
        task,
        VERSION,
        max_distance=MAX_DISTANCE,
        release=re.sub(r"[^A-Za-z0-9_.:/+-]+", "-", about.get("release", "")) or "unknown",
        rules=code_digest("clinical_evals.ontology", leave_out=_bystanders(task)),
        vocabulary=origin,
        **settings,
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _bystanders(task: str) -> tuple[str, ...]:
    names = _BYSTANDERS[task]
    if _BEST in names:
        files = resources.files(__package__).iterdir()
        names += tuple(sorted(file.name for file in files if file.name.startswith(_BEST)))
    return names
