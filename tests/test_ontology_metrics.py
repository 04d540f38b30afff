"""The published metrics: hand values and edge cases of the description, and laws on random chains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinical_evals.ontology.metrics import (
    distance_weighted_score,
    hierarchical_score,
    over_inclusion_penalty,
    set_coverage,
    tree_distance,
)

CHAINS = st.lists(st.integers(0, 12), unique=True)
SCORES = st.lists(st.floats(0, 1), max_size=8)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ([3, 2, 1], [3, 2, 1], 0),
        ([3, 2, 1], [2, 1], 1),
        ([3, 2, 1], [4, 2, 1], 2),  # siblings
        ([5, 3, 2, 1], [4, 2, 1], 3),  # E11.21 and E11.9 where E11.2 lies between
        ([3, 2, 1], [7, 6], None),
        ([], [1], None),
        ([1], [], None),
        # The first id of `a` that `b` has decides, although a later one is nearer by position.
        ([5, 1, 2, 9], [6, 2, 9], 3),
        ([5, 7, 2], [6, 2, 8, 9, 7], 5),
    ],
)
def test_tree_distance(a: list[int], b: list[int], distance: int | None) -> None:
    assert tree_distance(a, b) == distance


@given(chain=CHAINS.filter(bool), other=CHAINS)
def test_distance_laws(chain: list[int], other: list[int]) -> None:
    assert tree_distance(chain, chain) == 0
    distance = tree_distance(chain, other)
    assert (distance is None) == set(chain).isdisjoint(other)
    assert distance is None or 0 <= distance < len(chain) + len(other)


@pytest.mark.parametrize(
    ("distance", "score"),
    [(None, 0), (0, 1), (-1, 1), (1, 5 / 6), (2, 2 / 3), (3, 1 / 2), (5, 1 / 6), (6, 0), (99, 0)],
)
def test_partial_credit_falls_in_a_straight_line_to_six(distance: int | None, score: float) -> None:
    assert distance_weighted_score(distance) == pytest.approx(score, abs=1e-15)


def test_partial_credit_with_another_limit() -> None:
    assert distance_weighted_score(1, max_distance=2) == 0.5
    assert distance_weighted_score(2, max_distance=2) == 0.0


def test_coverage_and_penalty_by_hand() -> None:
    assert set_coverage([1.0, 0.5, 0.0], 3) == 0.5
    assert over_inclusion_penalty([1.0, 0.5, 0.0], 3) == 0.5
    assert hierarchical_score(0.5, 0.5) == 0.5
    assert hierarchical_score(1.0, 0.5) == pytest.approx(2 / 3)


def test_empty_sides_are_vacuous() -> None:
    assert set_coverage([], 0) == 1.0
    assert over_inclusion_penalty([], 0) == 0.0
    assert hierarchical_score(0.0, 1.0) == 0.0


@pytest.mark.parametrize("metric", [set_coverage, over_inclusion_penalty])
def test_one_score_a_code(metric) -> None:
    with pytest.raises(ValueError, match="got 2 for n_"):
        metric([0.5, 0.5], 3)


@given(SCORES)
def test_coverage_is_one_minus_the_penalty_of_the_same_scores(scores: list[float]) -> None:
    coverage, penalty = set_coverage(scores, len(scores)), over_inclusion_penalty(scores, len(scores))
    assert 0 <= coverage <= 1
    assert coverage + penalty == pytest.approx(1)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_harmonic_mean_hides_no_weak_side(coverage: float, penalty: float) -> None:
    score = hierarchical_score(coverage, penalty)
    weak, strong = sorted((coverage, 1 - penalty))
    assert weak - 1e-12 <= score <= strong + 1e-12
    assert score <= 2 * weak + 1e-12
