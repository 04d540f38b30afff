"""The public code lists and vocabularies that lie beside the checkout."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


def shared(*parts: str) -> Path:
    """Give a file or folder of them; without it, the test is skipped."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"../shared/data/{'/'.join(parts)} is not beside the checkout")
    return path
