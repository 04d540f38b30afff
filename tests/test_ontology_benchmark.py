"""The benchmark: the published report, its intervals, skipped methods, the sweep, the two halves of CCSR."""

import json

import duckdb
import pytest
from click.testing import CliRunner

from clinical_evals.cli import cli
from clinical_evals.ontology.benchmark import (
    KEPT_BACK,
    METHODS,
    TUNING,
    benchmark_cohorts,
    load_benchmark_cohorts,
    run_benchmark,
    sweep,
)
from clinical_evals.ontology.cohorts import Cohort
from clinical_evals.ontology.vocabulary import open_vocabulary

COHORTS = [
    Cohort("a", "heart failure", ["I50", "I50.9", "I50.1"]),
    Cohort("b", "asthma", ["J45", "J45.909"]),
]


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return open_vocabulary()


def test_the_published_defaults(con: duckdb.DuckDBPyConnection) -> None:
    report = run_benchmark(con, None, ["519", "521"])
    assert [result.method for result in report.results] == ["bm25", "hybrid", "expand_descendants"] * 2
    assert [result.cohort_id for result in report.results[::3]] == ["519", "521"]
    assert all(len(result.predicted_codes) <= 25 for result in report.results if result.method == "bm25")


def test_means_are_those_of_the_results_and_lie_in_their_intervals(con: duckdb.DuckDBPyConnection) -> None:
    report = benchmark_cohorts(con, COHORTS, ["bm25", "best"], k=5)
    for method in ("bm25", "best"):
        given = [result.hierarchical_score for result in report.results if result.method == method]
        mean = report.mean_hierarchical_score_by_method[method]
        interval = report.intervals_by_method[method]["hierarchical_score"]
        assert mean == pytest.approx(sum(given) / 2)
        assert interval.lower is not None
        assert interval.upper is not None
        assert interval.lower <= mean <= interval.upper


def test_one_cohort_has_no_interval(con: duckdb.DuckDBPyConnection) -> None:
    report = benchmark_cohorts(con, COHORTS[:1], ["bm25"])
    assert report.intervals_by_method["bm25"]["hierarchical_score"].lower is None
    assert benchmark_cohorts(con, [], ["bm25"]).results == []


def test_a_method_without_its_index_is_skipped_and_an_unknown_one_refused(
    con: duckdb.DuckDBPyConnection,
) -> None:
    report = benchmark_cohorts(con, COHORTS, ["dense", "bm25"])
    assert list(report.mean_coverage_by_method) == ["bm25"]
    with pytest.raises(ValueError, match=r"unknown method 'bm52'; choose from: bm25"):
        benchmark_cohorts(con, COHORTS, ["bm52"])
    for setting in ({"k": 0}, {"dense_weight": 1.5}):
        with pytest.raises(ValueError, match="must"):
            benchmark_cohorts(con, COHORTS, ["bm25"], **setting)


def test_no_method_but_expand_descendants_sees_the_truth(con: duckdb.DuckDBPyConnection) -> None:
    swapped = [Cohort("a", "heart failure", ["J45"]), Cohort("b", "asthma", ["I50"])]
    methods = [method for method in METHODS if method != "expand_descendants"]
    one = benchmark_cohorts(con, COHORTS, methods).results
    other = benchmark_cohorts(con, swapped, methods).results
    assert [result.predicted_codes for result in one] == [result.predicted_codes for result in other]


def test_sweep_without_dense_covers_every_k(con: duckdb.DuckDBPyConnection) -> None:
    points = sweep(con, COHORTS, ks=(1, 3))
    assert [(point.method, point.k, point.dense_weight) for point in points] == [
        ("bm25", 1, None),
        ("bm25", 3, None),
    ]
    direct = benchmark_cohorts(con, COHORTS, ["bm25"], k=3).mean_hierarchical_score_by_method["bm25"]
    assert points[1].hierarchical_score == pytest.approx(direct)
    with pytest.raises(ValueError, match="at least one k"):
        sweep(con, COHORTS, ks=())


def test_the_halves_of_ccsr_are_disjoint_and_complete(con: duckdb.DuckDBPyConnection) -> None:
    halves = [{c.cohort_id for c in load_benchmark_cohorts(con, name)} for name in (KEPT_BACK, TUNING)]
    whole = {c.cohort_id for c in load_benchmark_cohorts(con, "ccsr")}
    assert not halves[0] & halves[1]
    assert halves[0] | halves[1] == whole


def test_best_beats_the_published_methods_on_the_kept_back_half(con: duckdb.DuckDBPyConnection) -> None:
    # Every fifth category, to be quick.
    cohorts = load_benchmark_cohorts(con, KEPT_BACK)[::5]
    means = benchmark_cohorts(con, cohorts, ["bm25", "best"]).mean_hierarchical_score_by_method
    assert means["best"] > means["bm25"] + 0.2
    assert means["best"] > 0.6


def test_the_command_prints_the_report() -> None:
    result = CliRunner().invoke(cli, ["benchmark", "--methods", "bm25,expand_descendants", "--json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert set(report["mean_hierarchical_score_by_method"]) == {"bm25", "expand_descendants"}
    table = CliRunner().invoke(cli, ["benchmark", "--methods", "bm25"]).stdout
    assert "23 cohorts" in table
    assert CliRunner().invoke(cli, ["benchmark", "--methods", "none"]).exit_code == 2
