"""`clinical-evals verify`: a run counted again from the numbers of its samples."""

import json
from dataclasses import asdict

import click

from clinical_evals.cli_registry import open_registry
from clinical_evals.files import InputError, printable

_MOST_SHOWN = 20


@click.command()
@click.argument("run")
@click.option("--task", help="Which task is meant, where a model has runs of several.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(run: str, task: str | None, as_json: bool) -> None:
    """Rebuild every figure of RUN from its samples' counts, and fail if one is not what it should be.

    RUN is an MLflow or Inspect id, a model, MODEL@TASK, or an Inspect log (of which only the samples' values
    are checked). Exit codes: 0 all right, 1 a number is wrong, 2 unusable input.
    """
    from clinical_evals.registry.resolve import Resolver
    from clinical_evals.registry.verify import recount

    try:
        found = Resolver(open_registry).resolve(run, task)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    result = recount(found.rows, found.view.facts, found.view.epochs, found.view.stored)
    if as_json:
        click.echo(json.dumps({"run": found.name, **asdict(result)}, indent=2, ensure_ascii=False))
    else:
        click.echo(printable(f"{found.view.task}: {found.name}, {len(found.rows)} rows"))
        for one in result.mismatches[:_MOST_SHOWN]:
            where = printable(f"{one.where}: {one.name}")
            click.echo(f"WRONG {where} is {_shown(one.stored)}, counted {_shown(one.recounted)}")
        if len(result.mismatches) > _MOST_SHOWN:
            click.echo(f"… and {len(result.mismatches) - _MOST_SHOWN} more (--json)")
        click.echo(
            f"{result.values} sample values from counts, {result.aggregates} aggregates from sample values: "
            f"{f'{len(result.mismatches)} wrong' if result.mismatches else 'all right'}"
        )
        if result.without_formula:
            names = ", ".join(map(printable, result.without_formula))
            click.echo(f"Without a formula, so taken as they are: {names}")
    if result.mismatches:
        raise SystemExit(1)


def _shown(value: float | None) -> str:
    return "missing" if value is None else f"{value:.6g}"
