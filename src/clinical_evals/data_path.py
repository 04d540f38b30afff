"""Where the bundled data lie: beside the installed package, or in the checkout of an editable install."""

from pathlib import Path


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
