"""What is stored of a run's settings: no text, no keys, nothing cut."""

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalSpec
from inspect_ai.model import GenerateConfig, ModelConfig

from clinical_evals.registry.redact import LONGEST_VALUE, blacked_out, host_of, run_params, short

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


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abcdef",
        "Token 0a1b2c3d4e",
        "sk-proj-0123456789abcdef",
        "hf_AbCdEfGhIjKl0123",
        "--header=AKIA0123456789ABCDEF",
        '{"auth": "ghp_0123456789abcdefghij"}',
    ],
)
def test_what_has_the_form_of_a_key_is_left_out_under_any_name(value: str) -> None:
    assert params(task_args={"header": value, "list": [value]}, model_args={"organization": value}) == {}
    assert value not in blacked_out(f"He said {value}.")


@pytest.mark.parametrize(
    "value",
    [
        "/data/sk-learn-examples-2024-notes/x.jsonl",
        "openai/gpt-4o,anthropic/claude-4-20250514",
        "s3://bucket/notes.jsonl",
    ],
)
def test_names_and_paths_are_no_keys(value: str) -> None:
    assert params(task_args={"dataset": value}) == {"dataset": value}
    note = "Basic metabolic panel: normal. Token economy tried. Takes eye drops."
    assert blacked_out(note) == note


def test_users_and_queries_of_addresses_are_left_out() -> None:
    found = params(task_args={
        "store": f"postgres://me:{SECRET}@host/db",
        "urls": [f"https://me:{SECRET}@host:1/path?k={SECRET}", f"s3://me:{SECRET}@bucket/notes"],
    })  # fmt: skip
    assert found == {"store": "postgres://host/db", "urls": '["https://host:1", "s3://bucket/notes"]'}


def test_prose_goes_in_as_a_digest_however_short() -> None:
    found = params(task_args={
        "question": "Any fever?",
        "extra": "one two three four five six",
        "steps": [{"prompt": "Be kind."}],
        "fields": ["a", "b", "c", "d", "e", "f", "g"],
        "name": "five words at the most",
    })  # fmt: skip
    assert found["fields"] == '["a", "b", "c", "d", "e", "f", "g"]'
    assert found["name"] == "five words at the most"
    assert all(found[name].startswith("sha256:") for name in ("question", "extra", "steps"))


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
