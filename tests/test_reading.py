"""Reading a model's answer: what is forgiven, and that an answer is never completed."""

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clinical_evals.reading import read_array, read_object


def anything(_: Mapping[str, Any]) -> bool:
    return True


def has_verdicts(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("verdicts"), list)


def has_number(value: Mapping[str, Any]) -> bool:
    return "n" in value


STRICT = [
    ('{"n": 1}', {"n": 1}),
    ('  \n{"n": 1}\n', {"n": 1}),
    ('\ufeff{"n": 1}', {"n": 1}),
    ('```json\n{"n": 1}\n```', {"n": 1}),
    ('Here is it:\n```\n{"n": 1}\n```\nHope this helps {smile} :-{', {"n": 1}),
    ('It\'s 5\' 10" tall, "quoted {". So: {"n": "}{"} - done', {"n": "}{"}),
    ('{"n": "a \\" } b"}', {"n": 'a " } b'}),
    ('{"n": "it\'s"}', {"n": "it's"}),
    ('{"n": {"m": [1, {"k": null}]}}', {"n": {"m": [1, {"k": None}]}}),
    ('{"n": 1} then better {"n": 2}', {"n": 2}),
    ('{"n": 1} and an aside {"other": 2}', {"n": 1}),
    ('{"n": 1} and {"n": ', {"n": 1}),
    ('{"answer": {"n": 1}}', {"n": 1}),
    ('{"draft": {"n": 1}, "final": {"n": 2}}', {"n": 2}),
    ('[{"n": 1}]', {"n": 1}),
    ('{"n": "https://example.org/#a"}', {"n": "https://example.org/#a"}),
    ('{"n": "wait... and…"}', {"n": "wait... and…"}),
    ('{"n": "<think> {in a quote} </think>"}', {"n": "<think> {in a quote} </think>"}),
]


@pytest.mark.parametrize(("text", "value"), STRICT)
def test_strict_json_is_found_in_whatever_surrounds_it(text: str, value: dict[str, Any]) -> None:
    result = read_object(text, has_number)
    assert (result.value, result.problem, result.repaired) == (value, None, False)


REASONING = [
    '<think>Draft: {"n": 3}. Too low.</think>\n```json\n{"n": 8}\n```\nDone.',
    '<THINK>{"n": 3</THINK>{"n": 8}',
    '<thinking>\n{"n": 3}</thinking>{"n": 8}<reasoning>{"n": 4}</reasoning>',
    '<scratchpad>"unbalanced { [</scratchpad> {"n": 8}',
    '◁think▷{"n": 3}◁/think▷{"n": 8}',
    '[THINK]{"n": 3}[/THINK]{"n": 8}',
    'Let me see, {"n": 3} is too low.</think>{"n": 8}',
    '<think>the note says "</think>{\'n\': 3}", so</think>{"n": 8}',
    '{"n": 8} The note holds a <think> tag.',
    'First, <think> is a tag. {"n": 8}',
    'Head. <think>{"n": 3}</think>{"n": 8}',
]


@pytest.mark.parametrize("text", REASONING)
def test_a_draft_in_the_reasoning_is_not_the_answer(text: str) -> None:
    assert read_object(text, has_number).value == {"n": 8}


LENIENT = [
    ("{'n': 1, 'b': None, 'c': True,}", {"n": 1, "b": None, "c": True}),
    ("{'n': 'the patient's BP', 'b': 1}", {"n": "the patient's BP", "b": 1}),
    ("{n: 1, b: 'x'}", {"n": 1, "b": "x"}),
    ('{"n": [1, 2,], }', {"n": [1, 2]}),
    ('{"n": 1, // don\'t {\n "b": 2}', {"n": 1, "b": 2}),
    ('{"n": 1, /* it\'s } */ "b": 2}', {"n": 1, "b": 2}),
    ('{"n": "two\nlines"}', {"n": "two\nlines"}),
    ("{“n”: “b”}", {"n": "b"}),
    ('{"n": "he said "hi" there", "b": 1}', {"n": 'he said "hi" there', "b": 1}),
    ('{"n": 8/10}', {"n": "8/10"}),
    ("{\"n\": 1}, or better {'n': 2}", {"n": 2}),
]


@pytest.mark.parametrize(("text", "value"), LENIENT)
def test_slips_of_form_are_forgiven_and_said(text: str, value: dict[str, Any]) -> None:
    result = read_object(text, has_number)
    assert (result.value, result.problem, result.repaired) == (value, None, True)


PROBLEMS = [
    ("", "empty"),
    (" \n\t", "empty"),
    ('<think>{"n": 1}</think>\n', "empty"),
    ("I am unable to score this.", "no_object"),
    ("{see below}", "no_object"),
    ('{"n": 1, "b" 2}', "no_object"),
    ('{"n": }', "no_object"),
    ('{"n": 1', "incomplete"),
    ('{"n": "1}', "incomplete"),
    ('{"n', "incomplete"),
    ('{"n"', "incomplete"),
    ('{"n\\', "incomplete"),
    ('{"m": {"n": 1}', "incomplete"),
    ('{"m": [{"n": 1}, {"n": 2}', "incomplete"),
    ('{"n": [1}', "incomplete"),
    ('{"n": [{"a": 1}, ...]}', "incomplete"),
    ("{'n': 'it's", "incomplete"),
    ('<think>First: {"n": 3}. No, too', "incomplete"),
    ('<think>a</think><think>Again: {"n": 3}. No, too', "incomplete"),
    ('{"n": 1, "n": 2}', "duplicate_keys"),
    ("{'n': 1, 'n': 2}", "duplicate_keys"),
    ("{'n': {'a': 1, a: 2},}", "duplicate_keys"),
    ('{"m": 1}', "misfit"),
    ('[{"m": 1}]', "misfit"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_what_cannot_be_read_is_named_and_never_completed(text: str, problem: str) -> None:
    result = read_object(text, has_number)
    assert (result.value, result.problem) == (None, problem)


def test_an_answer_cut_off_in_a_number_is_not_read() -> None:
    """REP-S06: the judge may have been writing 10."""
    cut = '{"Factual Completeness": 9, "Clinical Tone & Structure": 8, "No Hallucinations": 1'
    assert read_object(cut, anything).problem == "incomplete"


def test_numbers_that_are_none_are_kept_for_the_caller_to_refuse() -> None:
    value = read_object('{"n": NaN}', anything).value
    assert value is not None
    assert math.isnan(value["n"])


def test_half_a_surrogate_pair_is_replaced_so_that_the_value_can_be_written() -> None:
    value = read_object('{"n": "\\ud83d", "m": "\\ud83d\\ude00"}', anything).value
    assert value == {"n": "\ufffd", "m": "\U0001f600"}
    assert read_object('\ud83d {"n": 1}', anything).value == {"n": 1}


def test_a_lone_list_is_read_only_outside_objects() -> None:
    text = 'Verdicts:\n```json\n[{"id": "p1", "q": "a [b"}, {"id": "p2"}]\n```'
    assert read_array(text, bool).value == [{"id": "p1", "q": "a [b"}, {"id": "p2"}]
    assert read_array('{"verdicts": [{"id": "p1"}]}', bool).problem == "no_object"
    assert read_array('see [1] and [p2]: [{"id": "p1"},]', bool).value == [{"id": "p1"}]
    assert read_array('[{"id": "p1"}, {"id": "p2"', bool).problem == "incomplete"
    assert read_array("[]", lambda value: True).value == []
    assert read_object(text, has_verdicts).problem == "misfit"


# Text that opens neither an object, a list, a comment nor a reasoning block.
prose = st.text(st.characters(blacklist_characters="{}[]<>◁▷", blacklist_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=5)


@given(json_objects, prose, prose, st.booleans(), st.sampled_from([None, 1]))
def test_any_object_in_any_prose_is_read_back(
    value: dict[str, Any], before: str, after: str, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    result = read_object(before + text + after, anything)
    assert result.problem is None
    assert result.value == json.loads(text)
    assert not result.repaired


@given(st.dictionaries(st.text(), json_values, min_size=1, max_size=4), prose, st.data())
def test_a_cut_off_object_is_never_an_answer(value: dict[str, Any], before: str, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(0, len(text) - 1))
    assert read_object(before + text[:cut], anything).value is None


@settings(max_examples=300)
@given(st.text("{}[]\"'\\:,/*# na1<>think◁▷", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for result in (read_object(text, anything), read_array(text, bool)):
        assert (result.value is None) != (result.problem is None)


HOSTILE = [
    "{" * 100_000,
    '{"a":' * 20_000,
    '{"a":' * 20_000 + "1" + "}" * 20_000,
    '{"a":' + "[" * 50_000 + "}" * 50_000,
    "{" + '"' * 99_999,
    "{'" + "' " * 50_000,
    "{" + " " * 100_000,
    "{ " * 50_000,
    '{"' * 50_000,
    '{"\\' * 33_000,
    "{" + "a" * 100_000,
    '{"a' + "\\" * 100_000,
    "{/*" + "*" * 100_000,
    "a<think>" * 12_500,
    "<think>" * 14_000 + "</think>" * 100,
    "</think>" * 12_500,
    "<think " * 14_000,
    '{"a": 1}' * 12_500,
    "{'a': 1}" * 12_500,
    "{'a': [" + "'x' " * 24_000 + "]}",
    '{"a": "' + '"x" ' * 24_000 + '"}',
    '{"a": 1' + "0" * 100_000 + "}",
    "[" * 100_000,
    "[{" * 50_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_hostile_answers_cost_little(text: str) -> None:
    read_object("{'warm': 'up'}", anything)
    started = time.process_time()
    read_object(text, has_verdicts)
    read_array(text, lambda value: False)
    assert time.process_time() - started < 1.0
