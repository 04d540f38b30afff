"""Values of samples by run, read from the runs' tables with DuckDB and kept by the digest of each table.

Kept are ids and numbers only, in the user's cache; whoever deletes it loses nothing but time.
"""

import hashlib
import json
import math
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from clinical_evals.registry.runs import RunView

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_TABLE = "samples.parquet"
_FORMAT = "scores-1.db"
_LARGEST = 2_000_000_000
_PER_QUERY = 250
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS samples (digest TEXT PRIMARY KEY, ids TEXT NOT NULL, families TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS scores (
        artifact TEXT, metric TEXT, samples TEXT NOT NULL, numbers BLOB NOT NULL,
        PRIMARY KEY (artifact, metric)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS found (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class SampleScores:
    """One metric of one run.

    Attributes:
        samples: Ids; runs over the same samples share one list.
        families: The family of each.
        values: Mean over a sample's epochs; NaN where it is undefined or unscored.
        artifact: Digest of the table that it was read from.
    """

    samples: Sequence[str]
    families: Sequence[str]
    values: NDArray[np.float64]
    artifact: str = ""


class ScoreCache:
    """Reads values of samples, each table once.

    Args:
        registry: The registry's name; tables that had to be downloaded are kept under it.
        client: Opens the registry; called only if a table must be downloaded.
        folder: Where to keep what was read. Default: the user's cache.
    """

    def __init__(
        self, registry: str, client: "Callable[[], MlflowClient]", folder: Path | None = None
    ) -> None:
        self._registry = registry
        self._client = client
        self._folder = folder or default_folder()
        self._sets: dict[str, _SampleSet] = {}
        self._database: sqlite3.Connection | None = None
        with suppress(OSError, sqlite3.Error):  # without it everything is read again
            self._database = _open(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._database is not None:
            self._database.close()

    def read(self, runs: Sequence[RunView], metric: str) -> dict[str, SampleScores]:
        """Read a metric's values by run id; a run whose table cannot be read is left out.

        Args:
            runs: The runs.
            metric: The metric's readable name.
        """
        digests: dict[str, str] = {}
        files: dict[str, Path] = {}
        for run_id, path in self._tables(runs).items():
            with suppress(OSError):
                digests[run_id] = hashlib.sha256(path.read_bytes()).hexdigest()
                files[digests[run_id]] = path
        scores = self._recall_scores(list(files), metric)
        read = _read_tables({digest: path for digest, path in files.items() if digest not in scores}, metric)
        self._keep_scores(read, metric)
        scores |= {digest: self._shared(*columns, digest) for digest, columns in read.items()}
        return {run_id: scores[digest] for run_id, digest in digests.items() if digest in scores}

    def recall(self, key: str) -> str | None:
        """Return what was kept under a key; None if nothing."""
        rows = self._query("SELECT value FROM found WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def keep(self, key: str, value: str) -> None:
        """Keep what follows from tables and takes long to find."""
        self._write("INSERT OR REPLACE INTO found VALUES (?, ?)", [(key, value)])

    def _tables(self, runs: Sequence[RunView]) -> dict[str, Path]:
        """Return the file of each run's table, downloaded where it is not on this machine."""
        files = {run.run_id: _on_this_machine(run.artifacts) for run in runs}
        missing = [run_id for run_id, path in files.items() if path is None]
        if missing:
            from concurrent.futures import ThreadPoolExecutor

            client = self._client()
            with ThreadPoolExecutor(8) as threads:
                files |= dict(
                    zip(missing, threads.map(lambda run: self._download(client, run), missing), strict=True)
                )
        return {run_id: path for run_id, path in files.items() if path is not None}

    def _download(self, client: "MlflowClient", run_id: str) -> Path | None:
        name = hashlib.sha256(f"{self._registry}\0{run_id}".encode()).hexdigest()
        kept = self._folder / "tables" / f"{name}.parquet"
        if kept.is_file():
            return kept
        with suppress(Exception):  # artifact stores fail in as many ways as there are stores
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
                Path(client.download_artifacts(run_id, _TABLE, folder)).replace(kept)
            return kept
        return None

    def _recall_scores(self, artifacts: Sequence[str], metric: str) -> dict[str, SampleScores]:
        found: dict[str, SampleScores] = {}
        for start in range(0, len(artifacts), _PER_QUERY):
            some = artifacts[start : start + _PER_QUERY]
            marks = ", ".join("?" * len(some))
            rows = self._query(
                f"SELECT artifact, samples, numbers FROM scores WHERE metric = ? AND artifact IN ({marks})",
                (metric, *some),
            )
            for artifact, identity, numbers in rows:
                if identity not in self._sets:
                    kept = self._query("SELECT ids, families FROM samples WHERE digest = ?", (identity,))
                    if not kept:
                        continue
                    self._sets[identity] = _SampleSet(json.loads(kept[0][0]), json.loads(kept[0][1]))
                samples = self._sets[identity]
                values = np.frombuffer(numbers, dtype="<f8")
                if len(values) == len(samples.ids):
                    found[artifact] = SampleScores(samples.ids, samples.families, values, artifact)
        return found

    def _keep_scores(self, read: Mapping[str, "_Columns"], metric: str) -> None:
        sets = {samples.identity: samples for samples, _ in read.values()}
        self._write(
            "INSERT OR IGNORE INTO samples VALUES (?, ?, ?)",
            [(identity, json.dumps(one.ids), json.dumps(one.families)) for identity, one in sets.items()],
        )
        self._write(
            "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?)",
            [
                (artifact, metric, samples.identity, values.astype("<f8").tobytes())
                for artifact, (samples, values) in read.items()
            ],
        )

    def _shared(self, samples: "_SampleSet", values: NDArray[np.float64], artifact: str) -> SampleScores:
        """Give runs over the same samples one list of them."""
        shared = self._sets.setdefault(samples.identity, samples)
        return SampleScores(shared.ids, shared.families, values, artifact)

    def _query(self, statement: str, values: Sequence[str]) -> list[tuple[Any, ...]]:
        if self._database is not None:
            with suppress(sqlite3.Error):
                return self._database.execute(statement, values).fetchall()
        return []

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error), self._database:
                self._database.executemany(statement, rows)


@dataclass(frozen=True)
class _SampleSet:
    """Samples that many runs may share.

    Attributes:
        ids: Their ids, in order.
        families: The family of each.
    """

    ids: list[str]
    families: list[str]

    @cached_property
    def identity(self) -> str:
        """Digest of both."""
        return hashlib.sha256(json.dumps([self.ids, self.families]).encode()).hexdigest()


_Columns = tuple[_SampleSet, NDArray[np.float64]]
"""Samples and the value of each."""


def default_folder() -> Path:
    """Return the folder in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("clinical-evals", appauthor=False) / "scores"


def _open(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / _FORMAT
    if path.exists() and path.stat().st_size > _LARGEST:
        path.unlink()  # years of runs: start anew
    database = sqlite3.connect(path, timeout=5)
    try:
        database.executescript(_SCHEMA)
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def _on_this_machine(address: str) -> Path | None:
    """Return the table's file if its folder is on this machine."""
    parts = urlsplit(address)
    if parts.scheme not in ("", "file") or not address:
        return None
    path = Path(unquote(parts.path) if parts.scheme else address) / _TABLE
    return path if path.is_file() else None


def _read_tables(files: Mapping[str, Path], metric: str) -> dict[str, _Columns]:
    """Read a metric out of tables by their digests; those that cannot be read are left out."""
    if not files:
        return {}
    import duckdb

    # DuckDB would take these characters for a pattern.
    plain = {str(path): digest for digest, path in files.items() if not set("*?[]{}") & set(str(path))}
    column = '"value.' + metric.replace('"', '""') + '"'
    # Runs over the same samples share one list of them, so that it becomes Python's strings once.
    query = f"""
        SELECT samples, families, list(filename) AS files, list(numbers) AS numbers
        FROM (
            SELECT filename, list(sample ORDER BY sample) AS samples,
                list(family ORDER BY sample) AS families, list(mean ORDER BY sample) AS numbers
            FROM (
                SELECT filename, sample, any_value(family) AS family,
                    coalesce(CAST(avg(CASE WHEN scored THEN {column} END) AS DOUBLE), 'nan') AS mean
                FROM read_parquet($files, union_by_name = true, filename = true)
                WHERE status <> 'cancelled'
                GROUP BY filename, sample
            )
            GROUP BY filename
        )
        GROUP BY samples, families
    """
    read: dict[str, _Columns] = {}
    names = list(plain)
    with duckdb.connect() as connection:
        for start in range(0, len(names), _PER_QUERY):
            # One unreadable table fails a query; then each is read by itself below.
            with suppress(duckdb.Error):
                some = names[start : start + _PER_QUERY]
                table = connection.sql(query, params={"files": some}).to_arrow_table()
                for row in range(table.num_rows):
                    samples = _SampleSet(table["samples"][row].as_py(), table["families"][row].as_py())
                    for file, numbers in zip(table["files"][row], table["numbers"][row], strict=True):
                        # Not `to_numpy`, which imports pandas: half a second.
                        values = np.array(numbers.as_py(), dtype=np.float64)
                        read[plain[file.as_py()]] = samples, values
    for digest, path in files.items():
        if digest not in read:
            with suppress(ValueError, OSError):
                read[digest] = _read_slowly(path, metric)
    return read


def _read_slowly(path: Path, metric: str) -> _Columns:
    """Read one table by itself: another cannot spoil it."""
    from clinical_evals.registry.rows import read_rows

    families: dict[str, str] = {}
    values: dict[str, list[float]] = {}
    for row in read_rows(path):
        if row.status != "cancelled":
            families[row.sample] = row.family
            value = row.values.get(metric)
            values.setdefault(row.sample, []).extend([] if value is None else [value])
    samples = sorted(families)
    means = [math.fsum(values[name]) / len(values[name]) if values[name] else math.nan for name in samples]
    return _SampleSet(samples, [families[name] for name in samples]), np.array(means)
