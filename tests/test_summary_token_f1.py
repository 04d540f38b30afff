"""Token F1, and the sections it is taken over: published example, corners, headings as people write them."""

import csv
import json
import math
import time
from collections import Counter, defaultdict

import pytest
from inspecting import SHARED

from clinical_evals.summary.sections import Section, split_soap
from clinical_evals.summary.token_f1 import soap_f1, token_f1, tokens

ACI = SHARED / "data" / "aci-bench"
PRIMOCK = SHARED / "data" / "primock57"
ACI_HERE = pytest.mark.skipif(not ACI.is_dir(), reason="the ACI-Bench files are not here")

SOAP = """Seen with her son.
S: dry cough, 3 days
O: temp 38.2, chest clear
A: viral infection
P: fluids, review in 1 week"""


def test_counts_and_arithmetic_as_a_multiset() -> None:
    # Shared: a once, b twice (of 3 and 2), 20 once = 4 of 6 reference and 5 candidate tokens; 2*4/11.
    scored = token_f1("A b b b c 20", "b, b; a: 20 d")
    assert (scored.overlap, scored.reference, scored.candidate) == (4, 6, 5)
    assert scored.recall == pytest.approx(4 / 6)
    assert scored.precision == pytest.approx(4 / 5)
    assert scored.f1 == pytest.approx(8 / 11)
    turned = token_f1("b b a 20 d", "a b b b c 20")
    assert (turned.precision, turned.recall, turned.f1) == (scored.recall, scored.precision, scored.f1)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("", "", math.nan),
        ("—", " ** ", math.nan),
        ("cough", "", 0.0),
        ("", "cough", 0.0),
        ("cough", "fever", 0.0),
        ("Dry COUGH", "dry cough.", 1.0),
        ("20mg daily", "20 mg daily", 1.0),
        ("7.5 mg", "75 mg", 0.5),
        ("BP 130/85", "BP 130/58", 0.5),
        ("1,000 mL", "1000 ml", 1.0),
        ("doesn’t smoke", "doesn't smoke", 1.0),
        ("58-year-old", "58 year old", 1.0),
        ("5 µg", "5 μg", 1.0),
    ],
)
def test_corners(reference: str, candidate: str, expected: float) -> None:
    assert token_f1(reference, candidate).f1 == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (SOAP, {"subjective": "Seen with her son.\ndry cough, 3 days", "plan": "fluids, review in 1 week"}),
        ("S: cough. O: temp 38, P: 98. A: URTI. P: 1. rest", {"objective": "temp 38, P: 98.", "plan": "1. rest"}),
        ("S\ncough\nO\nclear\nA\nURTI\nP\nrest", {"assessment": "URTI", "plan": "rest"}),
        ("**S:** cough\n**A/P:** rest", {"subjective": "cough", "assessment_plan": "rest"}),
        ("SUBJECTIVE\r\ncough\r\nOBJECTIVE\r\nclear", {"subjective": "cough", "objective": "clear"}),
        ("HPI: cough\nO/E: clear\nImp: URTI\nPlan - rest", {"objective": "clear", "assessment": "URTI", "plan": "rest"}),
        ("CHIEF COMPLAINT\n\ncough\n\nPHYSICAL\u202fEXAM\n\nclear\n\nRESULTS\n\nCXR normal", {"subjective": "cough", "objective": "clear\nCXR normal"}),
        ("Assessment & Plan\nURTI, rest", {"assessment_plan": "URTI, rest"}),
        ("cough\nASSESSMENT AND PLAN\nrest", {"subjective": "cough", "assessment_plan": "rest"}),
        ("## Subjective (S)\ncough\n## 4. Plan\n### Medications\nsyrup\n## Objective\nclear", {"objective": "clear"}),
        ("- **Plan:** rest\n  - Medications: syrup", {"plan": "rest\n  - Medications: syrup"}),
        ("RESULTS\nCXR.\nImpression: normal film.\nASSESSMENT\nURTI", {"objective": "CXR.\nImpression: normal film.", "assessment": "URTI"}),
        ("PC. Headache\nPMH Asthma\nNKDA\nImp- migraine\nPlan\nbloods\nExamination\nreview", {"subjective": "Headache\nAsthma\nNKDA", "plan": "bloods\nExamination\nreview"}),
        ("A&P:\nrest", {"assessment_plan": "rest"}),
        ("PLAN:", {"plan": ""}),
    ],
)  # fmt: skip
def test_headings_as_people_write_them(note: str, expected: dict[Section, str]) -> None:
    found = split_soap(note)
    assert {section: found.get(section) for section in expected} == expected


@pytest.mark.parametrize(
    "note",
    [
        "",
        "The patient has a plan to return. Assessment of the knee was normal.",
        "BP 120/80, P: 72, RR 18. Hep A: negative. Factor O: positive",
        "Ex-smoker.\nFollow up.\nPlan of action was discussed - fine",
        "Doctor: what is the plan: rest?\nPatient: S: I do not know",
    ],
)
def test_text_without_headings_has_no_sections(note: str) -> None:
    assert split_soap(note) == {}


def test_sections_are_compared_however_the_plan_is_cut() -> None:
    apart = "S: cough\nA: infection\nP: rest fluids"
    joined = "Subjective: cough\nA/P: infection rest paracetamol"
    scored = soap_f1(apart, joined)
    # assessment_plan: 2 shared of 3 and 3; subjective 1; macro (1 + 2/3) / 2
    assert {name: value.f1 for name, value in scored.sections.items()} == {
        "subjective": 1.0,
        "assessment_plan": pytest.approx(2 / 3),
    }
    assert scored.f1 == pytest.approx(5 / 6)
    again = soap_f1(apart, apart.replace("rest", "sleep"))
    assert again.sections["assessment"].f1 == 1.0
    assert again.sections["plan"].f1 == 0.5
    assert again.f1 == pytest.approx((1 + 2 / 3) / 2), "assessment and plan apart do not enter the mean"


def test_a_note_without_headings_gives_no_figure_but_an_empty_one_gives_zero() -> None:
    for reference, candidate, which in (
        (SOAP, "cough, rest", "candidate"),
        ("cough, rest", SOAP, "reference"),
    ):
        scored = soap_f1(reference, candidate)
        assert (scored.sections, scored.undefined) == ({}, which)
        assert math.isnan(scored.f1)
    assert soap_f1(SOAP, " ").f1 == 0.0
    lost = soap_f1(SOAP, "Subjective: dry cough, 3 days")
    assert lost.sections["objective"].f1 == 0.0, "a section the candidate lacks"


@ACI_HERE
def test_sections_agree_with_those_published_for_aci_bench() -> None:
    """The challenge publishes each note of the validation set cut into four; two were reworded since."""
    with (ACI / "valid.csv").open(encoding="utf-8", newline="") as file:
        notes = {row["encounter_id"]: row["note"] for row in csv.DictReader(file)}
    published: dict[str, dict[str, str]] = defaultdict(dict)
    for line in (ACI / "system_outputs_valid.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        published[row["encounter_id"]][row["section"]] = row["reference"]
    differing = set()
    for encounter, parts in published.items():
        mine = {section: Counter(tokens(text)) for section, text in split_soap(notes[encounter]).items()}
        theirs: dict[str, Counter[str]] = defaultdict(Counter)
        for name, text in parts.items():
            for section, inside in split_soap(text).items():
                expected = {
                    # The challenge leaves vital signs with the history that they follow.
                    "subjective": {"subjective", "objective" if "VITALS" in text else "subjective"},
                    "objective_exam": {"objective"},
                    "objective_results": {"objective"},
                    "assessment_and_plan": {"assessment", "plan", "assessment_plan"},
                }[name]
                if section not in expected:
                    differing.add(encounter)
                theirs[section] += Counter(tokens(inside))
        if mine != theirs:
            differing.add(encounter)
    assert len(published) == 20
    assert differing == {"D2N069", "D2N072"}, "SOURCE.md: these carry an older wording"


@ACI_HERE
def test_every_real_note_with_a_plan_is_cut_and_quickly() -> None:
    notes = []
    for name in ("train.csv", "valid.csv"):
        with (ACI / name).open(encoding="utf-8", newline="") as file:
            notes += [row["note"] for row in csv.DictReader(file)]
    started = time.perf_counter()
    cut = [split_soap(note) for note in notes]
    assert time.perf_counter() - started < 2
    assert len(cut) == 87
    assert all("subjective" in sections for sections in cut)
    # One note, D2N007, ends with an assessment and says the plan within it.
    assert sum(not {"plan", "assessment_plan"} & set(sections) for sections in cut) == 1
    assert all(soap_f1(note, note).f1 == 1.0 for note in notes)


@pytest.mark.skipif(not PRIMOCK.is_dir(), reason="the PriMock57 files are not here")
def test_clinicians_own_notes_are_cut() -> None:
    rows = [json.loads(line) for line in (PRIMOCK / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    cut = {row["id"]: split_soap(row["note"]) for row in rows}
    assert len(cut) == 29
    assert all("subjective" in sections for sections in cut.values())
    # Two write the plan under `Imp:`.
    assert {name for name, sections in cut.items() if "plan" not in sections} == {
        "day5_consultation04",
        "day5_consultation10",
    }
    assert cut["day4_consultation08"]["plan"].endswith("Examination \nGP review.")
    for row in rows:
        words = Counter(tokens(row["note"]))
        assert sum((Counter(tokens(" ".join(cut[row["id"]].values()))) - words).values()) == 0


def test_a_hostile_note_takes_no_time() -> None:
    started = time.perf_counter()
    for text in (
        "S: " * 20_000,
        "A " * 50_000,
        "*" * 50_000,
        "a. " * 30_000 + "P:",
        "plan - " * 20_000,
        " \t" * 50_000,
        "Plan (" * 20_000,
    ):
        split_soap(text)
        tokens(text)
    assert time.perf_counter() - started < 3
