"""`clinical-evals record`: the log of a run becomes a replay fixture."""

from pathlib import Path

import click

from clinical_evals.files import InputError


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A .jsonl file, or a folder, which gets one TASK.jsonl a task. Default: recordings/LOG.",
)
def record(log: Path, out: Path | None) -> None:
    """Turn LOG, the .eval log of a run, into a fixture for --model replay/PATH.

    The fixture holds what the models wrote, quotes from the notes included: keep it where the notes may be.
    """
    from clinical_evals.record import record_log

    out = out or Path("recordings") / log.stem
    try:
        written = record_log(log, out)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    for path, recording in written:
        models = ", ".join(sorted(recording.models))
        click.echo(f"{path}: {len(recording.rows)} answers of {models} to task {recording.task}")
        if recording.failed:
            click.echo(f"{path}: {recording.failed} calls without an answer are left out", err=True)
    click.echo(f"Replay with --model replay/{out if out.is_absolute() else f'./{out}'}")
    click.echo(
        "The fixture holds model answers with quotes from the notes; treat it as you treat them.", err=True
    )
