"""Small classifications for the ontology tests, and the published definition written out plainly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import distance_weighted_score, tree_distance

# A corner of ICD-10-CM as indented text: chapter, block, category, codes.
_OUTLINE = """
1
  B20
    B20
4
  E08-E13
    E10
      E10.9
    E11
      E11.0
        E11.00
        E11.01
      E11.2
        E11.21
        E11.22
        E11.29
      E11.6
        E11.65
      E11.9
  E70-E88
    E78
      E78.5
9
  I10-I1A
    I10
    I11
      I11.0
      I11.9
    I1A
      I1A.0
  I60-I69
    I60
      I60.9
    I61
      I61.9
    I63
      I63.9
    I68
      I68.8
    I69
      I69.3
      I69.9
13
  M05-M14
    M10
      M10.9
    M1A
      M1A.9
20
  W20-W49
    W22
      W22.0
        W22.01
          W22.01X
            W22.01XA
            W22.01XD
"""


@cache
def icd() -> Hierarchy:
    """A corner of ICD-10-CM with its real codes and parents."""
    nodes: list[tuple[int, str]] = []
    edges: list[tuple[int, int]] = []
    above: list[int] = []
    for number, line in enumerate(_OUTLINE.strip().splitlines(), start=100):
        depth = (len(line) - len(line.lstrip())) // 2
        nodes.append((number, line.strip()))
        del above[depth:]
        edges.extend((number, parent) for parent in above[-1:])
        above.append(number)
    return Hierarchy.from_edges(nodes, edges)


@dataclass(frozen=True)
class World:
    """A classification as plain tables: concept ids by code, and parents by code."""

    ids: dict[str, int]
    parents: dict[str, tuple[str, ...]]

    @property
    def codes(self) -> list[str]:
        return list(self.ids)

    def hierarchy(self) -> Hierarchy:
        return Hierarchy.from_edges(
            [(number, code) for code, number in self.ids.items()],
            [
                (self.ids[child], self.ids[parent])
                for child, above in self.parents.items()
                for parent in above
            ],
        )

    def levels(self, code: str) -> dict[str, int]:
        """Fewest edges up to each ancestor."""
        found = {code: 0}
        queue = [code]
        for node in queue:
            for parent in self.parents[node]:
                if parent not in found:
                    found[parent] = found[node] + 1
                    queue.append(parent)
        return found

    def chain(self, code: str) -> list[int]:
        """The published chain: ancestors by least depth, then by concept id."""
        levels = self.levels(code)
        return [self.ids[node] for node in sorted(levels, key=lambda node: (levels[node], self.ids[node]))]

    def fewest_edges(self, a: str, b: str) -> int | None:
        up, down = self.levels(a), self.levels(b)
        return min((up[node] + down[node] for node in up if node in down), default=None)

    def renumbered(self, numbers: Sequence[int]) -> "World":
        return World(dict(zip(self.ids, numbers, strict=True)), self.parents)


def plain_match_scores(world: World, from_codes: Sequence[str], to_codes: Sequence[str]) -> list[float]:
    """The published definition: every source against every target, by flattened chains."""
    chains = {code: world.chain(code) if code in world.ids else [] for code in (*from_codes, *to_codes)}
    scores = []
    for source in from_codes:
        distances = [tree_distance(chains[source], chains[target]) for target in to_codes]
        scores.append(distance_weighted_score(min((d for d in distances if d is not None), default=None)))
    return scores


@st.composite
def worlds(draw: st.DrawFn, several_parents: bool = False, max_size: int = 24) -> World:
    """Random forests; or graphs, where a node may have several parents and a grandparent as a parent too."""
    size = draw(st.integers(1, max_size))
    numbers = draw(st.permutations(range(1, size + 1)))
    codes = [f"N{number}" for number in range(size)]
    parents: dict[str, tuple[str, ...]] = {}
    for place, code in enumerate(codes):
        # Near parents make deep trees, on which distances exceed the limit.
        near = st.integers(max(0, place - 4), place - 1) if place else st.nothing()
        chosen = draw(st.sets(near, max_size=3 if several_parents else 1)) if place else set()
        if several_parents and chosen and draw(st.booleans()):
            chosen |= {codes.index(above) for above in parents[codes[min(chosen)]]}
        parents[code] = tuple(codes[number] for number in sorted(chosen))
    return World(dict(zip(codes, numbers, strict=True)), parents)


@st.composite
def worlds_and_sets(
    draw: st.DrawFn, several_parents: bool | None = None
) -> tuple[World, list[str], list[str]]:
    """A world, true codes and predicted codes of it, each set without repeats."""
    if several_parents is None:
        several_parents = draw(st.booleans())
    world = draw(worlds(several_parents))
    subset = st.lists(st.sampled_from(world.codes), unique=True)
    return world, draw(subset), draw(subset)
