"""Means, standard errors and intervals: hand values, SciPy, and laws."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from clinical_evals.statistics import Summary, summarise


def test_hand_values_without_clusters() -> None:
    # mean 2.5; s^2 = (2.25 + 0.25 + 0.25 + 2.25) / 3 = 5/3; stderr = sqrt(5/3/4)
    result = summarise([1.0, 2.0, 3.0, 4.0])
    assert result.mean == 2.5
    assert result.stderr == pytest.approx(math.sqrt(5 / 12), abs=1e-15)
    assert (result.n, result.clusters) == (4, 4)
    assert result.lower < 2.5 < result.upper


def test_hand_values_with_clusters() -> None:
    # mean 3; sums of deviations: a = -2 - 1 = -3, b = 0 + 3 = 3 ... with a={1,2}, b={3,6}:
    # C/(C-1) = 2; sqrt(2 * (9 + 9)) / 4 = 6 / 4
    result = summarise([1.0, 2.0, 3.0, 6.0], ["a", "a", "b", "b"])
    assert result.stderr == pytest.approx(1.5, abs=1e-15)
    assert (result.n, result.clusters) == (4, 2)


def test_two_clusters_of_unequal_size_reach_both_ends() -> None:
    # The draws are aa, ab, ba, bb, with means 1, 2, 2, 4 for a = {1, 1}, b = {4}: the 95% ends are 1 and 4.
    result = summarise([1.0, 1.0, 4.0], ["a", "a", "b"])
    assert (result.lower, result.mean, result.upper) == pytest.approx((1.0, 2.0, 4.0))


def expanded(count: int) -> float:
    """The level whose plain percentiles are the ends for so many draws' worth of families."""
    return float(1 - 2 * stats.norm.sf(math.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1)))


def test_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(7).beta(5, 2, size=120)
    reference = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=expanded(120), method="percentile", rng=3
    )
    result = summarise(values.tolist(), resamples=20_000)
    assert result.stderr == pytest.approx(stats.sem(values), rel=1e-12)
    assert result.lower == pytest.approx(reference.confidence_interval.low, abs=5e-4)
    assert result.upper == pytest.approx(reference.confidence_interval.high, abs=5e-4)


def test_clustered_interval_agrees_with_scipy_over_cluster_sums() -> None:
    generator = np.random.default_rng(11)
    sizes = generator.integers(1, 5, size=60)
    sums = np.array([generator.beta(4, 2, size=size).sum() for size in sizes])
    values = [total / size for total, size in zip(sums, sizes, strict=True) for _ in range(size)]
    clusters = [f"note-{index}" for index, size in enumerate(sizes) for _ in range(size)]

    def ratio(total: np.ndarray, size: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(total.sum(axis=axis) / size.sum(axis=axis))

    reference = stats.bootstrap(
        (sums, sizes), ratio, paired=True, n_resamples=20_000, confidence_level=expanded(60),
        method="percentile", rng=3,
    )  # fmt: skip
    result = summarise(values, clusters, resamples=20_000)
    assert result.lower == pytest.approx(reference.confidence_interval.low, abs=1e-3)
    assert result.upper == pytest.approx(reference.confidence_interval.high, abs=1e-3)
    assert result.stderr == pytest.approx(reference.standard_error, rel=0.05)


def test_intervals_of_few_families_cover_what_they_promise() -> None:
    # Plain percentiles would cover 0.926 here, five errors of the simulation less than 0.944.
    generator, rounds, covered = np.random.default_rng(23), 4_000, 0
    for seed in range(rounds):
        result = summarise(generator.beta(8, 2, 23).tolist(), resamples=500, seed=seed)
        covered += result.lower <= 0.8 <= result.upper
    assert 0.935 <= covered / rounds <= 0.965


@pytest.mark.parametrize("count", [2, 16, 64])
def test_equal_values_have_an_interval_that_is_exact_for_labels(count: int) -> None:
    for value in (0, 1):
        exact = stats.binomtest(count * value, count).proportion_ci()
        result = summarise([float(value)] * count, limits=(0, 1))
        assert (result.lower, result.upper) == pytest.approx((exact.low, exact.high), abs=1e-12)
        assert result.stderr == 0
    inside = summarise([7.0] * count, [f"f{at // 2}" for at in range(count)], limits=(1, 10))
    if count > 2:
        others = 1 - 0.025 ** (2 / count)
        assert (inside.lower, inside.upper) == pytest.approx((7 - 6 * others, 7 + 3 * others))
    else:
        assert math.isnan(inside.lower), "one family says nothing"
    without = summarise([0.5] * count)
    assert (without.lower, without.upper) == (0.5, 0.5)


def test_undefined_values_are_left_out_and_not_counted() -> None:
    assert summarise([0.5, math.nan, 1.0]) == summarise([1.0, 0.5])
    assert summarise([0.5, math.nan, 1.0], ["a", "b", "c"]).clusters == 2


@pytest.mark.parametrize("values", [[], [math.nan, math.nan]])
def test_nothing_defined_gives_no_number(values: list[float]) -> None:
    result = summarise(values)
    assert math.isnan(result.mean)
    assert (result.n, result.clusters) == (0, 0)


@pytest.mark.parametrize(("values", "clusters"), [([0.7], None), ([0.6, 0.8], ["a", "a"])])
def test_one_family_is_not_certainty(values: list[float], clusters: list[str] | None) -> None:
    result = summarise(values, clusters)
    assert result.mean == pytest.approx(0.7)
    assert all(math.isnan(bound) for bound in (result.stderr, result.lower, result.upper))


def test_equal_values_give_exactly_that_value() -> None:
    assert summarise([0.1] * 7) == Summary(0.1, 0.0, 0.1, 0.1, 7, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0], "clusters": ["a", "b"]}, "got 2 for 1"),
        ({"values": [1.0, math.inf]}, "value 1 is infinite"),
        ({"values": [1.0], "level": 2}, "between 0 and 1, got 2"),
        ({"values": [1.0], "resamples": 0}, "at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarise(**arguments)  # type: ignore[arg-type]


rows = st.lists(
    st.tuples(st.floats(0, 1) | st.just(math.nan), st.sampled_from("abcde")), min_size=1, max_size=30
)


@settings(max_examples=60, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_order_never_matters(samples: list[tuple[float, str]], random: object) -> None:
    shuffled = list(samples)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for use in (True, False):
        one, other = (
            summarise([v for v, _ in some], [c for _, c in some] if use else None, resamples=200)
            for some in (samples, shuffled)
        )
        assert repr(one) == repr(other)  # repr, because NaN is not equal to itself


def test_what_clusters_are_called_never_matters() -> None:
    values = [0.1, 0.9, 0.4, 0.4, 0.7, 0.2]
    alone = summarise(values)
    assert summarise(values, ["f", "a", "z", "b", "c", "q"]) == alone
    assert summarise(values, ["x", "x", "y", "y", "z", "z"]) == summarise(
        values, ["3", "3", "9", "9", "1", "1"]
    )


def test_five_thousand_samples_take_less_than_a_second() -> None:
    values = np.random.default_rng(0).random(5000).tolist()
    began = time.perf_counter()
    summarise(values, [str(index // 2) for index in range(5000)])
    assert time.perf_counter() - began < 1
