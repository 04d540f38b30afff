"""The overall grade against exact fractions, and what a rating may be."""

import itertools
import json
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest

from clinical_evals.summary.rubric import (
    CRITERIA,
    EMPTY_RATING,
    Rating,
    is_empty,
    overall_quality,
    rating_json,
)


def test_the_overall_grade_is_the_exact_average_for_all_thousand_ratings() -> None:
    for factual, hallucinations, tone in itertools.product(range(1, 11), repeat=3):
        exact = Fraction(2, 5) * factual + Fraction(2, 5) * hallucinations + Fraction(1, 5) * tone
        below, rest = divmod(exact, 1)
        rounded = below + 1 if rest >= Fraction(1, 2) else below
        as_decimal = (Decimal(exact.numerator) / exact.denominator).quantize(Decimal(1), ROUND_HALF_UP)
        assert overall_quality(factual, hallucinations, tone) == max(1, min(10, rounded)) == as_decimal


def test_the_overall_grade_is_clamped() -> None:
    assert (overall_quality(0, 0, 0), overall_quality(11, 12, 13)) == (1, 10)


def test_a_rating_is_written_by_full_names_in_the_order_of_the_rubric() -> None:
    rating = Rating(dict(zip(reversed(CRITERIA), (7, 9, 8), strict=True)), ("overall ignored",))
    assert json.dumps(rating.as_json()) == (
        '{"scores": {"Factual Completeness": 8, "No Hallucinations": 9, "Clinical Tone & Structure": 7},'
        ' "overall": 8, "flags": ["overall ignored"]}'
    )
    assert rating_json(rating) == rating.as_json()
    assert rating_json(None) == {"scores": None, "overall": None, "flags": []}
    assert EMPTY_RATING.as_json() == {"scores": dict.fromkeys(CRITERIA, 1), "overall": 1, "flags": []}


@pytest.mark.parametrize("score", [0, 11, True, 8.0, "8", None])
def test_no_rating_holds_what_is_no_score(score: Any) -> None:
    with pytest.raises(ValueError, match="Factual Completeness must be a whole number from 1 to 10"):
        Rating(dict.fromkeys(CRITERIA, 5) | {"Factual Completeness": score})


def test_a_rating_is_whole() -> None:
    for names in (CRITERIA[:2], (*CRITERIA, "Overall Quality")):
        with pytest.raises(ValueError, match="exactly these criteria"):
            Rating(dict.fromkeys(names, 5))


@pytest.mark.parametrize(("summary", "empty"), [("", True), (" \n", True), ("\u200b…—", True), ("ok", False)])
def test_an_empty_summary_says_nothing(summary: str, empty: bool) -> None:
    assert is_empty(summary) is empty
