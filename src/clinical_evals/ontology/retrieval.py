"""Finding codes by words: BM25, the fusion of two rankings, and the weak baseline that expands one code.

A retriever answers a query with the codes it thinks belong, best first. BM25 (the `bm25s` package) reads the
names and inclusion terms of the ICD-10-CM categories and codes; blocks and chapters are no codes and are not
returned. `dense` is in `clinical_evals.ontology.dense`, `best` in `clinical_evals.ontology.best`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from clinical_evals.ontology.hierarchy import Hierarchy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.dense import DenseRetriever

RRF_K = 60
"""Rank damping of reciprocal rank fusion, as in the paper that proposed it."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """A code that a retriever returned.

    Attributes:
        code: The canonical code.
        name: Its name in the vocabulary.
        score: The retriever's own score, higher is better; only comparable within one answer.
    """

    code: str
    name: str
    score: float


class Retriever(Protocol):
    """Anything that finds codes for a query."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Give at most `k` codes, best first, equal scores in the order of codes; none if nothing fits."""
        ...


@dataclass(frozen=True)
class CodeTexts:
    """What the vocabulary says of each ICD-10-CM category and code, in the order of codes.

    Attributes:
        codes: Canonical codes.
        names: Their names.
        terms: Their inclusion terms and other names.
    """

    codes: list[str]
    names: list[str]
    terms: list[list[str]]

    def __len__(self) -> int:
        """Give the number of codes."""
        return len(self.codes)


def read_code_texts(con: "DuckDBPyConnection") -> CodeTexts:
    """Read the categories and codes that are valid in this release; see `CodeTexts`.

    Placeholders (`T36.0X` has the name of `T36.0`), blocks and chapters are left out.
    """
    from clinical_evals.ontology.vocabulary import ICD10CM

    rows = con.execute(
        """
        SELECT code, arg_min(name, concept_id), list(text ORDER BY place) FILTER (text IS NOT NULL)
        FROM concept LEFT JOIN (
            SELECT concept_id, text, rowid AS place FROM term WHERE kind IN ('inclusion', 'synonym')
        ) USING (concept_id)
        WHERE vocabulary = ? AND kind IN ('category', 'code') AND valid
        GROUP BY code ORDER BY code
        """,
        [ICD10CM],
    ).fetchall()
    return CodeTexts([row[0] for row in rows], [row[1] for row in rows], [row[2] or [] for row in rows])


class Bm25Retriever:
    """BM25 over names and inclusion terms, one document a code.

    Words are runs of letters and digits, in lower case; there is no stemming and no list of stop words, for
    this is the published baseline. Lucene's form of the inverse document frequency is positive for every
    word, so a document scores above 0 exactly if it holds a word of the query.
    """

    def __init__(self, texts: CodeTexts) -> None:
        """Index the texts; a second or two for all of ICD-10-CM."""
        import bm25s
        from bm25s.tokenization import Tokenized

        self._texts = texts
        words: dict[str, int] = {}
        documents = [
            [words.setdefault(word, len(words)) for word in _words(" ".join([name, *terms]))]
            for name, terms in zip(texts.names, texts.terms, strict=True)
        ]
        self._words = words
        self._index = bm25s.BM25(method="lucene")
        if words:  # bm25s does not index a corpus without a word
            self._index.index(Tokenized(ids=documents, vocab=words), show_progress=False)

    def search(self, query: str, k: int) -> list[Hit]:
        """Give the `k` best codes that hold a word of the query, ties in the order of codes.

        Raises:
            ValueError: If `k` is not positive.
        """
        check_k(k)
        known = [word for word in _words(query) if word in self._words]
        if not known:
            return []
        scores: NDArray[np.float32] = self._index.get_scores(known)
        return take_best(self._texts, scores, np.flatnonzero(scores > 0), k)


class HybridRetriever:
    """BM25 and dense retrieval, fused by reciprocal rank. Without a dense retriever it is BM25."""

    def __init__(
        self, bm25: Retriever, dense: Retriever | None, *, dense_weight: float = 0.5, rrf_k: int = RRF_K
    ) -> None:
        """Combine two retrievers.

        Args:
            bm25: The lexical one.
            dense: The dense one, or None.
            dense_weight: The dense one's share of the fused score, from 0 to 1.
            rrf_k: Rank damping, 0 or more.

        Raises:
            ValueError: If a setting is out of range.
        """
        check_dense_weight(dense_weight)
        if rrf_k < 1:
            raise ValueError(f"rrf_k must be at least 1, got {rrf_k}")
        self._bm25 = bm25
        self._dense = dense
        self._dense_weight = dense_weight
        self._rrf_k = rrf_k

    def search(self, query: str, k: int) -> list[Hit]:
        """Give the `k` best codes of the fused rankings, each of which is `k` long.

        Raises:
            ValueError: If `k` is not positive.
        """
        lexical = self._bm25.search(query, k)
        if self._dense is None:
            return lexical
        weights = [1 - self._dense_weight, self._dense_weight]
        return reciprocal_rank_fusion(
            [lexical, self._dense.search(query, k)], k, rrf_k=self._rrf_k, weights=weights
        )


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Hit]], k: int, *, rrf_k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[Hit]:
    """Fuse rankings by the sum of `weight / (rrf_k + rank)` over those that hold a code, rank from 0.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods" (SIGIR 2009, doi:10.1145/1571941.1572114) count ranks from 1; the published harness counts from 0
    and is followed here.

    Args:
        rankings: Rankings, best first, a code at most once in each.
        k: At most so many codes are returned.
        rrf_k: Rank damping.
        weights: One weight a ranking. Default: 1 each. A ranking of weight 0 contributes no code.

    Returns:
        Codes with their fused scores, ties in the order of codes.

    Raises:
        ValueError: If there is not one weight a ranking, or `k` is not positive.
    """
    check_k(k)
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"weights must be one a ranking: got {len(weights)} for {len(rankings)}")
    scores: dict[str, float] = {}
    names: dict[str, str] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        if weight == 0:
            continue
        for rank, hit in enumerate(ranking):
            scores[hit.code] = scores.get(hit.code, 0.0) + weight / (rrf_k + rank)
            names.setdefault(hit.code, hit.name)
    ranked = sorted(scores, key=lambda code: (-scores[code], code))
    return [Hit(code, names[code], scores[code]) for code in ranked[:k]]


class DescendantsRetriever:
    """Another retriever's codes, each followed by all codes below it."""

    def __init__(self, seeds: Retriever, hierarchy: Hierarchy, names: Mapping[str, str]) -> None:
        """Expand what `seeds` finds; `names` says what each code is called."""
        self._seeds = seeds
        self._hierarchy = hierarchy
        self._names = names

    def search(self, query: str, k: int) -> list[Hit]:
        """Give the `k` best codes with all below them; a code has the score of the first one that brought it.

        Raises:
            ValueError: If `k` is not positive.
        """
        found: dict[str, Hit] = {}
        for seed in self._seeds.search(query, k):
            for code in self._hierarchy.descendants(seed.code):
                if code in self._names:  # a placeholder is no code
                    found.setdefault(code, Hit(code, self._names[code], seed.score))
        return list(found.values())


def expand_descendants(hierarchy: Hierarchy, curated_codes: Sequence[str]) -> list[str]:
    """Give the shortest curated code and all codes below it.

    The least specific curated code is where a person would start; it sees the truth and is a deliberately
    weak baseline. Of several as short, the first one counts, as published.

    Returns:
        Codes, the seed first; none if no code is given or the vocabulary lacks the seed.
    """
    return hierarchy.descendants(min(curated_codes, key=len)) if curated_codes else []


class Retrievers(Mapping[str, Retriever]):
    """Retrievers by the name of their method, each built when it is first asked for."""

    def __init__(self, builders: Mapping[str, Callable[[], Retriever]]) -> None:
        """Hold one function a method that builds its retriever."""
        self._builders = builders
        self._built: dict[str, Retriever] = {}

    def __getitem__(self, method: str) -> Retriever:
        """Give the retriever of a method, building it if need be."""
        if method not in self._built:
            self._built[method] = self._builders[method]()
        return self._built[method]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of methods."""
        return iter(self._builders)

    def __len__(self) -> int:
        """Give the number of methods."""
        return len(self._builders)


def build_retrievers(
    con: "DuckDBPyConnection", dense: "DenseRetriever | None" = None, *, dense_weight: float = 0.5
) -> Retrievers:
    """Give the retrievers over a vocabulary, by method: `dense` only if there is one.

    Args:
        con: An open vocabulary; it is read when a retriever is first asked for.
        dense: A dense retriever over the same vocabulary.
        dense_weight: The dense one's share in `hybrid`, from 0 to 1.

    Raises:
        ValueError: If the weight is out of range.
    """
    check_dense_weight(dense_weight)
    retrievers: Retrievers

    def build_best() -> Retriever:
        from clinical_evals.ontology.best import BestRetriever

        return BestRetriever.over(con)

    def build_descendants() -> Retriever:
        from clinical_evals.ontology.vocabulary import load_hierarchy

        names = dict(zip(texts().codes, texts().names, strict=True))
        return DescendantsRetriever(retrievers["bm25"], load_hierarchy(con), names)

    @cache
    def texts() -> CodeTexts:
        return read_code_texts(con)

    builders: dict[str, Callable[[], Retriever]] = {
        "bm25": lambda: Bm25Retriever(texts()),
        "hybrid": lambda: HybridRetriever(retrievers["bm25"], dense, dense_weight=dense_weight),
        "bm25_descendants": build_descendants,
        "best": build_best,
    }
    if dense is not None:
        found: Retriever = dense
        builders["dense"] = lambda: found
    retrievers = Retrievers(builders)
    return retrievers


def take_best(
    texts: CodeTexts, scores: NDArray[np.float32], candidates: NDArray[np.intp], k: int
) -> list[Hit]:
    """Give the `k` candidates of the highest scores, ties in the order of codes."""
    if len(candidates) > k:
        # Everything that ties with the k-th stays in, so that the order of codes decides.
        least = np.partition(scores[candidates], -k)[-k]
        candidates = candidates[scores[candidates] >= least]
    # Candidates ascend and the texts are in the order of codes, so a stable sort settles ties.
    best = candidates[np.argsort(-scores[candidates], kind="stable")][:k]
    return [Hit(texts.codes[place], texts.names[place], float(scores[place])) for place in best.tolist()]


def check_k(k: int) -> None:
    """Refuse a number of codes that is not positive."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")


def check_dense_weight(dense_weight: float) -> None:
    """Refuse a weight that is no share."""
    if not 0 <= dense_weight <= 1:
        raise ValueError(f"dense_weight must lie from 0 to 1, got {dense_weight}")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
