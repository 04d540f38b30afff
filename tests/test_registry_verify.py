"""A recount finds every figure again, and one edited number is enough to fail it."""

import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from clinical_evals.tasks import retrieval, summary
from inspect_ai import Task
from inspecting import TASKS
from registry_toys import record, run, settle

from clinical_evals.cli import cli
from clinical_evals.registry.formula import FormulaError, evaluate
from clinical_evals.registry.location import locate
from clinical_evals.registry.record import MetricFacts, RunRecord, SampleRow
from clinical_evals.registry.rows import read_rows, write_rows
from clinical_evals.registry.run_statistics import run_statistic
from clinical_evals.registry.runs import view_record
from clinical_evals.registry.spool import keep
from clinical_evals.registry.verify import recount

FORMULAS = {
    "strict": "ratio(grounded + 0.5 * partial, claims)",
    "recall": "ratio(found, gold)",
    "f1": "harmonic(strict, recall)",
    "floored": "floor(first(strict, zero_if(gold)) * 10)",
}


@pytest.mark.parametrize(
    ("metric", "counts", "value"),
    [
        ("strict", {"grounded": 6, "partial": 1, "claims": 8}, 0.8125),
        ("strict", {"grounded": 0, "partial": 0, "claims": 0}, None),
        ("recall", {"gold": 4}, 0.0),
        ("f1", {"grounded": 6, "partial": 1, "claims": 8, "found": 1, "gold": 2}, 2 * 0.8125 * 0.5 / 1.3125),
        ("f1", {"claims": 8, "gold": 2}, 0.0),
        ("f1", {"claims": 8}, None),
        ("floored", {"grounded": 6, "partial": 1, "claims": 8}, 8.0),
        ("floored", {"gold": 3}, 0.0),
        ("floored", {}, None),
    ],
)
def test_formulas_follow_the_counts(metric: str, counts: dict[str, int], value: float | None) -> None:
    assert evaluate(metric, FORMULAS, counts) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os')",
        "claims.real",
        "claims[0]",
        "1 / 0",
        "'text'",
        "(",
        "lambda: 1",
        "ratio(a=1)",
        "True",
    ],
)
def test_a_formula_is_arithmetic_and_nothing_else(formula: str) -> None:
    with pytest.raises(FormulaError):
        evaluate("metric", {"metric": formula}, {})


def test_a_formula_may_not_refer_to_itself() -> None:
    with pytest.raises(FormulaError, match="refers to itself"):
        evaluate("a", {"a": "b + 1", "b": "a"}, {})


def counted_record() -> RunRecord:
    """A run whose values follow from counts."""
    generator = random.Random(7)
    facts = {name: MetricFacts(range=(0, 1), formula=formula) for name, formula in FORMULAS.items()}
    rows = []
    for at in range(30):
        counts = {
            "claims": generator.randint(0, 9), "grounded": 0, "partial": 0,
            "gold": generator.randint(1, 6), "found": 0,
        }  # fmt: skip
        counts["grounded"] = generator.randint(0, counts["claims"])
        counts["found"] = generator.randint(0, counts["gold"])
        values = {name: evaluate(name, FORMULAS, counts) for name in FORMULAS}
        rows.append(
            SampleRow(
                sample=f"s{at:02}",
                epoch=1,
                family=f"f{at // 2}",
                status="scored",
                values=values,
                counts=counts,
            )
        )
    failed = record([], failed=2, unscored=3).rows
    rows += [
        row.model_copy(update={"values": dict.fromkeys(FORMULAS, 0.0)}) if row.status == "failed" else row
        for row in failed
    ]
    return record([]).model_copy(
        update={"rows": rows, "metrics": facts, "headline": "f1",
                "dataset": record([]).dataset.model_copy(update={"samples": 35})}
    )  # fmt: skip


def test_an_honest_run_is_all_right_also_after_its_rows_went_through_a_table(tmp_path: Path) -> None:
    run = counted_record()
    view = view_record(run)
    rows = read_rows(write_rows(run.rows, tmp_path / "samples.parquet"))
    found = recount(rows, view.facts, view.epochs, view.stored)
    assert found.mismatches == []
    assert found.values == 32 * 4
    assert found.without_formula == []


def test_any_one_edited_number_is_found() -> None:
    run = counted_record()
    view = view_record(run)
    generator = random.Random(11)
    for _ in range(60):
        at = generator.randrange(30)
        row = run.rows[at]
        if generator.random() < 0.5:
            name = generator.choice(sorted(row.counts))
            edited = row.model_copy(update={"counts": row.counts | {name: row.counts[name] + 1}})
        else:
            name = generator.choice(sorted(row.values))
            edited = row.model_copy(update={"values": row.values | {name: (row.values[name] or 0) + 0.001}})
        rows = [edited if other is row else other for other in run.rows]
        assert recount(rows, view.facts, view.epochs, view.stored).mismatches, name
    for name, value in view.stored.items():
        assert recount(run.rows, view.facts, 1, view.stored | {name: value + 1e-6}).mismatches, name
    lost = {name: value for name, value in view.stored.items() if name != "f1_lower"}
    assert recount(run.rows, view.facts, 1, lost).mismatches
    assert recount(run.rows[1:], view.facts, 1, view.stored).mismatches
    assert recount(run.rows, view.facts, 1, view.stored | {"extra": 1.0}).mismatches


def test_verify_reads_the_registry_and_catches_one_edited_count(folder: Path) -> None:
    keep(counted_record(), locate().spool)
    settle()
    honest = CliRunner().invoke(cli, ["verify", "m/one"])
    assert honest.exit_code == 0, honest.output
    assert "all right" in honest.stdout
    table = next((folder / "mlruns" / "artifacts").rglob("samples.parquet"))
    rows = read_rows(table)
    rows[3] = rows[3].model_copy(update={"counts": rows[3].counts | {"gold": rows[3].counts["gold"] + 1}})
    write_rows(rows, table)
    edited = CliRunner().invoke(cli, ["verify", "m/one"])
    assert edited.exit_code == 1
    assert "WRONG s03: recall" in edited.stdout
    assert "WRONG run: total_gold" in edited.stdout


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_every_figure_of_a_bundled_run_follows_from_its_counts(
    task: Callable[[], Task], folder: Path
) -> None:
    if task is retrieval:
        run(task())
    else:
        run(
            task(),
            model="replay/gaming",
            model_roles={"grader": "replay/faithful"} if task is summary else {},
        )
    (view,) = settle()
    found = CliRunner().invoke(cli, ["verify", view.run_id])
    assert found.exit_code == 0, found.output
    number = re.search(r"^(\d+) sample values from counts", found.stdout, re.MULTILINE)
    assert number
    assert int(number[1]) >= 4 * view.rows
    assert "Without a formula" not in found.stdout
    assert math.isfinite(view.figure(view.headline).mean)


def rated(ratings: list[tuple[int, ...]]) -> list[SampleRow]:
    return [
        SampleRow(
            sample=f"s{at:02}", epoch=1, family=f"f{at // 4}", status="scored", values={},
            counts={f"rater{number}": value for number, value in enumerate(of_sample, 1) if value},
        )
        for at, of_sample in enumerate(ratings)
    ]  # fmt: skip


def test_agreement_of_two_raters_is_a_figure_of_the_run() -> None:
    generator = random.Random(3)
    ratings = [
        (human, min(10, max(1, human + generator.choice([-1, 0, 0, 1])))) for human in [2, 4, 6, 8, 9] * 8
    ]
    rows = rated(ratings)
    facts = {
        "kappa": MetricFacts(range=(-1, 1), statistic="quadratic_weighted_kappa", of=("rater1", "rater2")),
        "alpha": MetricFacts(range=(-1, 1), statistic="krippendorff_alpha", of=("rater1", "rater2")),
    }
    run = record([]).model_copy(update={"rows": rows, "metrics": facts, "headline": "kappa"})
    view = view_record(run)
    kappa = view.figure("kappa")
    assert 0.9 < kappa.mean < 1
    assert kappa.lower < kappa.mean < kappa.upper
    assert kappa.n == 40
    assert recount(rows, view.facts, 1, view.stored).mismatches == []
    flattered = [rows[0].model_copy(update={"counts": {"rater1": 2, "rater2": 9}}), *rows[1:]]
    assert recount(flattered, view.facts, 1, view.stored).mismatches


def test_a_panel_has_an_alpha_and_raters_who_never_vary_have_none() -> None:
    generator = random.Random(5)
    ratings = [(at, at + generator.choice([0, 1]), generator.choice([0, at])) for at in [2, 4, 6, 8, 9] * 8]
    panel = run_statistic("krippendorff_alpha", ["rater1", "rater2", "rater3"], rated(ratings))
    assert 0.5 < panel[""] < 1
    assert panel["lower"] < panel[""] < panel["upper"]
    alike = run_statistic("quadratic_weighted_kappa", ["rater1", "rater2"], rated([(5, 5)] * 10))
    assert math.isnan(alike[""])
    assert run_statistic("spearman", ["rater1", "rater2"], rated([(0, 0)] * 3)) == {}
