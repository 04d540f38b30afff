"""`clinical-evals attacks`: what each trick is worth under either score."""

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table, as in the README.")
@click.option(
    "--dataset", default="bundled", help="Other annotated notes: a JSONL file as datasets/notes/notes.jsonl."
)
def attacks(as_json: bool, markdown: bool, dataset: str) -> None:
    """Run every attack on annotated notes, beside the honest runs.

    Attacking graders are set beside an honest grader of the same claims, attacking extractors beside an
    honest extraction. Exit code 1 if any attack raised the strict score or the grounded F1.
    """
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
