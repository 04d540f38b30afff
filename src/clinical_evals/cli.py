"""The command `clinical-evals`. Each subcommand is imported when it is used, so that `--help` is quick."""

import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

_COMMANDS = {
    "attacks": ("clinical_evals.cli_attacks:attacks", "Show what each attack gains under either score."),
    "benchmark": (
        "clinical_evals.cli_retrieve:benchmark",
        "Score retrieval methods against curated code sets.",
    ),
    "codes": ("clinical_evals.cli_codes:codes", "Score one list of ICD-10-CM codes against another."),
    "compare": ("clinical_evals.cli_compare:compare", "Compare two runs sample by sample."),
    "gate": ("clinical_evals.cli_compare:gate", "Test that one run is not worse than another by a margin."),
    "ground": ("clinical_evals.cli_ground:ground", "Score how well an extraction is grounded in one note."),
    "import": (
        "clinical_evals.cli_registry:import_",
        "Bring spooled results and .eval logs into the registry.",
    ),
    "leaderboard": ("clinical_evals.cli_leaderboard:leaderboard", "Rank the runs in the registry."),
    "record": ("clinical_evals.cli_record:record", "Turn the log of a run into a replay fixture."),
    "report": ("clinical_evals.cli_report:report", "Write results as one HTML file."),
    "retrieve": (
        "clinical_evals.cli_retrieve:retrieve",
        "Find the ICD-10-CM codes for the name of a population.",
    ),
    "rubric": ("clinical_evals.cli_rubric:rubric", "Grade one summary of one dialogue."),
    "ui": ("clinical_evals.cli_registry:ui", "Open the registry in the MLflow UI on 127.0.0.1."),
    "verify": ("clinical_evals.cli_verify:verify", "Count a run again from its samples' counts."),
    "vocab": ("clinical_evals.cli_vocab:vocab", "Build, describe or search a vocabulary."),
}

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
_READER_GONE = 141
"""What a shell reports of a program whose reader has gone."""


class _LazyGroup(click.Group):
    """A group that knows its commands' one-line help without importing them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _output():  # of `--help`
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _output():  # before click sees it, which ends with 1 if the reader has gone
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}:{name} is no click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="clinical-evals", prog_name="clinical-evals")
def cli() -> None:
    """Evaluate clinical language models with numbers that are computed in code.

    Exit codes: 0 done, 1 the thing asked found a failure, 2 unusable input.
    """


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Notes hold characters that some terminals cannot show; a report is still worth having.
            stream.reconfigure(errors="backslashreplace")
    try:
        with _output():
            cli()
    except SystemExit as ended:
        _end(ended.code)


def _end(code: "str | int | None") -> NoReturn:
    """End with a code once everything is written out."""
    with _output():
        if sys.stdout is not None:  # `>&-`
            sys.stdout.flush()
    raise SystemExit(code)


@contextmanager
def _output() -> Iterator[None]:
    """End the program where its output cannot be written; errors of a named file are somebody else's."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTPUT_FAULTS or error.filename is not None:
            raise
        _complain(error)


def _complain(error: OSError) -> NoReturn:
    """Say that the output cannot be written; a reader that has gone, such as `| head`, is no fault."""
    if sys.stdout is not None:  # Python would try again at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == errno.EPIPE:
        raise SystemExit(_READER_GONE)
    with suppress(OSError):
        click.echo(f"Error: cannot write the output ({error.strerror})", err=True)
    raise SystemExit(1)
