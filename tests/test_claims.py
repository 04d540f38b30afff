"""From an extraction to claims: ids, texts, order, the limit, and answers in other forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinical_evals.grounding.claims import Extraction, build_claims


def test_ids_texts_and_order() -> None:
    extraction = Extraction.model_validate(
        {
            "plan": [{"activity": " recheck A1c "}],
            "medications": [{"name": "metformin", "dosage": "500 mg", "frequency": "BID", "route": None}],
            "problems": [
                {"condition": "type 2 diabetes", "status": "well controlled"},
                {"condition": "  ", "status": None},
                {"condition": "gout"},
            ],
        }
    )
    claims, truncated = build_claims(extraction)
    assert [(claim.id, claim.category, claim.text) for claim in claims] == [
        ("p1", "problem", "type 2 diabetes (well controlled)"),
        ("p3", "problem", "gout"),  # an empty item keeps its number
        ("m1", "medication", "metformin 500 mg BID"),
        ("a1", "plan", "recheck A1c"),
    ]
    assert truncated == 0


@given(problems=st.integers(0, 60), plan=st.integers(0, 60), limit=st.integers(1, 50))
def test_the_limit_cuts_the_end_and_is_counted(problems: int, plan: int, limit: int) -> None:
    extraction = Extraction.model_validate(
        {
            "problems": [{"condition": f"c{n}"} for n in range(problems)],
            "plan": [{"activity": f"a{n}"} for n in range(plan)],
        }
    )
    everything = build_claims(extraction, 200).claims
    claims, truncated = build_claims(extraction, limit)
    assert claims == everything[:limit]
    assert len(claims) + truncated == problems + plan


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_claims must be 1 or more, got 0"):
        build_claims(Extraction(), 0)


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ({"problems": ["HTN", "gout"]}, ["HTN", "gout"]),
        ({"problems": None, "medications": ["aspirin"]}, ["aspirin"]),
        ({"problems": [{"condition": None}, {"condition": "gout"}]}, ["gout"]),
        ({"medications": [{"name": "insulin", "dosage": 10, "frequency": "daily"}]}, ["insulin 10 daily"]),
        ({"problems": [{"condition": "gout", "icd": "M10"}], "notes": "x"}, ["gout"]),
    ],
)
def test_answers_are_read_as_a_person_would_mean_them(answer: dict[str, object], texts: list[str]) -> None:
    assert [claim.text for claim in build_claims(Extraction.model_validate(answer)).claims] == texts
