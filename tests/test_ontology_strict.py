"""The scores that are ours: their laws on random sets, and the matching against brute force."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ontology_toys import World, icd, worlds, worlds_and_sets
from scipy.optimize import linear_sum_assignment

from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import distance_weighted_score
from clinical_evals.ontology.models import CohortEvalResult
from clinical_evals.ontology.scoring import score_cohort
from clinical_evals.ontology.strict import strict_set_score

LEAVES = ["E11.21", "E11.22", "E11.29"]
TINY = 1e-12


def result(hierarchy: Hierarchy, truth: list[str], predicted: list[str]) -> CohortEvalResult:
    return score_cohort(hierarchy, "1", "cohort", truth, predicted, "test")


def hierarchical(hierarchy: Hierarchy, truth: list[str], predicted: list[str]) -> float:
    score = result(hierarchy, truth, predicted).hierarchical_f
    assert score is not None
    return score


# Whole worlds are drawn, which a busy machine may take its time for.
settings.register_profile("ontology", deadline=None)
settings.load_profile("ontology")

OURS = pytest.mark.parametrize("score", [strict_set_score, hierarchical])


def credit(world: World, a: str, b: str) -> float:
    return distance_weighted_score(world.fewest_edges(a, b))


# --- The matching -----------------------------------------------------------------------------------------


def plain_strict(world: World, truth: list[str], predicted: list[str]) -> float:
    if not truth and not predicted:
        return 1.0
    if not truth or not predicted:
        return 0.0
    credits = [[credit(world, a, b) for b in predicted] for a in truth]
    rows, columns = linear_sum_assignment(credits, maximize=True)
    best = sum(credits[row][column] for row, column in zip(rows, columns, strict=True))
    return 2 * best / (len(truth) + len(predicted))


@settings(max_examples=400)
@given(worlds_and_sets())
def test_the_strict_score_is_the_best_assignment(drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, predicted = drawn
    assert strict_set_score(world.hierarchy(), truth, predicted) == pytest.approx(
        plain_strict(world, truth, predicted), abs=TINY
    )


@settings(max_examples=300)
@given(worlds_and_sets(several_parents=False))
def test_in_a_tree_strict_never_exceeds_published(drawn: tuple[World, list[str], list[str]]) -> None:
    scored = result(drawn[0].hierarchy(), *drawn[1:])
    assert scored.strict_set_score is not None
    assert scored.strict_set_score <= scored.hierarchical_score + TINY


@settings(max_examples=200)
@given(worlds_and_sets())
def test_plain_counts_of_ancestors(drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, predicted = drawn
    true_nodes = {node for code in truth for node in world.levels(code)}
    nodes = {node for code in predicted for node in world.levels(code)}
    scored = result(world.hierarchy(), truth, predicted)
    shared = len(true_nodes & nodes)
    assert scored.hierarchical_precision == (shared / len(nodes) if nodes else 1.0)
    assert scored.hierarchical_recall == (shared / len(true_nodes) if true_nodes else 1.0)


# --- The laws ---------------------------------------------------------------------------------------------


@OURS
@given(drawn=worlds_and_sets())
def test_identity_is_one(score, drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, _ = drawn
    assert score(world.hierarchy(), truth, truth[::-1]) == 1.0


@OURS
@given(drawn=worlds_and_sets())
def test_range_and_symmetry(score, drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, predicted = drawn
    value = score(world.hierarchy(), truth, predicted)
    assert 0 <= value <= 1
    assert value == pytest.approx(score(world.hierarchy(), predicted, truth), abs=TINY)


@OURS
@given(drawn=worlds_and_sets(), data=st.data())
def test_disjoint_chapters_score_zero(
    score, drawn: tuple[World, list[str], list[str]], data: st.DataObject
) -> None:
    world, truth, predicted = drawn
    nodes = {node for code in truth for node in world.levels(code)}
    predicted = [code for code in predicted if nodes.isdisjoint(world.levels(code))]
    assume(truth and predicted)
    assert score(world.hierarchy(), truth, predicted) == 0.0


@OURS
@given(drawn=worlds_and_sets(), data=st.data())
def test_a_wrong_code_never_raises_the_score(
    score, drawn: tuple[World, list[str], list[str]], data: st.DataObject
) -> None:
    world, truth, predicted = drawn
    nodes = {node for code in truth for node in world.levels(code)}
    wrong = [code for code in world.codes if nodes.isdisjoint(world.levels(code))]
    added = data.draw(st.sampled_from([*wrong, "no such code"]))
    before = score(world.hierarchy(), truth, predicted)
    after = score(world.hierarchy(), truth, [*predicted, added])
    assert after <= before
    if score is strict_set_score and before > 0 and added not in predicted:
        assert after < before


@given(drawn=worlds_and_sets())
def test_no_surplus_code_pays_once_the_truth_is_complete(drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, more = drawn
    surplus = [code for code in more if code not in truth]
    assume(truth and surplus)
    scores = [
        strict_set_score(world.hierarchy(), truth, truth + surplus[:count])
        for count in range(len(surplus) + 1)
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0 > scores[1]


@OURS
@given(drawn=worlds_and_sets(), data=st.data())
def test_more_right_codes_never_score_less(
    score, drawn: tuple[World, list[str], list[str]], data: st.DataObject
) -> None:
    world, truth, _ = drawn
    order = data.draw(st.permutations(truth))
    scores = [score(world.hierarchy(), truth, order[:count]) for count in range(len(order) + 1)]
    assert scores == sorted(scores)
    if score is strict_set_score:
        assert len(set(scores)) == len(scores)


@given(world=worlds(), data=st.data())
def test_one_right_code_never_beats_two_of_three(world: World, data: st.DataObject) -> None:
    assume(len(world.codes) >= 3)
    truth = data.draw(st.permutations(world.codes))[:3]
    others = [code for code in world.codes if code not in truth]
    third = data.draw(st.lists(st.sampled_from(others), max_size=1)) if others else []
    one, two = truth[:1], truth[:2]
    hierarchy = world.hierarchy()
    assert strict_set_score(hierarchy, truth, one) < strict_set_score(hierarchy, truth, two)
    # Two right ones and one other still beat one right one.
    assert strict_set_score(hierarchy, truth, one) < strict_set_score(hierarchy, truth, two + third)


@OURS
@given(drawn=worlds_and_sets(), data=st.data())
def test_a_header_never_beats_the_leaves_it_stands_for(
    score, drawn: tuple[World, list[str], list[str]], data: st.DataObject
) -> None:
    world, truth, _ = drawn
    header = data.draw(st.sampled_from(world.codes))
    stood_for = [code for code in truth if header in world.levels(code)]
    assume(stood_for)
    # Whether it stands alone or beside other right codes.
    beside = data.draw(st.lists(st.sampled_from(truth), unique=True))
    beside = [code for code in beside if code not in stood_for and code != header]
    by_header = score(world.hierarchy(), truth, [*beside, header])
    by_leaves = score(world.hierarchy(), truth, beside + stood_for)
    assert by_header <= by_leaves + TINY


@settings(max_examples=300)
@given(drawn=worlds_and_sets(several_parents=True), data=st.data())
def test_ours_do_not_depend_on_concept_ids(
    drawn: tuple[World, list[str], list[str]], data: st.DataObject
) -> None:
    world, truth, predicted = drawn
    other = world.renumbered(data.draw(st.permutations(list(world.ids.values()))))
    fields = {"strict_set_score", "hierarchical_precision", "hierarchical_recall", "hierarchical_f"}
    first, second = (
        result(w.hierarchy(), truth, predicted).model_dump(include=fields) for w in (world, other)
    )
    assert first == second


# --- Hand values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "published", "strict"),
    [
        (["E11.2"], 5 / 6, 2 * (5 / 6) / 4),  # the header for all three
        (["E11.21"], 0.875, 2 / 4),  # one leaf; the others are siblings at 2/3
        (["E11.21", "E11.22"], 2 * (8 / 9) / (17 / 9), 4 / 5),
        (LEAVES, 1.0, 1.0),
        (["I10"], 0.0, 0.0),
        ([*LEAVES, "I10"], 2 * 0.75 / 1.75, 6 / 7),
        ([], 0.0, 0.0),
    ],
)
def test_the_two_gaming_examples(predicted: list[str], published: float, strict: float) -> None:
    scored = result(icd(), LEAVES, predicted)
    assert scored.hierarchical_score == pytest.approx(published, abs=TINY)
    assert scored.strict_set_score == pytest.approx(strict, abs=TINY)


def test_hierarchical_precision_and_recall_by_hand() -> None:
    # Truth with ancestors: three leaves, E11.2, E11, block, chapter. The header brings the last four.
    scored = result(icd(), LEAVES, ["E11.2"])
    assert (scored.hierarchical_precision, scored.hierarchical_recall) == (1.0, 4 / 7)
    assert scored.hierarchical_f == pytest.approx(8 / 11)
    # Another block of the same chapter shares the chapter only: E78.5, E78, block, chapter.
    scored = result(icd(), LEAVES, ["E78.5", "nonsense"])
    assert (scored.hierarchical_precision, scored.hierarchical_recall) == (1 / 5, 1 / 7)


def test_rep_s12_two_parents() -> None:
    parents = {"R": (), "A": ("R",), "B": ("R",), "C": ("A", "B"), "D": ("B",)}
    before = World({"R": 9, "A": 1, "B": 2, "C": 5, "D": 6}, parents)
    after = World({"R": 9, "A": 2, "B": 1, "C": 5, "D": 6}, parents)
    one, two = before.hierarchy(), after.hierarchy()
    assert one.fewest_edges("C", "D") == two.fewest_edges("C", "D") == 2
    first, second = result(one, ["D"], ["C"]), result(two, ["D"], ["C"])
    # Published: 3 steps from C before the swap, 2 after.
    assert first.over_inclusion_penalty == pytest.approx(3 / 6)
    assert second.over_inclusion_penalty == pytest.approx(2 / 6)
    assert first.strict_set_score == second.strict_set_score == pytest.approx(2 / 3)
    # C with its ancestors is {C, A, B, R}, D is {D, B, R}.
    for scored in (first, second):
        assert (scored.hierarchical_precision, scored.hierarchical_recall) == (2 / 4, 2 / 3)
        assert scored.hierarchical_f == pytest.approx(4 / 7)
