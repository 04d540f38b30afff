"""Our best retriever: from a cohort's name to the whole set of codes that belong, however many they are.

The published methods rank single codes by their own names and return k of them. But a code set is a few
subtrees of the classification, and what a code is often stands above it: "C16.1 Fundus of stomach" is a
cancer because its block is. So this method

1. takes the name apart into parts, context, exclusions and stage of care (`best_query`), in words that bring
   noun and adjective, British and American, lay and clinical wording together (`best_words`);
2. asks of each part whether it means something outright (`best_names`): a clinical term whose codes
   `best_terms.csv` gives, written from clinical knowledge and the classification, not from any evaluation
   set; else a category, block or code of that name. "COPD exacerbation" is the part of a term that says so.
   The subtrees meant are taken whole, and what only mentions the condition elsewhere stays out;
3. searches for the parts that are left: of every node, how much of the part its own wording and the wordings
   above it say (`path`), how well one wording fits it alone (`fit`) or together with what is inherited
   (`joined`); each code takes the best value on its way up, so a header that fits brings all its codes;
4. weighs these and their likes by a logistic model, whose weights were fitted on half of the CCSR categories
   (`best_weights.json`; `benchmarks/fit_best.py` makes it), and keeps the billable codes whose probability,
   smoothed over their category, reaches a share of the greatest one.

The number of codes follows from these steps, not from a k. A code that is meant outright has the score 1.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clinical_evals.ontology.best_index import GENERIC_WEIGHT, Floats, Index, Places, build_index
from clinical_evals.ontology.best_lacking import without
from clinical_evals.ontology.best_names import NamedSets
from clinical_evals.ontology.best_query import CohortQuery, read_query
from clinical_evals.ontology.best_words import decisive_words, generic_words
from clinical_evals.ontology.retrieval import Hit, check_k

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LEAST_SHARE = 0.3  # of the greatest share of the name found anywhere; below it a code is no candidate
_LEAST_SAID = 0.3  # of the name; a name of which the classification says less is not understood
_DECISIVE_FLOOR = 0.5  # weight of a word such as "acute", as a share of that of the rarest
_MENTIONED = 0.5  # what a word counts where a name only mentions it ("Cystitis with hematuria")
_CLEARLY = 0.05
_EXCLUDED_AT = 0.9  # share of an exclusion's words in one wording that leaves a subtree out

FEATURES = (
    "path path_whole fit joined path_high joined_high path_relative fit_relative joined_relative "
    "joined_relative_high own_fit category_fit category_path block_path chapter_share fit_depth joined_depth "
    "subtree context rest rest_asked uncued_chapter alternatives candidates fit_gap joined_gap own_gap "
    "best_joined best_gap_product category_gap staged better path_fit relative_product category_joined "
    "path_square fit_high block_fit"
).split()
"""The features of a candidate code, in the order of their weights; see `describe_candidates`."""


@dataclass(frozen=True)
class Weights:
    """The fitted model and the two cuts.

    Attributes:
        features: Weight of each standardised feature.
        means: Mean of each feature where it was fitted.
        scales: Its standard deviation.
        bias: The model's constant.
        smoothing: Share of the category's mean in a code's probability.
        least: Probability below which no code is kept unless it is the best.
        share: Share of the greatest probability that a code must reach.
        share_beside: The same where another part of the name is known outright.
    """

    features: Floats
    means: Floats
    scales: Floats
    bias: float
    smoothing: float
    least: float
    share: float
    share_beside: float


@cache
def load_weights() -> Weights:
    """Read the weights that come with the package.

    Raises:
        ValueError: If they are not those of this version's features.
    """
    text = resources.files(__package__).joinpath("best_weights.json").read_text(encoding="utf-8")
    table = json.loads(text)
    if list(table["features"]) != FEATURES:
        raise ValueError("best_weights.json is of other features; benchmarks/fit_best.py makes it anew")
    columns = np.array(list(table["features"].values()), dtype=np.float64)
    return Weights(
        columns[:, 0],
        columns[:, 1],
        columns[:, 2],
        *(float(table[name]) for name in ("bias", "smoothing", "least", "share", "share_beside")),
    )


class BestRetriever:
    """Finds the set of billable codes that a cohort's name means."""

    def __init__(self, index: Index, weights: Weights) -> None:
        """Search an index of the classification with fitted weights."""
        self.index = index
        self._weights = weights
        self._named = NamedSets(index)

    @classmethod
    def over(cls, con: "DuckDBPyConnection") -> "BestRetriever":
        """Build over a vocabulary, with the weights that come with the package."""
        return cls(build_index(con), load_weights())

    def search(self, query: str, k: int | None = None) -> list[Hit]:
        """Give the codes that belong, most probable first, ties in the order of codes.

        Args:
            query: The cohort's name.
            k: At most so many. Default: as many as belong.

        Raises:
            ValueError: If `k` is not positive.
        """
        if k is not None:
            check_k(k)
        asked = read_query(query)
        named, found = self.read(asked)
        chosen = gather(self.index, named, found, self._weights, asked.lacking)
        ranked = sorted((-score, self.index.codes[place], place) for place, score in chosen.items())
        return [Hit(code, self.index.names[place], -lost) for lost, code, place in ranked[:k]]

    def read(self, asked: CohortQuery) -> tuple[NDArray[np.bool_], tuple[Places, Floats] | None]:
        """Mark what a name means outright, and describe the candidates for the rest of it."""
        named, left = self._named.read(asked, allowed(self.index, asked))
        return named, describe_candidates(self.index, left)


def gather(
    index: Index,
    named: NDArray[np.bool_],
    found: tuple[Places, Floats] | None,
    weights: Weights,
    lacking: Sequence[frozenset[str]] = (),
) -> dict[int, float]:
    """Give the places that belong with their probability: 1 for what is named outright."""
    scores = np.where(named, 1.0, 0.0)
    if found is not None:
        places, features = found
        probability = smooth(index, places, predict(features, weights), weights.smoothing)
        share = weights.share_beside if named.any() else weights.share
        kept = choose(probability, weights.least, share)
        np.maximum.at(scores, places[kept], probability[kept])
    places = without(index, index.billable[scores[index.billable] > 0], lacking)
    return with_headers(index, places, scores[places])


def predict(features: Floats, weights: Weights) -> Floats:
    """Give the probability that each candidate belongs."""
    standard = (features - weights.means) / weights.scales
    probability: Floats = 1 / (1 + np.exp(-(standard @ weights.features + weights.bias)))
    return probability


def smooth(index: Index, places: Places, probability: Floats, share: float) -> Floats:
    """Draw each candidate towards the mean of its category's candidates."""
    group = index.category[places]
    total = np.bincount(group, probability, len(index.codes))
    count = np.bincount(group, minlength=len(index.codes))
    smoothed: Floats = (1 - share) * probability + share * (total / np.maximum(count, 1))[group]
    return smoothed


def choose(probability: Floats, least: float, share: float) -> Places:
    """Give the candidates whose probability reaches `least` and `share` of the greatest."""
    greatest = float(probability.max())
    return np.flatnonzero(probability >= min(greatest, max(least, share * greatest)))


def with_headers(index: Index, places: Places, probability: Floats) -> dict[int, float]:
    """Add each category or code all of whose billable codes are kept, with their mean probability."""
    size = len(index.codes)
    before = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=size))])
    billable = index.billable_before
    mass = np.concatenate([[0.0], np.cumsum(np.bincount(places, probability, size))])
    kept = before[index.end] - before[:-1]
    whole = np.flatnonzero((kept > 0) & (kept == billable[index.end] - billable[:-1]) & index.is_code)
    return {place: float((mass[index.end[place]] - mass[place]) / kept[place]) for place in whole.tolist()}


def describe_candidates(index: Index, query: CohortQuery) -> tuple[Places, Floats] | None:
    """Give the billable codes that could belong and their features, a row each; None if nothing fits.

    Every measure is the best over the query's alternatives. `path`: share of the words' weight found in the
    wordings of the code and all above it. `fit`: harmonic mean of that share in one wording and of the share
    of the wording that the query says, best on the way up. `joined`: the same with `path` as the first share.
    `..._relative`: divided by the query's best. `own_fit`, `category_fit`: fit of the code's and the
    category's own wordings. `category_path`, `block_path`: mean of `path` over the codes of the category and
    block, relative. `chapter_share`: share of the best-covered codes that lie in the chapter. `..._depth`,
    `subtree`: level of the best node and logarithm of its codes. `context`: `path` for the context. `rest`,
    `rest_asked`: the name says "other"; so does the query. `uncued_chapter`: the chapter (pregnancy, newborn,
    congenital, injury, external cause, contact with services) is one that names usually ask for by name, and
    this one does not.
    """
    if not query.parts:
        return None
    path, fit, joined = _best_over(index, query.alternatives)
    leaves = index.billable
    greatest = float(path[leaves].max(initial=0))
    if greatest < _LEAST_SAID:
        return None
    kept = (path[leaves] >= _LEAST_SHARE * greatest) & allowed(index, query)[leaves]
    chapters = index.chapters_asked_for(_words(query.context))
    if chapters:  # "External cause codes: fall"
        kept &= np.isin(index.chapter[leaves], list(chapters))
    places = leaves[kept]
    if not len(places):
        return None
    way_fit, fit_at = index.best_on_way(fit)
    way_joined, joined_at = index.best_on_way(joined)
    context = np.ones(len(index.codes))
    if query.context:
        context = _best_over(index, query.context)[0]
    category, block, chapter = index.category[places], index.block[places], index.chapter[places]
    hot = leaves[path[leaves] >= 0.9 * greatest]
    in_chapter = np.bincount(index.chapter[hot], minlength=len(index.codes)) / len(hot)
    joined_relative = way_joined[places] / max(float(way_joined[places].max()), 1e-9)
    cued = list(index.chapters_asked_for(_words((*query.alternatives, *query.context))))
    columns = {
        "path": path[places],
        "path_whole": path[places] >= 0.999,
        "fit": way_fit[places],
        "joined": way_joined[places],
        "path_high": np.maximum(path[places] - 0.7, 0),
        "joined_high": np.maximum(way_joined[places] - 0.7, 0),
        "path_relative": path[places] / greatest,
        "fit_relative": way_fit[places] / max(float(way_fit[places].max()), 1e-9),
        "joined_relative": joined_relative,
        "joined_relative_high": np.maximum(joined_relative - 0.8, 0),
        "own_fit": fit[places],
        "category_fit": fit[category],
        "category_path": index.mean_by(index.category, path)[category] / greatest,
        "block_path": index.mean_by(index.block, path)[block] / greatest,
        "chapter_share": in_chapter[chapter],
        "fit_depth": index.depth_class[fit_at[places]],
        "joined_depth": index.depth_class[joined_at[places]],
        "subtree": np.log(index.end[joined_at[places]] - joined_at[places]),
        "context": context[places],
        "rest": index.names_rest[places],
        "rest_asked": index.names_rest[places] * query.asks_for_rest,
        "uncued_chapter": index.special[places] & ~np.isin(chapter, cued),
        "alternatives": np.full(len(places), math.log(len(query.alternatives))),
        "candidates": np.full(len(places), math.log(len(places))),
        "fit_gap": way_fit[places].max() - way_fit[places],
        "joined_gap": way_joined[places].max() - way_joined[places],
        "own_gap": fit[places].max() - fit[places],
        "best_joined": np.full(len(places), way_joined[places].max()),
        "best_gap_product": way_joined[places].max() * (1 - joined_relative),
        "category_gap": fit[category].max() - fit[category],
        "staged": (index.encounter[places] != "") & (query.encounter is not None),
        "better": np.log1p(_count_better(way_joined[places])),
        "path_fit": path[places] * way_fit[places],
        "relative_product": path[places] / greatest * joined_relative,
        "category_joined": index.mean_by(index.category, way_joined)[category],
        "path_square": path[places] ** 2,
        "fit_high": np.maximum(way_fit[places] - 0.8, 0),
        "block_fit": fit[block],
    }
    return places, np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in FEATURES])


def allowed(index: Index, query: CohortQuery) -> NDArray[np.bool_]:
    """Mark the nodes that the query neither leaves out nor rules out by its stage of care."""
    kept = np.ones(len(index.codes), dtype=np.bool_)
    for words in query.exclusions:
        # A block that names what is left out among other things still holds the others.
        share = np.where(index.depth_class >= 2, _measure(index, words).one_wording, 0)
        kept &= index.best_on_way(share)[0] < _EXCLUDED_AT
    if query.encounter is not None:
        kept &= (index.encounter == "") | (index.encounter == query.encounter)
    return kept


@dataclass(frozen=True, slots=True)
class _Measures:
    path: Floats
    one_wording: Floats
    fit: Floats
    joined: Floats


def _measure(index: Index, words: Sequence[str]) -> _Measures:
    """Measure how much of a list of words every node says; see `describe_candidates`."""
    nodes = len(index.codes)
    path = np.zeros(nodes)
    said = np.zeros(len(index.wording_weight))
    total = 0.0
    for word in words:
        weight = word_weight(index, word)
        total += weight
        wordings = index.wordings_with.get(word)
        if wordings is not None:
            subject = index.as_subject[word]
            said[wordings] += np.where(subject, weight, weight * _MENTIONED)
            path[index.at_or_below(wordings)] += weight * _MENTIONED
            path[index.at_or_below(wordings[subject])] += weight * (1 - _MENTIONED)
    path /= total
    share = said / total
    told = np.minimum(said / index.wording_weight, 1)
    fit = 2 * share * told / np.maximum(share + told, 1e-9)
    best_told = index.best_wording(told)
    joined = 2 * path * best_told / np.maximum(path + best_told, 1e-9)
    return _Measures(
        path, index.best_wording(share), index.best_wording(fit), np.where(best_told > 0, joined, 0)
    )


def _best_over(index: Index, alternatives: Sequence[Sequence[str]]) -> tuple[Floats, Floats, Floats]:
    nodes = len(index.codes)
    path, fit, joined = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
    for words in alternatives:
        measures = _measure(index, words)
        np.maximum(path, measures.path, out=path)
        np.maximum(fit, measures.fit, out=fit)
        np.maximum(joined, measures.joined, out=joined)
    return path, fit, joined


def word_weight(index: Index, word: str) -> float:
    """Weigh a word by how few categories say it; generic words less, words that decide not below a floor."""
    weight = index.rarity.get(word, index.greatest_rarity)
    if word in generic_words():
        return weight * GENERIC_WEIGHT
    if word in decisive_words() or word.isdigit():
        return max(weight, index.greatest_rarity * _DECISIVE_FLOOR)
    return weight


def _count_better(values: Floats) -> Places:
    """Count for each value those that are clearly greater."""
    ascending = np.sort(values)
    return len(values) - np.searchsorted(ascending, values + _CLEARLY, side="right")


def _words(wordings: Iterable[Sequence[str]]) -> Iterator[str]:
    return (word for words in wordings for word in words)
