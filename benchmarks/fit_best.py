"""Fit the weights of the best retriever on half of the CCSR categories and write them into the package.

Run it after the features or the word tables change: ``python benchmarks/fit_best.py``. Which half a category
belongs to is fixed by a digest of its id (`clinical_evals.ontology.benchmark.is_tuning`); the other half and
the bundled value sets are never read here. The settings that are not weights (smoothing, the two cuts) are
chosen by five-fold cross-validation inside the tuning half, whose mean is printed.

Everything is deterministic.
"""

import hashlib
import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from clinical_evals.ontology import best
from clinical_evals.ontology.benchmark import is_tuning
from clinical_evals.ontology.best_index import Index
from clinical_evals.ontology.best_query import read_query
from clinical_evals.ontology.ccsr import load_ccsr
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.metrics import hierarchical_score, over_inclusion_penalty, set_coverage
from clinical_evals.ontology.scoring import match_scores
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary

_RIDGE = 3.0
_MOST_ROWS = 4000  # candidates of one cohort that enter the fit
_FOLDS = 5
_TARGET = Path(best.__file__).with_name("best_weights.json")
_GRID = {
    "smoothing": (0.25, 0.5),
    "least": (0.02, 0.1),
    "share": (0.2, 0.3, 0.4),
    "share_beside": (0.3, 0.5, 0.7),
}


class Case:
    """A tuning cohort: what its name means outright, candidates for the rest, and which belong."""

    def __init__(self, retriever: best.BestRetriever, cohort_id: str, name: str, codes: list[str]) -> None:
        index = retriever.index
        self.cohort_id, self.name = cohort_id, name
        known = set(index.codes)
        self.truth = [code for code in codes if code in known]
        asked = read_query(name)
        self.lacking = asked.lacking
        self.named, self.found = retriever.read(asked)
        # The model learns from the whole name, also where the rules leave it nothing to do.
        self.all_found = best.describe_candidates(index, asked)
        wanted = set(self.truth)
        places = [] if self.all_found is None else self.all_found[0].tolist()
        self.belongs = np.array([index.codes[place] in wanted for place in places], dtype=np.float64)
        self.fixed: float | None = None
        self.fold = hashlib.sha256(cohort_id.encode()).digest()[1] % _FOLDS


def fit(cases: list[Case]) -> best.Weights:
    """Fit the logistic model; every cohort counts alike, however many candidates it has."""
    generator = np.random.default_rng(0)
    rows, labels, shares = [], [], []
    for case in cases:
        if case.all_found is None:
            continue
        count = len(case.belongs)
        chosen = np.arange(count)
        if count > _MOST_ROWS:
            chosen = np.sort(generator.choice(count, _MOST_ROWS, replace=False))
        rows.append(case.all_found[1][chosen])
        labels.append(case.belongs[chosen])
        shares.append(np.full(len(chosen), 1 / len(chosen) ** 0.7))
    table, label, weight = np.vstack(rows), np.concatenate(labels), np.concatenate(shares)
    weight *= len(rows) * 20 / weight.sum()
    means, scales = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-6)
    standard = (table - means) / scales

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logit = standard @ parameters[:-1] + parameters[-1]
        probability = 1 / (1 + np.exp(-logit))
        value = (weight * (np.logaddexp(0, logit) - label * logit)).sum()
        wrong = weight * (probability - label)
        slope = np.append(standard.T @ wrong + _RIDGE * parameters[:-1], wrong.sum())
        return float(value + _RIDGE / 2 * (parameters[:-1] ** 2).sum()), slope

    result = minimize(loss, np.zeros(table.shape[1] + 1), jac=True, method="L-BFGS-B")
    return best.Weights(result.x[:-1], means, scales, float(result.x[-1]), 0.5, 0.02, 0.3, 0.3)


def score(index: Index, hierarchy: Hierarchy, case: Case, weights: best.Weights) -> float:
    """Give the published hierarchical score of one cohort."""
    if case.found is None and case.fixed is not None:
        return case.fixed  # no weight can change it
    places = best.gather(index, case.named, case.found, weights, case.lacking)
    codes = [index.codes[place] for place in places]
    coverage = set_coverage(match_scores(hierarchy, case.truth, codes), len(case.truth))
    penalty = over_inclusion_penalty(match_scores(hierarchy, codes, case.truth), len(codes))
    case.fixed = hierarchical_score(coverage, penalty)
    return case.fixed


def main() -> None:
    """Fit, choose the settings, write the weights."""
    con = open_vocabulary()
    hierarchy = load_hierarchy(con)
    retriever = best.BestRetriever.over(con)
    index = retriever.index
    cohorts = [cohort for cohort in load_ccsr(con) if is_tuning(cohort.cohort_id)]
    cases = [Case(retriever, cohort.cohort_id, cohort.name, cohort.codes) for cohort in cohorts]
    by_fold = {fold: fit([case for case in cases if case.fold != fold]) for fold in range(_FOLDS)}
    found = {}
    for setting in itertools.product(*_GRID.values()):
        smoothing, least, share, beside = setting
        chosen_by_fold = {
            fold: replace(weights, smoothing=smoothing, least=least, share=share, share_beside=beside)
            for fold, weights in by_fold.items()
        }
        found[setting] = [score(index, hierarchy, case, chosen_by_fold[case.fold]) for case in cases]
    chosen = max(found, key=lambda setting: float(np.mean(found[setting])))
    print(f"{len(cases)} cohorts, cross-validated mean {np.mean(found[chosen]):.4f} at {chosen}")
    if "--cases" in sys.argv:
        for value, case in sorted(zip(found[chosen], cases, strict=True), key=lambda pair: pair[0]):
            print(f"{value:.3f}  {case.cohort_id}  {len(case.truth):5d}  {case.name}")
    weights = fit(cases)
    columns = zip(best.FEATURES, weights.features, weights.means, weights.scales, strict=True)
    table = {
        "about": "Fitted by benchmarks/fit_best.py on the tuning half of the CCSR categories. "
        "Columns: weight of the standardised feature, mean, standard deviation.",
        "features": {name: [round(float(x), 6) for x in numbers] for name, *numbers in columns},
        "bias": round(weights.bias, 6),
        **dict(zip(_GRID, chosen, strict=True)),
    }
    if "--dry" not in sys.argv:
        _TARGET.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {_TARGET.name}")


if __name__ == "__main__":
    main()
