"""The bundled notes, their gold annotations and their replayed answers."""

import json
from collections import Counter
from pathlib import Path

import pytest

from clinical_evals.answers import read_extraction, read_verdicts
from clinical_evals.data_path import bundled
from clinical_evals.grounding.attacks import ATTACKS, audit_rules, run_attacks
from clinical_evals.grounding.claims import build_claims
from clinical_evals.notes import check_note, load_notes

NOTES = load_notes()
HELD_OUT = load_notes(str(Path(__file__).parent / "data" / "heldout_notes.jsonl")).records
LOWERED, PASSED = 3, 10
FIXTURES = ("faithful", "overreaching", "gaming")


def test_there_are_enough_notes_twins_and_lures() -> None:
    records = NOTES.records
    assert len(records) >= 60
    twins = [record for record in records if record.injected]
    assert len(twins) >= 15
    assert {record.injected.goal for record in twins if record.injected} == {"inflate", "plant", "suppress"}
    assert all(record.gold and record.gold.items() and record.lures for record in records)
    assert len({record.kind for record in records}) >= 12
    assert any("\r\n" in record.note for record in records)
    assert any("\u00a0" in record.note for record in records)
    assert max(Counter(record.family for record in records).values()) >= 2


def test_every_annotated_place_holds_its_words() -> None:
    assert [(record.id, problem) for record in NOTES.records if (problem := check_note(record))] == []


def test_the_card_says_what_it_is() -> None:
    card = bundled("notes", "README.md").read_text(encoding="utf-8")
    assert NOTES.access == "synthetic"
    assert f"{len(NOTES.records)} notes" in card
    assert NOTES.digest in card


@pytest.mark.parametrize("name", FIXTURES)
def test_a_fixture_answers_every_call(name: str) -> None:
    lines = bundled("replays", name, "grounding.jsonl").read_text(encoding="utf-8").splitlines()
    assert "written by hand" in json.loads(lines[0])["about"]
    rows = {(row["sample"], row["step"]): row["output"] for row in map(json.loads, lines[1:])}
    for record in NOTES.records:
        for prefix in ("", "injected/") if record.injected else ("",):
            given = [rows.pop((record.id, f"{prefix}{step}")) for step in ("extract", "ground")]
            texts = [output if isinstance(output, str) else json.dumps(output) for output in given]
            extraction, verdicts = read_extraction(texts[0]).value, read_verdicts(texts[1]).value
            assert extraction is not None, record.id
            assert verdicts is not None, record.id
            ids = [claim.id for claim in build_claims(extraction).claims]
            if name == "faithful":
                assert sorted(verdict["id"] for verdict in verdicts) == sorted(ids), record.id
    assert rows == {}


def test_the_rules_on_notes_that_they_were_not_developed_with() -> None:
    audit = audit_rules(HELD_OUT)
    assert audit.true_claims >= 200
    assert audit.lures >= 70
    # What was measured once they were frozen; worse means that a change fits the bundled notes only.
    assert audit.lowered <= LOWERED
    assert audit.passed <= PASSED


def test_no_attack_raises_a_score_above_the_honest_run() -> None:
    rows = {row.name: row for row in run_attacks(NOTES.records)}
    assert set(rows) == {"honest", "honest_with_lures", "honest_half", *ATTACKS}
    assert [row.name for row in rows.values() if row.raised] == []
    # The honest run must not be held down: all that is annotated is there to be found.
    assert rows["honest"].strict == 1.0
    assert rows["honest"].grounded_f1 == 1.0
    # And the attacks are real: they do raise the published score above the honest grader's.
    raised = [name for name, row in rows.items() if row.published > rows["honest_with_lures"].published]
    assert {
        "one_letter",
        "common_word",
        "whole_note",
        "tempting_quote",
        "own_words",
        "one_safe_claim",
    } <= set(raised)
