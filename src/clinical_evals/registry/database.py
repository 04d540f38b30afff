"""Databases behind a registry: creating the local one whole or not at all, and looking before MLflow does."""

import uuid
from contextlib import suppress
from pathlib import Path

_PATIENCE = 10
_WITH_TIMEOUT = ("postgresql", "mysql")


def create_database(path: Path) -> None:
    """Create the local registry's SQLite file.

    MLflow builds its tables in many steps and does not recover from dying between them. So they are built in
    a file beside, which then takes its name.

    Raises:
        Exception: Whatever the file system or MLflow raises; nothing half-made is left under the name.
    """
    from mlflow.tracking import MlflowClient

    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{path.name}.*.tmp*"):
        left.unlink(missing_ok=True)  # by one that died; only one process at a time gets here
    # A new name each time: MLflow keeps what it once opened by that name.
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        client = MlflowClient(tracking_uri=f"sqlite:///{beside.as_posix()}")
        client.search_experiments(max_results=1)
        # Only SQLAlchemy's own pool keeps the file open, which matters where open files cannot be renamed.
        client._tracking_client.store.engine.dispose()
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def check_database(uri: str) -> None:
    """Connect to a database once. MLflow itself would try again for the better part of an hour.

    Args:
        uri: A tracking URI; what is no database is not looked at.

    Raises:
        Exception: Whatever SQLAlchemy raises if the database cannot be used.
    """
    kind = uri.partition(":")[0].partition("+")[0]
    if kind not in ("sqlite", "postgresql", "mysql", "mssql"):
        return
    import sqlalchemy

    options = {"connect_timeout": _PATIENCE} if kind in _WITH_TIMEOUT else {}
    engine = sqlalchemy.create_engine(uri, connect_args=options)
    try:
        sqlalchemy.inspect(engine).get_table_names()
    finally:
        engine.dispose()
