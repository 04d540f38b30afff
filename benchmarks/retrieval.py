"""How long the vocabulary takes to load and every CCSR category to be searched for and scored.

Run: ``python benchmarks/retrieval.py``. Times are of this machine; only the ratios travel.
"""

import time
from collections.abc import Callable

from clinical_evals.ontology.benchmark import benchmark_cohorts, load_benchmark_cohorts
from clinical_evals.ontology.best import BestRetriever
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary

METHODS = ("bm25", "bm25_descendants", "expand_descendants", "best")


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Print the times."""
    open_vocabulary().close()  # builds it, where it is not built yet
    con = open_vocabulary()
    found: list[Hierarchy] = []
    took = seconds(lambda: found.append(load_hierarchy(con)))
    print(f"hierarchy of the vocabulary loaded: {took:.2f} s")
    retriever: list[BestRetriever] = []
    print(f"index of `best`: {seconds(lambda: retriever.append(BestRetriever.over(con))):.2f} s")
    cohorts = load_benchmark_cohorts(con, "ccsr")
    took = seconds(lambda: [retriever[0].search(cohort.name) for cohort in cohorts])
    print(f"`best`: {1000 * took / len(cohorts):.1f} ms a name")
    took = seconds(lambda: benchmark_cohorts(con, cohorts, METHODS))
    print(f"{len(cohorts)} CCSR categories x {len(METHODS)} methods, indexes included: {took:.1f} s")


if __name__ == "__main__":
    main()
