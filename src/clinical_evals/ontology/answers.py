"""Reading what a model answered: seed terms, or a code list, in whatever form it chose to write them.

An answer that cannot be read says why, in the words of `clinical_evals.reading`. A cut-off or elided list is
never completed, and an apology is no term.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from clinical_evals.ontology.codes import CodeList, json_value, read_codes, without_reasoning
from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.reading import Problem, ReadResult, read_object

__all__ = ["CodeAnswer", "TermAnswer", "read_code_answer", "read_terms"]


class TermAnswer(BaseModel):
    """The form in which seed terms are asked for."""

    terms: list[str]


class CodeAnswer(BaseModel):
    """The form in which a code list is asked for."""

    codes: list[str]
    excluded: list[str]


_KEY = re.compile(r"term|condition|diagnos|concept|phenotype|seed|quer", re.IGNORECASE)
_NOT_ASKED = re.compile(r"exclu|not_?include", re.IGNORECASE)
_NAME_KEYS = ("term", "name", "condition", "text")
# A list that stands alone, as far as it goes; its first entry tells it from a link or a footnote.
_BARE_LIST = re.compile(r"""\[\s*(?:["'“{\]].*|$)""", re.DOTALL)
# Cut off or ambiguous: what is there must not be taken for the answer.
_FINAL: tuple[Problem, ...] = ("incomplete", "duplicate_keys")
_BRACKET = re.compile(r"[\[\]{}]")
_QUOTED = re.compile(r"""\"([^"]*)"|'([^']*)'|“([^”]*)”""")
_BARE_WORDS = frozenset(("NaN", "Infinity", "-Infinity"))

_BULLET = re.compile(r"\s*(?:[-*•–]|\(?[0-9]{1,2}[.)])\s+(\S.*)")
_BOLD = re.compile(r"(?:\*\*|__)(.+?)(?:\*\*|__)")
_LABEL = re.compile(r"^[^:]{0,40}\b(?:terms?|conditions?|diagnos[ei]s|concepts?)\s*:\s*", re.IGNORECASE)
_EXPLANATION = re.compile(r"\s+[-–—]\s+.*|:\s.*")
_TALK = re.compile(
    r"\b(?:i|i'm|i’m|sorry|cannot|can't|can’t|unable|please|you|your|here|this|these|let|sure|okay|refuse)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_JSON_LEFT = re.compile(r"""[\[{]\s*["'“{\[]""")  # of an object or list that could not be read
_NOTHING = re.compile(r"(?:none|n/?a|nothing|no terms?)\.?", re.IGNORECASE)
_MOST_WORDS = 12  # a longer piece is a sentence, not a term


def read_terms(text: str) -> ReadResult[list[str]]:
    """Read the seed terms of an answer.

    Read are a JSON object with a list of terms, a JSON list alone, in prose, fenced or not; a bulleted or
    numbered list; lines or a comma-separated line that hold nothing but terms. Reasoning before the answer is
    set aside.

    Returns:
        The terms as written, maybe none; or why there are none to be had.
    """
    text = _writable(text)
    answer = without_reasoning(text)
    # A list first: the objects in one are its entries, not the answer.
    listed = _bare_list(answer, "terms")
    for source in (text if listed is None else listed, text):
        result = read_object(source, lambda value: _terms_in(value) is not None)
        if result.value is not None:
            return ReadResult(_terms_in(result.value), None, result.repaired or source is not text)
        if result.problem in _FINAL:
            return ReadResult(None, result.problem)
    if result.problem == "misfit":
        return ReadResult(None, result.problem)
    if not answer.strip():
        return ReadResult(None, "empty")
    spoken = _spoken_terms(answer)
    return ReadResult(spoken, "no_object" if spoken is None else None, True)


def read_code_answer(text: str, hierarchy: Hierarchy) -> ReadResult[CodeList]:
    """Read the code list of an answer, in any form that `read_codes` reads.

    Returns:
        The codes, maybe none if the answer is an empty list; or why there is no list to be had: it is empty,
        cut off or elided, names a key twice, or is prose that names no code.
    """
    text = _writable(text)
    answer = without_reasoning(text)
    if not answer.strip():
        return ReadResult(None, "empty")
    shape = read_object(text, lambda value: True)
    if shape.value is None and shape.problem in _FINAL:
        return ReadResult(None, shape.problem)
    listed = _bare_list(answer, "codes")
    if listed is not None:
        shape = read_object(listed, lambda value: True)
        if shape.value is None and shape.problem in _FINAL:
            return ReadResult(None, shape.problem)
    strict = json_value(answer)
    near = None
    if strict is None and shape.value is not None and _is_whole(shape, text if listed is None else listed):
        near = shape.value
    codes = read_codes(text if near is None else near, hierarchy)
    if codes.codes or codes.invalid or codes.excluded or _is_empty_list(strict, shape.value):
        return ReadResult(codes, None, shape.repaired)
    return ReadResult(None, "no_object" if shape.value is None else "misfit")


def _writable(text: str) -> str:
    """Replace halves of characters, which no log can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _terms_in(value: Mapping[str, Any]) -> list[str] | None:
    """Return the terms of an object: under a key that says so, or in its only list."""
    keys = [key for key in value if not _NOT_ASKED.search(key)]
    named = [key for key in keys if _KEY.search(key)]
    for key in sorted(named, key=lambda key: key != "terms"):
        terms = _all_terms(value[key])
        if terms is not None:
            return terms
    lists = [
        terms
        for key in keys
        if isinstance(value[key], list) and (terms := _all_terms(value[key])) is not None
    ]
    return lists[0] if len(lists) == 1 and not named else None


def _all_terms(value: object) -> list[str] | None:
    if isinstance(value, str):
        return _split(value)
    if not isinstance(value, list):
        return None
    terms = []
    for item in value:
        if isinstance(item, Mapping):
            item = next((item[key] for key in _NAME_KEYS if key in item), None)  # noqa: PLW2901
        if not isinstance(item, str):
            return None
        terms.append(item)
    return terms


def _bare_list(answer: str, key: str) -> str | None:
    """Return a list that stands in no object as the object around it; open at the end if the list is."""
    if re.search(r"\{\s*[\"'“]", answer[: answer.find("[")] if "[" in answer else answer):
        return None
    match = _BARE_LIST.search(answer)
    if match is None:
        return None
    end = match[0].rfind("]")
    return f'{{"{key}": {match[0]}' if end < 0 else f'{{"{key}": {match[0][: end + 1]}}}'


def _spoken_terms(answer: str) -> list[str] | None:
    lines = [line for line in answer.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    bullets = [match[1] for line in lines if (match := _BULLET.fullmatch(line))]
    if bullets:
        return [term for bullet in bullets if (term := _clean(bullet))]
    pieces = []
    for line in lines:
        rest = _LABEL.sub("", line.strip().strip("*#_ "))
        if rest and not rest.endswith(":"):
            pieces += _split(rest)
    if any(
        _TALK.search(piece)
        or _JSON_LEFT.search(piece)
        or len(piece.split()) > _MOST_WORDS
        or not _LETTER.search(piece)
        for piece in pieces
    ):
        return None
    if len(pieces) == 1 and _NOTHING.fullmatch(pieces[0]):
        return []
    return pieces or None


def _split(text: str) -> list[str]:
    pieces = (piece.strip(" \t*_`\"'“”.") for piece in re.split(r"[;,\n]", text))
    return [piece for piece in pieces if piece]


def _clean(bullet: str) -> str:
    """Return the term of a bullet: what is bold, else what stands before an explanation."""
    bold = _BOLD.match(bullet)
    return (bold[1] if bold else _EXPLANATION.sub("", bullet)).strip(" \t*_`\"'“”.,;:")


def _is_whole(near: ReadResult[dict[str, Any]], source: str) -> bool:
    """Say whether an object in near-JSON is all of the answer's JSON, and its texts stand quoted there.

    Then its entries are the answer's, as those of strict JSON are. Else the lenient reader may have made
    entries of what is none (`"I10" (hypertension)`), and reading the answer as prose is safer.
    """
    start, end = near.span
    around = without_reasoning(source[:start]) + source[end:]
    quoted = {text for groups in _QUOTED.findall(source) for text in groups} | _BARE_WORDS
    return not _BRACKET.search(around) and all(text in quoted for text in _texts_in(near.value))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(item)


def _is_empty_list(value: object, shape: Mapping[str, Any] | None) -> bool:
    if isinstance(value, Sequence) and not value:
        return True
    return shape is not None and any(item == [] for item in shape.values())
