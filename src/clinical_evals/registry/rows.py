"""The rows of a run as a Parquet table of ids and numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinical_evals.registry.record import SampleRow


def write_rows(rows: Sequence[SampleRow], path: Path) -> Path:
    """Write one line per sample and epoch: `value.*` and `count.*` columns, null where undefined.

    Args:
        rows: The rows.
        path: The file to write.

    Returns:
        The same path.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = sorted({name for row in rows for name in row.values})
    counts = sorted({name for row in rows for name in row.counts})
    columns = {
        "sample": pa.array([row.sample for row in rows], pa.string()),
        "epoch": pa.array([row.epoch for row in rows], pa.int32()),
        "family": pa.array([row.family for row in rows], pa.string()),
        "scored": pa.array([row.status in ("scored", "failed") for row in rows], pa.bool_()),
        "status": pa.array([row.status for row in rows], pa.string()),
        "cause": pa.array([row.cause for row in rows], pa.string()),
        **{
            f"value.{name}": pa.array([row.values.get(name) for row in rows], pa.float64()) for name in values
        },
        **{f"count.{name}": pa.array([row.counts.get(name) for row in rows], pa.int64()) for name in counts},
        "seconds": pa.array([row.seconds for row in rows], pa.float64()),
        "input_tokens": pa.array([row.input_tokens for row in rows], pa.int64()),
        "output_tokens": pa.array([row.output_tokens for row in rows], pa.int64()),
    }
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def read_rows(path: Path) -> list[SampleRow]:
    """Read back what `write_rows` wrote.

    Raises:
        ValueError: If the file is no such table.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return [_row(line) for line in pq.read_table(path).to_pylist()]
    except (pa.ArrowInvalid, KeyError) as error:
        raise ValueError(f"{path.name} is no table of samples ({type(error).__name__})") from None


def _row(line: dict[str, Any]) -> SampleRow:
    scored = line["status"] in ("scored", "failed")
    # A row holds a value, perhaps undefined, for each metric of its run if it is scored, else none.
    values = {
        name.removeprefix("value."): value
        for name, value in line.items()
        if name.startswith("value.") and scored
    }
    counts = {
        name.removeprefix("count."): value
        for name, value in line.items()
        if name.startswith("count.") and value is not None
    }
    plain = ("sample", "epoch", "family", "status", "cause", "seconds", "input_tokens", "output_tokens")
    return SampleRow(values=values, counts=counts, **{name: line[name] for name in plain})
