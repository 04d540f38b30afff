"""Set scores that no single code can satisfy alone: one-to-one matching and ancestor-augmented F.

None of them depends on concept ids; all of them are symmetric except that precision and recall change places.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clinical_evals.ontology.code_sets import CodeSets, as_hierarchy, read_sets
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import MAX_DISTANCE, harmonic_mean

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def strict_set_score(
    source: "Hierarchy | DuckDBPyConnection",
    ground_truth_codes: Sequence[str],
    predicted_codes: Sequence[str],
) -> float:
    """Score a predicted code set when each code may stand for one code of the other set only.

    True and predicted codes are matched one to one so that the sum `S` of `distance_weighted_score` over
    fewest-edges distances is greatest; the score is `2 S / (n_true + n_predicted)`, the harmonic mean of
    `S / n_true` and `S / n_predicted`. For singletons it is the credit of the pair.

    Why this form holds what it must:

    - identity is 1, because equal sets match code by code; codes of different chapters have credit 0, so
      disjoint chapters give 0;
    - a wrong code (no credit with any true code, or none of the vocabulary) leaves `S` and adds to the
      denominator, so it always costs. Dividing by the larger set instead would let a small answer be padded
      up to the size of the truth for nothing;
    - `k` right codes of `n` give `2 k / (n + k)`, which grows with `k`: one right code never beats two;
    - a header that is not itself in the truth earns at most 5/6 once, `(5/3) / (n + 1)`, while the `k >= 1`
      true leaves below it give `2 k / (n + k) >= 2 / (n + 1)`. E11.2 against {E11.21, E11.22, E11.29} scores
      0.417, one leaf of the three 0.5, two 0.8.

    In a tree it never exceeds the published hierarchical score, which divides the best matches of each code
    by the same numbers.

    Args:
        source: A hierarchy or an open vocabulary.
        ground_truth_codes: The true codes, as people write them; repeats count once. Those that the
            vocabulary lacks are set aside, together with equal predicted ones.
        predicted_codes: The predicted codes. Those that the vocabulary lacks earn 0.

    Returns:
        A score in [0, 1]; 1.0 if both sets are empty, 0.0 if one is.
    """
    hierarchy = as_hierarchy(source)
    sets = read_sets(hierarchy, ground_truth_codes, predicted_codes)
    credit = matched_credit(hierarchy, sets.truth, sets.predicted)
    return strict_ratio(credit, len(sets.truth), sets.n_predicted)


def strict_ratio(credit: int, n_truth: int, n_predicted: int) -> float:
    """Turn a matched credit in sixths into the strict set score."""
    total = n_truth + n_predicted
    return 2 * credit / (MAX_DISTANCE * total) if total else 1.0


def matched_credit(hierarchy: Hierarchy, truth: Sequence[int], predicted: Sequence[int]) -> int:
    """Give the greatest sum of credits of a one-to-one matching, in units of 1/6.

    Where all codes lie in a tree, a sweep from the leaves to the roots finds it in time proportional to the
    codes and their ancestors. With several parents it is an assignment problem and SciPy solves it, a
    connected part at a time. Both are exact.

    Args:
        hierarchy: The classification.
        truth: Nodes, each once.
        predicted: Nodes, each once.
    """
    if not truth or not predicted:
        return 0
    if all(map(hierarchy.is_line, truth)) and all(map(hierarchy.is_line, predicted)):
        return _sweep(hierarchy, truth, predicted)
    return _assign(hierarchy, truth, predicted)


class Augmented(NamedTuple):
    """Sizes of two code sets with all their ancestors, and of what they share."""

    shared: int
    truth: int
    predicted: int

    @property
    def precision(self) -> float:
        """Share of the predicted side; 1.0 if nothing was predicted, as in the published penalty."""
        return self.shared / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """Share of the true side; 1.0 if there is nothing to find."""
        return self.shared / self.truth if self.truth else 1.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall."""
        return harmonic_mean(self.recall, self.precision)


def augment(hierarchy: Hierarchy, sets: CodeSets) -> Augmented:
    """Count codes and ancestors for hierarchical precision, recall and F.

    Kiritchenko, Matwin, Nock, Famili, "Learning and Evaluation in the Presence of Class Hierarchies" (2006,
    doi:10.1007/11766247_34): hP = |P' n T'| / |P'| and hR = |P' n T'| / |T'|, where the prime adds all
    ancestors. As there, no common root is counted: chapters are the highest nodes. An invalid code is a node
    of its own that nothing shares.
    """
    truth: set[int] = set()
    predicted: set[int] = set()
    truth.update(*map(hierarchy.chain_indices, sets.truth))
    predicted.update(*map(hierarchy.chain_indices, sets.predicted))
    return Augmented(len(truth & predicted), len(truth), len(predicted) + len(sets.invalid))


# A side's six slope counts are kept in one number, 32 bits each, so that adding and moving them is one step.
_BITS = 32
_COUNT = (1 << _BITS) - 1
_ALL = (1 << _BITS * MAX_DISTANCE) - 1


def _sweep(hierarchy: Hierarchy, truth: Sequence[int], predicted: Sequence[int]) -> int:
    """Match in a forest by a maximum-value flow from predicted to true codes, solved from the leaves upwards.

    A unit of flow that reaches a true code earns 6 and pays 1 an edge. For the part below a node let V(f) be
    the best value if f units leave it upwards (f < 0: enter it). V is concave, so it is known by V(0) and by
    its slopes: to the left of 0 one a true code below, to the right one a predicted code. A code itself
    starts with the slope -6 (true: a unit that enters earns 6) or 0 (predicted: its unit may leave). An edge
    raises the left slopes by 1 and lowers the right ones. At a node the children's slopes merge: as long as
    some right slope is greater than some left one, the two change places and V(0) grows by the difference.
    That is a match, or a better one in place of an earlier one. A left slope that reaches 0 and a right one
    that reaches -6 can never change places again and are dropped, so six counts a side suffice: place k
    counts the left slopes k - 6, or the right slopes -k, and an edge moves every count one place up.
    """
    left = dict.fromkeys(truth, 1)
    right = dict.fromkeys(predicted, 1)
    layers: dict[int, list[int]] = defaultdict(list)
    for node in left | right:
        layers[hierarchy.depth(node)].append(node)
    value = 0
    for depth in range(max(layers), -1, -1):
        above = layers[depth - 1]
        for node in layers[depth]:
            ours, theirs = left.pop(node, 0), right.pop(node, 0)
            if ours and theirs:
                gained, ours, theirs = _exchange(ours, theirs)
                value += gained
            ours, theirs = ours << _BITS & _ALL, theirs << _BITS & _ALL
            chain = hierarchy.chain_indices(node)
            if len(chain) == 1 or not (ours or theirs):
                continue
            parent = chain[1]
            if parent not in left and parent not in right:
                above.append(parent)
            if ours:
                left[parent] = left.get(parent, 0) + ours
            if theirs:
                right[parent] = right.get(parent, 0) + theirs
    return value


def _exchange(ours: int, theirs: int) -> tuple[int, int, int]:
    """Let the greatest right slopes and the least left ones change places; give what V(0) gains and both."""
    left = [ours >> _BITS * place & _COUNT for place in range(MAX_DISTANCE)]
    right = [theirs >> _BITS * place & _COUNT for place in range(MAX_DISTANCE)]
    gained = 0
    low = high = 0  # the least left slope is low - 6, the greatest right slope is -high
    while low + high < MAX_DISTANCE:
        units = min(left[low], right[high])
        if units:
            left[low] -= units
            right[high] -= units
            ours -= units << _BITS * low
            theirs -= units << _BITS * high
            gained += units * (MAX_DISTANCE - low - high)
            # Where the other side counts these slopes: -high is (6 - high) - 6, low - 6 is -(6 - low).
            ours += units << _BITS * (MAX_DISTANCE - high) & _ALL
            theirs += units << _BITS * (MAX_DISTANCE - low) & _ALL
        if not left[low]:
            low += 1
        else:
            high += 1
    return gained, ours, theirs


def _assign(hierarchy: Hierarchy, truth: Sequence[int], predicted: Sequence[int]) -> int:
    """Match where nodes have several parents: the assignment problem of each connected part."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    credit = _credits(hierarchy, truth, predicted)
    rows, columns = np.nonzero(credit)
    size = len(truth) + len(predicted)
    links = coo_array((np.ones(len(rows), dtype=bool), (rows, columns + len(truth))), shape=(size, size))
    count, part = connected_components(links, directed=False)
    total = 0
    true_part, predicted_part = part[: len(truth)], part[len(truth) :]
    for number in range(count):
        members = np.flatnonzero(true_part == number), np.flatnonzero(predicted_part == number)
        if len(members[0]) and len(members[1]):
            block = credit[np.ix_(*members)]
            total += int(block[linear_sum_assignment(block, maximize=True)].sum(dtype=np.int64))
    return total


def _credits(
    hierarchy: Hierarchy, truth: Sequence[int], predicted: Sequence[int]
) -> "np.ndarray[tuple[int, int], np.dtype[np.int8]]":
    """Give the credit of every pair over fewest edges, in sixths."""
    credit = np.zeros((len(truth), len(predicted)), dtype=np.int8)
    below_truth, below_predicted = _below(hierarchy, truth), _below(hierarchy, predicted)
    for ancestor in below_truth.keys() & below_predicted.keys():
        for up, rows in below_truth[ancestor].items():
            for down, columns in below_predicted[ancestor].items():
                if up + down < MAX_DISTANCE:
                    place = np.ix_(rows, columns)
                    credit[place] = np.maximum(credit[place], MAX_DISTANCE - up - down)
    return credit


def _below(hierarchy: Hierarchy, nodes: Sequence[int]) -> dict[int, dict[int, list[int]]]:
    """For each ancestor: the positions in `nodes` of those below it, by their distance."""
    below: dict[int, dict[int, list[int]]] = {}
    for position, node in enumerate(nodes):
        for ancestor, distance in hierarchy.levels(node).items():
            if distance < MAX_DISTANCE:
                below.setdefault(ancestor, {}).setdefault(distance, []).append(position)
    return below
