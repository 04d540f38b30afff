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
@click.option("--model", help="Only the answers of this model.")
def record(log: Path, out: Path | None, model: str | None) -> None:
    """Turn LOG, the .eval log of a run, into a fixture for --model replay/PATH.

    Where several models answered the same calls, as the judges of a panel do, each gets a folder of its own
    within the folder. The fixture holds what the models wrote, quotes from the notes included: keep it where
    the notes may be.
    """
    from clinical_evals.record import record_log

    out = out or Path("recordings") / log.stem
    try:
        written = record_log(log, out, model)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    for path, recording in written:
        models = ", ".join(sorted(recording.models))
        click.echo(f"{path}: {len(recording.rows)} answers of {models} to task {recording.task}")
        if recording.failed:
            click.echo(f"{path}: {recording.failed} calls without an answer are left out", err=True)
        if recording.repeated:
            click.echo(
                f"{path}: {recording.repeated} calls were answered again by the same model; the last answer "
                "is kept, so a panel that holds a model twice cannot be replayed as it was",
                err=True,
            )
    for asked in dict.fromkeys(asked for _, recording in written for asked in recording.silent):
        click.echo(f"{asked} answered no call, so it has no fixture", err=True)
    apart = {recording.asked: path.parent for path, recording in written if recording.asked}
    for asked, folder in apart.items():
        click.echo(f"In the place of {asked} replay {_replayed(folder)}")
    if not apart:
        click.echo(f"Replay with --model {_replayed(out)}")
    click.echo(
        "The fixture holds model answers with quotes from the notes; treat it as you treat them.", err=True
    )


def _replayed(path: Path) -> str:
    return f"replay/{path if path.is_absolute() else f'./{path}'}"
