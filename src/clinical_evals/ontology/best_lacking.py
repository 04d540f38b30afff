"""What a name says that is not there: "migraine without aura", "epilepsy not intractable".

The words of such a name are those of its opposite, so that a search alone would find both. The condition is
searched for without the clause; of its codes those are kept whose own name says the clause too, or, where
none does, those whose name does not say the opposite.
"""

import re
from collections.abc import Sequence

import numpy as np

from clinical_evals.ontology.best_index import Index, Places
from clinical_evals.ontology.best_words import name_words

_CLAUSE = re.compile(
    r"""(?:[,\s]+(?:without|w/o|with[ ]no|free[ ]of|and[ ]no)
          |(?<![;,\s])\s+not(?=\s+\w+\s*$)(?!\s+(?:otherwise|elsewhere|specified)))\s+""",
    re.IGNORECASE | re.VERBOSE,
)
_ANY = re.compile(r"^(?:any|a|an|the|evidence of|signs? of|history of)\s+", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|;|/|\band\b|\bor\b)\s*", re.IGNORECASE)
_TURN = re.compile(r"\b(without|not|no|with)\b|[,;()]", re.IGNORECASE)
_DENIES = frozenset({"without", "not", "no"})


def split_lacking(text: str) -> tuple[str, tuple[frozenset[str], ...]]:
    """Return a name without its clause, and the canonical words of each thing that it says is lacking."""
    clause = _CLAUSE.search(text)
    if clause is None or not text[: clause.start()].strip():
        return text, ()
    listed = (_ANY.sub("", part.strip()) for part in _LISTED.split(text[clause.end() :]))
    things = tuple(words for part in listed if (words := frozenset(name_words(part))))
    return (text[: clause.start()], things) if things else (text, ())


def without(index: Index, places: Places, lacking: Sequence[frozenset[str]]) -> Places:
    """Keep the places whose name says that a thing is lacking, or if none does, those that do not have it.

    Args:
        index: The classification.
        places: Places in it.
        lacking: The words of each thing.
    """
    for thing in lacking:
        told = [_polarity(index.names[place], thing) for place in places.tolist()]
        denied = [one is False for one in told]
        kept = denied if any(denied) else [one is not True for one in told]
        places = places[np.array(kept, dtype=np.bool_)]
    return places


def _polarity(name: str, thing: frozenset[str]) -> bool | None:
    """Tell whether a name says that a thing is there (True) or not (False); None if it says neither."""
    denied, start = False, 0
    stretches: list[tuple[bool, str]] = []
    for turn in _TURN.finditer(name):
        stretches.append((denied, name[start : turn.start()]))
        denied, start = (turn[1] or "").lower() in _DENIES, turn.end()
    stretches.append((denied, name[start:]))
    if any(denied and thing <= set(name_words(words)) for denied, words in stretches):
        return False
    said = set(name_words(" ".join(words for denied, words in stretches if not denied)))
    return True if thing <= said else None
