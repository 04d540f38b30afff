"""Strict evidence: each reason, and its honest neighbour that must not be punished."""

import pytest

from clinical_evals.grounding.claims import Extraction
from clinical_evals.grounding.scoring import score_note


def reasons(
    note: str, field: str, item: dict[str, str] | str, quote: str | None, label: str = "grounded"
) -> list[str]:
    extraction = Extraction.model_validate({field: [item]})
    identity = {"problems": "p1", "medications": "m1", "plan": "a1"}[field]
    verdict = {"id": identity, "label": label, "supportingQuote": quote, "rationale": ""}
    (judged,) = score_note(note, extraction, [verdict]).as_json()["verdicts"]
    assert judged["strictLabel"] == ("unsupported" if judged["reasons"] else label)
    return list(judged["reasons"])


MED = {"name": "metformin", "dosage": "1000 mg", "frequency": "twice daily"}
LONG = " ".join(["asthma is stable and she is well"] * 8) + "."

CASES = [
    # what is quoted
    ("Has asthma.", "problems", "asthma", "bronchial asthma", ["fake_span"]),
    ("Has asthma.", "problems", "asthma", None, ["no_span"]),
    ("Has asthma.", "problems", "asthma", "a", ["mid_token_span", "off_claim_span"]),
    ("Has asthma.", "problems", "asthma", "Has asthma", []),
    ("Prediabetes noted.", "problems", "diabetes", "diabetes", ["mid_token_span"]),
    ("Takes metformin 1000 mg.", "medications", {"name": "metformin", "dosage": "1000 mg"}, "metformin 1000", ["mid_token_span", "number_mismatch"][1:]),
    (LONG, "problems", "asthma", LONG, ["broad_span"]),
    ("Has asthma. Takes albuterol. Sleeps well.", "problems", "asthma", "Has asthma. Takes albuterol. Sleeps well.", ["broad_span"]),
    # what it is about
    ("BP 152/94. Has asthma.", "problems", "hypertension", "BP 152/94", ["off_claim_span"]),
    ("BP 152/94. Has asthma.", "problems", "elevated blood pressure", "BP 152/94", ["off_claim_span"]),
    ("BP elevated at 152/94.", "problems", "elevated blood pressure", "BP elevated at 152/94", []),
    ("Abdominal pain since Monday.", "problems", "chest pain", "Abdominal pain", ["off_claim_span"]),
    ("Chest clear. Abdominal pain.", "problems", "chest pain", "Chest clear. Abdominal pain", ["broad_span"]),
    ("C diff toxin sent.", "problems", "C diff colitis", "C diff toxin sent", ["off_claim_span"]),
    ("L wrist swollen.", "problems", "left wrist fracture", "L wrist swollen", ["off_claim_span"]),
    ("PMH: HTN, T2DM, COPD", "problems", "hypertension", "HTN", []),
    ("PMH: HTN, T2DM, COPD", "problems", "type 2 diabetes", "T2DM", []),
    ("PMH: type 1 diabetes.", "problems", "type 2 diabetes", "type 1 diabetes", ["number_mismatch"]),
    ("Takes Tylenol 500 mg.", "medications", {"name": "acetaminophen", "dosage": "500 mg"}, "Tylenol 500 mg", []),
    ("Severe headaches.", "problems", "severe headache", "Severe headaches", []),
    # numbers
    ("Takes metformin 500 mg BID.", "medications", MED, "metformin 500 mg BID", ["number_mismatch"]),
    ("Takes metformin 1,000mg b.i.d.", "medications", MED, "metformin 1,000mg b.i.d", []),
    ("Takes metformin 1 g two times a day.", "medications", MED, "metformin 1 g two times a day", []),
    ("Takes metformin 1000 mg daily.", "medications", MED, "metformin 1000 mg daily", ["number_mismatch"]),
    ("Takes metformin.", "medications", MED, "metformin", ["number_mismatch"]),
    ("Metoprolol 25 mg and lisinopril 10 mg daily.", "medications", {"name": "metoprolol", "dosage": "10 mg"}, "Metoprolol 25 mg and lisinopril 10 mg daily", ["number_mismatch"]),
    ("Metoprolol 25 mg and lisinopril 10 mg daily.", "medications", {"name": "lisinopril", "dosage": "10 mg"}, "Metoprolol 25 mg and lisinopril 10 mg daily", []),
    ("Increase metformin from 500 mg to 1000 mg.", "medications", {"name": "metformin", "dosage": "1000 mg"}, "metformin from 500 mg to 1000 mg", []),
    ("Increase metformin from 500 mg to 1000 mg.", "medications", {"name": "metformin", "dosage": "500 mg"}, "metformin from 500 mg to 1000 mg", ["number_mismatch"]),
    ("Metoprolol 25 mg daily.", "medications", {"name": "metoprolol", "dosage": "5 mg"}, "5 mg daily", ["mid_token_span", "off_claim_span"]),
    ("Follow up in two weeks.", "plan", "follow up in 2 weeks", "Follow up in two weeks", []),
    ("MRI brain in two weeks.", "plan", "MRI brain in 2 months", "MRI brain in two weeks", ["number_mismatch"]),
    # sides and other opposites
    ("Left knee pain.", "problems", "right knee pain", "Left knee pain", ["opposite_word"]),
    ("Left knee pain.", "problems", "right knee pain", "knee pain", ["opposite_word"]),
    ("R ankle sprain.", "problems", "right ankle sprain", "R ankle sprain", []),
    ("Asthma, poorly controlled.", "problems", {"condition": "asthma", "status": "well controlled"}, "Asthma, poorly controlled", ["opposite_word"]),
    # what the place says of the patient, also outside the quote
    ("No chest pain.", "problems", "chest pain", "chest pain", ["negated"]),
    ("No chest pain.", "problems", "no chest pain", "No chest pain", []),
    ("Has chest pain.", "problems", "no chest pain", "chest pain", ["negated"]),
    ("No chest pain at rest. Chest pain on stairs.", "problems", "chest pain", "chest pain", []),
    ("Mother had colon cancer.", "problems", "colon cancer", "colon cancer", ["family_history"]),
    ("Mother had colon cancer.", "problems", "family history of colon cancer", "Mother had colon cancer", []),
    ("Possible gout.", "problems", "gout", "gout", ["uncertain"]),
    ("Possible gout.", "problems", "possible gout", "Possible gout", []),
    ("CT head if headache recurs.", "plan", "CT head", "CT head", ["hypothetical"]),
    ("CT head if headache recurs.", "plan", "CT head if headache recurs", "CT head if headache recurs", []),
    ("Stopped ibuprofen last week.", "medications", {"name": "ibuprofen"}, "ibuprofen", ["discontinued"]),
    ("Takes ibuprofen 400 mg daily.\nPlan: discontinue ibuprofen.", "medications", {"name": "ibuprofen"}, "ibuprofen 400 mg daily", ["discontinued"]),
    ("Takes ibuprofen 400 mg daily.\nPlan: continue ibuprofen.", "medications", {"name": "ibuprofen"}, "ibuprofen 400 mg daily", []),
    ("Stopped ibuprofen last week.", "plan", "stopped ibuprofen", "Stopped ibuprofen", []),
]  # fmt: skip


@pytest.mark.parametrize(("note", "field", "item", "quote", "expected"), CASES)
def test_reason(
    note: str, field: str, item: dict[str, str] | str, quote: str | None, expected: list[str]
) -> None:
    assert reasons(note, field, item, quote) == expected


@pytest.mark.parametrize(("note", "field", "item", "quote", "expected"), CASES)
def test_half_credit_needs_the_same_evidence(
    note: str, field: str, item: dict[str, str] | str, quote: str | None, expected: list[str]
) -> None:
    assert reasons(note, field, item, quote, "partial") == expected


def test_an_unsupported_label_is_no_downgrade() -> None:
    assert reasons("No chest pain.", "problems", "chest pain", "chest pain", "unsupported") == []


def strict_labels(note: str, problems: list[str], quotes: list[str]) -> list[str]:
    verdicts = [
        {"id": f"p{number}", "label": "grounded", "supportingQuote": quote, "rationale": ""}
        for number, quote in enumerate(quotes, 1)
    ]
    result = score_note(note, Extraction.model_validate({"problems": problems}), verdicts).as_json()
    return [",".join(verdict["reasons"]) or verdict["strictLabel"] for verdict in result["verdicts"]]


def test_the_same_claim_counts_once() -> None:
    note = "HTN and chest pain. Pain in the left knee, knee pain worse at night."
    assert strict_labels(note, ["hypertension", "HTN"], ["HTN", "HTN"]) == ["grounded", "duplicate_claim"]
    assert strict_labels(note, ["chest pain", "pain"], ["chest pain", "pain"]) == [
        "grounded",
        "duplicate_claim",
    ]
    assert strict_labels(note, ["chest pain", "knee pain"], ["chest pain", "knee pain"]) == [
        "grounded",
        "grounded",
    ]
