"""`clinical-evals compare` and `gate`: two runs over the same samples."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from clinical_evals.cli_registry import open_registry
from clinical_evals.files import InputError, printable

if TYPE_CHECKING:
    from clinical_evals.paired import Gate
    from clinical_evals.registry.compare import Comparison, Key
    from clinical_evals.registry.resolve import Results

_EXIT = {"pass": 0, "fail": 1, "undecided": 3}
_MOST_IDS = 8

_task = click.option("--task", help="Which task is meant, where a model has runs of several.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, with every sample.")


@click.command()
@click.argument("first")
@click.argument("second")
@click.option("--metric", help="List the worse samples by this metric. Default: the task's headline.")
@click.option(
    "--top", type=click.IntRange(min=0), default=10, show_default=True, help="Worse samples to list."
)
@click.option("--anyway", is_flag=True, help="Compare although data or scorer settings differ.")
@_task
@_json
def compare(
    first: str, second: str, metric: str | None, top: int, anyway: bool, task: str | None, as_json: bool
) -> None:
    """Compare two runs sample by sample: is SECOND better or worse than FIRST, how surely, and where.

    A run is named by its MLflow or Inspect id (or its first six characters), by its model, by MODEL@TASK
    (the latest whole run), or by the path of an Inspect log.
    """
    from clinical_evals.registry.compare import compare_runs

    with _errors():
        a, b = _resolve(first, second, task)
        found = compare_runs(a, b, metric=metric)
        if found.differs and not anyway:
            raise InputError(
                f"these runs are not on one scale: the second has {found.differs}. "
                "Their numbers can be set side by side all the same with --anyway"
            )
    if as_json:
        click.echo(json.dumps(_as_json(found), indent=2, ensure_ascii=False))
        return
    _print(found, top)


@click.command()
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "--margin",
    type=float,
    required=True,
    help="The drop that is still accepted: above 0, below the metric's whole range.",
)
@click.option("--metric", help="The metric. Default: the task's headline.")
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, help="Chance of a false pass at the margin."
)
@_task
@_json
def gate(
    baseline: str,
    candidate: str,
    margin: float,
    metric: str | None,
    alpha: float,
    task: str | None,
    as_json: bool,
) -> None:
    """Test that CANDIDATE is worse than BASELINE by less than a margin (a non-inferiority test).

    Both runs must be such as the leaderboard ranks together. A sample that CANDIDATE did not score counts as
    the worst for a pass and as the best for a fail.

    Exit codes: 0 pass, 1 fail (worse by more than the margin), 3 undecided, 2 unusable input.
    """
    from clinical_evals.registry.compare import gate_runs

    with _errors():
        comparison, answer = gate_runs(
            *_resolve(baseline, candidate, task), margin=margin, metric=metric, alpha=alpha
        )
    if as_json:
        result = {"metric": comparison.headline, "margin": margin, "alpha": alpha, **asdict(answer)}
        click.echo(
            json.dumps(_finite(result | {"comparison": _as_json(comparison)}), indent=2, ensure_ascii=False)
        )
    else:
        _print_gate(comparison, answer, margin, alpha)
    raise SystemExit(_EXIT[answer.verdict])


def _resolve(first: str, second: str, task: str | None) -> "tuple[Results, Results]":
    from clinical_evals.registry.resolve import Resolver

    resolver = Resolver(open_registry)
    return resolver.resolve(first, task), resolver.resolve(second, task)


def _print_gate(comparison: "Comparison", answer: "Gate", margin: float, alpha: float) -> None:
    level = f"{100 * (1 - alpha):.10g}% sure"
    metric = printable(comparison.headline)
    count = comparison.of_headline.difference.n if comparison.of_headline else 0
    most = f"{'worse by at most' if answer.bound >= 0 else 'better by at least'} {abs(answer.bound):.4g}"
    said = {
        "pass": f"PASS: {metric} is {most}",
        "fail": f"FAIL: {metric} is worse by at least {answer.least:.4g}",
        "undecided": f"UNDECIDED: {metric} is {most}",
    }
    if answer.verdict == "undecided" and math.isnan(answer.bound):
        click.echo("UNDECIDED: fewer than two independent pairs say nothing of how pairs differ")
    else:
        click.echo(f"{said[answer.verdict]} ({level}); a drop of {margin:g} would be accepted")
    if answer.missing:
        click.echo(
            f"Without a value of the candidate: {answer.missing}, taken as the worst for a pass and as the "
            "best for a fail."
        )
    if answer.verdict == "undecided":
        click.echo(_what_would_decide(answer, count))
    _print_names(comparison)
    _print_metrics(comparison, [comparison.headline])
    _print_left_out(comparison)


def _what_would_decide(answer: "Gate", count: int) -> str:
    if answer.needed is not None:
        needed = f"about {answer.needed}" + (" that all have values" if answer.missing else "")
        return f"{count} pairs do not decide; {needed} would, if the difference stayed what it is."
    if answer.missing:
        return (
            "The others alone would decide, but what is missing could turn that; where samples could not be "
            "scored, run the candidate again."
        )
    return f"{count} pairs do not decide; no number would, if the difference stayed what it is."


def _print(found: "Comparison", top: int) -> None:
    if found.differs:
        click.echo(f"NOT ON ONE SCALE: the second run has {found.differs}\n")
    _print_names(found)
    _print_metrics(found)
    _print_left_out(found)
    if found.of_headline is None:
        click.echo(f"\nNo sample has {printable(found.headline)} in both runs; --metric lists by another.")
        return
    count = found.of_headline.difference.n
    click.echo(f"\nWorse in the second run by {printable(found.headline)}: {len(found.worse)} of {count}")
    for change in found.worse[:top]:
        epoch = f" (epoch {change.epoch})" if any(one.epoch > 1 for one in found.worse) else ""
        values = f"{change.by:+.3f}  {change.first:.3f} → {change.second:.3f}"
        click.echo(f"  {values}  {printable(change.sample)}{epoch}")
    if len(found.worse) > top:
        click.echo(f"  … and {len(found.worse) - top} more (--top)")


def _print_names(found: "Comparison") -> None:
    from clinical_evals.registry.judges import remark

    first, second = found.first, found.second
    click.echo(printable(f"{first.view.task} on {first.view.dataset.name}"))
    for label, run in (("first: ", first), ("second:", second)):
        graded = f", {said}" if (said := remark(run.view)) else ""
        click.echo(printable(f"{label} {run.name}{graded}"))
    click.echo("Both are the same run.\n" if found.is_one_run else "")


def _print_metrics(found: "Comparison", only: Sequence[str] | None = None) -> None:
    shown = [one for one in found.metrics if only is None or one.metric in only]
    names = {one.metric: printable(one.metric) for one in shown}
    width = max([len(name) for name in names.values()] + [6]) + 2
    click.echo(
        f"{'metric':<{width}}{'first':>8}{'second':>8}{'difference [95%]':>28}{'p':>8}{'pairs':>7}"
        f"{'better':>8}{'worse':>7}{'equal':>7}"
    )
    for one in shown:
        gap = one.difference
        interval = "" if math.isnan(gap.lower) else f" [{gap.lower:+.3f}, {gap.upper:+.3f}]"
        p = "n/a" if math.isnan(gap.p) else f"{gap.p:.4f}" if gap.p >= 0.0001 else "<0.0001"
        cells = f"{_cell(one.first):>8}{_cell(one.second):>8}{_cell(gap.mean, '+') + interval:>28}{p:>8}"
        labels = "" if one.mcnemar is None else f"  McNemar p {one.mcnemar:.4f}"
        undefined = f"  ({one.undefined} not defined)" if one.undefined else ""
        same = gap.n - one.better - one.worse
        click.echo(
            f"{names[one.metric]:<{width}}{cells}{gap.n:>7}{one.better:>8}{one.worse:>7}{same:>7}"
            f"{labels}{undefined}"
        )


def _print_left_out(found: "Comparison") -> None:
    from clinical_evals.registry.compare import causes

    pairs = found.pairs
    for keys, where in ((pairs.only_first, "first"), (pairs.only_second, "second")):
        if keys:
            click.echo(f"Only in the {where} run: {len(keys)} ({_ids(keys)})")
    for run, where in ((found.first, "first"), (found.second, "second")):
        failed = ", ".join(f"{cause} {number}" for cause, number in run.view.failed.items())
        if failed:
            click.echo(printable(f"Failed in the {where} run, and counted by the task's rule: {failed}"))
    if pairs.unscored:
        listed = ", ".join(f"{cause} {number}" for cause, number in causes(pairs.unscored).items())
        named = _ids([key for key, _ in pairs.unscored])
        click.echo(f"Not scored: {len(pairs.unscored)} ({named}): {printable(listed)}")


def _ids(keys: "Sequence[Key]") -> str:
    names = list(dict.fromkeys(sample for sample, _ in keys))
    return ", ".join(map(printable, names[:_MOST_IDS])) + (", …" if len(names) > _MOST_IDS else "")


def _cell(value: float, sign: str = "") -> str:
    return "n/a" if math.isnan(value) else f"{value:{sign}.3f}"


def _as_json(found: "Comparison") -> dict[str, Any]:
    def run(results: "Results") -> dict[str, str]:
        view = results.view
        return {
            "name": results.name,
            "run_id": view.run_id,
            "eval_id": view.eval_id,
            "signature": view.signature,
        }

    result: dict[str, Any] = _finite(
        {
            "task": found.first.view.task,
            "first": run(found.first),
            "second": run(found.second),
            "differs": found.differs or None,
            "same_run": found.is_one_run,
            "headline": found.headline,
            "metrics": [
                {
                    "metric": one.metric,
                    "higher_is_better": one.facts.higher_is_better,
                    "first": one.first,
                    "second": one.second,
                    **asdict(one.difference),
                    "better": one.better,
                    "worse": one.worse,
                    "undefined": one.undefined,
                    "mcnemar_p": one.mcnemar,
                }
                for one in found.metrics
            ],
            "worse": [{**asdict(change), "by": change.by} for change in found.worse],
            "only_first": [list(key) for key in found.pairs.only_first],
            "only_second": [list(key) for key in found.pairs.only_second],
            "unscored": [
                {"sample": key[0], "epoch": key[1], "cause": why} for key, why in found.pairs.unscored
            ],
        }
    )
    return result


def _finite(value: Any) -> Any:
    """Write what is no finite number as null, which JSON has."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _errors() -> Iterator[None]:
    """Turn unusable input into one line and exit code 2."""
    try:
        yield
    except (InputError, ValueError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
