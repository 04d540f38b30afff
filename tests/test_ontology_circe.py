"""Circe definitions: which concept sets count, what each resolves to, what it drops."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from ontology_data import shared

from clinical_evals.files import InputError
from clinical_evals.ontology import circe, curated
from clinical_evals.ontology.athena import build_from_athena
from clinical_evals.ontology.code_map import build_from_map
from clinical_evals.ontology.cohorts import Cohort, CuratedError, Dropped
from clinical_evals.ontology.vocabulary import building, open_vocabulary, write_about


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_vocabulary() as opened:
        yield opened


def test_the_ten_aesi_cohorts_without_athena(con: duckdb.DuckDBPyConnection) -> None:
    folder = shared("ohdsi-aesi-cohorts", "cohorts")
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
    build_from_athena(shared("athena-samples", "ohdsi_athena_prostate"), built)
    with open_vocabulary(built) as con:
        cohort = _resolve(con, tmp_path, _definition([_item(200962, "93974005", **DOWN)]))
    assert cohort.codes == ["C61"]
    suicide = tmp_path / "suicide.duckdb"
    build_from_map(shared("athena-samples", "n3c", "suicide-ss-dx.csv"), suicide, "ICD10CM")
    with open_vocabulary(suicide) as con:
        cohort = _resolve(con, tmp_path, _definition([_item(4273391, "6471006")]))
    assert "R45.851" in cohort.codes
