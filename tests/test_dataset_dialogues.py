"""The bundled dialogues keep what their card says of them."""

from collections import Counter

from clinical_evals.data import read_rows
from clinical_evals.data_path import bundled
from clinical_evals.dialogues import load_dialogues
from clinical_evals.summary.facts import check_facts
from clinical_evals.summary.rubric import CRITERIA, overall_quality
from clinical_evals.summary.sections import COMPARED, split_soap

DIALOGUES = load_dialogues()
CARD = bundled("dialogues", "README.md").read_text(encoding="utf-8")
KINDS = ("plain", "disfluent", "interrupted", "three_speakers", "interpreter", "phone")


def test_the_card_names_this_version() -> None:
    assert (DIALOGUES.name, DIALOGUES.version, DIALOGUES.access) == (
        "clinical-evals dialogues",
        "1.0",
        "synthetic",
    )
    assert f"`{DIALOGUES.digest}`" in CARD
    assert len(DIALOGUES.records) == 24
    assert len({record.family for record in DIALOGUES.records}) == 24


def test_every_kind_is_there_and_every_field_is_filled() -> None:
    kinds = Counter(record.kind for record in DIALOGUES.records)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 4
    for record in DIALOGUES.records:
        assert list(record.candidates) == ["good", "incomplete", "hallucinating", "informal"]
        assert set(record.ratings) == set(record.candidates)
        assert len(set(record.candidates.values())) == 4
        assert not any(character.isdigit() for character in record.dialogue), record.id
        assert record.reference
        found = split_soap(record.reference)
        assert all(any(part in found for part in parts) for parts in COMPARED.values()), record.id


def test_the_ratings_put_the_candidates_in_the_order_of_the_card() -> None:
    for record in DIALOGUES.records:
        overall = [
            overall_quality(*(record.ratings[name][criterion] for criterion in CRITERIA))
            for name in record.candidates
        ]
        assert overall == sorted(overall, reverse=True), record.id
        assert len(set(overall)) >= 3, record.id


def test_the_fact_check_alone_tells_the_invented_summary_from_the_good_one() -> None:
    for record in DIALOGUES.records:
        good, invented = (
            check_facts(record.dialogue, record.candidates[name]) for name in ("good", "hallucinating")
        )
        assert (good.support or 0) > (invented.support or 0) + 0.1, record.id
        assert invented.counts["unsupported"] >= 3, record.id


def test_every_dialogue_has_a_summary_that_plays_for_the_grade() -> None:
    rows = [row for _, row in read_rows(bundled("dialogues", "gaming.jsonl"))]
    assert [row["id"] for row in rows] == [record.id for record in DIALOGUES.records]
    for record, row in zip(DIALOGUES.records, rows, strict=True):
        assert row["summary"] not in record.candidates.values(), record.id
