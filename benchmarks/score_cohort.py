"""`score_cohort` beside py-phenoforge on the same codes and edges, and how its time grows with the sets.

py-phenoforge gets a virtual environment of its own and a database of the embedded release; without it (no
package index, say) the benchmark says so and shows our times alone.
"""

import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb
import pandas as pd
from peers import python_with

from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.models import CohortEvalResult
from clinical_evals.ontology.scoring import match_scores, score_cohort
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary

FIGURES = ("coverage", "over_inclusion_penalty", "hierarchical_score")

# Runs in the other environment: reads code sets from standard input, writes times and figures.
_THEIRS = """
import json, sys, time
import duckdb
from phenoforge.eval.harness import score_cohort
con = duckdb.connect(sys.argv[1], read_only=True)
out = []
for truth, predicted in json.load(sys.stdin):
    start = time.perf_counter()
    result = score_cohort(con, "1", "cohort", truth, predicted, "test")
    seconds = time.perf_counter() - start
    out.append([seconds, result.coverage, result.over_inclusion_penalty, result.hierarchical_score])
json.dump(out, sys.stdout)
"""


def write_their_database(hierarchy: Hierarchy, path: Path) -> None:
    """Write codes and is-a edges as phenoforge's tables."""
    ids, nodes = hierarchy.ids, range(len(hierarchy))
    concepts = pd.DataFrame({"id": ids, "code": hierarchy.codes})
    pairs = [(ids[node], ids[parent]) for node in nodes for parent in hierarchy.parents(node)]
    edges = pd.DataFrame(pairs, columns=["child", "parent"])
    with duckdb.connect(str(path)) as theirs:
        theirs.register("concepts", concepts)
        theirs.register("edges", edges)
        theirs.execute(
            "CREATE TABLE concept AS SELECT id AS concept_id, code AS concept_code, code AS concept_name,"
            " 'Condition' AS domain_id, 'ICD10CM' AS vocabulary_id FROM concepts"
        )
        theirs.execute(
            "CREATE TABLE concept_relationship AS SELECT child AS concept_id_1, parent AS concept_id_2,"
            " 'Is a' AS relationship_id FROM edges"
        )


def seconds_of(call: Callable[[], object], rounds: int) -> float:
    """Give the median seconds of a call, after one that warms it up."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def beside_phenoforge(hierarchy: Hierarchy, python: Path, database: Path, codes: list[str]) -> None:
    """Score 117 x 44 codes with both, print the ratio of the times, and stop if a figure differs."""
    rng = random.Random(0)
    sets = [(rng.sample(codes, 117), rng.sample(codes, 44)) for _ in range(3)]
    answer = subprocess.run(
        [python, "-c", _THEIRS, database], input=json.dumps(sets), capture_output=True, text=True, check=True
    )
    times, differences = [], []
    for (truth, predicted), (seconds, *figures) in zip(sets, json.loads(answer.stdout), strict=True):

        def ours(truth: list[str] = truth, predicted: list[str] = predicted) -> CohortEvalResult:
            return score_cohort(hierarchy, "1", "cohort", truth, predicted, "test")

        differences += [
            abs(getattr(ours(), name) - value) for name, value in zip(FIGURES, figures, strict=True)
        ]
        times.append((seconds, seconds_of(ours, 50)))
    theirs, mine = median(seconds for seconds, _ in times), median(seconds for _, seconds in times)
    assert max(differences) < 1e-12, "the figures differ"
    print(
        f"score_cohort, 117 x 44 codes: {mine * 1e3:.2f} ms with all scores; phenoforge {theirs:.2f} s with "
        f"the published ones: {theirs / mine:,.0f}x; largest difference of a figure {max(differences):.0e}"
    )


def main() -> None:
    """Print the comparison and one line a size."""
    with open_vocabulary() as con:
        hierarchy = load_hierarchy(con)
        diabetes, anything = hierarchy.descendants("E08-E13")[1:], [c for c in hierarchy.codes if "." in c]
        if python := python_with("py-phenoforge", "phenoforge.eval.harness"):
            with tempfile.TemporaryDirectory() as folder:
                database = Path(folder) / "vocabulary.duckdb"
                write_their_database(hierarchy, database)
                beside_phenoforge(hierarchy, python, database, diabetes)
    rng = random.Random(1)
    for size in (50, 500, 5_000):
        truth, predicted = rng.sample(anything, size), rng.sample(anything, size)

        def published(truth: list[str] = truth, predicted: list[str] = predicted) -> object:
            return match_scores(hierarchy, truth, predicted), match_scores(hierarchy, predicted, truth)

        def whole(truth: list[str] = truth, predicted: list[str] = predicted) -> object:
            return score_cohort(hierarchy, "1", "cohort", truth, predicted, "test")

        rounds = 5_000 // size + 3
        print(
            f"score_cohort, {size:,} x {size:,} codes: {seconds_of(whole, rounds) * 1e3:.2f} ms, of "
            f"which the published scores {seconds_of(published, rounds) * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
