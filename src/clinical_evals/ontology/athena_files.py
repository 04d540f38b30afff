"""Reading one file of an OHDSI Athena download into DuckDB, row by row, whatever its dialect.

Three dialects are met with. Athena itself writes tabs and takes quotes literally; files that went through
another tool have commas and CSV quoting, or a header in quotes. Dates come as 20991231 or 2099-12-31, an
absent value as nothing or as `\\N`, and the last fields of a row are sometimes cut off when they are empty.
"""

import csv
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from clinical_evals.files import InputError

Watch = Callable[[str, float], None]

TOO_FEW = "too few fields"
TOO_MANY = "too many fields"
UNREADABLE = "not readable as UTF-8 text"

_HEADER_BYTES = 65_536
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_POLL_SECONDS = 0.2


class AthenaError(InputError):
    """A folder that is no Athena download or holds only part of one. The message names file and column."""


@dataclass(frozen=True)
class AthenaFile:
    """A file and its dialect.

    Attributes:
        path: Where it lies.
        columns: The names in its header, in lower case.
        delimiter: A tab or a comma.
        quote: The quote character, or empty if quotes are text like any other.
    """

    path: Path
    columns: tuple[str, ...]
    delimiter: str
    quote: str


@dataclass(frozen=True)
class RowCount:
    """What became of the rows of one file.

    Attributes:
        name: The name of the file.
        rows: Its rows, without the header.
        left_out: How many were left out, by reason. Rows that are of no use here (other relationships,
            other languages) are not counted as left out.
    """

    name: str
    rows: int
    left_out: Mapping[str, int]

    @classmethod
    def of(cls, name: str, by_fault: Mapping[str | None, int], unreadable: int) -> "RowCount":
        """Count from the rows by fault (None: no fault) and the rows that are in no table."""
        rows = sum(by_fault.values()) + unreadable
        left_out = {fault: number for fault, number in by_fault.items() if fault is not None}
        left_out |= {UNREADABLE: unreadable}
        return cls(name, rows, {fault: number for fault, number in left_out.items() if number})


def find_file(folder: Path, name: str, needed: Sequence[str]) -> AthenaFile | None:
    """Find a file of the download by its name, in whatever case, and read its header.

    Args:
        folder: The folder of the download.
        name: Such as `CONCEPT.csv`.
        needed: The columns that it must have.

    Returns:
        The file, or None if there is none of that name.

    Raises:
        AthenaError: If it is empty, is no text, or lacks a column.
    """
    try:
        found = sorted(entry for entry in folder.iterdir() if entry.name.lower() == name.lower())
        if not found:
            return None
        with found[0].open("rb") as file:
            first = file.readline(_HEADER_BYTES)
    except OSError as error:
        raise AthenaError(f"{error.filename or folder}: {error.strerror or type(error).__name__}") from None
    return _read_header(found[0], first, needed)


def _read_header(path: Path, first: bytes, needed: Sequence[str]) -> AthenaFile:
    if first.startswith(_UTF16):
        raise AthenaError(f"{path}: looks like UTF-16; save it as UTF-8")
    try:
        line = first.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line:
        raise AthenaError(f"{path}: its first line is no UTF-8 text; unpack the download first")
    if not line.strip():
        raise AthenaError(f"{path}: its first line is empty; it must name the columns {', '.join(needed)}")
    delimiter = "\t" if "\t" in line else ","
    quote = '"' if delimiter == "," or line.startswith('"') else ""
    names = next(csv.reader([line], delimiter=delimiter)) if quote else line.split(delimiter)
    columns = tuple(name.strip().lower() for name in names)
    for column in needed:
        if column not in columns:
            # What the first line holds is not said: without a header it is a row.
            raise AthenaError(
                f"{path}: no column {column} in its first line, which must name {', '.join(needed)}, "
                "separated by tabs or commas"
            )
    twice = next((place for place, name in enumerate(columns) if name in columns[:place]), None)
    if twice is not None:
        raise AthenaError(f"{path}: column {twice + 1} has the name of an earlier one")
    return AthenaFile(path, columns, delimiter, quote)


def stage(
    con: duckdb.DuckDBPyConnection,
    table: str,
    file: AthenaFile,
    select: str,
    needed: Sequence[str],
    checks: Mapping[str, str],
    watch: Watch | None = None,
) -> int:
    """Read a file into a temporary table, in one pass and without holding it in memory.

    Args:
        con: The vocabulary that is being built.
        table: The name for the temporary table. Its column `fault` says why a row cannot be used (`TOO_FEW`,
            `TOO_MANY` or a reason of `checks`), or is null.
        file: What to read.
        select: The SQL expressions for its other columns, over the columns of the file as text. An absent
            value is null.
        needed: The columns without which a row has too few fields.
        checks: What else makes a row unusable: the reason, and the SQL condition over `select`'s columns.
        watch: Called with the name of the file and the percentage read, from another thread.

    Returns:
        How many rows could not be read as text at all, and so are not in the table.

    Raises:
        AthenaError: If the file cannot be read.
    """
    # One column more than the header names shows which rows are too long.
    columns = {f"c{place}": "VARCHAR" for place in range(len(file.columns) + 1)}
    beyond = f"c{len(file.columns)}"
    # A missing field is null and an empty one is not, so that they can be told apart.
    names = ", ".join(
        f"nullif(nullif(c{place}, ''), '\\N') AS {_identifier(name)}"
        for place, name in enumerate(file.columns)
    )
    cut_off = " OR ".join(f"c{file.columns.index(column)} IS NULL" for column in needed)
    further = "".join(f" WHEN {condition} THEN '{reason}'" for reason, condition in checks.items())
    query = f"""
        CREATE TEMP TABLE {table} AS
        SELECT *, CASE WHEN shape IS NOT NULL THEN shape{further} END AS fault FROM (
            SELECT shape, {select} FROM (
                SELECT {names},
                    CASE WHEN {beyond} <> '' THEN '{TOO_MANY}' WHEN {cut_off} THEN '{TOO_FEW}' END AS shape
                FROM read_csv(
                    $path, auto_detect = false, header = false, skip = 1, columns = {columns},
                    delim = $delim, quote = $quote, escape = $quote, nullstr = ['\\x01'], null_padding = true,
                    strict_mode = false, parallel = {"false" if file.quote else "true"},
                    ignore_errors = true, store_rejects = true,
                    rejects_table = '{table}_rejects', rejects_scan = '{table}_scan'
                )
            )
        )
    """
    try:
        with _watching(con, file.path.name, watch):
            con.execute(query, {"path": _literal(file.path), "delim": file.delimiter, "quote": file.quote})
        found = con.execute(f"SELECT count(DISTINCT line) FROM {table}_rejects").fetchone()
        con.execute(f"DROP TABLE {table}_rejects; DROP TABLE {table}_scan")
    except duckdb.Error as error:
        # Its message may quote the row.
        raise AthenaError(f"{file.path}: cannot be read: {type(error).__name__}") from None
    return int(found[0]) if found else 0


def describe_faults(count: RowCount, columns: str) -> str:
    """Say why no row of a file can be used."""
    if not count.rows:
        return "a header and no rows; the download may be cut off"
    faults = ", ".join(f"{number} {fault}" for fault, number in count.left_out.items())
    return f"none of its {count.rows} rows can be used; look at {columns} ({faults})"


def column_or_null(file: AthenaFile, column: str) -> str:
    """Give the SQL for a column that a file need not have."""
    return _identifier(column) if column in file.columns else "NULL"


def date_of(sql: str) -> str:
    """Give the SQL that reads a date in any form met with; null if it is none."""
    return f"try_strptime({sql}, ['%Y%m%d', '%Y-%m-%d', '%Y-%m-%d %H:%M:%S', '%d-%b-%Y'])::DATE"


@contextmanager
def _watching(con: duckdb.DuckDBPyConnection, name: str, watch: Watch | None) -> Iterator[None]:
    if watch is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(_POLL_SECONDS):
            watch(name, max(0.0, con.query_progress()))

    watch(name, 0.0)
    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    watch(name, 100.0)


def _literal(path: Path) -> str:
    """Escape the characters of a path that DuckDB would read as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _identifier(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
