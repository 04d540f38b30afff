"""Where the registry is, and whether it is wanted."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TRACKING_URI = "MLFLOW_TRACKING_URI"
MODE = "CLINICAL_EVALS_REGISTRY"
LOCAL = "mlruns"
"""How a spooled result names the registry in its own folder, wherever that folder is moved to."""


@dataclass(frozen=True, slots=True)
class Location:
    """One registry as seen from one folder.

    Attributes:
        home: `mlruns` in that folder; it holds the spool, and the local registry if there is no other.
        uri: The MLflow tracking URI. It may hold a password: never show or store it.
        name: The same without user, password and query; `mlruns` for the local registry.
        artifact_root: Where this process must put artifacts; None where a server decides.
    """

    home: Path
    uri: str
    name: str
    artifact_root: Path | None

    @property
    def spool(self) -> Path:
        """The folder of results that are not yet in MLflow."""
        return self.home / "spool"

    @property
    def overflow(self) -> Path:
        """The folder for results when the spool cannot be written: in the place for the user's own state."""
        from platformdirs import user_state_path

        folder = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return user_state_path("clinical-evals", appauthor=False) / "spool" / folder

    @property
    def database(self) -> Path | None:
        """The SQLite file of the local registry; None if the registry is elsewhere."""
        return self.home / "mlflow.db" if self.name == LOCAL else None


def locate(folder: Path | None = None, environment: Mapping[str, str] = os.environ) -> Location:
    """Find the registry of a folder: `MLFLOW_TRACKING_URI` if set, else SQLite in its `mlruns`.

    Args:
        folder: Defaults to the current folder.
        environment: Where to look for `MLFLOW_TRACKING_URI`.
    """
    home = (folder or Path.cwd()).absolute() / "mlruns"
    uri = environment.get(TRACKING_URI, "").strip()
    if not uri:
        return Location(home, f"sqlite:///{(home / 'mlflow.db').as_posix()}", LOCAL, home / "artifacts")
    # A database without a server in front leaves it to the client where artifacts go.
    is_server = uri.startswith(("http://", "https://", "databricks", "uc:"))
    return Location(home, uri, without_credentials(uri), None if is_server else home / "artifacts")


def without_credentials(uri: str) -> str:
    """Return a URI without user, password, query and fragment."""
    scheme, separator, rest = uri.partition("://")
    host, slash, path = re.split(r"[?#]", rest)[0].partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def mode(environment: Mapping[str, str] = os.environ) -> Literal["off", "suite", "all"]:
    """Tell which tasks are logged: none, those of this suite (the default), or all.

    Anything in `CLINICAL_EVALS_REGISTRY` but `off` (or `0`, `false`, `no`) and `all` means the suite's.
    """
    value = environment.get(MODE, "").strip().lower()
    if value in ("off", "0", "false", "no"):
        return "off"
    return "all" if value == "all" else "suite"
