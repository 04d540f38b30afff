"""The fast scoring against the published definition written out, and what is set aside or invalid."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ontology_toys import World, icd, plain_match_scores, worlds, worlds_and_sets

from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import hierarchical_score, over_inclusion_penalty, set_coverage
from clinical_evals.ontology.scoring import match_scores, score_cohort

TINY = 1e-12


def plain_figures(world: World, truth: list[str], predicted: list[str]) -> tuple[float, float, float]:
    coverage = set_coverage(plain_match_scores(world, truth, predicted), len(truth))
    penalty = over_inclusion_penalty(plain_match_scores(world, predicted, truth), len(predicted))
    return coverage, penalty, hierarchical_score(coverage, penalty)


@settings(max_examples=400, deadline=None)
@given(worlds_and_sets())
def test_the_published_figures(drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, predicted = drawn
    scored = score_cohort(world.hierarchy(), "1", "cohort", truth, predicted, "test")
    figures = scored.coverage, scored.over_inclusion_penalty, scored.hierarchical_score
    assert figures == pytest.approx(plain_figures(world, truth, predicted), abs=TINY)


@settings(max_examples=400, deadline=None)
@given(world=st.booleans().flatmap(worlds), data=st.data())
def test_match_scores_keep_order_and_repeats(world: World, data: st.DataObject) -> None:
    codes = st.lists(st.sampled_from([*world.codes, "unknown"]))
    sources, targets = data.draw(codes), data.draw(codes)
    assert match_scores(world.hierarchy(), sources, targets) == pytest.approx(
        plain_match_scores(world, sources, targets), abs=TINY
    )


def test_the_published_figures_on_a_large_graph_with_redundant_parents() -> None:
    rng = random.Random(7)
    codes = [f"N{number}" for number in range(600)]
    parents: dict[str, tuple[str, ...]] = {}
    for place, code in enumerate(codes):
        above = {codes[rng.randrange(max(1, place // 3))]} if place >= 5 else set()
        for parent in list(above):
            above |= set(parents[parent][: rng.randrange(3)])
        if place > 50 and rng.random() < 0.3:
            above.add(rng.choice(codes[:place]))
        parents[code] = tuple(above)
    world = World(dict(zip(codes, rng.sample(range(10_000), 600), strict=True)), parents)
    truth, predicted = rng.sample(codes, 120), rng.sample(codes, 80)
    scored = score_cohort(world.hierarchy(), "1", "cohort", truth, predicted, "test")
    figures = scored.coverage, scored.over_inclusion_penalty, scored.hierarchical_score
    assert figures == pytest.approx(plain_figures(world, truth, predicted), abs=TINY)


@settings(max_examples=200, deadline=None)
@given(worlds_and_sets())
def test_every_score_is_a_ratio_of_the_counts(drawn: tuple[World, list[str], list[str]]) -> None:
    world, truth, predicted = drawn
    scored = score_cohort(world.hierarchy(), "1", "cohort", truth, [*predicted, "unknown"], "test")
    counts = scored.counts
    if truth:
        assert scored.coverage == pytest.approx(counts["coverage_credit"] / 6 / counts["truth"], abs=TINY)
    assert scored.over_inclusion_penalty == pytest.approx(
        1 - counts["precision_credit"] / 6 / counts["predicted"], abs=TINY
    )
    both = counts["truth"] + counts["predicted"]
    assert scored.strict_set_score == pytest.approx(counts["strict_credit"] / 3 / both, abs=TINY)
    assert scored.hierarchical_precision == counts["shared_nodes"] / counts["predicted_nodes"]
    assert scored.invalid_code_rate == counts["invalid"] / counts["predicted"]


@settings(deadline=None)
@given(world=st.booleans().flatmap(worlds))
def test_the_hierarchy_agrees_with_its_tables(world: World) -> None:
    hierarchy = world.hierarchy()
    for code in world.codes:
        assert hierarchy.chain(code) == world.chain(code)
        assert hierarchy.ancestors(code) == {world.ids[node] for node in world.levels(code)}
        below = hierarchy.descendants(code)
        assert below[0] == code
        assert sorted(below) == sorted(other for other in world.codes if code in world.levels(other))
        assert hierarchy.fewest_edges(code, world.codes[0]) == world.fewest_edges(code, world.codes[0])
        index = hierarchy.index_of(code)
        assert index is not None
        assert {hierarchy.code_of(parent) for parent in hierarchy.parents(index)} == set(world.parents[code])
        assert hierarchy.ids[index] == world.ids[code]


# --- What is set aside, invalid or written differently ------------------------------------------------------


def figures_of(truth: list[str], predicted: list[str]) -> tuple[float | None, ...]:
    scored = score_cohort(icd(), "1", "cohort", truth, predicted, "test")
    return (
        scored.coverage,
        scored.over_inclusion_penalty,
        scored.hierarchical_score,
        scored.strict_set_score,
        scored.hierarchical_f,
    )


PERFECT = (1.0, 0.0, 1.0, 1.0, 1.0)


def test_rep_s10_a_retired_code_is_set_aside_on_both_sides() -> None:
    both = ["E11.9", "H40.11X0"]
    assert figures_of(both, both) == PERFECT
    scored = score_cohort(icd(), "1", "cohort", both, ["e119", "h4011x0"], "test")
    assert scored.unresolvable_ground_truth == ["H40.11X0"]
    assert scored.invalid_codes == []
    assert scored.hierarchical_score == 1.0
    # All of the truth retired: still two identical sets.
    assert figures_of(["H40.11X0"], ["H40.11X0"]) == PERFECT


def test_rep_s11_one_code_written_four_ways() -> None:
    assert figures_of(["W22.01XA", "E11.9", "I10"], ["w22.01xa", "E119", " i10. ", "e11.9"]) == PERFECT


def test_a_mistyped_code_is_never_guessed() -> None:
    scored = score_cohort(icd(), "1", "cohort", ["W22.01XA", "E11.9"], ["W22.01", "W2201A", "E11.99"], "test")
    assert scored.invalid_codes == ["W22.01A", "E11.99"]
    assert scored.counts["precision_credit"] == 6 - 2  # W22.01 lies two edges above W22.01XA
    assert scored.invalid_code_rate == pytest.approx(2 / 3)


def test_an_invalid_code_earns_nothing_and_is_listed_once() -> None:
    scored = score_cohort(icd(), "1", "cohort", ["E11.9"], ["E11.9", "E11.99", "e1199", "diabetes"], "test")
    assert scored.invalid_codes == ["E11.99", "diabetes"]
    assert scored.coverage == 1.0
    assert scored.over_inclusion_penalty == pytest.approx(2 / 3)
    assert scored.strict_set_score == pytest.approx(2 / 4)
    assert scored.predicted_codes == ["E11.9", "E11.99", "e1199", "diabetes"]


@pytest.mark.parametrize(
    ("truth", "predicted", "figures"),
    [
        ([], [], PERFECT),
        (["E11.9"], [], (0.0, 0.0, 0.0, 0.0, 0.0)),
        ([], ["E11.9"], (1.0, 1.0, 0.0, 0.0, 0.0)),
        (["E11.9"], ["E11.99"], (0.0, 1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_empty_sides(truth: list[str], predicted: list[str], figures: tuple[float, ...]) -> None:
    assert figures_of(truth, predicted) == figures
    if not predicted:
        assert score_cohort(icd(), "1", "cohort", truth, predicted, "test").invalid_code_rate is None


def test_a_code_shared_by_block_and_category_means_the_category() -> None:
    index = icd().index_of("B20")
    assert index is not None
    assert [icd().code_of(node) for node in icd().chain_indices(index)] == ["B20", "B20", "1"]


# --- Building a hierarchy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([(1, "A"), (1, "B")], [], "different concept ids"),
        ([(1, "A")], [(1, 2)], "edge 0 names concept 2"),
        ([], [(1, 2)], "there are no nodes"),
        ([(1, "A")], [(1, 1)], "cycle: A -> A"),
        ([(1, "A"), (2, "B"), (3, "C")], [(1, 2), (2, 1), (3, 1)], "cycle: (A -> B -> A|B -> A -> B)"),
        ([(n, f"N{n}") for n in range(9)], [(n, (n + 1) % 9) for n in range(9)], r"N4 -> \.\.\.$"),
    ],
)
def test_dirty_input_is_refused(nodes, edges, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_edges(nodes, edges)


def test_repeated_edges_and_unknown_codes() -> None:
    hierarchy = Hierarchy.from_edges([(1, "A"), (2, "B")], [(2, 1), (2, 1)])
    assert hierarchy.chain("B") == [2, 1]
    assert hierarchy.chain("C") == []
    assert hierarchy.descendants("C") == []
    assert hierarchy.ancestors("C") == frozenset()
    assert hierarchy.fewest_edges("A", "C") is None
    assert len(Hierarchy.from_edges([], [])) == 0
