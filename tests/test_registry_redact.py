"""What is stored of a run's settings: no text, no keys, nothing cut."""

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec
from inspect_ai.model import GenerateConfig, ModelConfig

from clinical_evals.registry.redact import LONGEST_VALUE, host_of, run_params, short

SECRET = "canary-word-77"


def params(**changed: object) -> dict[str, str]:
    facts = {
        "created": "2026-01-02T03:04:05+00:00",
        "task": "toy",
        "dataset": EvalDataset(),
        "model": "m/one",
        "config": EvalConfig(),
    }
    return run_params(EvalSpec.model_validate(facts | changed))


def test_arguments_keep_their_names_and_values() -> None:
    found = params(
        task_args={"dataset": "../notes.jsonl", "max_claims": 40, "max_tokens": 9, "fields": ["a", "b"]}
    )
    assert found == {
        "dataset": "../notes.jsonl",
        "max_claims": "40",
        "max_tokens": "9",
        "fields": '["a", "b"]',
    }


@pytest.mark.parametrize(
    "name", ["api_key", "OPENAI_API_KEY", "hf_token", "clientSecret", "password", "auth_token"]
)
def test_what_is_named_like_a_key_is_left_out(name: str) -> None:
    found = params(task_args={name: SECRET, "nested": {name: SECRET, "kept": 1}}, model_args={name: SECRET})
    assert found == {"nested": '{"kept": 1}'}


def test_a_value_that_is_a_key_is_left_out_under_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VENDOR_API_KEY", SECRET)
    assert params(task_args={"header": f"Bearer {SECRET}"}) == {}


def test_texts_of_the_generation_settings_go_in_as_digests() -> None:
    config = GenerateConfig(
        temperature=0.5, max_tokens=100, reasoning_effort="high", system_message=SECRET, stop_seqs=[SECRET],
        extra_headers={"Authorization": SECRET}, extra_body={"user": SECRET},
    )  # fmt: skip
    role = ModelConfig(model="m/judge", config=config, base_url=f"https://u:{SECRET}@h:8/v1?k={SECRET}")
    found = params(model_generate_config=config, model_roles={"grader": role})
    assert SECRET not in repr(found)
    assert found["model.temperature"] == "0.5"
    assert found["model.reasoning_effort"] == "high"
    assert found["model.system_message"].startswith("sha256:")
    assert found["grader"] == "m/judge"
    assert found["grader.base_url"] == "https://h:8"
    assert not [name for name in found if "extra" in name]


def test_values_are_whole_or_digests_of_the_whole() -> None:
    assert short("x" * LONGEST_VALUE) == "x" * LONGEST_VALUE
    longer = [short("x" * 6000 + end) for end in "AB"]
    assert longer[0] != longer[1]
    assert short("two\nlines").startswith("sha256:")
    assert all(len(value) < LONGEST_VALUE for value in longer)


def test_host_of() -> None:
    assert host_of("http://127.0.0.1:8000/v1") == "http://127.0.0.1:8000"
