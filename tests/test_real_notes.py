"""The strict rules on real notes with one planted error each, read in place."""

import csv

import pytest
from inspecting import SHARED

from clinical_evals.grounding.claims import Extraction
from clinical_evals.grounding.scoring import score_note

MEDEC = SHARED / "data" / "medec" / "MEDEC-MS-Validation-first300.csv"
pytestmark = pytest.mark.skipif(not MEDEC.is_file(), reason="../shared/data is not beside the checkout")


def label(note: str, claim: str, quote: str) -> tuple[str, str]:
    """The published and the strict label of a problem claimed with a quote."""
    verdict = {"id": "p1", "label": "grounded", "supportingQuote": quote, "rationale": ""}
    result = score_note(note, Extraction.model_validate({"problems": [claim]}), [verdict])
    return result.verdicts[0].label, result.strict[0].label


def rows() -> list[dict[str, str]]:
    with MEDEC.open(encoding="utf-8", newline="") as file:
        marked = [row for row in csv.DictReader(file) if row["Error Flag"] == "1"]
    return [row for row in marked if row["Corrected Sentence"].strip() not in row["Text"]]


def test_a_corrected_sentence_cannot_cite_the_erroneous_one() -> None:
    labels = [label(row["Text"], row["Corrected Sentence"], row["Error Sentence"].strip()) for row in rows()]
    deceived = [strict for published, strict in labels if published == "grounded"]
    assert len(deceived) > 150  # the published rule takes a real but wrong quote
    assert deceived.count("grounded") == 0


def test_the_erroneous_sentence_is_in_its_note_and_cites_itself() -> None:
    sentences = [(row["Text"], row["Error Sentence"].strip()) for row in rows()]
    labels = [label(note, sentence, sentence) for note, sentence in sentences]
    found = [strict for published, strict in labels if published == "grounded"]
    assert len(found) > 150
    assert found.count("grounded") > 0.8 * len(found)
