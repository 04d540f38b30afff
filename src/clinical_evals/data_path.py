"""Where the bundled data lie: beside the installed package, or in the checkout of an editable install."""

from pathlib import Path

STARTED_IN = Path.cwd()
"""The user's folder: Inspect loads this package before it changes into a task file's folder."""


def given_path(path: str) -> Path:
    """Return a path that the user gave, counted from the folder that the command was started in.

    Args:
        path: Absolute, relative, or with `~`.
    """
    return STARTED_IN / Path(path).expanduser()


def bundled(*parts: str) -> Path:
    """Return the path of a bundled data file or folder.

    Args:
        *parts: Names below the datasets folder, such as `"notes", "notes.jsonl"`; none for the folder itself.

    Raises:
        FileNotFoundError: If it is in neither place.
    """
    package = Path(__file__).resolve().parent
    # An editable install does not resolve a mapped folder without `__init__.py`, hence by path.
    roots = [package / "datasets", package.parents[1] / "datasets"]
    for root in roots:
        path = root.joinpath(*parts)
        if path.exists():
            return path
    name = "/".join(("datasets", *parts))
    raise FileNotFoundError(f"bundled data {name} not found; looked in {roots[0]} and {roots[1]}")
