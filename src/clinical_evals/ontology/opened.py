"""The vocabulary of a run and what is built over it, opened once a process however many samples ask."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.ontology.retrieval import Retrievers, build_retrievers
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.decomposition import TermResolver
    from clinical_evals.ontology.dense import DenseRetriever
    from clinical_evals.ontology.hierarchy import Hierarchy

__all__ = ["dense_retriever", "hierarchy", "resolver", "retrievers", "vocabulary"]


@cache
def vocabulary(path: str | None = None) -> DuckDBPyConnection:
    """Open a vocabulary read-only and keep it open.

    Args:
        path: A file that `vocab build` wrote. Default: the embedded one.

    Raises:
        VocabularyError: If it cannot be opened.
    """
    return open_vocabulary(None if path is None else Path(path))


def hierarchy(path: str | None = None) -> Hierarchy:
    """Give the ICD-10-CM hierarchy of a vocabulary."""
    return load_hierarchy(vocabulary(path))


@cache
def dense_retriever(path: str | None = None) -> DenseRetriever:
    """Give the dense retriever over a vocabulary; the first time of all, its names are embedded.

    Raises:
        DenseUnavailable: If the extra is not installed.
    """
    from clinical_evals.ontology.dense import DenseRetriever, load_encoder

    encoder, name = load_encoder()
    return DenseRetriever.over(vocabulary(path), encoder, name)


@cache
def retrievers(path: str | None = None, dense: bool = False, dense_weight: float = 0.5) -> Retrievers:
    """Give the retrievers over a vocabulary, each built when it is first asked for."""
    semantic = dense_retriever(path) if dense else None
    return build_retrievers(vocabulary(path), semantic, dense_weight=dense_weight)


@cache
def resolver(k: int, dense: bool = False) -> TermResolver:
    """Give the resolver of seed terms over the embedded vocabulary and the bundled value sets."""
    from clinical_evals.ontology.curated import load_cohorts
    from clinical_evals.ontology.decomposition import TermResolver

    return TermResolver(load_cohorts(vocabulary()), retrievers(dense=dense)["hybrid"], k)
