"""Scoring code sets against a vocabulary, fast: the published figures, and ours beside them.

The published definition compares every code with every other. Here each target is entered once, at every
ancestor it has, and each source then walks its own ancestors once.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clinical_evals.ontology.code_sets import as_hierarchy, find_node, read_sets
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import (
    MAX_DISTANCE,
    distance_weighted_score,
    hierarchical_score,
    over_inclusion_penalty,
    set_coverage,
)
from clinical_evals.ontology.models import CohortEvalResult
from clinical_evals.ontology.strict import augment, matched_credit, strict_ratio

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SCORES = [distance_weighted_score(distance) for distance in range(MAX_DISTANCE + 1)]


def match_scores(
    con: "Hierarchy | DuckDBPyConnection", from_codes: Sequence[str], to_codes: Sequence[str]
) -> list[float]:
    """Give the best distance-weighted score of each source code against any target code.

    Equal to `distance_weighted_score` of the least `tree_distance` between ancestor chains, over all targets.

    Args:
        con: An open vocabulary or a hierarchy.
        from_codes: Codes to score, as people write them: true codes for coverage, predicted ones for
            over-inclusion.
        to_codes: Codes to match against.

    Returns:
        One score a source code, in order, repeats included. 0.0 for a code that the vocabulary lacks, and for
        all if there is no target.
    """
    hierarchy = as_hierarchy(con)
    targets = [node for code in to_codes if (node := find_node(hierarchy, code)) is not None]
    sources = [find_node(hierarchy, code) for code in from_codes]
    known = dict.fromkeys(node for node in sources if node is not None)
    nearest = dict(zip(known, _least_distances(hierarchy, list(known), targets), strict=True))
    return [0.0 if node is None else _SCORES[nearest[node]] for node in sources]


def score_cohort(
    con: "Hierarchy | DuckDBPyConnection",
    cohort_id: str,
    cohort_name: str,
    ground_truth_codes: Sequence[str],
    predicted_codes: Sequence[str],
    method: str,
) -> CohortEvalResult:
    """Score one method's codes for one cohort.

    Codes are read as people write them and count once each. True codes that the vocabulary lacks are listed
    and set aside, with the predicted codes that equal them; other predicted codes that it lacks earn 0.

    The result's `counts` are the whole numbers behind every score, credits in sixths: coverage is
    `coverage_credit / (6 truth)`, over-inclusion `1 - precision_credit / (6 predicted)`, the strict set score
    `2 strict_credit / (6 (truth + predicted))`, hierarchical precision and recall `shared_nodes` by
    `predicted_nodes` and `truth_nodes`, the invalid code rate `invalid / predicted`.

    Args:
        con: An open vocabulary or a hierarchy.
        cohort_id: Id of the cohort.
        cohort_name: Its display name.
        ground_truth_codes: The curated codes.
        predicted_codes: The codes of the method under test.
        method: Label of the method.
    """
    hierarchy = as_hierarchy(con)
    sets = read_sets(hierarchy, ground_truth_codes, predicted_codes)
    n_truth, n_predicted = len(sets.truth), sets.n_predicted
    found = _least_distances(hierarchy, sets.truth, sets.predicted)
    # An invalid code is as far off as can be.
    hits = [*_least_distances(hierarchy, sets.predicted, sets.truth), *[MAX_DISTANCE] * len(sets.invalid)]
    coverage = set_coverage([_SCORES[distance] for distance in found], n_truth)
    penalty = over_inclusion_penalty([_SCORES[distance] for distance in hits], n_predicted)
    strict_credit = matched_credit(hierarchy, sets.truth, sets.predicted)
    augmented = augment(hierarchy, sets)
    return CohortEvalResult(
        cohort_id=cohort_id,
        cohort_name=cohort_name,
        method=method,
        predicted_codes=list(predicted_codes),
        ground_truth_codes=list(ground_truth_codes),
        coverage=coverage,
        over_inclusion_penalty=penalty,
        hierarchical_score=hierarchical_score(coverage, penalty),
        unresolvable_ground_truth=sets.unresolvable,
        strict_set_score=strict_ratio(strict_credit, n_truth, n_predicted),
        hierarchical_precision=augmented.precision,
        hierarchical_recall=augmented.recall,
        hierarchical_f=augmented.f,
        invalid_codes=sets.invalid,
        invalid_code_rate=len(sets.invalid) / n_predicted if n_predicted else None,
        counts={
            "truth": n_truth,
            "predicted": n_predicted,
            "unresolvable": len(sets.unresolvable),
            "invalid": len(sets.invalid),
            "coverage_credit": MAX_DISTANCE * n_truth - sum(found),
            "precision_credit": MAX_DISTANCE * n_predicted - sum(hits),
            "strict_credit": strict_credit,
            "truth_nodes": augmented.truth,
            "predicted_nodes": augmented.predicted,
            "shared_nodes": augmented.shared,
        },
    )


def _least_distances(hierarchy: Hierarchy, sources: Sequence[int], targets: Iterable[int]) -> list[int]:
    """Give the least published distance from each source to any target, 6 if none is nearer."""
    targets = list(dict.fromkeys(targets))
    if all(map(hierarchy.is_line, sources)) and all(map(hierarchy.is_line, targets)):
        return _along_lines(hierarchy, sources, targets)
    return _along_chains(hierarchy, sources, targets)


def _along_lines(hierarchy: Hierarchy, sources: Sequence[int], targets: Sequence[int]) -> list[int]:
    """In a tree: the least sum of depths over all common ancestors is that of the lowest one."""
    chain_of = hierarchy.chain_indices
    depth: dict[int, int] = {}
    for target in targets:
        for position, node in enumerate(chain_of(target)[:MAX_DISTANCE]):
            if depth.get(node, MAX_DISTANCE) <= position:
                break  # a target as near came this way, and so it did to all ancestors
            depth[node] = position
    distances = []
    for source in sources:
        best = MAX_DISTANCE
        for position, node in enumerate(chain_of(source)[:MAX_DISTANCE]):
            if position >= best:
                break
            if node in depth:
                best = min(best, position + depth[node])
        distances.append(best)
    return distances


def _along_chains(hierarchy: Hierarchy, sources: Sequence[int], targets: Sequence[int]) -> list[int]:
    """In a graph: for each target only the first node of the source's chain that it shares counts.

    A later common node may be nearer by position, so the targets already met must be known: they are bits of
    one number, and a node keeps the targets that have it, by position in their chains.
    """
    met_at: dict[int, dict[int, int]] = {}
    for number, target in enumerate(targets):
        for position, node in enumerate(hierarchy.chain_indices(target)):
            at = met_at.setdefault(node, {})
            at[position] = at.get(position, 0) | 1 << number
    by_position = {node: sorted(at.items()) for node, at in met_at.items()}
    all_below = {node: sum(at.values()) for node, at in met_at.items()}
    distances = []
    for source in sources:
        best = MAX_DISTANCE
        met = 0
        for steps, node in enumerate(hierarchy.chain_indices(source)):
            if steps >= best:
                break
            for position, bits in by_position.get(node, ()):
                if steps + position >= best:
                    break
                if bits & ~met:
                    best = steps + position
                    break
            met |= all_below.get(node, 0)
        distances.append(best)
    return distances
