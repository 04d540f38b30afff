"""A classification in memory: codes, their parents, and the ways up and down.

Built once and then only read. A node is known by its concept id outside and by its index (its place in the
list of nodes) inside. ICD-10-CM is a forest whose roots are the chapters, so codes of different chapters
have no common ancestor; vocabularies from OHDSI Athena also hold nodes with several parents.
"""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

_NO_PARENT = -1


class Hierarchy:
    """A directed acyclic graph of coded concepts, parents above children.

    Several nodes may carry one code (in ICD-10-CM the block `B20` holds only the category `B20`): the code
    then means the lowest of them. Answers about an unknown code are empty, not errors.

    Attributes:
        ids: The concept id of each node, by index.
    """

    def __init__(
        self,
        ids: NDArray[np.int64],
        codes: list[str],
        children: NDArray[np.int64],
        parents: NDArray[np.int64],
    ) -> None:
        """Build from columns: `children[k]` and `parents[k]` are the node indices of edge `k`.

        Use `from_edges` for concept ids. Edges may repeat.

        Raises:
            ValueError: If an id occurs twice or the edges form a cycle.
        """
        self.ids: list[int] = ids.tolist()
        self._codes = codes
        count = len(codes)
        if len(np.unique(ids)) != count:
            raise ValueError("nodes must have different concept ids")
        # Each node's parents lie together, smaller concept id first.
        order = np.lexsort((ids[parents], children))
        children, parents = children[order], parents[order]
        if len(children):
            repeated = (children[1:] == children[:-1]) & (parents[1:] == parents[:-1])
            kept = np.concatenate(([True], ~repeated))
            children, parents = children[kept], parents[kept]
        depth = _depths(count, children, parents, codes)
        self._depth: list[int] = depth.tolist()
        self._parents: list[int] = parents.tolist()
        self._parents_from: list[int] = np.searchsorted(children, np.arange(count + 1)).tolist()
        first = np.full(count, _NO_PARENT, dtype=np.int64)
        first[children[::-1]] = parents[::-1]
        self._first_parent: list[int] = first.tolist()
        self._joins = frozenset(np.flatnonzero(np.bincount(children, minlength=count) > 1).tolist())
        below = np.lexsort((ids[children], parents))
        self._children: list[int] = children[below].tolist()
        self._children_from: list[int] = np.searchsorted(parents[below], np.arange(count + 1)).tolist()
        self._index: dict[str, int] = dict(zip(codes, range(count), strict=True))
        if len(self._index) < count:
            self._index = self._lowest_of_equal_codes()
        self._chains: dict[int, tuple[int, ...]] = {}
        self._levels: dict[int, dict[int, int]] = {}

    @classmethod
    def from_edges(
        cls,
        nodes: Sequence[tuple[int, str]],
        edges: Sequence[tuple[int, int]] | NDArray[np.int64],
    ) -> Self:
        """Build a hierarchy from its concepts and their direct is-a edges.

        Args:
            nodes: Concept id and canonical code of each concept; ids must differ.
            edges: Concept ids of child and parent; an array of two columns is read fastest.

        Raises:
            ValueError: If an id occurs twice, an edge names an id that is no node, or the edges form a cycle.
        """
        ids = np.fromiter((node[0] for node in nodes), dtype=np.int64, count=len(nodes))
        codes = [node[1] for node in nodes]
        pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        by_id = np.argsort(ids, kind="stable")
        if not len(pairs):
            return cls(ids, codes, pairs[:, 0], pairs[:, 1])
        if not len(ids):
            raise ValueError(f"edge 0 names concept {pairs[0, 0]}, but there are no nodes")
        places = np.minimum(np.searchsorted(ids, pairs, sorter=by_id), len(ids) - 1)
        indices = by_id[places]
        unknown = np.argwhere(ids[indices] != pairs)
        if len(unknown):
            row, column = unknown[0]
            raise ValueError(f"edge {row} names concept {pairs[row, column]}, which is no node")
        return cls(ids, codes, indices[:, 0], indices[:, 1])

    def __len__(self) -> int:
        """Give the number of nodes."""
        return len(self._codes)

    def __contains__(self, code: object) -> bool:
        """Say whether a node carries this canonical code."""
        return code in self._index

    @property
    def codes(self) -> Sequence[str]:
        """The code of each node, by index."""
        return self._codes

    def index_of(self, code: str) -> int | None:
        """Give the node that a canonical code means, or None if no node carries it."""
        return self._index.get(code)

    def code_of(self, index: int) -> str:
        """Give the code of a node."""
        return self._codes[index]

    def depth(self, index: int) -> int:
        """Give the number of edges on the longest way from a node up to a root; 0 for a root."""
        return self._depth[index]

    def parents(self, index: int) -> tuple[int, ...]:
        """Give the indices of a node's direct parents, smaller concept id first."""
        return tuple(self._parents[self._parents_from[index] : self._parents_from[index + 1]])

    def children(self, index: int) -> tuple[int, ...]:
        """Give the indices of a node's direct children, smaller concept id first."""
        return tuple(self._children[self._children_from[index] : self._children_from[index + 1]])

    def chain_indices(self, index: int) -> tuple[int, ...]:
        """Give a node and all its ancestors, nearest first and at one distance smaller concept id first.

        This is the flattened chain of the published method, as node indices. Distance is the least number of
        edges upwards.
        """
        chain = self._chains.get(index)
        if chain is None:
            chain = self._chains[index] = self._climb(index)
        return chain

    def is_line(self, index: int) -> bool:
        """Say whether neither the node nor an ancestor has several parents, so that its chain is one path."""
        return not self._joins or self._joins.isdisjoint(self.chain_indices(index))

    def levels(self, index: int) -> Mapping[int, int]:
        """Give the least number of edges from a node up to each of its ancestors, itself at 0."""
        levels = self._levels.get(index)
        if levels is None:
            levels = self._levels[index] = self._measure(index)
        return levels

    def chain(self, code: str) -> list[int]:
        """Give the concept ids of a code and its ancestors, as the published method flattens them.

        Self first, then nearest first; at one distance smaller concept id first. Empty for an unknown code.
        """
        index = self._index.get(code)
        return [] if index is None else [self.ids[node] for node in self.chain_indices(index)]

    def ancestors(self, code: str) -> frozenset[int]:
        """Give the concept ids of a code and all its ancestors; empty for an unknown code."""
        return frozenset(self.chain(code))

    def descendants(self, code: str) -> list[str]:
        """Give a code and all codes below it, each once.

        Nearest first and at one distance smaller concept id first. Empty for an unknown code.
        """
        index = self._index.get(code)
        if index is None:
            return []
        seen = {index}
        level = [index]
        found = {code: None}
        while level:
            below = {child for node in level for child in self.children(node)} - seen
            seen |= below
            level = sorted(below, key=self.ids.__getitem__)
            found.update((self._codes[node], None) for node in level)
        return list(found)

    def fewest_edges(self, a: str, b: str) -> int | None:
        """Give the least number of edges from one code up to a common ancestor and down to the other.

        It depends on no concept id, unlike the published distance.

        Returns:
            0 for the code itself; None if a code is unknown or the two have no common ancestor.
        """
        first, second = self._index.get(a), self._index.get(b)
        if first is None or second is None:
            return None
        up, down = self.levels(first), self.levels(second)
        return min((up[node] + down[node] for node in up.keys() & down.keys()), default=None)

    def _climb(self, index: int) -> tuple[int, ...]:
        if not self._joins:
            line = []
            while index != _NO_PARENT:
                line.append(index)
                index = self._first_parent[index]
            return tuple(line)
        # Levels are found nearest first, so only nodes of one level are left to put in order.
        return tuple(sorted(self.levels(index), key=lambda node: (self.levels(index)[node], self.ids[node])))

    def _measure(self, index: int) -> dict[int, int]:
        levels = {index: 0}
        level = [index]
        distance = 0
        while level:
            distance += 1
            above = []
            for node in level:
                for parent in self.parents(node):
                    if parent not in levels:
                        levels[parent] = distance
                        above.append(parent)
            level = above
        return levels

    def _lowest_of_equal_codes(self) -> dict[str, int]:
        index: dict[str, int] = {}
        for node, code in enumerate(self._codes):
            other = index.get(code)
            if other is None or self._is_lower(node, other):
                index[code] = node
        return index

    def _is_lower(self, node: int, other: int) -> bool:
        return (-self._depth[node], self.ids[node]) < (-self._depth[other], self.ids[other])


def _depths(
    count: int, children: NDArray[np.int64], parents: NDArray[np.int64], codes: list[str]
) -> NDArray[np.int64]:
    """Count the edges of the longest way from each node to a root, and refuse cycles."""
    depth = np.full(count, -1, dtype=np.int64)
    waiting = np.bincount(children, minlength=count)
    ready = np.flatnonzero(waiting == 0)
    step = 0
    left = np.ones(len(children), dtype=bool)
    while len(ready):
        depth[ready] = step
        step += 1
        freed = left & (depth[parents] >= 0)
        left &= ~freed
        waiting -= np.bincount(children[freed], minlength=count)
        ready = np.flatnonzero((waiting == 0) & (depth < 0))
    if (depth < 0).any():
        raise ValueError(f"is-a edges must not form a cycle: {_cycle(children[left], parents[left], codes)}")
    return depth


def _cycle(children: NDArray[np.int64], parents: NDArray[np.int64], codes: list[str]) -> str:
    """Name the codes of one cycle, five at most. Every node left waits for a parent, so climbing finds it."""
    parent_of = dict(zip(children.tolist(), parents.tolist(), strict=True))
    node = next(iter(parent_of))
    way: dict[int, None] = {}
    while node not in way:
        way[node] = None
        node = parent_of[node]
    nodes = list(way)
    cycle = [*nodes[nodes.index(node) :], node]
    names = [codes[member] for member in cycle]
    return " -> ".join(names if len(names) <= 6 else [*names[:5], "..."])
