"""Two code sets as the vocabulary knows them: what can be compared, what cannot, and what is invalid."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinical_evals.ontology.codes import read_code
from clinical_evals.ontology.hierarchy import Hierarchy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_CHAPTER = re.compile(r"[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class CodeSets:
    """True and predicted codes, each once, whatever way they were written.

    Attributes:
        truth: Nodes of the true codes.
        predicted: Nodes of the predicted codes.
        unresolvable: True codes that the vocabulary lacks. They are set aside, and with them the predicted
            codes that equal them: a code that another yearly release holds is no fault of either side.
        invalid: The other predicted codes that the vocabulary lacks.
    """

    truth: list[int]
    predicted: list[int]
    unresolvable: list[str]
    invalid: list[str]

    @property
    def n_predicted(self) -> int:
        """Number of predicted codes that count: those of the vocabulary and the invalid ones."""
        return len(self.predicted) + len(self.invalid)


def read_sets(hierarchy: Hierarchy, truth: Iterable[str], predicted: Iterable[str]) -> CodeSets:
    """Look up both sets. A code is taken as it stands if the vocabulary has it so, else in canonical form."""
    true_nodes, unresolvable = _look_up(hierarchy, truth)
    nodes, unknown = _look_up(hierarchy, predicted)
    invalid = [code for code in unknown if code not in unresolvable]
    return CodeSets(list(true_nodes), list(nodes), list(unresolvable), invalid)


def find_node(hierarchy: Hierarchy, text: str) -> int | None:
    """Give the node that a code means as people write it, or None if the vocabulary lacks it.

    The number of a chapter is no code: a `5` in a list is not all mental disorders.
    """
    if _CHAPTER.fullmatch(text.strip()):
        return None
    node = hierarchy.index_of(text)
    if node is None:
        code = read_code(text)
        node = None if code is None else hierarchy.index_of(code)
    return node


def as_hierarchy(source: "Hierarchy | DuckDBPyConnection") -> Hierarchy:
    """Give the hierarchy itself, or that of an open vocabulary."""
    if isinstance(source, Hierarchy):
        return source
    from clinical_evals.ontology.vocabulary import load_hierarchy

    return load_hierarchy(source)


def _look_up(hierarchy: Hierarchy, texts: Iterable[str]) -> tuple[Mapping[int, None], Mapping[str, None]]:
    nodes: dict[int, None] = {}
    unknown: dict[str, None] = {}
    for text in texts:
        node = find_node(hierarchy, text)
        if node is not None:
            nodes[node] = None
        else:
            unknown[read_code(text) or text.strip()] = None
    return nodes, unknown
