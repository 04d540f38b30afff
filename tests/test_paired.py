"""Paired comparison: against outside numbers, and against simulations where the truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import permutation_test

from clinical_evals.paired import compare_paired, gate_paired, gate_with_gaps, holm, mcnemar_p, sign_flip_p

Floats = NDArray[np.float64]


def test_sign_flips_give_scipys_exact_p() -> None:
    values = np.array([0.2, -0.1, 0.4, 0.3, 0.05, -0.2, 0.15, 0.25])
    outside = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(values) == pytest.approx(float(outside.pvalue))


def test_many_families_are_drawn_at_random_and_agree_with_scipy() -> None:
    values = np.random.default_rng(3).normal(0.1, 0.5, 60)
    outside = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    assert sign_flip_p(values, resamples=20_000) == pytest.approx(float(outside.pvalue), abs=0.015)


def test_mcnemar_is_the_exact_binomial_test() -> None:
    assert mcnemar_p(1, 7) == pytest.approx(2 * (1 + 8) / 256)  # two tails of Binomial(8, 1/2)
    assert mcnemar_p(0, 0) == 1.0


def test_holm_gives_the_published_example() -> None:
    # 0.01·4, then max(0.04, 0.02·3), max(., 0.03·2), max(., 0.04·1); NaN is no test and counts for none.
    assert holm([0.03, 0.01, math.nan, 0.04, 0.02]) == pytest.approx(
        [0.06, 0.04, math.nan, 0.06, 0.06], nan_ok=True
    )


def test_families_count_once() -> None:
    first, second = [0.0] * 40, [0.1] * 20 + [-0.05] * 20
    alone = compare_paired(first, second)
    in_families = compare_paired(first, second, [str(at // 10) for at in range(40)])
    assert in_families.clusters == 4
    assert in_families.stderr > 2 * alone.stderr
    assert in_families.p > alone.p
    assert (alone.higher, alone.lower_count, alone.equal) == (20, 20, 0)


def test_nothing_to_compare_is_nan_and_what_is_no_number_is_refused() -> None:
    assert math.isnan(compare_paired([], []).p)
    assert math.isnan(compare_paired([1.0], [0.5]).lower)
    assert compare_paired([1.0, 0.5], [0.5, 0.5]).lower == -0.5
    with pytest.raises(ValueError, match="finite"):
        compare_paired([math.nan], [1.0])
    with pytest.raises(ValueError, match="one entry a pair"):
        compare_paired([1.0], [1.0, 2.0])


@pytest.mark.parametrize("wrong", [{"margin": 1}, {"margin": math.inf}, {"margin": 0}, {"margin": math.nan},
                                   {"alpha": 0}, {"alpha": 0.51}, {"alpha": math.nan}, {"width": math.inf}])  # fmt: skip
def test_a_gate_that_could_not_fail_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gate_paired([1.0] * 9, [1.0] * 9, **({"margin": 0.1, "width": 1.0} | wrong))


@given(
    st.lists(st.floats(0, 1) | st.just(math.nan), min_size=2, max_size=30), st.floats(0.01, 0.5), st.data()
)
def test_whatever_is_missing_no_answer_turns(
    candidate: list[float], margin: float, data: st.DataObject
) -> None:
    base = [0.5] * len(candidate)
    answer = gate_with_gaps(base, candidate, margin=margin, limits=(0, 1))
    filled = [data.draw(st.sampled_from([0.0, 1.0])) if math.isnan(one) else one for one in candidate]
    truth = 0.5 - sum(filled) / len(filled)
    assert answer.missing == sum(map(math.isnan, candidate))
    assert not (answer.verdict == "pass" and truth >= margin)
    assert not (answer.verdict == "fail" and truth <= margin)


def test_equal_pairs_say_how_many_would_decide() -> None:
    needed = gate_paired([1.0] * 64, [1.0] * 64, margin=0.01, width=1).needed
    assert needed is not None
    assert gate_paired([1.0] * needed, [1.0] * needed, margin=0.01, width=1).verdict == "pass"
    assert needed < 500


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.floats(0.01, 0.5))
def test_a_gate_never_passes_and_fails_for_better_by_turns(drops: list[float], margin: float) -> None:
    base = [0.0] * len(drops)
    worse = gate_paired(base, [-abs(drop) for drop in drops], margin=margin, width=2)
    better = gate_paired(base, [abs(drop) for drop in drops], margin=margin, width=2)
    assert better.verdict != "fail"
    assert not (worse.verdict == "pass" and better.verdict == "undecided")


def test_a_few_equal_pairs_decide_nothing() -> None:
    assert gate_paired([1.0] * 10, [1.0] * 10, margin=0.05, width=1).verdict == "undecided"
    assert gate_paired([1.0] * 200, [1.0] * 200, margin=0.05, width=1).verdict == "pass"
    assert gate_paired([1.0], [1.0], margin=0.05, width=1).needed is None


def test_the_number_that_would_decide_mostly_does() -> None:
    changes = np.array([1.0] * 4 + [-1.0] * 4 + [0.0] * 52)
    first_look = gate_paired(np.zeros(60), changes, margin=0.08, width=1)
    assert first_look.verdict == "undecided"
    assert first_look.needed is not None
    generator = np.random.default_rng(5)
    verdicts = [
        gate_paired(
            np.zeros(first_look.needed), generator.choice(changes, first_look.needed), margin=0.08, width=1
        ).verdict
        for _ in range(100)
    ]
    assert 65 <= verdicts.count("pass") <= 95


def draw_labels(generator: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    """Right and wrong answers: 80% right, and the second right `drop` less often, one in ten changed."""
    base = (generator.random(n) < 0.8).astype(float)
    lost, won = (0.06 + drop) / 0.8, 0.3
    chance = generator.random(n)
    return base, np.where(base == 1, chance >= lost, chance < won).astype(float)


def draw_shares(generator: np.random.Generator, n: int, drop: float) -> tuple[Floats, Floats]:
    base = generator.beta(8, 2, n)
    return base, base - drop + generator.normal(0, 0.15, n)


@pytest.mark.parametrize("draw", [draw_labels, draw_shares])
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_intervals_cover_and_gates_hold_their_level(draw, n: int) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(n)
    rounds, margin = 1_000, 0.05
    covered = false_passes = 0
    for seed in range(rounds):
        base, candidate = draw(generator, n, margin)
        found = compare_paired(base, candidate, resamples=300, seed=seed)
        covered += found.lower <= -margin <= found.upper
        false_passes += gate_paired(base, candidate, margin=margin, width=1).verdict == "pass"
    assert 0.92 <= covered / rounds <= 0.975  # 93–97%, give or take one error of the simulation
    assert false_passes / rounds <= 0.05 + 0.007
