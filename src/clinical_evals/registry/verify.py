"""Counting a run again from the numbers of its samples: values from counts, aggregates from values."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clinical_evals.registry.aggregate import aggregate_rows
from clinical_evals.registry.formula import FormulaError, evaluate
from clinical_evals.registry.record import MetricFacts, SampleRow

_TOLERANCE = 1e-9
_TOTAL = re.compile(r"(?:\w+_)?(?:in|out)put_tokens|cost_usd|wall_seconds")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A stored number that does not follow from what it should.

    Attributes:
        where: `run`, or the sample's id (and its epoch, from the second on).
        name: Which number.
        stored: What is stored; None if it is missing or undefined.
        recounted: What comes out.
    """

    where: str
    name: str
    stored: float | None
    recounted: float | None


@dataclass(frozen=True, slots=True)
class Recount:
    """What a recount came to.

    Attributes:
        mismatches: Every stored number that is wrong, samples first.
        values: Number of sample values that were recomputed from counts.
        aggregates: Number of aggregates that were recomputed from sample values.
        without_formula: Metrics whose sample values no formula covers, so that only their means were checked.
    """

    mismatches: list[Mismatch]
    values: int
    aggregates: int
    without_formula: list[str]


def recount(
    rows: Sequence[SampleRow], facts_of: Mapping[str, MetricFacts], epochs: int, stored: Mapping[str, float]
) -> Recount:
    """Recompute a run from its rows.

    Args:
        rows: The rows as they are stored now.
        facts_of: What is declared of each metric.
        epochs: How often each sample was asked.
        stored: The stored metrics of the run.
    """
    formulas = {name: facts.formula for name, facts in facts_of.items() if facts.formula}
    mismatches: list[Mismatch] = []
    values = 0
    for row in rows:
        found, checked = _recount_row(row, formulas, facts_of)
        mismatches += found
        values += checked
    summed = aggregate_rows(rows, facts_of, epochs, {}).metrics
    for name in sorted({*summed, *stored}):
        kept, counted = stored.get(name), summed.get(name)
        # Tokens, cost and time of the whole run follow from no row.
        if not _equal(kept, counted) and not _TOTAL.fullmatch(name):
            mismatches.append(Mismatch("run", name, kept, counted))
    shown = {name for row in rows for name in row.values}
    return Recount(mismatches, values, len(summed), sorted(shown - set(formulas)))


def _recount_row(
    row: SampleRow, formulas: Mapping[str, str], facts_of: Mapping[str, MetricFacts]
) -> tuple[list[Mismatch], int]:
    where = row.sample if row.epoch == 1 else f"{row.sample} (epoch {row.epoch})"
    if row.status == "failed":
        # What the model did not answer counts 0 by rule, or 1 on a scale from 1; a loss that it caused, such
        # as a whole baseline, follows from the counts as ever.
        least = {name: max(0.0, facts.range[0]) for name, facts in facts_of.items() if facts.range}
        wrong = [
            Mismatch(where, name, value, least.get(name, 0.0))
            for name, value in row.values.items()
            if value is not None
            and value != least.get(name, 0.0)
            and not (name in formulas and _equal(value, evaluate(name, formulas, row.counts)))
        ]
        return wrong, len(row.values)
    mismatches, checked = [], 0
    for name, value in row.values.items():
        if name not in formulas:
            continue
        checked += 1
        try:
            counted = evaluate(name, formulas, row.counts)
        except FormulaError:
            counted = None
        if not _equal(value, counted):
            mismatches.append(Mismatch(where, name, value, counted))
    return mismatches, checked


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
