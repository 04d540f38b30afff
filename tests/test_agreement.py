"""Agreement of raters: published examples, other tools, what is undefined, and how fast it is."""

import math
import time
from itertools import product

import numpy as np
import pytest
from inspect_ai.scorer import Score
from inspect_ai.scorer import krippendorff_alpha as inspect_alpha
from inspect_ai.scorer._metric import SampleScore
from scipy import stats

from clinical_evals.agreement import (
    Agreement,
    agreement,
    bias,
    confusion_matrix,
    krippendorff_alpha,
    mean_absolute_error,
    quadratic_weighted_kappa,
    spearman,
)

NAN = math.nan
# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section D: four observers, twelve units.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Cohen, "Weighted kappa" (1968), table 1: 200 cases, two judges, three diagnoses.
COHEN = [[88, 14, 18], [10, 40, 10], [2, 6, 12]]


def _rated(size: int, seed: int = 0) -> tuple[list[int], list[int]]:
    generator = np.random.default_rng(seed)
    human = generator.integers(1, 11, size)
    judge = np.clip(human + generator.integers(-3, 3, size), 1, 10)
    return human.tolist(), judge.tolist()


def test_alpha_of_krippendorffs_own_example() -> None:
    assert krippendorff_alpha(KRIPPENDORFF, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(KRIPPENDORFF, "interval") == pytest.approx(0.849, abs=5e-4)


def test_kappa_of_cohens_table_by_hand() -> None:
    a, b = [], []
    for i, j in product(range(3), range(3)):
        a += [i + 1] * COHEN[i][j]
        b += [j + 1] * COHEN[i][j]
    # Observed squared distance: (14 + 10 + 10 + 6 + 4 * (18 + 2)) / 200 = .60. Expected from the margins
    # .60 .30 .10 and .50 .30 .20: .6*.3 + .3*.5 + .3*.2 + .1*.3 + 4 * (.6*.2 + .1*.5) = 1.10.
    assert quadratic_weighted_kappa(a, b, 1, 3) == pytest.approx(1 - 0.60 / 1.10)
    assert confusion_matrix(a, b, 1, 3) == tuple(map(tuple, COHEN))


def test_figures_agree_with_other_tools() -> None:
    human, judge = _rated(60)
    found = agreement(human, judge)
    assert found.spearman.value == pytest.approx(stats.spearmanr(human, judge).statistic)
    scores = [SampleScore(score=Score(value=[h, j])) for h, j in zip(human, judge, strict=True)]
    for level, figure in (("ordinal", found.krippendorff_ordinal), ("interval", found.krippendorff_interval)):
        assert figure.value == pytest.approx(inspect_alpha(level)(scores))  # type: ignore[arg-type]
        assert figure.value == pytest.approx(krippendorff_alpha([human, judge], level))  # type: ignore[arg-type]
    metrics = pytest.importorskip("sklearn.metrics")
    expected = metrics.cohen_kappa_score(human, judge, weights="quadratic")
    assert found.quadratic_weighted_kappa.value == pytest.approx(expected)


def test_interval_agrees_with_scipy() -> None:
    human, judge = _rated(25, seed=5)
    # The ends of plain percentiles would be 0.02 off here.
    level = 1 - 2 * stats.norm.sf(math.sqrt(25 / 24) * stats.t.ppf(0.975, 24))
    reference = stats.bootstrap(
        (human, judge),
        spearman,
        paired=True,
        vectorized=False,
        n_resamples=8000,
        confidence_level=level,
        method="percentile",
        rng=1,
    )
    found = agreement(human, judge, resamples=20_000).spearman
    assert found.lower == pytest.approx(reference.confidence_interval.low, abs=0.01)
    assert found.upper == pytest.approx(reference.confidence_interval.high, abs=0.01)


def test_draws_compute_what_the_plain_figures_do() -> None:
    """Two families have four draws, of which two are alike: the ends of the interval are the other two."""
    human, judge, clusters = [1, 4, 6, 9, 7], [2, 4, 9, 9, 5], ["a", "a", "a", "b", "b"]
    found = agreement(human, judge, clusters)
    for name, plain in (
        ("bias", bias),
        ("mean_absolute_error", mean_absolute_error),
        ("spearman", spearman),
        ("quadratic_weighted_kappa", quadratic_weighted_kappa),
        ("krippendorff_ordinal", lambda a, b: krippendorff_alpha([a, b], "ordinal")),
        ("krippendorff_interval", lambda a, b: krippendorff_alpha([a, b], "interval")),
    ):
        drawn = [
            plain(human[:3] * 2, judge[:3] * 2),
            plain(human, judge),
            plain(human[3:] * 2, judge[3:] * 2),
        ]
        figure = found.figures()[name]
        assert figure.value == pytest.approx(drawn[1]), name
        # Rank figures of the second family: its order is turned round, or tied, and still defined.
        assert (figure.lower, figure.upper) == pytest.approx((min(drawn), max(drawn))), name


def test_bias_is_judge_minus_human() -> None:
    found = agreement([5, 6, 7], [7, 7, 7])
    assert [found.bias.value, found.mean_absolute_error.value] == pytest.approx([1.0, 1.0])
    assert found.bias.lower < 1 < found.bias.upper


@pytest.mark.parametrize(
    ("human", "judge"),
    [([], []), ([7], [7]), ([5, 5, 5], [5, 5, 5]), ([7, NAN, 3], [7, 4, NAN])],
)
def test_undefined_is_nan(human: list[float], judge: list[float]) -> None:
    found = agreement(human, judge)
    for name in ("quadratic_weighted_kappa", "krippendorff_ordinal", "krippendorff_interval", "spearman"):
        assert math.isnan(found.figures()[name].value), name
        assert math.isnan(found.figures()[name].lower), name
    assert math.isnan(krippendorff_alpha([human, judge]))
    assert math.isnan(bias([], []))
    assert math.isnan(spearman([5, 5, 5], [4, 6, 8])), "one rater never varied"


def test_missing_ratings_are_left_out_in_pairs_and_counted() -> None:
    found = agreement([1, NAN, 5, 9, 3], [1, 4, 5, NAN, 4], ["a", "a", "b", "c", "c"])
    assert (found.n, found.clusters, found.human_missing, found.judge_missing) == (3, 3, 1, 1)
    assert found.figures() == agreement([1, 5, 3], [1, 5, 4], ["a", "b", "c"]).figures()


def test_order_does_not_matter_and_the_seed_does() -> None:
    human, judge = _rated(40)
    clusters = [f"d{number % 13}" for number in range(40)]
    order = np.random.default_rng(9).permutation(40)
    turned = [[values[i] for i in order] for values in (human, judge, clusters)]
    first = agreement(human, judge, clusters)
    assert agreement(*turned) == first
    assert agreement(human, judge, clusters, seed=1).spearman.lower != first.spearman.lower


def test_shares_have_no_kappa_and_no_confusion() -> None:
    found = agreement([0.1, 0.5, 0.9, 1.0], [0.2, 0.5, 0.8, 1.0], scale=None)
    assert math.isnan(found.quadratic_weighted_kappa.value)
    assert found.confusion is None
    assert found.krippendorff_interval.value > 0.9


def test_what_cannot_be_a_rating_is_refused() -> None:
    for human, judge in (([1, 11], [1, 2]), ([1, 2], [0, 2]), ([1, 2, 3], [1, 2]), ([math.inf], [1])):
        with pytest.raises(ValueError, match=r"rating|long"):
            agreement(human, judge)
    with pytest.raises(ValueError, match="whole"):
        quadratic_weighted_kappa([1.5, 2], [1, 2])


def test_two_hundred_items_and_two_thousand_draws_are_quick() -> None:
    human, judge = _rated(200)
    generator = np.random.default_rng(2)
    started = time.perf_counter()
    found: Agreement = agreement(human, judge, [str(number // 4) for number in range(200)])
    agreement(generator.random(200), generator.random(200), scale=None)
    assert time.perf_counter() - started < 3
    assert found.clusters == 50
    for figure in found.figures().values():
        assert figure.lower < figure.value < figure.upper
