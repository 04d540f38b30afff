"""Which runs of a board are not shown to differ: paired tests over families, with Holm's correction.

The best run opens the first group. Down the board each run is compared with the first of the group: if they
are not shown to differ it joins, else it opens the next. Runs of one group are not shown to differ from its
first; nothing is claimed of runs of a group among each other.

All pairs of the board count as comparisons, for which of them are looked at depends on the order seen.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clinical_evals.paired import holm, sign_flip_p
from clinical_evals.registry.leaderboard import Board
from clinical_evals.registry.score_cache import SampleScores, ScoreCache

Floats = NDArray[np.float64]

ALPHA = 0.05
METHOD = "1"
"""Raised whenever the same values come to other groups: what is remembered of them is then forgotten."""
_RESAMPLES = 10_000
_FEW_RESAMPLES = 500
_CLEARLY_EQUAL = 0.2
_MOST_PERMUTED = 32
"""Runs of a board up to which signs are drawn. Of more, so many pairs must be corrected for that no number of
draws which ends in time could show anything, and the bound alone decides."""
_MOST_FAMILIES = 5_000
_EXACT_FAMILIES = 12
_DRAWS_PER_BLOCK = 4_000_000
_GAUSSIAN_FACTOR = 1 / (2 * math.erfc(1))  # 1 / (4·P(Z ≥ √2))


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Values of runs over the samples that any of them has.

    Attributes:
        values: One row a run, one column a sample, families side by side; NaN where undefined.
        starts: First column of each family.
    """

    values: Floats
    starts: NDArray[np.intp]


def mark_ties(boards: Sequence[Board], cache: ScoreCache) -> list[Board]:
    """Give the ranked runs of each board the letter of their group.

    Args:
        boards: The boards.
        cache: Reads the values of samples, and remembers groups that were found before.
    """
    return [_marked(board, cache) for board in boards]


def _marked(board: Board, cache: ScoreCache) -> Board:
    places = sorted(
        (place for place in board.places if place.rank is not None), key=lambda place: place.rank or 0
    )
    if len(places) < 2:
        return board
    found = cache.read([place.run for place in places], board.headline)
    scores = {run: one for run, one in found.items() if not np.isnan(one.values).all()}
    compared = [place.run.run_id for place in places if place.run.run_id in scores]
    if len(compared) < 2:
        return board
    key = _key(board.headline, [scores[run].artifact for run in compared])
    kept = cache.recall(key)
    letters = kept.split() if kept else group_ties([scores[run] for run in compared])
    if not kept:
        cache.keep(key, " ".join(letters))
    groups = dict(zip(compared, letters, strict=True))
    return replace(
        board,
        places=tuple(replace(place, group=groups.get(place.run.run_id, "")) for place in board.places),
        comparisons=math.comb(len(compared), 2),
    )


def _key(metric: str, artifacts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(["ties", METHOD, metric, *artifacts]).encode()).hexdigest()


def group_ties(scores: Sequence[SampleScores], *, alpha: float = ALPHA, seed: int = 0) -> list[str]:
    """Give each run the letter of its group.

    Args:
        scores: Values of each run by sample, the best run first. Pairs are made by sample id; samples that
            one of two runs has no value for are left out of that pair.
        alpha: Chance that any two runs without a difference are told apart.
        seed: Seed of the permutations.

    Returns:
        `a` for the first group and so on, in the order given.
    """
    aligned = _align(scores)
    count = len(scores)
    pairs = count * (count - 1) // 2
    shown: Callable[[tuple[int, int]], bool]
    if count <= _MOST_PERMUTED and len(aligned.starts) <= _MOST_FAMILIES:
        order = [(i, j) for i in range(count) for j in range(i + 1, count)]
        adjusted = holm(_permutation_ps([_sums(aligned, i, j) for i, j in order], alpha / pairs, seed))
        differ = {pair for pair, p in zip(order, adjusted, strict=True) if p <= alpha}
        shown = differ.__contains__
    else:

        def shown(pair: tuple[int, int]) -> bool:
            return sign_flip_bound(_sums(aligned, *pair)) * pairs <= alpha

    groups, first = [0], 0
    for run in range(1, count):
        if shown((first, run)):
            first = run
            groups.append(groups[-1] + 1)
        else:
            groups.append(groups[-1])
    return [_letters(group) for group in groups]


def sign_flip_bound(sums: Floats) -> float:
    """Bound the two-sided p of a sum whose terms could as well have the other sign, from above.

    By Bentkus and Dzindzalieta (Bernoulli 21, 2015) a weighted sum of random signs exceeds x standard
    deviations at most 3.18 times as often as a standard normal does. It needs no draws, so it can be as small
    as a correction for many comparisons asks.

    Args:
        sums: One sum of differences a family.
    """
    spread = math.sqrt(math.fsum((sums**2).tolist()))
    if not spread:
        return 1.0
    reach = abs(math.fsum(sums.tolist())) / spread
    return min(1.0, _GAUSSIAN_FACTOR * math.erfc(reach / math.sqrt(2)))


def _permutation_ps(pairs: Sequence[Floats], decided: float, seed: int) -> list[float]:
    """Give the two-sided p of each pair, from signs that all pairs share.

    A pair whose bound is `decided` or less keeps it; one that few draws show to be far from any difference
    keeps what these say.
    """
    ps = [sign_flip_bound(sums) for sums in pairs]
    open_pairs = []
    for at, sums in enumerate(pairs):
        if np.count_nonzero(sums) <= _EXACT_FAMILIES:
            ps[at] = sign_flip_p(sums)
        elif ps[at] > decided:
            open_pairs.append(at)
    for resamples in (_FEW_RESAMPLES, _RESAMPLES):
        drawn = _drawn_ps([pairs[at] for at in open_pairs], resamples, seed)
        for at, p in zip(open_pairs, drawn, strict=True):
            # Draws cannot say less than one in their number; the bound can.
            ps[at] = min(p, ps[at]) if resamples == _RESAMPLES else p if p > _CLEARLY_EQUAL else ps[at]
        open_pairs = [at for at, p in zip(open_pairs, drawn, strict=True) if p <= _CLEARLY_EQUAL]
    return ps


def _drawn_ps(pairs: Sequence[Floats], resamples: int, seed: int) -> list[float]:
    if not pairs:
        return []
    terms = np.stack(pairs, axis=1)
    # Sums that differ only by rounding are equal.
    seen = np.abs(terms.sum(axis=0)) - 1e-9 * np.abs(terms).sum(axis=0)
    generator = np.random.default_rng(seed)
    as_extreme = np.zeros(len(pairs), dtype=np.int64)
    block = max(1, _DRAWS_PER_BLOCK // len(terms))
    for start in range(0, resamples, block):
        shape = (min(block, resamples - start), len(terms))
        signs = generator.integers(0, 2, size=shape, dtype=np.int8) * 2.0 - 1.0
        as_extreme += (np.abs(signs @ terms) >= seen).sum(axis=0)
    return [(number + 1) / (resamples + 1) for number in as_extreme.tolist()]


def _align(scores: Sequence[SampleScores]) -> _Aligned:
    families: dict[str, str] = {}
    for one in {id(run.samples): run for run in scores}.values():
        families = dict(zip(one.samples, one.families, strict=True)) | families
    columns = sorted(families, key=lambda sample: (families[sample], sample))
    at = {sample: column for column, sample in enumerate(columns)}
    values = np.full((len(scores), len(columns)), math.nan)
    places: dict[int, list[int]] = {}
    for row, run in enumerate(scores):
        if id(run.samples) not in places:
            places[id(run.samples)] = [at[sample] for sample in run.samples]
        values[row, places[id(run.samples)]] = run.values
    labels = [families[sample] for sample in columns]
    starts = [column for column, label in enumerate(labels) if not column or label != labels[column - 1]]
    return _Aligned(values, np.array(starts, dtype=np.intp))


def _sums(aligned: _Aligned, first: int, second: int) -> Floats:
    """Give the sum of each family's differences over the samples that both runs have a value for."""
    if not len(aligned.starts):
        return np.zeros(0)
    differences = np.nan_to_num(aligned.values[second] - aligned.values[first], nan=0.0)
    return np.add.reduceat(differences, aligned.starts)


def _letters(group: int) -> str:
    """Name groups as a spreadsheet names its columns: a … z, aa, ab, …"""
    name = ""
    group += 1
    while group:
        group, letter = divmod(group - 1, 26)
        name = chr(ord("a") + letter) + name
    return name
