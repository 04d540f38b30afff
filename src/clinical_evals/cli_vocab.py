"""`clinical-evals vocab`: build a vocabulary, say what one holds, look something up in it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import duckdb

    from clinical_evals.ontology.athena import AthenaReport
    from clinical_evals.ontology.athena_files import RowCount
    from clinical_evals.ontology.lookup import Entry, Match

_LONGEST_QUERY = 2_000
_SHOWN = 10  # lines of one kind under a code; --json gives all

vocabulary_option = click.option(
    "--vocabulary",
    "--vocab",
    "vocab_path",
    type=click.Path(path_type=Path),
    help="A file that `vocab build` wrote. Default: the ICD-10-CM release that is built in.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def vocab() -> None:
    """Build a vocabulary, say what one holds, or look something up in it."""


@vocab.command()
@click.option(
    "--athena",
    "folder",
    type=click.Path(path_type=Path),
    help="The folder of an unpacked OHDSI Athena download. Default: build the embedded ICD-10-CM vocabulary.",
)
@click.option(
    "--map",
    "table",
    type=click.Path(path_type=Path),
    help="Instead of Athena: a table of codes and their OMOP concepts (source_code, target_concept_id).",
)
@click.option("--map-vocabulary", default="ICD10CM", show_default=True, help="The vocabulary of its codes.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file to write. Default: a file in the user's cache."
)
def build(folder: Path | None, table: Path | None, map_vocabulary: str, out: Path | None) -> None:
    """Build a vocabulary as a DuckDB file.

    Other commands take the file as --vocabulary. Vocabularies from Athena come under their own licences: the
    file is for your own use.
    """
    from clinical_evals.ontology import vocabulary

    if folder is not None and table is not None:
        raise click.UsageError("--athena and --map exclude each other")
    given = folder or table
    with unusable_input():
        target = out or (_place_for(given) if given else vocabulary.embedded_path())
        _refuse_foreign(out)
        if folder is not None:
            from clinical_evals.ontology.athena import build_from_athena

            with _progress() as watch:
                report = build_from_athena(folder, target, watch)
            click.echo(_lines_of(report))
        elif table is not None:
            from clinical_evals.ontology.code_map import build_from_map

            click.echo(_line_of(build_from_map(table, target, map_vocabulary)))
        else:
            vocabulary.build_embedded(target)
        with vocabulary.open_vocabulary(target) as con:
            about = vocabulary.read_about(con)
    click.echo(f"Release {about['release']}, from {about['source']}: {target}")


@vocab.command()
@vocabulary_option
@_json_option
def info(vocab_path: Path | None, as_json: bool) -> None:
    """Say which release a vocabulary is, where it lies and what it holds."""
    from clinical_evals.ontology import vocabulary

    with unusable_input(), vocabulary.open_vocabulary(vocab_path) as con:
        about = vocabulary.read_about(con)
        kinds = con.execute(
            "SELECT vocabulary, kind, count(*), count(*) FILTER (billable), count(*) FILTER (NOT valid) "
            "FROM concept GROUP BY ALL ORDER BY vocabulary, count(*) DESC, kind"
        ).fetchall()
        tables = {name: _rows(con, name) for name in ("concept", "is_a", "term", "relation")}
    place = vocab_path or vocabulary.embedded_path()
    if as_json:
        held = [
            dict(zip(("vocabulary", "kind", "concepts", "billable", "deprecated"), row, strict=True))
            for row in kinds
        ]
        facts = {key: _from_json(value) for key, value in about.items()}
        click.echo(
            json.dumps({"file": str(place), "about": facts, "rows": tables, "concepts": held}, indent=2)
        )
        return
    click.echo(f"{place} ({place.stat().st_size / 1e6:.1f} MB)")
    for key in ("release", "source"):
        click.echo(f"{key}: {about[key]}")
    click.echo(f"rows: {', '.join(f'{name} {number:,}' for name, number in tables.items())}")
    click.echo(f"\n{'vocabulary':<20} {'kind':<28} {'concepts':>10} {'billable':>10} {'deprecated':>10}")
    for name, kind, *numbers in kinds:
        click.echo(f"{name:<20} {kind:<28} {' '.join(f'{number:>10,}' for number in numbers)}")


@vocab.command()
@click.argument("text", nargs=-1, required=True)
@vocabulary_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="At most so many names.")
@_json_option
def lookup(text: tuple[str, ...], vocab_path: Path | None, limit: int, as_json: bool) -> None:
    """Look up a code, in any spelling (E11.21, e1121, E11.-), or search names and inclusion terms.

    Exit code 1 if nothing was found.
    """
    from clinical_evals.ontology import vocabulary
    from clinical_evals.ontology.codes import read_code
    from clinical_evals.ontology.lookup import find_code, search_names

    query = " ".join(text)
    with unusable_input(), vocabulary.open_vocabulary(vocab_path) as con:
        check_query(query)
        release = vocabulary.read_about(con)["release"]
        entries = find_code(con, query)
        matches = [] if entries else search_names(con, query, limit)
    if as_json:
        found = [_entry_json(entry) for entry in entries] or [
            asdict(match.concept) | {"matched": match.text} for match in matches
        ]
        click.echo(
            json.dumps({"release": release, "by": "code" if entries else "name", "found": found}, indent=2)
        )
    else:
        click.echo(
            "\n\n".join(map(_entry_text, entries)) or _matches_text(matches) or "",
            nl=bool(entries or matches),
        )
    if not entries and not matches:
        code = read_code(query)
        what = f"{code} is no code" if code else "no code and no name with all of these words"
        click.echo(f"Not found: {what} of release {release}", err=True)
        raise SystemExit(1)


@contextmanager
def unusable_input() -> Iterator[None]:
    """Turn unusable input into one line and exit code 2."""
    from clinical_evals.files import InputError
    from clinical_evals.ontology.codes import shown

    try:
        yield
    except (InputError, ValueError) as error:
        line = str(error)
    except OSError as error:  # a name that no file can have
        if error.filename is None:
            raise
        line = f"{shown(str(error.filename))}: {error.strerror}"
    else:
        return
    click.echo(f"Error: {line}", err=True)
    raise SystemExit(2)


def check_query(text: str) -> None:
    """Refuse a text that is no name of anything: blank, very long, or no text at all.

    Raises:
        InputError: If it is.
    """
    from clinical_evals.files import InputError

    if not text.strip() or len(text) > _LONGEST_QUERY:
        raise InputError(f"the text to search for must have 1 to {_LONGEST_QUERY:,} characters")
    if text.encode("utf-8", "ignore").decode("utf-8") != text:
        raise InputError("the text to search for is not UTF-8")


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def watch(name: str, percentage: float) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=100.0)
            bar.update(tasks[name], completed=percentage)

        yield watch


def _refuse_foreign(out: Path | None) -> None:
    """Keep a slip of the hand from replacing a file that is no vocabulary."""
    if out is not None and out.exists():
        from clinical_evals.ontology.vocabulary import VocabularyError, open_vocabulary

        try:
            open_vocabulary(out).close()
        except VocabularyError:
            raise VocabularyError(
                f"{out}: is there already and is no vocabulary; name another file"
            ) from None


def _lines_of(report: "AthenaReport") -> str:
    vocabularies = ", ".join(f"{name} {number:,}" for name, number in report.vocabularies.items())
    lines = [
        f"{report.concepts:,} concepts ({report.deprecated:,} deprecated): {vocabularies}",
        f"{report.edges:,} is-a edges, {report.relations:,} mappings, {report.synonyms:,} further names",
    ]
    return "\n".join([*lines, *map(_line_of, report.files)])


def _line_of(count: "RowCount") -> str:
    reasons = "; ".join(f"{number:,} {reason}" for reason, number in count.left_out.items()) or "none"
    return f"{count.name}: {count.rows:,} rows; left out: {reasons}"


def _place_for(given: Path) -> Path:
    from clinical_evals.ontology.vocabulary import cache_folder

    slug = re.sub(r"\W+", "-", given.resolve().stem).strip("-") or "download"
    return cache_folder() / f"athena-{slug}.duckdb"


def _entry_text(entry: "Entry") -> str:
    concept = entry.concept
    marks = [f"{concept.vocabulary} {concept.kind}"]
    marks += ["billable"] * concept.billable + ["deprecated"] * (not concept.valid)
    lines = [f"{concept.code}  {concept.name}", f"  {', '.join(marks)}"]
    groups = {"above": [f"{code}  {name}" for code, name in entry.above]} | dict(entry.terms)
    groups["below"] = [f"{code}  {name}" for code, name in entry.below]
    for heading, rows in groups.items():
        for place, row in enumerate(rows[:_SHOWN]):
            lines.append(f"  {heading if not place else '':<10} {row}")
        if len(rows) > _SHOWN:
            lines.append(f"  {'':<10} and {len(rows) - _SHOWN} more")
    return "\n".join(lines)


def _matches_text(matches: "list[Match]") -> str:
    lines = []
    for match in matches:
        concept = match.concept
        other = "" if match.text == concept.name else f"  ({match.text})"
        kind = "" if concept.valid else "  [deprecated]"
        lines.append(f"{concept.code:<10} {concept.name}{other}{kind}")
    return "\n".join(lines)


def _entry_json(entry: "Entry") -> dict[str, object]:
    around = {
        name: [{"code": code, "name": text} for code, text in rows]
        for name, rows in (("above", entry.above), ("below", entry.below))
    }
    return asdict(entry.concept) | around | {"terms": entry.terms}


def _rows(con: "duckdb.DuckDBPyConnection", table: str) -> int:
    found = con.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(found[0]) if found else 0


def _from_json(value: str) -> object:
    return json.loads(value) if value[:1] in "[{" else value
