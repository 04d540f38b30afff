"""A vocabulary in DuckDB: concepts, direct is-a edges, other names and other relationships.

The embedded vocabulary is the ICD-10-CM tabular list. It is built into the user's cache the first time it is
asked for and opened read-only after that. A vocabulary built from an OHDSI Athena download (see
`clinical_evals.ontology.athena`) has the same tables, so everything above reads either.

Tables:
    concept: concept_id, code, name, vocabulary (`ICD10CM`, `SNOMED`, ...), kind, billable, valid. The kind of
        an ICD-10-CM concept is chapter, block, category, code or placeholder; of others, their concept class.
    is_a: child, parent. Direct edges only, each once.
    term: concept_id, kind (inclusion, includes, excludes1, excludes2, note, synonym), text.
    relation: source, name (`Maps to`, `Mapped from`), target.
    about: key, value. `schema`, `source`, `release`, `vocabularies`, and what a build counted.
"""

import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import duckdb

from clinical_evals.files import InputError
from clinical_evals.ontology.tabular import (
    PACKAGE,
    TabularFiles,
    find_tabular_files,
    read_tabular_list,
)

if TYPE_CHECKING:
    from clinical_evals.ontology.hierarchy import Hierarchy

SCHEMA_VERSION = "1"
ICD10CM = "ICD10CM"

_CACHE_VARIABLE = "CLINICAL_EVALS_CACHE"
_WAIT_FOR_BUILD = 600.0  # seconds; the embedded vocabulary takes two, a whole Athena download minutes

_SCHEMA = """
CREATE TABLE concept (
    concept_id INTEGER PRIMARY KEY, code VARCHAR NOT NULL, name VARCHAR NOT NULL, vocabulary VARCHAR NOT NULL,
    kind VARCHAR NOT NULL, billable BOOLEAN NOT NULL, valid BOOLEAN NOT NULL
);
CREATE TABLE is_a (child INTEGER NOT NULL, parent INTEGER NOT NULL);
CREATE TABLE term (concept_id INTEGER NOT NULL, kind VARCHAR NOT NULL, text VARCHAR NOT NULL);
CREATE TABLE relation (source INTEGER NOT NULL, name VARCHAR NOT NULL, target INTEGER NOT NULL);
CREATE TABLE about (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
"""

_lock = threading.Lock()
_by_connection: "WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, Hierarchy]]" = WeakKeyDictionary()
_by_file: "dict[tuple[str, int, int, str], Hierarchy]" = {}


class VocabularyError(InputError):
    """A vocabulary that cannot be built, found or read. The message is one line."""


def open_vocabulary(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open a vocabulary read-only.

    Args:
        path: A file that `clinical-evals vocab build` wrote. Default: the embedded ICD-10-CM vocabulary,
            built into the user's cache if it is not there yet. Any number of processes may ask at once.

    Raises:
        VocabularyError: If the file is absent or is no vocabulary of this version, or if the embedded one
            cannot be written.
        TabularListError: If the package with the tabular list is not there.
    """
    if path is not None:
        return _open(path)
    files = find_tabular_files()
    target = embedded_path(files)
    with suppress(VocabularyError):
        return _open(target)  # without the lock, as a finished file never changes
    build_embedded(target, files, replace=False)
    return _open(target)


def build_embedded(path: Path, files: TabularFiles | None = None, *, replace: bool = True) -> None:
    """Build the ICD-10-CM vocabulary from the installed tabular list.

    Args:
        path: Where to put it. The file appears only when it is complete.
        files: The tabular list. Default: the one in the package `simple-icd-10-cm`.
        replace: Build it although a readable vocabulary is there.

    Raises:
        VocabularyError: If the file cannot be written.
        TabularListError: If there is no tabular list to read.
    """
    chosen = files or find_tabular_files()
    with _alone(path):
        if replace or not _is_readable(path):  # another process may have been quicker
            with _fresh(path) as con:
                _fill(con, chosen)


def embedded_path(files: TabularFiles | None = None) -> Path:
    """Give the place of the embedded vocabulary in the user's cache, whether or not it is there yet."""
    chosen = files or find_tabular_files()
    key = f"{chosen.release}-{chosen.package_version}-v{SCHEMA_VERSION}"
    return cache_folder() / f"icd10cm-{key}.duckdb"


def cache_folder() -> Path:
    """Give the folder for built vocabularies: in CLINICAL_EVALS_CACHE if set, else in the user's cache."""
    chosen = os.environ.get(_CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser() / "vocabulary"
    import platformdirs

    return Path(platformdirs.user_cache_dir("clinical-evals", appauthor=False)) / "vocabulary"


@contextmanager
def building(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an empty vocabulary to fill, which takes the place of `path` at the end, or leaves no trace.

    Only one process builds a file at a time. What a killed build left beside it is swept away by the next.

    Raises:
        VocabularyError: If nothing can be written there.
    """
    with _alone(path), _fresh(path) as con:
        yield con


def write_about(con: duckdb.DuckDBPyConnection, facts: Mapping[str, str | int]) -> None:
    """Add facts to the `about` table of a vocabulary that is being built."""
    con.executemany("INSERT INTO about VALUES (?, ?)", [(key, str(value)) for key, value in facts.items()])


def read_about(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Read the `about` table: `schema`, `source`, `release`, `vocabularies` (a JSON list), and counts."""
    return dict(con.execute("SELECT key, value FROM about ORDER BY rowid").fetchall())


def load_hierarchy(con: duckdb.DuckDBPyConnection, vocabulary: str = ICD10CM) -> "Hierarchy":
    """Read the is-a edges of one vocabulary into memory.

    What was read is kept, for the connection and for its database file: do not change a database after that.
    Edges that leave the vocabulary are no part of it. If several concepts of it share a code, a valid one is
    taken before a deprecated one, then the smaller concept id.

    Args:
        con: A connection to a vocabulary.
        vocabulary: Which of its vocabularies.

    Raises:
        VocabularyError: If the database holds no concept of that vocabulary, or its edges form a cycle.
    """
    with _lock:
        mine = _by_connection.get(con)
        if mine is None:
            mine = _by_connection[con] = {}
        hierarchy = mine.get(vocabulary)
        if hierarchy is None:
            file = _file_of(con)
            key = None if file is None else (*file, vocabulary)
            hierarchy = _by_file.get(key) if key is not None else None
            if hierarchy is None:
                hierarchy = _read_hierarchy(con, vocabulary)
            if key is not None:
                _by_file[key] = hierarchy
            mine[vocabulary] = hierarchy
        return hierarchy


def _read_hierarchy(con: duckdb.DuckDBPyConnection, vocabulary: str) -> "Hierarchy":
    import numpy as np

    from clinical_evals.ontology.hierarchy import Hierarchy

    order = "ORDER BY concept_id"
    concepts = con.execute(f"SELECT concept_id, code FROM concept WHERE vocabulary = ? {order}", [vocabulary])
    columns = concepts.fetchnumpy()
    codes: list[str] = list(columns["code"])
    if not codes:
        names = ", ".join(
            name for (name,) in con.execute("SELECT DISTINCT vocabulary FROM concept ORDER BY 1").fetchall()
        )
        raise VocabularyError(f"no concept of vocabulary {vocabulary!r} in the database; it holds: {names}")
    if len(set(codes)) < len(codes):
        chosen = "QUALIFY row_number() OVER (PARTITION BY code ORDER BY valid DESC, concept_id) = 1 " + order
        concepts = con.execute(
            f"SELECT concept_id, code FROM concept WHERE vocabulary = ? {chosen}", [vocabulary]
        )
        columns = concepts.fetchnumpy()
        codes = list(columns["code"])
    ids = np.asarray(columns["concept_id"], dtype=np.int64)
    edges = con.execute("SELECT child, parent FROM is_a").fetchnumpy()
    pairs = np.column_stack([edges["child"], edges["parent"]]).astype(np.int64)
    inside = np.isin(pairs, ids).all(axis=1)
    try:
        return Hierarchy.from_edges(list(zip(ids.tolist(), codes, strict=True)), pairs[inside])
    except ValueError as error:
        raise VocabularyError(f"the is-a edges of {vocabulary} cannot be used: {error}") from None


def _file_of(con: duckdb.DuckDBPyConnection) -> tuple[str, int, int] | None:
    """Say which file a connection reads, and which state of it; None for a database in memory."""
    found = con.execute(
        "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    ).fetchone()
    if found is None or not found[0]:
        return None
    state = os.stat(found[0])
    return found[0], state.st_mtime_ns, state.st_size


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from building the same file. The lock is freed even if its holder is killed."""
    from filelock import FileLock, Timeout

    if path.exists() and not path.is_file():
        raise VocabularyError(f"{path}: is no file; name a file to write the vocabulary to")
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    with _saying_where(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=_WAIT_FOR_BUILD)
        except Timeout:
            raise VocabularyError(f"{path}: another process has been building it for too long") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _fresh(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    beside = path.with_name(f".{path.name}.building")
    with _saying_where(path):
        _sweep(beside)
        try:
            con = duckdb.connect(beside)
            try:
                con.execute(_SCHEMA)
                yield con
            finally:
                con.close()
            os.replace(beside, path)
        finally:
            _sweep(beside)


@contextmanager
def _saying_where(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, duckdb.IOException) as error:
        reason = (getattr(error, "strerror", None) or str(error)).splitlines()[0]
        raise VocabularyError(
            f"{path}: cannot be written: {reason}; {_CACHE_VARIABLE} in the environment names another folder"
        ) from None


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    if not path.is_file():
        raise VocabularyError(f"{path}: no such vocabulary; clinical-evals vocab build --out FILE writes one")
    try:
        con = duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        raise VocabularyError(f"{path}: not a readable DuckDB file ({type(error).__name__})") from None
    try:
        found = con.execute("SELECT value FROM about WHERE key = 'schema'").fetchone()
    except duckdb.Error:
        found = None
    if found is None or found[0] != SCHEMA_VERSION:
        con.close()
        given = "no vocabulary" if found is None else f"a vocabulary of schema {found[0]}"
        raise VocabularyError(
            f"{path}: is {given}, not one of schema {SCHEMA_VERSION}; build it again with "
            "clinical-evals vocab build"
        )
    return con


def _is_readable(path: Path) -> bool:
    try:
        _open(path).close()
    except VocabularyError:
        return False
    return True


def _sweep(beside: Path) -> None:
    for leftover in (beside, beside.with_name(f"{beside.name}.wal")):
        leftover.unlink(missing_ok=True)
    # DuckDB spills there.
    shutil.rmtree(beside.with_name(f"{beside.name}.tmp"), ignore_errors=True)


def _fill(con: duckdb.DuckDBPyConnection, files: TabularFiles) -> None:
    import pyarrow as pa

    nodes = read_tabular_list(files)
    ids = list(range(1, len(nodes) + 1))  # in the order printed
    concept = pa.table(
        {
            "concept_id": pa.array(ids, pa.int32()),
            "code": [node.code for node in nodes],
            "name": [node.name for node in nodes],
            "vocabulary": [ICD10CM] * len(nodes),
            "kind": [node.kind for node in nodes],
            "billable": [node.billable for node in nodes],
            "valid": [True] * len(nodes),
        }
    )
    edges = [
        (child, node.parent + 1) for child, node in zip(ids, nodes, strict=True) if node.parent is not None
    ]
    is_a = pa.table({"child": [child for child, _ in edges], "parent": [parent for _, parent in edges]})
    terms = [(concept_id, *term) for concept_id, node in zip(ids, nodes, strict=True) for term in node.terms]
    term = pa.table(
        {
            "concept_id": [row[0] for row in terms],
            "kind": [row[1] for row in terms],
            "text": [row[2] for row in terms],
        }
    )
    for name, table in (("concept", concept), ("is_a", is_a), ("term", term)):
        con.register("built", table)
        con.execute(f"INSERT INTO {name} SELECT * FROM built")
        con.unregister("built")
    write_about(
        con,
        {
            "schema": SCHEMA_VERSION,
            "source": f"{PACKAGE} {files.package_version}, {files.tabular.name}",
            "release": files.release,
            "vocabularies": json.dumps([ICD10CM]),
        },
    )
