"""The published rules, held to a plain definition written apart from the code."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clinical_evals.grounding.claims import Extraction
from clinical_evals.grounding.scoring import score_note

NOTE = "Pt with asthma, stable.\nTakes albuterol 2 puffs PRN. No chest pain. Return in 2 weeks."
CONDITIONS = ["asthma", "chest pain", "gout"]
EXTRACTION = Extraction.model_validate({"problems": [{"condition": condition} for condition in CONDITIONS]})
QUOTES = [None, "", "Asthma,  STABLE", "gout", "asthma ... stable", "e", 7]
LABELS = ["grounded", "partial", "unsupported", " Grounded ", "ungrounded", "supported", None, 1]


def plain_score(verdicts: list[Any]) -> tuple[int, int, float]:
    """Least favourable credit per claim: 2 grounded with a real quote, 1 partial, else 0."""
    folded = " ".join(NOTE.lower().split())
    credits = []
    for number in range(1, len(CONDITIONS) + 1):
        mine = []
        for verdict in verdicts:
            if not isinstance(verdict, dict) or verdict.get("id") != f"p{number}":
                continue
            label = verdict["label"].strip().lower() if isinstance(verdict["label"], str) else ""
            quote = verdict["supportingQuote"]
            real = (
                isinstance(quote, str) and quote.strip() != "" and " ".join(quote.lower().split()) in folded
            )
            mine.append(2 if label == "grounded" and real else 1 if label == "partial" else 0)
        credits.append(min(mine, default=0))
    return credits.count(2), credits.count(1), sum(credits) / (2 * len(credits))


VERDICT = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["p1", "p2", "p3", "p9", "", None]),
        "label": st.sampled_from(LABELS),
        "supportingQuote": st.sampled_from(QUOTES),
        "rationale": st.text(max_size=400),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(VERDICT, st.just("p1 grounded"), st.none()), max_size=8))
def test_the_published_score_is_the_plain_definition(verdicts: list[Any]) -> None:
    result = score_note(NOTE, EXTRACTION, verdicts)
    grounded, partial, score = plain_score(verdicts)
    assert (result.counts["grounded"], result.counts["partial"], result.score) == (grounded, partial, score)
    assert result.counts["claims"] == 3
    for verdict in result.as_json()["verdicts"]:
        assert len(verdict["rationale"]) <= 280
        if verdict["supportingQuote"] is not None:
            shown = NOTE[verdict["start"] : verdict["end"]]
            assert " ".join(shown.lower().split()) == " ".join(verdict["supportingQuote"].lower().split())
        if verdict["label"] == "grounded":
            assert verdict["supportingQuote"] is not None
    strict = result.strict_score()
    assert strict is not None
    assert strict <= score


def test_what_could_not_be_used_is_counted() -> None:
    verdicts = [
        {"id": "p1", "label": "grounded", "supportingQuote": "asthma, stable", "rationale": ""},
        {"id": "p1", "label": "partial", "supportingQuote": None, "rationale": ""},
        {"id": "p2", "label": "supported", "supportingQuote": "chest pain", "rationale": ""},
        {"id": "p77", "label": "grounded", "supportingQuote": "asthma", "rationale": ""},
    ]
    result = score_note(NOTE, EXTRACTION, verdicts)
    counts = result.counts
    assert (
        counts["repeated_ids"],
        counts["invalid_labels"],
        counts["unknown_ids"],
        counts["missing_verdicts"],
    ) == (1, 1, 1, 1)
    assert [verdict.label for verdict in result.verdicts] == ["partial", "unsupported", "unsupported"]


def test_no_claims_is_no_score() -> None:
    result = score_note(NOTE, Extraction(), [])
    assert result.score is None
    assert result.strict_score() is None
    assert result.as_json()["counts"] == {"grounded": 0, "partial": 0, "unsupported": 0, "total": 0}
