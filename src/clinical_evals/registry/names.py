"""How metric names are stored: MLflow refuses many characters, and two names must never become one.

The one place that knows. Readable names are kept beside the run, and stored names follow from them.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable

KINDS = ("", "stderr", "lower", "upper", "n", "undefined", "worst", "best")
"""What is stored of each metric: the mean (no suffix) and what surrounds it."""

_REFUSED = re.compile(r"[^A-Za-z0-9_./ -]")
_RESERVED = re.compile(
    r"(samples|attempted|scored|unscored|failed|wall_seconds|cost_usd|model_failure_rate)"
    r"|(unscored|failed|count)_.*|(.*_)?(input|output)_tokens"
)
_LONGEST = 200


def safe_name(name: str) -> str:
    """Return a name that MLflow can hold.

    One that MLflow accepts stays as it is. One that had to be changed ends in eight characters of its digest,
    so that different names stay different.
    """
    safe = _REFUSED.sub("_", name).strip() or "_"
    if posixpath.normpath(safe) != safe or safe.startswith((".", "/")):
        safe = safe.replace("/", "_").replace(".", "_")
    return name if safe == name and len(name) <= _LONGEST else _marked(safe, name)


def stored_name(metric: str, taken: frozenset[str] = frozenset()) -> str:
    """Return the name under which a metric's mean is stored.

    Args:
        metric: The readable name.
        taken: Names that it must not become; those of run-level figures are known here.
    """
    safe = safe_name(metric)
    return _marked(safe, metric) if safe in taken or _RESERVED.fullmatch(safe) else safe


def _marked(safe: str, name: str) -> str:
    return f"{safe[:_LONGEST]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def stored_names(metrics: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the stored name of each metric and kind.

    Args:
        metrics: All readable metric names of a run, in any order.

    Returns:
        Stored name by (metric, kind), for every kind in `KINDS`; all different.
    """
    names = sorted(set(metrics))
    derived = frozenset(f"{name}_{kind}" for name in names for kind in KINDS[1:])
    stored: dict[tuple[str, str], str] = {}
    for name in names:
        base = stored_name(name, derived)
        stored |= {(name, kind): f"{base}_{kind}" if kind else base for kind in KINDS}
    return stored
