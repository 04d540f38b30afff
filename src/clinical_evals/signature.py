"""The scorer signature: one line that names every setting that can change a number.

Two numbers with different signatures are never ranked together.
"""

from __future__ import annotations

import re

__all__ = ["parse_signature", "signature"]

_SAFE = re.compile(r"[A-Za-z0-9_.:/+-]+")


def signature(name: str, version: int, **settings: str | int | float) -> str:
    """Write a signature such as `grounding v=1 max_claims=40 prompts=0a1b2c3d4e5f`.

    Args:
        name: The scorer.
        version: Raised whenever its code comes to other numbers.
        **settings: Every setting that can change a number; long ones go in as a digest.

    Returns:
        One line; settings in the order of their names.

    Raises:
        ValueError: A name or value holds anything but letters, digits and `_.:/+-`.
    """
    parts = [name, f"v={version}", *(f"{key}={value}" for key, value in sorted(settings.items()))]
    for part in parts:
        if not all(_SAFE.fullmatch(piece) for piece in part.split("=")):
            raise ValueError(f"signature part {part!r}: only letters, digits and _.:/+- are allowed")
    return " ".join(parts)


def parse_signature(line: str) -> tuple[str, dict[str, str]]:
    """Read a signature back into the scorer's name and its settings, the version as `v`."""
    name, *parts = line.split()
    return name, dict(part.split("=", 1) for part in parts)
