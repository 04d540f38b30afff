"""The scorer signature: one line that names every setting that can change a number.

Two numbers with different signatures are never ranked together.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import cache
from importlib import resources

__all__ = ["code_digest", "parse_signature", "signature"]

_SHARED = (
    "clinical_evals/agreement.py clinical_evals/answers.py clinical_evals/asking.py "
    "clinical_evals/judging.py clinical_evals/reading.py clinical_evals/statistics.py "
    "clinical_evals.scorers/interval.py"
).split()
"""Modules that every task's numbers pass through, as package and file."""

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
    """Read a signature back into the scorer's name and its settings, the version as `v`.

    A word without `=`, as foreign tasks have it, is a setting without a value.
    """
    name, *parts = line.split() or [""]
    return name, {key: value for key, _, value in (part.partition("=") for part in parts)}


@cache
def code_digest(*packages: str, leave_out: Collection[str] = ()) -> str:
    """Digest the modules and tables of packages whose code decides a number (12 hex digits).

    A changed comment changes it too; two runs that could differ must not be ranked together unnoticed.

    Args:
        *packages: Dotted names.
        leave_out: Files that decide no number, such as `prompts.py`. A tuple, so that it can be kept.
    """
    digest = hashlib.sha256()
    for name in _SHARED:
        package, _, file_name = name.partition("/")
        digest.update(name.encode() + (resources.files(package) / file_name).read_bytes())
    for package in packages:
        for file in sorted(resources.files(package).iterdir(), key=lambda path: path.name):
            if file.name.endswith((".py", ".csv", ".json")) and file.name not in leave_out:
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]
