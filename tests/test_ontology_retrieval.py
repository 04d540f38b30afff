"""Retrieval: what is found, in which order, and what is never returned."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from clinical_evals.cli import cli
from clinical_evals.ontology.best import FEATURES, BestRetriever, load_weights
from clinical_evals.ontology.best_query import read_query
from clinical_evals.ontology.best_words import (
    canonical,
    known_terms,
    name_words,
    query_words,
    read_terms,
    telling,
)
from clinical_evals.ontology.dense import DenseRetriever
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.ontology.retrieval import (
    Bm25Retriever,
    CodeTexts,
    Hit,
    HybridRetriever,
    build_retrievers,
    expand_descendants,
    reciprocal_rank_fusion,
)
from clinical_evals.ontology.vocabulary import open_vocabulary

TWO_CODES = CodeTexts(
    ["E11.9", "I10"],
    ["Type 2 diabetes mellitus without complications", "Essential (primary) hypertension"],
    [[], ["High blood pressure"]],
)


class CountingEncoder:
    """Counts letters: a real vector for any text, and a count of the texts that were encoded."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, sentences: list[str]) -> NDArray[Any]:
        self.encoded += len(sentences)
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        return np.array([[text.lower().count(letter) for letter in letters] for text in sentences], float)


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return open_vocabulary()


@pytest.fixture(scope="module")
def best(con: duckdb.DuckDBPyConnection) -> BestRetriever:
    return BestRetriever.over(con)


def codes_of(hits: list[Hit]) -> list[str]:
    return [hit.code for hit in hits]


def test_rep_s13_word_in_half_of_the_documents_is_found_and_no_other_is_returned() -> None:
    bm25 = Bm25Retriever(TWO_CODES)
    assert codes_of(bm25.search("hypertension", 2)) == ["I10"]
    assert bm25.search("xylophone", 2) == []


@pytest.mark.parametrize("query", ["", "  ", "?!", "xylophone"])
def test_a_query_without_a_known_word_finds_nothing(query: str, best: BestRetriever) -> None:
    assert Bm25Retriever(TWO_CODES).search(query, 5) == []
    assert best.search(query) == []


def test_inclusion_terms_are_searched() -> None:
    assert codes_of(Bm25Retriever(TWO_CODES).search("blood pressure", 5)) == ["I10"]


def test_ties_are_in_the_order_of_codes_also_at_the_cut() -> None:
    texts = CodeTexts(["A01", "A02", "A03", "A04"], ["fever"] * 4, [[]] * 4)
    assert codes_of(Bm25Retriever(texts).search("fever", 3)) == ["A01", "A02", "A03"]


def test_an_empty_vocabulary_finds_nothing() -> None:
    assert Bm25Retriever(CodeTexts([], [], [])).search("fever", 3) == []


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(k: int, best: BestRetriever) -> None:
    for retriever in (Bm25Retriever(TWO_CODES), best):
        with pytest.raises(ValueError, match="k must be at least 1"):
            retriever.search("fever", k)


def test_reciprocal_rank_fusion_by_hand() -> None:
    one = [Hit("A", "a", 9), Hit("B", "b", 8)]
    other = [Hit("B", "b", 0.9), Hit("C", "c", 0.8)]
    fused = reciprocal_rank_fusion([one, other], 3, weights=[0.5, 0.5])
    # B: 0.5/61 + 0.5/60; A: 0.5/60; C: 0.5/61
    assert codes_of(fused) == ["B", "A", "C"]
    assert [hit.score for hit in fused] == pytest.approx([0.5 / 61 + 0.5 / 60, 0.5 / 60, 0.5 / 61])
    assert codes_of(reciprocal_rank_fusion([one, other], 3, weights=[1, 0])) == ["A", "B"]


def test_hybrid_without_dense_is_bm25_and_weights_move_it() -> None:
    bm25 = Bm25Retriever(TWO_CODES)
    assert HybridRetriever(bm25, None).search("hypertension", 2) == bm25.search("hypertension", 2)
    dense = DenseRetriever(TWO_CODES, CountingEncoder(), CountingEncoder().encode(TWO_CODES.names))
    only_dense = HybridRetriever(bm25, dense, dense_weight=1).search("type 2 diabetes", 2)
    assert codes_of(only_dense) == codes_of(dense.search("type 2 diabetes", 2))
    with pytest.raises(ValueError, match="dense_weight must lie from 0 to 1, got 2"):
        HybridRetriever(bm25, dense, dense_weight=2)


def test_expand_descendants_starts_from_the_shortest_curated_code() -> None:
    nodes = [(1, "E11"), (2, "E11.2"), (3, "E11.21"), (4, "E11.9")]
    hierarchy = Hierarchy.from_edges(nodes, [(2, 1), (4, 1), (3, 2)])
    assert expand_descendants(hierarchy, ["E11.21", "E11.2"]) == ["E11.2", "E11.21"]
    assert expand_descendants(hierarchy, []) == []
    assert expand_descendants(hierarchy, ["Z99"]) == []


def tiny_vocabulary() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE concept (concept_id INTEGER, code VARCHAR, name VARCHAR, vocabulary VARCHAR, kind VARCHAR,"
        " billable BOOLEAN, valid BOOLEAN); CREATE TABLE is_a (child INTEGER, parent INTEGER);"
        "CREATE TABLE term (concept_id INTEGER, kind VARCHAR, text VARCHAR);"
        "CREATE TABLE about (key VARCHAR, value VARCHAR); INSERT INTO about VALUES ('release', '2026-04-01');"
        "INSERT INTO concept VALUES (1, 'I10', 'Essential (primary) hypertension', 'ICD10CM', 'code', true, true),"
        "(2, 'E11.9', 'Type 2 diabetes mellitus without complications', 'ICD10CM', 'code', true, true),"
        "(3, 'I10.X', 'Hypertension, retired', 'ICD10CM', 'code', true, false),"
        "(4, '38341003', 'Hypertension', 'SNOMED', 'Disorder', false, true)"
    )
    return con


def test_only_valid_icd10cm_codes_are_returned_by_all_methods() -> None:
    retrievers = build_retrievers(tiny_vocabulary())
    assert set(retrievers) == {"bm25", "hybrid", "bm25_descendants", "best"}
    for method in retrievers:
        assert "38341003" not in codes_of(retrievers[method].search("hypertension", 9))
    assert codes_of(retrievers["bm25"].search("hypertension", 9)) == ["I10"]


def test_embeddings_are_computed_once_for_a_model_release_and_text(tmp_path: Path) -> None:
    encoder, progress = CountingEncoder(), list[tuple[int, int]]()
    con = tiny_vocabulary()
    first = DenseRetriever.over(con, encoder, "m", cache=tmp_path, progress=lambda *at: progress.append(at))
    assert encoder.encoded == 2
    assert progress == [(2, 2)]
    second = DenseRetriever.over(con, encoder, "m", cache=tmp_path)
    assert encoder.encoded == 2
    assert codes_of(second.search("diabetes", 2)) == codes_of(first.search("diabetes", 2))
    DenseRetriever.over(con, encoder, "another", cache=tmp_path)
    con.execute("UPDATE concept SET name = 'Hypertension' WHERE code = 'I10'")
    before = encoder.encoded
    DenseRetriever.over(con, encoder, "m", cache=tmp_path)
    assert encoder.encoded == before + 2
    (broken,) = sorted(tmp_path.glob("another*.npy"))
    broken.write_bytes(b"cut off")
    DenseRetriever.over(con, encoder, "another", cache=tmp_path)
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize(
    ("name", "alternatives", "encounter"),
    [
        ("Gastritis and duodenitis", [("gastritis",), ("duodenitis",)], None),
        ("Anal and rectal conditions", [("anus", "condit"), ("rectum", "condit")], None),
        ("Fracture of the jaw, initial encounter", [("fracture", "jaw")], "initial"),
        ("Pneumonia (except that caused by tuberculosis)", [("pneumon",)], None),
        ("Leukemia - hairy cell", [("hairi", "cell", "leukem")], None),
        ("", [], None),
    ],
)
def test_a_name_is_taken_apart(name: str, alternatives: list[tuple[str, ...]], encounter: str | None) -> None:
    query = read_query(name)
    assert list(query.alternatives) == alternatives
    assert query.encounter == encounter


def test_what_a_name_leaves_out_is_read() -> None:
    assert read_query("Hepatitis (excluding viral)").exclusions == (("virus",),)
    assert read_query("Transport accidents; not pedestrian").exclusions == (("pedestrian",),)


def test_words_of_one_meaning_have_one_form() -> None:
    assert canonical("renal") == canonical("kidneys")
    assert canonical("tonsillitis") != canonical("tonsils")
    assert canonical("noninfectious") == canonical("noninfective") != canonical("infectious")
    assert query_words("MI") == query_words("myocardial infarction")
    assert all(wording for wordings in known_terms().values() for wording in wordings)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("heart failure", {"I50", "I50.9", "I50.22"}, {"K72.90", "I10"}),
        ("asthma", {"J45", "J45.909"}, {"J47.9"}),
        ("pressure ulcer", {"L89.004"}, {"L97.509"}),
        ("fracture of the clavicle, subsequent encounter", {"S42.001D"}, {"S42.001A"}),
    ],
)
def test_best_brings_whole_subtrees(
    best: BestRetriever, name: str, inside: set[str], outside: set[str]
) -> None:
    found = set(codes_of(best.search(name)))
    assert inside <= found
    assert not outside & found


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("asthma", {"J45", "J45.909"}, {"J44.9", "I50.1"}),  # their notes and inclusion terms name asthma
        ("diabetes", {"E08", "E10.9", "E11.22", "E13.9"}, {"E23.2", "O24.410", "Z83.3"}),
        ("hypertension", {"I10", "I11.0", "I15.0"}, {"I27.20", "K76.6", "G93.2"}),
        ("stroke", {"I61.9", "I63.9"}, {"I69.351", "T67.01XA", "Z86.73"}),
        ("depression", {"F32.A", "F33.1", "F34.1"}, {"F31.30", "F43.21"}),
        ("Cancer, lung", {"C34.90"}, {"C50.919", "C78.00"}),
        ("hepatitis A", {"B15.9"}, {"B16.9"}),
        ("Patients with newly diagnosed MI", {"I21.9", "I22.9"}, {"I25.2"}),
        ("whooping cough", {"A37.90"}, {"R05.9", "T50.A15A"}),
        ("acute otitis media", {"H66.90"}, {"H60.90"}),
        ("anxiety and depression", {"F32.A", "F41.1"}, {"F20.9"}),
        ("schizophrenia and other psychotic disorders", {"F20.9", "F25.0", "F29"}, {"F32.A"}),
    ],
)
def test_best_takes_what_is_called_so_and_leaves_what_only_mentions_it(
    best: BestRetriever, name: str, inside: set[str], outside: set[str]
) -> None:
    found = set(codes_of(best.search(name)))
    assert inside <= found
    assert not outside & found


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("COPD exacerbation", {"J44.1"}),
        ("chronic kidney disease stage 3", {"N18.3", "N18.30", "N18.31", "N18.32"}),
        ("severe uncontrolled essential hypertension", {"I10"}),
        ("pneumothorax except postprocedural", None),
    ],
)
def test_other_words_take_a_part_of_a_known_term(
    best: BestRetriever, name: str, codes: set[str] | None
) -> None:
    found = set(codes_of(best.search(name)))
    if codes is None:
        assert "J93.9" in found
        assert "J95.811" not in found
    else:
        assert found == codes


def test_of_a_name_that_is_hardly_known_nothing_is_found(best: BestRetriever) -> None:
    assert best.search("Foobar syndrome") == []


def test_the_stage_of_care_keeps_codes_that_say_it(best: BestRetriever) -> None:
    found = codes_of(best.search("adverse drug reaction, initial encounter"))
    assert "T45.515A" in found
    assert all(len(code) < 8 or code.endswith("A") for code in found)


def test_every_term_means_one_set_of_codes_that_exist(con: duckdb.DuckDBPyConnection) -> None:
    codes = {
        row[0] for row in con.execute("SELECT code FROM concept WHERE vocabulary = 'ICD10CM'").fetchall()
    }
    meant: dict[frozenset[str], str] = {}
    for row in read_terms():
        for term in row["term"].split("|") if row["codes"] else []:
            for words in (name_words(term), query_words(term)):
                assert telling(words)
                assert meant.setdefault(telling(words), row["codes"]) == row["codes"], term
        for entry in row["codes"].split():
            ends = entry.removeprefix("!").partition("/")[0].split("-")
            assert codes.issuperset(ends), entry


def test_best_decides_how_many_and_k_only_caps(best: BestRetriever) -> None:
    found = best.search("gout")
    assert len(found) > 25
    assert best.search("gout", 3) == found[:3]
    assert best.search("gout", 10**6) == found
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.code))
    assert all(0 <= hit.score <= 1 for hit in found)


def test_the_weights_are_those_of_the_features() -> None:
    assert len(load_weights().features) == len(FEATURES)


@pytest.mark.parametrize("text", ["and or of", "((((", "a - - b", "x" * 5000, "other", "İ/ß; ,", "(except )"])
def test_odd_names_never_crash(best: BestRetriever, text: str) -> None:
    best.search(text)


def test_retrieve_prints_a_list_of_code_name_and_score() -> None:
    result = CliRunner().invoke(cli, ["retrieve", "heart failure", "--method", "bm25", "--k", "2", "--json"])
    rows = json.loads(result.stdout)
    assert result.exit_code == 0
    assert len(rows) == 2
    assert all(list(row) == ["code", "name", "score"] for row in rows)
    assert json.loads(CliRunner().invoke(cli, ["retrieve", "xylophone", "--json"]).stdout) == []


def test_retrieve_refuses_dense_without_the_extra_and_goes_on_with_hybrid() -> None:
    pytest.importorskip("bm25s")
    try:
        import sentence_transformers  # noqa: F401
    except ImportError:
        refused = CliRunner().invoke(cli, ["retrieve", "gout", "--method", "dense"])
        assert refused.exit_code == 2
        assert "clinical-evals[dense]" in refused.stderr
        went_on = CliRunner().invoke(cli, ["retrieve", "gout", "--method", "hybrid", "--k", "1", "--json"])
        assert went_on.exit_code == 0
        assert "hybrid` is BM25" in went_on.stderr
    else:
        pytest.skip("the extra is installed here")


@pytest.mark.parametrize("text", ["", " \n", "x" * 2_001])
def test_a_text_that_names_nothing_or_goes_on_is_refused(text: str) -> None:
    refused = CliRunner().invoke(cli, ["retrieve", text])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "1 to 2,000 characters" in refused.stderr


def test_a_name_with_underscores_is_words(con: duckdb.DuckDBPyConnection) -> None:
    retriever = build_retrievers(con)["bm25"]
    assert retriever.search("atrial_fibrillation", 3) == retriever.search("atrial fibrillation", 3) != []
