"""The published set scores: tree distance, partial credit, coverage, over-inclusion.

Pure functions over ancestor chains and scores, with the names, arguments and edge cases of
`phenoforge.eval.metrics`. They let one code satisfy a whole set: against {E11.21, E11.22, E11.29} the header
E11.2 alone scores 0.833 and one of the three leaves 0.875. `strict_set_score` in
`clinical_evals.ontology.strict` does not.
"""

from collections.abc import Sequence

MAX_DISTANCE = 6
"""Number of edges from which on two codes are a miss; the default of `distance_weighted_score`."""


def tree_distance(chain_a: Sequence[int], chain_b: Sequence[int]) -> int | None:
    """Count the steps from one concept to the first shared ancestor and down to the other.

    The first id of `chain_a` that is also in `chain_b` is the shared ancestor; the distance is the sum of
    its positions in the two chains. In a tree that is the number of edges between them. Where concepts have
    several parents a position in the flattened chain also counts the other parents passed, so the distance
    can hang on which parent has the smaller concept id. It is kept as published; `Hierarchy.fewest_edges`
    depends on no id.

    Args:
        chain_a: Concept ids from the first concept to its root, itself first, nearest first.
        chain_b: The same for the second concept.

    Returns:
        0 for the same concept, None if the chains share no id (a true miss).
    """
    position_in_b = {concept: position for position, concept in enumerate(chain_b)}
    for position, concept in enumerate(chain_a):
        if concept in position_in_b:
            return position + position_in_b[concept]
    return None


def distance_weighted_score(distance: int | None, max_distance: int = MAX_DISTANCE) -> float:
    """Turn a distance into partial credit in [0, 1] that falls in a straight line.

    Args:
        distance: Number of edges, or None for no common ancestor.
        max_distance: Distance from which on the score is 0. Defaults to 6.

    Returns:
        1.0 at distance 0, 0.0 from `max_distance` on and for None.
    """
    if distance is None:
        return 0.0
    if distance <= 0:
        return 1.0
    if distance >= max_distance:
        return 0.0
    return 1.0 - distance / max_distance


def set_coverage(predicted_scores: Sequence[float], n_ground_truth: int) -> float:
    """Average over the true codes how well the nearest predicted code matches each.

    Args:
        predicted_scores: The best score of each true code against the predicted ones, each in [0, 1].
        n_ground_truth: Number of true codes.

    Returns:
        The mean in [0, 1]; 1.0 if there are no true codes.

    Raises:
        ValueError: If there is not one score a true code.
    """
    _check_length("n_ground_truth", predicted_scores, n_ground_truth)
    return sum(predicted_scores) / n_ground_truth if n_ground_truth else 1.0


def over_inclusion_penalty(predicted_scores: Sequence[float], n_predicted: int) -> float:
    """Average over the predicted codes how far each is from any true code.

    Args:
        predicted_scores: The best score of each predicted code against the true ones, each in [0, 1].
        n_predicted: Number of predicted codes.

    Returns:
        The mean of `1 - score` in [0, 1]; 0.0 if nothing was predicted.

    Raises:
        ValueError: If there is not one score a predicted code.
    """
    _check_length("n_predicted", predicted_scores, n_predicted)
    return sum(1.0 - score for score in predicted_scores) / n_predicted if n_predicted else 0.0


def hierarchical_score(coverage: float, over_inclusion_penalty: float) -> float:
    """Combine coverage and `1 - over_inclusion_penalty` by their harmonic mean.

    Args:
        coverage: What `set_coverage` gave, in [0, 1].
        over_inclusion_penalty: What `over_inclusion_penalty` gave, in [0, 1].

    Returns:
        The harmonic mean in [0, 1]; 0.0 if both are 0.
    """
    return harmonic_mean(coverage, 1.0 - over_inclusion_penalty)


def harmonic_mean(recall: float, precision: float) -> float:
    """Give `2rp / (r + p)`, and 0.0 if both are 0."""
    total = recall + precision
    return 2.0 * recall * precision / total if total else 0.0


def _check_length(name: str, scores: Sequence[float], expected: int) -> None:
    if len(scores) != expected:
        raise ValueError(
            f"predicted_scores must hold one score a code: got {len(scores)} for {name}={expected}"
        )
