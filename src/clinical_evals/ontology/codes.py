"""Reading ICD-10-CM codes as people and models write them.

One canonical form inside: upper case, a dot after the third character, no dot or dash at the end. Nothing
else is added or taken away: no placeholder is filled in and no code is cut to its parent, because that would
be guessing. Whether a code exists is for the vocabulary to say.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clinical_evals.ontology.hierarchy import Hierarchy
from clinical_evals.reading import MAX_DEPTH

# The second character is a digit in all categories but QA0, the third may be a letter (C4A).
_CATEGORY = r"[A-Za-z](?:[0-9][0-9A-Za-z]|[A-Za-z][0-9])"
_CODE = re.compile(rf"({_CATEGORY})\.?([0-9A-Za-z]{{0,4}})")
_DASH = "[-\u2010-\u2015\u2212]"  # hyphens, en and em dash, minus
_BLOCK = re.compile(rf"({_CATEGORY})\s?{_DASH}\s?({_CATEGORY})")
_OPEN_END = re.compile(rf"\.?{_DASH}$|\.$")

# An entry that is no code is listed up to this many characters.
_SHOWN = 40


def read_code(text: str) -> str | None:
    """Read one code or block of categories into its canonical form.

    `e1121` and `E11.21 ` are E11.21, `E11.-` and `E11.` are E11, `w22.01xa` is W22.01XA, `I60 - I69` is the
    block I60-I69. The shape is all that is checked.

    Returns:
        The canonical code, or None if the text has not the shape of an ICD-10-CM code or block.
    """
    text = text.strip()
    if block := _BLOCK.fullmatch(text):
        return f"{block[1]}-{block[2]}".upper()
    match = _CODE.fullmatch(_OPEN_END.sub("", text))
    if match is None:
        return None
    return (f"{match[1]}.{match[2]}" if match[2] else match[1]).upper()


def shown(entry: str) -> str:
    """Return an entry that is no code as it is listed: on one line, cut at 40 characters."""
    entry = " ".join(entry.split())
    return entry if len(entry) <= _SHOWN else entry[: _SHOWN - 1] + "…"


@dataclass(frozen=True, slots=True)
class CodeList:
    """The codes that an answer names.

    Attributes:
        codes: Canonical codes of the vocabulary, each once, in the order of first mention.
        invalid: What stands as a code and is none of the vocabulary: canonical where it has a code's shape,
            else as written (cut at 40 characters). Each once.
        ranges: The ranges and wildcards that were expanded into `codes`, such as `I60-I69` and `E11.*`.
        excluded: Codes that the answer names only to leave them out; no range brings them in.
    """

    codes: list[str]
    invalid: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)


def read_codes(answer: str | Sequence[str] | Mapping[str, object], hierarchy: Hierarchy) -> CodeList:
    """Read the codes that a model's answer names, as a person would.

    The answer may be a JSON list or object, a list with descriptions, a table or prose. Reasoning before the
    answer is set aside. A range (`I60-I69`, `I60 to I69`, `I60-69`) means all codes in it, headers and their
    descendants; so does a wildcard (`E11.*`, `E11.x`), below its stem and with it. `E11.-` means E11 itself.
    A code after "not", "except" or "excluding", or under such a heading or key, is left out.

    What has no meaning here is invalid, not an error: codes of other classifications (`250.00`), invented
    ones, entries of a list without any code (`"obesity"`, `null`, `5`). In running prose a word without a dot
    counts only if it is a code of the vocabulary, since "A1C" and "B12" are no attempts at one.

    Args:
        answer: The text of an answer; or its entries, or its JSON object, where they have been read already.
        hierarchy: The vocabulary that says which codes exist.
    """
    reader = _Reader(hierarchy)
    if isinstance(answer, Mapping):
        reader.take_json(answer)
        return reader.result()
    if not isinstance(answer, str):
        for entry in answer:
            reader.take_entry(entry)
        return reader.result()
    answer = without_reasoning(answer)
    value = json_value(answer)
    if value is None or not reader.take_json(value):
        reader.take_prose(answer)
    return reader.result()


# --- JSON and reasoning ------------------------------------------------------------------------------------

_REASONING = r"(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)"
_REASONING_ENDS = re.compile(rf"</{_REASONING}>|◁/think▷|\[/think\]", re.IGNORECASE)
_REASONING_OPENS = re.compile(rf"\s*(?:<{_REASONING}>|◁think▷|\[think\])", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_CODE_KEY = re.compile(r"code|icd", re.IGNORECASE)
_EXCLUDING_KEY = re.compile(r"exclu|not_?include", re.IGNORECASE)


def without_reasoning(text: str) -> str:
    """Return what follows the last closed reasoning block; nothing if the answer was cut off in the first."""
    ends = [match.end() for match in _REASONING_ENDS.finditer(text)]
    if ends:
        return text[ends[-1] :]
    return "" if _REASONING_OPENS.match(text) else text


def json_value(text: str) -> object:
    """Return the JSON list or object that an answer is or holds, or None."""
    wholes = [text, *reversed(_FENCE.findall(text))]
    opening = min((at for at in (text.find("["), text.find("{")) if at >= 0), default=-1)
    closing = max(text.rfind("]"), text.rfind("}"))
    if 0 <= opening < closing:
        wholes.append(text[opening : closing + 1])
    for whole in wholes:
        try:
            # A number would lose the zeros of 250.00, and a code such as 1E10 would not be one any more.
            value: object = json.loads(whole, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list | dict) and not _is_deep(value):
            return value
    return None


def _is_deep(value: list[Any] | dict[str, Any]) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        inside = (inner for item in level for inner in (item.values() if isinstance(item, dict) else item))
        level = [inner for inner in inside if isinstance(inner, list | dict)]
        if not level:
            return False
    return True


# --- Prose -------------------------------------------------------------------------------------------------

# The stars of **E11** are none of its own, and of those of **E11.*** the first is.
_ANY = r"(?:\*(?!\*(?!\*))|%)"
_WORD = (
    rf"(?=[A-Za-z]{{1,2}}[0-9])[A-Za-z][0-9A-Za-z]{{1,9}}(?:\.(?:[0-9A-Za-z]{{1,9}}{_ANY}?|{_ANY})|{_ANY})?"
)
_MENTION = re.compile(
    rf"""(?<![0-9A-Za-z.])
    (?P<low>{_WORD})
    (?:\s{{0,2}}(?:{_DASH}|\b(?:to|through|thru)\b)\s{{0,2}}(?P<high>{_WORD}|[0-9]{{2}}(?![0-9.])|\.[0-9A-Za-z]{{1,4}})
       |\.?{_DASH})?
    (?![0-9A-Za-z]|[.-][0-9A-Za-z])""",
    re.VERBOSE,
)
# Where an entry begins: a line, a cell, a piece between commas, a string; after its bullet or number.
_ENTRY_BEGINS = re.compile(
    r"(?:^|[\n,;|\"'`\[(]|\s[-*•]\s)[ \t>*_#`\"'\[(•+-]*"
    r"(?:[0-9]{1,3}[.)]\s+)?(?:(?:and|or)\b)?[ \t*_`\"'\[(]*$"
)
_ENTRY_WINDOW = 40
_OTHER_CODE = re.compile(r"(?<![\w.])[0-9]{3}\.[0-9]{1,2}(?![\w.])")
_LEFT_OUT = re.compile(
    r"\b(?:not|except(?:ing)?(?:\s+for)?|exclu(?:ding|des?[12]?|ded)|omit(?:ting)?"
    r"|other\s+than|rather\s+than|instead\s+of)[\s:(*`\"']*(?:the\s+|codes?\s+|using\s+|include\s+)*[*`\"']*$",
    re.IGNORECASE,
)
_SENTENCE_GOES_ON = re.compile(r"\s+[a-z]")
_GOES_ON = re.compile(r"[\s,/*`\"']*+(?:and|or|nor)?[\s*`\"']*+", re.IGNORECASE)
_HEADING = re.compile(r"^\s*(?:#+\s.*|[^\n]*:[\s*_]*|\*\*[^*\n]+\*\*\s*)$")
_EXCLUDING_HEADING = re.compile(
    r"\bexclu|\bnot\s+includ|\bdo\s+not\b|\bleft\s+out\b|\bomitted\b", re.IGNORECASE
)
_WILDCARD = re.compile(rf"({_CATEGORY}(?:\.[0-9A-Za-z]{{1,3}})?)\.?[*%]|({_CATEGORY})\.[xX]{{1,4}}")


@dataclass(frozen=True, slots=True)
class _Mention:
    low: str
    high: str | None
    leads: bool  # an entry of a list
    alone: bool  # and what follows is no sentence
    kept: bool


def _mentions(text: str) -> Iterator[_Mention]:
    """Give what looks like a code, line by line: whether it leads its entry and whether it is kept."""
    excluding = False
    for line in text.splitlines():
        if _HEADING.match(line) and not _MENTION.search(line):
            excluding = _EXCLUDING_HEADING.search(line) is not None
            continue
        left_out, leads, end = False, False, 0
        for match in _MENTION.finditer(line):
            before = line[max(0, match.start() - _ENTRY_WINDOW) : match.start()]
            if match.start() <= _ENTRY_WINDOW:
                before = "\n" + before
            between = line[end : match.start()]
            left_out = _LEFT_OUT.search(before) is not None or (
                left_out and _GOES_ON.fullmatch(between) is not None
            )
            end = match.end()
            low = match["low"]
            if low[-1] == "*" and low[-2] != "." and before.endswith("*") and line[end : end + 1] != "*":
                low = low[:-1]  # *E11* is emphasis
            leads = _ENTRY_BEGINS.search(before) is not None or (
                leads and _GOES_ON.fullmatch(between) is not None
            )
            # "A1C is 9%" is a sentence, "E1199 Type 2 diabetes" an entry.
            alone = leads and not _SENTENCE_GOES_ON.match(line, end)
            yield _Mention(low, match["high"], leads, alone, not (left_out or excluding))


class _Reader:
    """Collects codes, each once, and tells those that exist from those that do not."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._codes: dict[str, bool] = {}  # whether it is named itself, not only by a range
        self._invalid: dict[str, None] = {}
        self._ranges: dict[str, None] = {}
        self._excluded: dict[str, None] = {}
        self._in_order: list[str] = []

    def result(self) -> CodeList:
        out = {below for code in self._excluded for below in self._hierarchy.descendants(code)}
        codes = [code for code, named in self._codes.items() if named or code not in out]
        return CodeList(codes, list(self._invalid), list(self._ranges), list(self._excluded))

    def take_json(self, value: object, kept: bool = True) -> bool:
        """Take the codes of a JSON value. Returns whether it held any entry."""
        if isinstance(value, str):
            self.take_entry(value, kept)
            return bool(value.strip())
        if isinstance(value, list):
            for item in value:
                if not self.take_json(item, kept):
                    self._take_odd(item, kept)
            return bool(value)
        if not isinstance(value, Mapping):
            return False
        out = {key: item for key, item in value.items() if _EXCLUDING_KEY.search(key)}
        rest = {key: item for key, item in value.items() if key not in out}
        items = [item for key, item in rest.items() if _CODE_KEY.search(key)]
        if not items:
            # {"E11.9": "Type 2 diabetes ..."}, else lists under keys of any other name
            items = [key for key in rest if _classify(key)]
        items = items or [item for item in rest.values() if isinstance(item, list | dict)]
        left_out = self._take_all_json(out.values(), False)
        return self._take_all_json(items, kept) or left_out

    def _take_odd(self, item: object, kept: bool) -> None:
        """Take an entry that is no text (`null`, `5`, an object without a code's key), if only as invalid."""
        written = json.dumps(item, ensure_ascii=False)
        if not (isinstance(item, Mapping) and self.take_prose(written, kept)) and kept:
            self._refuse(written)

    def take_entry(self, entry: str, kept: bool = True) -> None:
        """Take one entry of a list; without any code in it the entry itself is invalid."""
        if not entry.strip():
            return
        if read_code(entry) in self._hierarchy and not _BLOCK.fullmatch(entry.strip()):
            self._take_code(entry, kept)
        elif not self.take_prose(entry, kept) and kept:
            self._refuse(entry)

    def take_prose(self, text: str, kept: bool = True) -> bool:
        """Take the codes that a text names. Returns whether anything in it stood as a code."""
        any_taken = False
        for mention in _mentions(text):
            any_taken |= self._take_mention(mention, kept and mention.kept)
        for match in _OTHER_CODE.finditer(text):
            before = "\n" + text[max(0, match.start() - _ENTRY_WINDOW) : match.start()]
            if kept and _ENTRY_BEGINS.search(before):
                self._refuse(match[0])
                any_taken = True
        return any_taken

    def _take_all_json(self, values: Iterable[object], kept: bool) -> bool:
        taken = [self.take_json(value, kept) for value in values]  # all of them, so no any() here
        return any(taken)

    def _take_mention(self, mention: _Mention, kept: bool) -> bool:
        if mention.high is not None:
            low = read_code(mention.low)
            high = read_code(_full_high_end(mention.low, mention.high))
            if low is not None and high is not None:
                return self._take_range(low, high, kept)
        kind = _classify(mention.low)
        if kind == "wildcard":
            return self._take_wildcard(mention.low, kept)
        code = read_code(mention.low)
        exists = code in self._hierarchy
        if exists:
            # "h20" in a sentence is a word; as an entry, in upper case or with its dot it is a code.
            stands = mention.leads or "." in mention.low or mention.low[0].isupper()
        elif "." in mention.low:
            stands = kind == "code" or mention.leads
        else:
            # T2DM, A1C, H1N1 and G6PD have the shape of a code too, but not the digits.
            stands = mention.alone and mention.low[1:3].isdecimal()
        if not stands:
            return False
        self._take_code(mention.low, kept)
        return True

    def _take_code(self, text: str, kept: bool) -> None:
        code = read_code(text)
        if code is None or code not in self._hierarchy:
            if kept:
                self._refuse(code or text)
        elif kept:
            self._codes[code] = True
        else:
            self._excluded[code] = None

    def _take_range(self, low: str, high: str, kept: bool) -> bool:
        name = f"{low}-{high}"
        # A block of the tabular list knows that M05-M14 holds M1A. Some only head other blocks.
        codes = self._hierarchy.descendants(name)[1:] if name in self._hierarchy else []
        if not codes:
            codes = [code for code in self._from(low) if code[: len(high)] <= high]
        self._take_all(name, codes, kept)
        return True

    def _take_wildcard(self, text: str, kept: bool) -> bool:
        match = _WILDCARD.fullmatch(text)
        stem = read_code((match[1] or match[2]) if match else text)
        # A code of the vocabulary that ends in X is itself.
        if read_code(text) in self._hierarchy or stem is None:
            self._take_code(text, kept)
        else:
            self._take_all(text.upper(), self._hierarchy.descendants(stem), kept)
        return True

    def _take_all(self, name: str, codes: list[str], kept: bool) -> None:
        if not kept:
            self._excluded.update(dict.fromkeys(codes))
        elif codes:
            self._ranges[name] = None
            for code in codes:
                self._codes.setdefault(code, False)
        else:
            self._refuse(name)

    def _from(self, low: str) -> list[str]:
        if not self._in_order:
            self._in_order = sorted({code for code in self._hierarchy.codes if _CODE.fullmatch(code)})
        return self._in_order[bisect_left(self._in_order, low) :]

    def _refuse(self, text: str) -> None:
        self._invalid[shown(text)] = None


def _classify(text: str) -> Literal["code", "wildcard"] | None:
    if _WILDCARD.fullmatch(text):
        return "wildcard"
    return "code" if read_code(text) is not None else None


def _full_high_end(low: str, high: str) -> str:
    """Complete a shortened end of a range: `I60-69` ends at I69, `E11.2-.6` at E11.6."""
    if high.startswith("."):
        return low.partition(".")[0] + high
    return low[0] + high if high.isdecimal() else high
