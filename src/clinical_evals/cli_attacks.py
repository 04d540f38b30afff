"""`clinical-evals attacks`: what each trick is worth under either score."""

import json

import click

_BUNDLED = "bundled"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table, as in the README.")
@click.option(
    "--summaries",
    is_flag=True,
    help="Attack the figures of summaries instead, on the bundled dialogues; a Markdown table.",
)
@click.option(
    "--dataset", default=_BUNDLED, help="Other annotated notes: a JSONL file as datasets/notes/notes.jsonl."
)
def attacks(as_json: bool, markdown: bool, summaries: bool, dataset: str) -> None:
    """Run every attack on annotated notes, beside the honest runs.

    Attacking graders are set beside an honest grader of the same claims, attacking extractors beside an
    honest extraction. Exit code 1 if any attack raised the strict score or the grounded F1.
    """
    if as_json and markdown:
        raise click.UsageError("--json and --markdown exclude each other")
    if summaries:
        if dataset != _BUNDLED:
            raise click.UsageError("--dataset names notes; --summaries attacks the bundled dialogues")
        raise SystemExit(_attack_summaries(as_json))
    from clinical_evals.files import InputError
    from clinical_evals.grounding.attacks import audit_rules, run_attacks
    from clinical_evals.notes import load_notes

    try:
        notes = [record for record in load_notes(dataset).records if record.gold]
        if not notes:
            raise InputError(f"{dataset}: no note has gold annotations")
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    rows, audit = run_attacks(notes), audit_rules(notes)
    if as_json:
        click.echo(json.dumps({"runs": [row._asdict() for row in rows], "rules": audit._asdict()}, indent=2))
    elif markdown:
        click.echo("| run | what it does | published | strict | grounded F1 |\n|---|---|---:|---:|---:|")
        for row in rows:
            figures = f"{row.published:.3f} | {row.strict:.3f} | {row.grounded_f1:.3f}"
            click.echo(f"| `{row.name}` | {row.what} | {figures} |")
    else:
        click.echo(f"{'run':<20} {'published':>9} {'strict':>7} {'F1':>7}  what it does")
        for row in rows:
            mark = "  RAISED" if row.raised else ""
            figures = f"{row.published:>9.3f} {row.strict:>7.3f} {row.grounded_f1:>7.3f}"
            click.echo(f"{row.name:<20} {figures}  {row.what}{mark}")
    if not as_json:
        click.echo(
            f"\nTrue claims lowered: {audit.lowered} of {audit.true_claims}. "
            f"Lures let through: {audit.passed} of {audit.lures}."
        )
    raise SystemExit(any(row.raised for row in rows))


def _attack_summaries(as_json: bool) -> bool:
    """Print the mean figures of each attack; tell whether one of them won any."""
    from clinical_evals.dialogues import load_dialogues
    from clinical_evals.summary.attacks import FIGURES, HONEST, attack_table, bundled_cases, markdown_table

    table = attack_table(bundled_cases(load_dialogues().records))
    click.echo(json.dumps(table, indent=2) if as_json else markdown_table(table), nl=as_json)
    return any(row[figure] > table[HONEST][figure] for row in table.values() for figure in FIGURES)
