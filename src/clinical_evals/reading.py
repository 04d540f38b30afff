"""Read the JSON answer out of what a model wrote, without ever finishing the answer for it.

Models wrap their JSON in fences, prose and reasoning, and write it with single quotes or trailing commas.
That is forgiven. What is not forgiven is anything that would make an answer the model did not give: an
object that is cut off is never closed, a list elided with dots is not a list, and two values for one key are
no value.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from .files import field_name

Problem = Literal["empty", "no_object", "incomplete", "duplicate_keys", "misfit"]
"""Why nothing was read. `empty`: no text beside reasoning. `no_object`: nothing that reads as JSON of the
kind asked for. `incomplete`: begun and never closed, or elided with dots. `duplicate_keys`: a key twice in
one object. `misfit`: JSON that is not the answer asked for."""

MAX_DEPTH = 100
"""Levels of nesting; no answer asked for here has as many, and Python's own reader gives up near 1,000."""

T = TypeVar("T")

# A reasoning block is at the head of an answer if at most this much blank text stands before it.
_HEAD = 1_000
# The lenient reader is plain Python: a hostile answer may cost it no more than this many characters.
_LENIENT_BUDGET = 100_000

REASONING_TAG = re.compile(
    r"""(?:<(?P<slash>/?)(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)
           (?:\s[^<>]{0,80})?>
        |◁(?P<kimi>/?)think▷
        |\[(?P<mistral>/?)think\])""",
    re.IGNORECASE | re.VERBOSE,
)
# A brace opens an object only if what follows could be its first key, so "{see below}" and ":-{" are prose.
_FIRST_KEY = r"""(?:"(?:[^"\\]|\\.)*+(?:"\s*+(?::|$)|\\?$)|['“}/\#]|[^\W\d]\w*+\s*+:)"""
_OBJECT_OPENS = rf"\{{(?=\s*+{_FIRST_KEY})"
_ARRAY_OPENS = r"\[(?=\s*+[{\]])"
_OUTSIDE = re.compile(rf"(?P<object>{_OBJECT_OPENS})|(?P<array>{_ARRAY_OPENS})|(?P<tag>[<◁\[])", re.DOTALL)
# Inside an object: strings and comments are passed whole, so their braces do not count.
_INSIDE = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*+"
          |'(?:[^'\\]|\\.|'(?!\s*+[,:}\]/\#]))*+'   # an apostrophe in mid-word does not close the string
          |“[^”]*+”)
       |(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)
       |(?P<open>[{\[])
       |(?P<close>[}\]])
       |(?P<word>[^\W\d]\w*+)
       |(?P<elided>\.\.\.|…)
       |(?P<unclosed>["'“]|/\*)""",
    re.VERBOSE | re.DOTALL,
)
_AFTER_KEY = re.compile(r"\s*+:")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ReadResult(Generic[T]):
    """What was read from an answer.

    Attributes:
        value: The JSON value, or None if nothing could be read. Numbers that are not numbers (`NaN`,
            `Infinity`) are kept as floats for the caller to refuse.
        problem: None if a value was read, else why not.
        repaired: True if the value was not strict JSON as written.
        span: Where in the well-formed text the outermost JSON stands that the value was read from.
    """

    value: T | None
    problem: Problem | None = None
    repaired: bool = False
    span: tuple[int, int] = (0, 0)


class DuplicateKeyError(ValueError):
    """A JSON object names a key twice; the message names it, if it looks like a name."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    problem: Problem | None = None
    start: int = 0


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Give a JSON object, as the `object_pairs_hook` of a reader: of two values for a key, none is right.

    Raises:
        DuplicateKeyError: A key is there twice.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DuplicateKeyError(f"field '{field_name(twice)}' stands twice in one object")
    return value


def read_object(text: str, fits: Callable[[Mapping[str, Any]], bool]) -> ReadResult[dict[str, Any]]:
    """Return the last complete JSON object in `text` that fits.

    Closed reasoning blocks are set aside first; an answer that begins with a reasoning block and never closes
    it holds no answer. An object that does not fit is searched for one it wraps (`{"answer": {...}}`).

    Args:
        text: The answer as the model wrote it.
        fits: Whether an object has the shape asked for.

    Returns:
        The object, or the problem with the last candidate.
    """

    def pick(value: object) -> dict[str, Any] | None:
        return _fitting(value, fits)

    return _read(text, "object", pick)


def read_array(text: str, fits: Callable[[list[Any]], bool]) -> ReadResult[list[Any]]:
    """Return the last complete JSON list of objects in `text` that fits and lies in no object.

    For models that leave out the object around the list asked for.

    Args:
        text: The answer as the model wrote it.
        fits: Whether a list has the shape asked for.

    Returns:
        The list, or the problem with the last candidate.
    """

    def pick(value: object) -> list[Any] | None:
        return value if isinstance(value, list) and fits(value) else None

    return _read(text, "array", pick)


def _read(text: str, kind: Literal["object", "array"], pick: Callable[[object], T | None]) -> ReadResult[T]:
    if _LONE_SURROGATE.search(text):
        text = well_formed(text)
    candidates, only_reasoning = _candidates(text, kind)
    budget = _LENIENT_BUDGET
    problem: Problem | None = None
    for candidate in reversed(candidates):
        fault = candidate.problem
        if fault is None:
            value, fault, repaired = _parse(candidate.text, budget)
            budget -= len(candidate.text) if repaired else 0
            if fault is None:
                picked = pick(value)
                if picked is not None:
                    span = candidate.start, candidate.start + len(candidate.text)
                    return ReadResult(picked, None, repaired, span)
                fault = "misfit"
        problem = problem or fault
    return ReadResult(None, problem or ("empty" if only_reasoning else "no_object"))


def _candidates(text: str, kind: Literal["object", "array"]) -> tuple[list[_Candidate], bool]:
    """Return what begins like JSON of this kind outside reasoning, and whether all the text is reasoning."""
    found: list[_Candidate] = []
    position = 0
    answer_start = 0  # where the reasoning at the head of the text ends
    last_closing = max((tag.start() for tag in REASONING_TAG.finditer(text) if closes(tag)), default=-1)
    while match := _OUTSIDE.search(text, position):
        start = match.start()
        at_head = not text[answer_start:start].strip() if start - answer_start < _HEAD else False
        tag = REASONING_TAG.match(text, start)
        if tag is not None and closes(tag):
            # Some servers drop the opening tag: all that came before was reasoning.
            found.clear()
            position = answer_start = tag.end()
        elif tag is not None and start < last_closing:
            position = next(end.end() for end in REASONING_TAG.finditer(text, tag.end()) if closes(end))
            answer_start = position if at_head else answer_start
        elif tag is not None and at_head:
            return [_Candidate("", "incomplete")], False  # cut off while still thinking
        elif match["object"] or (match["array"] and kind == "array"):
            end, problem = _extent(text, start)
            if (kind == "object") == bool(match["object"]):
                found.append(_Candidate(text[start:end], problem, start))
            position = end
        else:
            position = start + 1
    return found, not text[answer_start:].strip()


def closes(tag: re.Match[str]) -> bool:
    """Tell whether a reasoning tag is a closing one."""
    return bool(tag["slash"] or tag["kimi"] or tag["mistral"])


def _extent(text: str, start: int) -> tuple[int, Problem | None]:
    """Return where the value that opens at `start` ends, and what its brackets alone show to be wrong."""
    stack: list[str] = []
    problem: Problem | None = None
    for token in _INSIDE.finditer(text, start):
        if token["open"]:
            stack.append("}" if token["open"] == "{" else "]")
            if len(stack) > MAX_DEPTH:
                return len(text), "no_object"
        elif token["close"]:
            if token["close"] != stack[-1]:
                # `[1}`: a bracket is missing. Close what the brace can close, but do not read it.
                problem = "incomplete"
                if token["close"] not in stack:
                    continue
                while stack[-1] != token["close"]:
                    stack.pop()
            stack.pop()
            if not stack:
                return token.end(), problem
        elif token["elided"]:
            problem = "incomplete"
        elif token["unclosed"]:
            break
    return len(text), "incomplete"


def _parse(text: str, budget: int) -> tuple[object, Problem | None, bool]:
    """Return the value, the problem, and whether leniency was needed."""
    for strict in (True, False):
        try:
            value = json.loads(text, strict=strict, object_pairs_hook=unique_keys)
        except DuplicateKeyError:
            return None, "duplicate_keys", False
        except (ValueError, RecursionError):
            continue
        return _clean(value, text), None, not strict
    if len(text) <= budget and _repeats_a_key(text):
        return None, "duplicate_keys", True
    value = _parse_leniently(text) if len(text) <= budget else None
    return _clean(value, text), "no_object" if value is None else None, True


def _parse_leniently(text: str) -> object:
    import json_repair

    try:
        # Its strict mode refuses missing values and colons instead of inventing them.
        value: object = json_repair.loads(text, skip_json_loads=True, strict=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _repeats_a_key(text: str) -> bool:
    """Whether an object of this near-JSON names a key twice; the lenient reader would keep the last."""
    keys: list[set[str]] = []
    for token in _INSIDE.finditer(text):
        if token["open"]:
            keys.append(set())
        elif token["close"] and keys:
            keys.pop()
        elif (token["string"] or token["word"]) and keys and _AFTER_KEY.match(text, token.end()):
            key = token["word"] or token["string"][1:-1]
            if key in keys[-1]:
                return True
            keys[-1].add(key)
    return False


def _fitting(value: object, fits: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any] | None:
    """Return `value` or, level by level, the last object it wraps that fits."""
    level = [value] if isinstance(value, dict) else []
    while level:
        for item in reversed(level):
            if fits(item):
                return item
        level = [inner for item in level for inner in item.values() if isinstance(inner, dict)]
    return None


def _clean(value: object, text: str) -> object:
    """Replace the halves of surrogate pairs that `\\ud83d` escapes leave: they cannot be written as UTF-8."""
    if not re.search(r"\\u[dD][89a-fA-F]", text):
        return value
    return _without_surrogates(value)


def _without_surrogates(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): _without_surrogates(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(inner) for inner in value]
    return value


def well_formed(text: str) -> str:
    """Join halves of surrogate pairs; replace those that stand alone, which cannot be written as UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
