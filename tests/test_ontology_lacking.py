"""Names that say what is not there find the codes that say so too, never the opposite."""

import pytest

from clinical_evals.ontology.best import BestRetriever
from clinical_evals.ontology.best_lacking import split_lacking
from clinical_evals.ontology.vocabulary import open_vocabulary


@pytest.fixture(scope="module")
def best() -> BestRetriever:
    return BestRetriever.over(open_vocabulary())


@pytest.mark.parametrize(
    ("name", "some", "none"),
    [
        ("asthma without exacerbation", ["J45.20", "J45.50"], ["J45.21", "J45.901", "J44.1"]),
        ("COPD without exacerbation", ["J44.9"], ["J44.1"]),
        ("migraine without aura", ["G43.001", "G43.719"], ["G43.109", "G43.509", "G43.909"]),
        ("epilepsy not intractable", ["G40.009", "G40.909"], ["G40.011", "G40.919"]),
        ("epilepsy, w/o status epilepticus", ["G40.009", "G40.219"], ["G40.001", "G40.211"]),
        ("cholelithiasis without cholecystitis or obstruction", ["K80.20", "K80.50"], ["K80.21", "K80.00"]),
        ("pneumonia without sepsis", ["J18.9"], ["A41.9"]),
    ],
)
def test_what_is_lacking_is_not_found(
    best: BestRetriever, name: str, some: list[str], none: list[str]
) -> None:
    found = {hit.code for hit in best.search(name)}
    assert found >= set(some)
    assert not found & set(none)


def test_a_code_of_the_very_name_is_found_alone(best: BestRetriever) -> None:
    found = [hit.code for hit in best.search("type 2 diabetes without complications")]
    assert found == ["E11.9", "E11.A"]


def test_what_no_code_speaks_of_takes_nothing_away(best: BestRetriever) -> None:
    assert best.search("asthma without xyzzy") == best.search("asthma")


@pytest.mark.parametrize(
    ("name", "rest", "lacking"),
    [
        ("migraine without aura", "migraine", 1),
        ("stones w/o cholangitis, obstruction or sepsis", "stones", 3),
        ("anemia not elsewhere classified", "anemia not elsewhere classified", 0),
        ("anemia not specified", "anemia not specified", 0),
        ("without", "without", 0),
        ("diabetes without", "diabetes without", 0),
        ("asthma, not tuberculosis of the lung", "asthma, not tuberculosis of the lung", 0),
        ("women with no diabetes", "women", 1),
    ],
)
def test_clauses_are_read_as_written(name: str, rest: str, lacking: int) -> None:
    found, things = split_lacking(name)
    assert (found, len(things)) == (rest, lacking)
