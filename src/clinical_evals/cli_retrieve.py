"""`clinical-evals retrieve` and `benchmark`: codes for a name, and how well each method finds them."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clinical_evals.cli_vocab import check_query, unusable_input, vocabulary_option
from clinical_evals.files import InputError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.benchmark import SweepPoint
    from clinical_evals.ontology.cohorts import Cohort
    from clinical_evals.ontology.dense import DenseRetriever, Progress
    from clinical_evals.ontology.models import BenchmarkReport

_RETRIEVE_METHODS = ("best", "bm25", "bm25_descendants", "dense", "hybrid")
_NEED_DENSE = ("dense", "hybrid")
_BENCHMARK_METHODS = ("bm25", "dense", "hybrid", "bm25_descendants", "expand_descendants", "best")
_DEFAULT_K = 25
_MOST_REASONS_SHOWN = 3
_MOST_ROWS_SHOWN = 60  # cohorts, in the table for people; JSON holds all

_dense_weight = click.option(
    "--dense-weight",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="The dense ranking's share in `hybrid`.",
)
_model = click.option(
    "--model", help="Name or folder of a sentence-transformers model. Default: the one of the extra [dense]."
)


@click.command()
@click.argument("text")
@click.option(
    "--method", type=click.Choice(_RETRIEVE_METHODS), default="best", show_default=True, help="How to search."
)
@click.option(
    "--k",
    type=click.IntRange(min=1),
    help=f"Number of codes. Default: {_DEFAULT_K}; `best` decides how many belong, and this only caps it.",
)
@_dense_weight
@_model
@vocabulary_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of code, name and score.")
def retrieve(
    text: str,
    method: str,
    k: int | None,
    dense_weight: float,
    model: str | None,
    vocab_path: Path | None,
    as_json: bool,
) -> None:
    """Find the ICD-10-CM codes for the name of a population, such as "chronic kidney disease".

    The methods but `best` give K codes, best first. With `bm25_descendants` each brings all codes below it.
    Scores compare within one answer only. `dense` needs the extra [dense]; `hybrid` is BM25 without it.
    """
    from clinical_evals.ontology.retrieval import build_retrievers
    from clinical_evals.ontology.vocabulary import open_vocabulary

    with unusable_input(), open_vocabulary(vocab_path) as con:
        check_query(text)
        dense = _load_dense(con, model, required=method == "dense") if method in _NEED_DENSE else None
        retriever = build_retrievers(con, dense, dense_weight=dense_weight)[method]
        most = _count_codes(con) if method == "best" else _DEFAULT_K
        hits = retriever.search(text, k or most)
    if as_json:
        rows = [{"code": hit.code, "name": hit.name, "score": hit.score} for hit in hits]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for hit in hits:
        click.echo(f"{hit.code:<9} {hit.score:>8.4f}  {hit.name}")
    click.echo(f"{len(hits)} code(s)", err=True)


@click.command()
@click.option(
    "--cohorts",
    "source",
    default="bundled",
    show_default=True,
    help="`bundled`, `ccsr`, one half of it (`ccsr-kept-back`, `ccsr-tuning`), a file or a folder.",
)
@click.option(
    "--methods",
    multiple=True,
    help=f"Some of: {', '.join(_BENCHMARK_METHODS)}; once for each or with commas. Default: all.",
)
@click.option(
    "--k", type=click.IntRange(min=1), default=_DEFAULT_K, show_default=True, help="Number of codes."
)
@_dense_weight
@_model
@click.option(
    "--sweep", is_flag=True, help="Instead, score BM25 and hybrid over several k and dense weights."
)
@vocabulary_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all codes.")
def benchmark(
    source: str,
    methods: Sequence[str],
    k: int,
    dense_weight: float,
    model: str | None,
    sweep: bool,
    vocab_path: Path | None,
    as_json: bool,
) -> None:
    """Score retrieval methods against curated code sets, each by the cohort's name as the query.

    Prints the mean of each score over the cohorts with its 95% interval, and the hierarchical score of every
    cohort. `expand_descendants` starts from the truth's own shortest code. A method whose index is missing is
    skipped, and the run says so.

    \b
    Cohorts of your own, as in --cohorts lists.csv --methods best,bm25:
      .csv, .tsv  one row a code, with columns for condition and code, such as
                    condition,code
                    Heart failure,I50.9
      .json       a Circe cohort definition of OHDSI
      .jsonl      value sets, one a line, such as
                    {"cohort_id": "1", "name": "Heart failure", "include": ["I50"], "exclude": []}
      a folder    with value_sets.jsonl, else its .json files, else its tables
    """
    from clinical_evals.ontology.benchmark import (
        benchmark_cohorts,
        check_methods,
        load_benchmark_cohorts,
    )
    from clinical_evals.ontology.benchmark import sweep as run_sweep
    from clinical_evals.ontology.vocabulary import open_vocabulary

    chosen = [name.strip() for part in methods for name in part.split(",") if name.strip()]
    chosen = chosen or list(_BENCHMARK_METHODS)
    with unusable_input(), open_vocabulary(vocab_path) as con:
        check_methods(chosen)
        cohorts = _resolvable(load_benchmark_cohorts(con, source), source)
        needs_dense = sweep or any(method in _NEED_DENSE for method in chosen)
        dense = _load_dense(con, model, required=set(chosen) == {"dense"}) if needs_dense else None
        if sweep:
            points = run_sweep(con, cohorts, dense)
        else:
            with _progress("Scoring cohorts") as progress:
                report = benchmark_cohorts(con, cohorts, chosen, dense, k, dense_weight, progress)
    if sweep:
        _print_sweep(points, as_json)
    elif as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        _print_report(report)


def _resolvable(cohorts: "Sequence[Cohort]", source: str) -> "list[Cohort]":
    """Leave out the cohorts without any code of the release, as the task does; say what was left out."""
    reasons = Counter(dropped.reason for cohort in cohorts for dropped in cohort.dropped)
    if reasons:
        common = reasons.most_common(_MOST_REASONS_SHOWN)
        listed = [f"{reason} ({count:,})" for reason, count in common]
        if further := reasons.total() - sum(count for _, count in common):
            listed.append(f"others ({further:,})")
        click.echo(f"Note: entries that gave no code: {'; '.join(listed)}.", err=True)
    kept = [cohort for cohort in cohorts if cohort.resolvable]
    if not kept:
        raise InputError(f"{source}: holds no cohort with a code of this release")
    if len(kept) < len(cohorts):
        lost = f"{len(cohorts) - len(kept)} of {len(cohorts)} cohorts"
        click.echo(f"Note: {lost} hold no code of this release and are left out.", err=True)
    return kept


def _print_report(report: "BenchmarkReport") -> None:
    """Print the means with their intervals, then every cohort."""
    from clinical_evals.ontology.benchmark import SCORES

    means = {
        "coverage": report.mean_coverage_by_method,
        "over_inclusion_penalty": report.mean_over_inclusion_by_method,
        "hierarchical_score": report.mean_hierarchical_score_by_method,
        "strict_set_score": report.mean_strict_set_score_by_method,
        "hierarchical_f": report.mean_hierarchical_f_by_method,
    }
    titles = ("coverage", "over-inclusion", "hierarchical", "strict set", "hierarchical F")
    cohorts = list(dict.fromkeys((result.cohort_id, result.cohort_name) for result in report.results))
    methods = list(report.intervals_by_method)
    click.echo(f"{_counted(len(cohorts))}; mean and 95% interval\n")
    click.echo(f"{'method':<19}" + "".join(f"{title:>22}" for title in titles))
    for method in methods:
        cells = []
        for score in SCORES:
            mean, interval = means[score].get(method), report.intervals_by_method[method][score]
            if mean is None:
                cells.append("undefined")
            elif interval.lower is None or interval.upper is None:
                cells.append(f"{mean:.3f}")
            else:
                cells.append(f"{mean:.3f} [{interval.lower:.3f}, {interval.upper:.3f}]")
        click.echo(f"{method:<19}" + "".join(f"{cell:>22}" for cell in cells))
    silent = Counter(result.method for result in report.results if not result.predicted_codes)
    for method, count in silent.items():
        click.echo(
            f"\n{method} found nothing for {_counted(count)}: over-inclusion is 0 there, as published. "
            "The task `retrieval` leaves it out of that mean."
        )
    scores = {(result.cohort_id, result.method): result for result in report.results}
    width = max(len(method) for method in methods) + 2 if methods else 0
    click.echo(
        f"\n{'hierarchical score by cohort':<52}{'codes':>6}" + "".join(f"{m:>{width}}" for m in methods)
    )
    for cohort_id, name in cohorts[:_MOST_ROWS_SHOWN]:
        found = [scores.get((cohort_id, method)) for method in methods]
        size = next(len(result.ground_truth_codes) for result in found if result is not None)
        cells = ["" if result is None else f"{result.hierarchical_score:.3f}" for result in found]
        label = cohort_id if cohort_id == name else f"{cohort_id} {name}"
        label = label if len(label) <= 50 else f"{label[:49]}…"
        click.echo(f"{label:<52}{size:>6}" + "".join(f"{cell:>{width}}" for cell in cells))
    if len(cohorts) > _MOST_ROWS_SHOWN:
        click.echo(f"… and {len(cohorts) - _MOST_ROWS_SHOWN} more; --json lists all")


def _print_sweep(points: "Sequence[SweepPoint]", as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([point._asdict() for point in points], indent=2))
        return
    click.echo(f"{_counted(points[0].cohorts)}\n")
    click.echo(
        f"{'method':<8}{'k':>5}{'dense weight':>14}{'coverage':>10}{'over-inclusion':>16}{'hierarchical':>14}"
        f"{'strict set':>12}"
    )
    for point in points:
        weight = "" if point.dense_weight is None else f"{point.dense_weight:.2f}"
        click.echo(
            f"{point.method:<8}{point.k:>5}{weight:>14}{point.coverage:>10.3f}"
            f"{point.over_inclusion_penalty:>16.3f}{point.hierarchical_score:>14.3f}"
            f"{point.strict_set_score:>12.3f}"
        )


def _counted(cohorts: int) -> str:
    return "1 cohort" if cohorts == 1 else f"{cohorts} cohorts"


def _load_dense(
    con: "DuckDBPyConnection", model: str | None, *, required: bool = False
) -> "DenseRetriever | None":
    """Load the dense retriever; without the extra, say so and go on, unless nothing else was asked for."""
    from clinical_evals.ontology.dense import BUNDLED_MODEL, DenseRetriever, DenseUnavailable, load_encoder

    try:
        encoder, name = load_encoder(model or BUNDLED_MODEL)
    except DenseUnavailable as error:
        if required or model is not None:
            raise
        click.echo(f"Note: {error}. `dense` is skipped, and `hybrid` is BM25.", err=True)
        return None
    with _progress("Embedding the names, once") as progress:
        return DenseRetriever.over(con, encoder, name, progress=progress)


def _count_codes(con: "DuckDBPyConnection") -> int:
    found = con.execute("SELECT count(*) FROM concept").fetchone()
    return max(int(found[0]), 1) if found else 1


@contextmanager
def _progress(title: str) -> "Iterator[Progress]":
    """Show a bar on standard error if that is a terminal, from the first report of progress on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
