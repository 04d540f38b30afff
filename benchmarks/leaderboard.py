"""What the leaderboard costs: 1,000 runs of 1,000 samples in one local registry.

One run is sent as every result is. The others are copies of its rows in the database with values of their
own, each with a table of samples of its own, for to send a thousand would take long. Timed is the whole
command, a new process from start to end: first with an empty cache, then again. Beside it stands what the
search of MLflow itself takes for the same runs. Run: python benchmarks/leaderboard.py
"""

import argparse
import hashlib
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clinical_evals.registry.location import locate
from clinical_evals.registry.record import DatasetFacts, MetricFacts, RunRecord, SampleRow
from clinical_evals.registry.store import connect, send

METRICS = [f"{kind}_{name}" for kind in ("note", "problem", "medication", "plan") for name in ("a", "b", "c")]
HEADLINE = METRICS[0]
TARGET = 2.0
_BEGAN = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
_TABLES = ("runs", "tags", "latest_metrics", "metrics", "params")


def first_record(samples: int) -> RunRecord:
    """Build a result with as many metrics and counts as the suite's tasks have; two samples are a family."""
    generator = np.random.default_rng(0)
    rows = [
        SampleRow(
            sample=f"s{index:05}",
            epoch=1,
            family=f"f{index // 2}",
            status="scored",
            values=dict(zip(METRICS, generator.random(len(METRICS)).tolist(), strict=True)),
            counts=dict.fromkeys(METRICS, 3),
        )
        for index in range(samples)
    ]
    return RunRecord(
        eval_id="eval-0000",
        task="trivial",
        model="vendor/model-0000",
        grader="vendor/model-0000",
        arguments="0",
        status="success",
        created=_BEGAN.isoformat(),
        completed=_BEGAN.isoformat(),
        signature="trivial v=1",
        headline=HEADLINE,
        dataset=DatasetFacts(
            name="trivial", version="1", digest="sha256:0", samples=samples, access="synthetic"
        ),
        metrics={name: MetricFacts(range=(0, 1)) for name in METRICS},
        epochs=1,
        params={"seed": "1"},
        tags={},
        totals={},
        kept_for="mlruns",
        rows=rows,
    )


def build(folder: Path, runs: int, samples: int, models: int) -> None:
    """Fill the registry of a folder.

    Args:
        folder: Where its `mlruns` shall be.
        runs: Number of runs.
        samples: Samples of each.
        models: Number of models that the runs are of, in turns.
    """
    location = locate(folder, {})
    client = connect(location)
    send(first_record(samples), client, location)
    assert location.database is not None
    database = sqlite3.connect(location.database)
    (first, uri), *_ = database.execute("SELECT run_uuid, artifact_uri FROM runs").fetchall()
    table = pq.read_table(Path(uri.removeprefix("file://")) / "samples.parquet")
    kept = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}
    columns = {
        name: [column[1] for column in database.execute(f"PRAGMA table_info({name})")] for name in kept
    }
    generator = np.random.default_rng(1)
    ability = generator.normal(0.6, 0.06, models)
    difficulty = generator.normal(0, 0.15, samples)
    for number in range(1, runs):
        run_id = hashlib.md5(str(number).encode()).hexdigest()
        model = number % models
        values = {
            name: np.clip(ability[model] + difficulty + generator.normal(0, 0.15, samples), 0, 1)
            for name in METRICS
        }
        place = Path(uri.removeprefix("file://").replace(first, run_id))
        place.mkdir(parents=True)
        own = table
        for name, column in values.items():
            own = own.set_column(own.column_names.index(f"value.{name}"), f"value.{name}", pa.array(column))
        pq.write_table(own, place / "samples.parquet", compression="zstd")
        when = (_BEGAN + timedelta(hours=number)).isoformat()
        tags = {"eval_id": f"eval-{number:04}", "model": f"vendor/model-{model:04}", "created": when}
        tags["grader"] = tags["model"]
        figures: dict[str, float] = {}
        for name, column in values.items():
            middle, reach = float(column.mean()), 1.96 * float(column.std()) / samples**0.5
            figures |= {name: middle, f"{name}_lower": middle - reach, f"{name}_upper": middle + reach}
        for name, rows in kept.items():
            marks = ", ".join("?" * len(columns[name]))
            own_rows = [
                _own(dict(zip(columns[name], row, strict=True)), run_id, first, tags, figures) for row in rows
            ]
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", own_rows)
    database.commit()
    database.close()


def _own(
    row: dict[str, object], run_id: str, first: str, tags: dict[str, str], figures: dict[str, float]
) -> list[object]:
    """Turn a row of the first run into that of another."""
    row["run_uuid"] = run_id
    if "artifact_uri" in row:
        row["artifact_uri"] = str(row["artifact_uri"]).replace(first, run_id)
    if "key" in row:
        key = str(row["key"])
        row["value"] = tags.get(key, figures.get(key, row["value"]))
    return list(row.values())


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that a process took: by the clock, and of processors, which other work does not lengthen."""

    clock: float
    processors: float


def run(folder: Path, cache: Path, *command: str) -> Cost:
    """Run a command in a folder, as a process of its own."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "XDG_"))
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment | {"XDG_CACHE_HOME": str(cache)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(round(clock, 2), round(used, 2))


_COMMAND = ("-c", "from clinical_evals.cli import main; main()", "leaderboard")
_SEARCH = (
    "-c",
    "from clinical_evals.registry.location import locate\n"
    "from clinical_evals.registry.runs import read_runs\n"
    "from clinical_evals.registry.store import connect\n"
    "read_runs(connect(locate()))",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--models", type=int, default=1000, help="How many models the runs are of.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name) / "registry", Path(name) / "cache"
        folder.mkdir()
        build(folder, options.runs, options.samples, options.models)
        search = run(folder, cache, *_SEARCH)
        cold = run(folder, cache, *_COMMAND)
        warm = [run(folder, cache, *_COMMAND) for _ in range(options.repeats)]
    median = statistics.median(cost.clock for cost in warm)
    result = {
        "runs": options.runs,
        "samples": options.samples,
        "models": options.models,
        "mlflow_search_seconds": search.clock,
        "mlflow_search_processor_seconds": search.processors,
        "cold_seconds": cold.clock,
        "cold_processor_seconds": cold.processors,
        "warm_seconds": [cost.clock for cost in warm],
        "warm_processor_seconds": [cost.processors for cost in warm],
        "warm_seconds_median": median,
        "target": TARGET,
        "warm_as_share_of_mlflow_search": round(median / search.clock, 3),
    }
    if options.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:>32}  {value}")


if __name__ == "__main__":
    main()
