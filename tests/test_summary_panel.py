"""Several judges made one: medians by hand, and judges that gave no rating."""

import pytest

from clinical_evals.summary.judge import RatingReading, read_rating
from clinical_evals.summary.panel import PanelReading, combine, combine_readings
from clinical_evals.summary.rubric import Rating

MEDIANS = [
    ([(8, 9, 7)], (8, 9, 7)),
    ([(8, 9, 7), (7, 10, 3)], (7, 9, 3)),  # between two, the lower one
    ([(9, 1, 5), (2, 10, 5), (8, 9, 6)], (8, 9, 5)),
    ([(1, 1, 1), (4, 10, 2), (6, 10, 3), (10, 10, 4)], (4, 10, 2)),
    ([(1, 10, 1), (1, 10, 2), (3, 10, 3), (9, 10, 4), (10, 1, 5)], (3, 10, 3)),
]


@pytest.mark.parametrize(("ratings", "median"), MEDIANS)
def test_each_criterion_gets_its_lower_median_in_any_order(
    ratings: list[tuple[int, ...]], median: tuple[int, ...]
) -> None:
    for order in (ratings, ratings[::-1]):
        combined = combine([Rating.of(scores) for scores in order])
        assert tuple(combined.scores.values()) == median


def test_flags_are_united() -> None:
    first = Rating.of((8, 8, 8), ("overall ignored",))
    second = Rating.of((8, 8, 8), ("out of range: No Hallucinations", "overall ignored"))
    assert combine([first, second]).flags == combine([second, first]).flags
    assert combine([first, second]).flags == ("out of range: No Hallucinations", "overall ignored")


def test_the_judges_that_can_be_read_decide_and_the_others_are_counted() -> None:
    good = [RatingReading(Rating.of(scores)) for scores in ((8, 9, 7), (6, 9, 9))]
    panel = combine_readings([good[0], read_rating("I am unable to score this."), good[1]])
    assert panel == PanelReading(Rating.of((6, 9, 7)), 3, 2, None)
    assert panel.counts == {"judges": 3, "judges_rated": 2}


def test_without_one_rating_there_is_none() -> None:
    cut, refused = read_rating('{"Factual Completeness": 9'), read_rating("", refused=True)
    assert combine_readings([cut, cut]) == PanelReading(None, 2, 0, "incomplete")
    assert combine_readings([cut, refused]).problem == "unreadable"
    for nobody in (combine, combine_readings):
        with pytest.raises(ValueError, match="at least one"):
            nobody([])
