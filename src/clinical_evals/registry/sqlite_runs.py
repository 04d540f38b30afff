"""Runs read straight from the SQLite file of a local registry.

MLflow's client takes seconds to import and to search a thousand runs. The same rows take a fraction of one.
"""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from clinical_evals.registry.runs import RunView, build_view
from clinical_evals.registry.store import COMPLETE

_T = TypeVar("_T")

_PATIENCE = 30.0
_WANTED = """
    SELECT runs.run_uuid, runs.artifact_uri FROM runs
    JOIN experiments ON experiments.experiment_id = runs.experiment_id
    WHERE experiments.lifecycle_stage = 'active' AND runs.lifecycle_stage = 'active'
    AND EXISTS (SELECT 1 FROM tags WHERE tags.run_uuid = runs.run_uuid AND key = ? AND value = 'true')
    AND EXISTS (SELECT 1 FROM tags WHERE tags.run_uuid = runs.run_uuid AND key = 'eval_id')
"""


def read_database(path: Path) -> list[RunView] | None:
    """Read the same as `runs.read_runs`, oldest first; the file is not written to.

    Args:
        path: MLflow's SQLite file.

    Returns:
        The runs; None if the file cannot be read so, and MLflow must be asked.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)) as database:
            database.execute("BEGIN")  # one moment for all tables, although others may write
            wanted = dict(database.execute(_WANTED, (COMPLETE,)).fetchall())
            tags = _by_run(database.execute("SELECT run_uuid, key, value FROM tags"))
            params = _by_run(database.execute("SELECT run_uuid, key, value FROM params"))
            metrics = _by_run(
                (run, key, math.nan if undefined else float(value))
                for run, key, value, undefined in database.execute(
                    "SELECT run_uuid, key, value, is_nan FROM latest_metrics"
                )
            )
    except sqlite3.Error:
        return None
    views = [build_view(run, tags[run], metrics[run], params[run], uri or "") for run, uri in wanted.items()]
    return sorted(views, key=lambda view: (view.created, view.eval_id))


def _by_run(rows: Iterator[tuple[str, str, _T]]) -> dict[str, dict[str, _T]]:
    found: dict[str, dict[str, _T]] = defaultdict(dict)
    for run, key, value in rows:
        found[run][key] = value
    return found
