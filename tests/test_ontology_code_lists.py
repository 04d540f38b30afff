"""Tables of condition and code: how they may be written, and what is said of one that cannot be used."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from ontology_data import shared

from clinical_evals.ontology import code_lists, curated
from clinical_evals.ontology.cohorts import NOT_A_CODE, CuratedError, Dropped
from clinical_evals.ontology.vocabulary import open_vocabulary


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_vocabulary() as opened:
        yield opened


def test_cms_chronic_conditions(con: duckdb.DuckDBPyConnection) -> None:
    folder = shared("cms-ccw")
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
    assert {item.reason for item in opioids.dropped} == {code_lists.OTHER_SYSTEM}
    assert Counter(item.code_or_concept.split()[0] for item in opioids.dropped) == {
        "NDC": 224,
        "HCPCS": 19,
        "ICD-10-PCS": 8,
    }
    assert not [code for code in opioids.codes if code[0] in "GHJ"]  # HCPCS codes look like ICD-10 ones


def test_british_code_lists(con: duckdb.DuckDBPyConnection) -> None:
    cohorts = {cohort.cohort_id: cohort for cohort in curated.load_cohorts(con, shared("bhf-phenotypes"))}
    assert set(cohorts) == {"AMI", "AF", "ckdb", "DVT_DVT", "diabetes", "PE"}
    # One category stands for all of it.
    assert {"I26", "I26.99"} <= set(cohorts["PE"].codes)
    assert Counter(item.reason for item in cohorts["AF"].dropped) == {code_lists.OTHER_SYSTEM: 29}
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
    spaced = _table(tmp_path, "\r\rcondition,code,,\r AF , I48,,\rblock,I60\u2212I62,,\r", "spaced.csv")
    assert [cohort.name for cohort in curated.load_cohorts(con, spaced)] == ["AF", "block"]
    first, _ = curated.load_code_list(con, file, descendants=True)
    assert "I48.92" in first.codes
    other = _table(tmp_path, "what,dx\nAF,I48\n")
    (cohort,) = curated.load_code_list(con, other, condition_field="what", code_field="dx", descendants=False)
    assert cohort.codes == ["I48"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("condition,name\nAF,x\n", "no column code or .* for the code in its first line$"),
        ("dx,code\nAF,I48\n", "no column condition or .* for the condition in its first line$"),
        ("Smith,J41\nDoe,J42\n", "no column code or .* for the code in its first line$"),
        ("code,condition,Code,code\nI48,AF,x,y\n", "two columns code in its first line"),
        ("condition,code\nAF\n", "line 2: has fewer fields than the header"),
        ("\n\ncondition,code\n\nAF\n", "line 5: has fewer fields than the header"),
        ("condition,code\nfailure, left,I50.1\n", "line 2: has more fields than the header; quote a name"),
        ('condition,code\n"AF,I48\nasthma,J45\n', "line 3: has fewer fields"),
        ("condition,code\nAF,I48\n,I48.0\n", "line 3: column condition is empty"),
        ("condition,code\n", "holds no rows"),
        ("", "holds no rows"),
    ],
)
def test_a_bad_table_is_one_clear_error(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(CuratedError, match=said) as caught:
        curated.load_cohorts(con, _table(tmp_path, text))
    assert not re.search(r"Smith|Doe|J41|AF|xxx", str(caught.value))
    good = _table(tmp_path, "condition,code\nAF,I48\n")
    with pytest.raises(CuratedError, match="no column dx for the code"):
        curated.load_code_list(con, good, code_field="dx")


def test_two_cohorts_of_one_id(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        _table(tmp_path, "condition,code\nAF,I48\n", name)
    with pytest.raises(CuratedError, match="two cohorts have the id 'AF'"):
        curated.load_cohorts(con, tmp_path)
