"""Whether a note asserts a mention of this patient, now and without doubt: `ContextReader`.

`triggers` are phrases ("denies"), `forms` what phrases alone cannot tell (a ticked box), `reach` how far a
trigger works, `scopes` the stretches of one sentence that come out, `segmentation` where sentences end, and
`reader` puts them together over a note.
"""

from .reader import ContextReader
from .triggers import Assertion

__all__ = ["Assertion", "ContextReader"]
