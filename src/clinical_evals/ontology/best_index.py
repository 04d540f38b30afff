"""The classification laid out for searching by words: nodes in the order of the tree, words to nodes.

In that order a node's subtree is one stretch, so "this word stands here or above" is a matter of painting
stretches, and the best value on the way up takes one step a level. A node with several parents (there are
none in ICD-10-CM, but a vocabulary could have them) stands below the one of the smallest concept id.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clinical_evals.ontology.best_words import generic_words, name_words, split_name
from clinical_evals.ontology.hierarchy import Hierarchy

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

GENERIC_WEIGHT = 0.15
"""Weight of a word such as "disorder", beside one that tells as much by its rarity."""

_DEPTH_CLASSES = {"chapter": 0, "block": 1, "category": 2}
_LONGEST_CODE = len("S72.001A")

# Chapters that the name of a population asks for by name if it means them, and the words that do so. The key
# is the first letter of their codes.
_SPECIAL_CHAPTERS = {
    "O": "pregnancy gestational maternal childbirth puerperium abortion trimester placenta amniotic "
    "antenatal cesarean",
    "P": "newborn fetus birth infant liveborn",
    "Q": "congenital malformation chromosome cleft",
    "ST": "injury poisoning fracture dislocation sprain burn wound adverse underdosing complication "
    "amputation contusion foreign toxin abuse allergy strain implant device transplant crushing concussion",
    "VWXY": "external accident fall assault firearm transport drowning",
    "Z": "encounter status history screening counseling exposure aftercare supervision immunization carrier "
    "examination absence resistance problem factors presence",
}
_UNSPECIFIED = re.compile(r"\b(?:unspecified|not specified|NOS|multiple)\b", re.I)
_STAGES = dict.fromkeys("ABC", "initial") | dict.fromkeys("DEFGHJKMNPQR", "subsequent") | {"S": "sequela"}


class Wording(NamedTuple):
    """A name, inclusion term or note of a node, in canonical words.

    Attributes:
        of: The words of what it is.
        mentions: Those behind "with", "due to" and the like.
        unspecified: Whether it says that it leaves something open.
    """

    of: tuple[str, ...]
    mentions: tuple[str, ...]
    unspecified: bool

    @property
    def words(self) -> dict[str, bool]:
        """Each word once, and whether it is of what the wording is."""
        return dict.fromkeys(self.mentions, False) | dict.fromkeys(self.of, True)

    def affirms(self, word: str) -> bool:
        """Whether it says a word, not only behind "without"."""
        if word in self.of:
            return True
        without = self.mentions.index("without") if "without" in self.mentions else len(self.mentions)
        return word in self.mentions[:without]


@dataclass
class Index:
    """See the module. All arrays are by place in the order of the tree unless said otherwise.

    Attributes:
        codes: Code of each node.
        names: Its name.
        parent: Place of its parent, itself for a root.
        end: Place behind its subtree.
        by_depth: The places of each depth, roots first.
        depth_class: 0 chapter, 1 block, 2 category, 3 a code of up to five characters, 4 a longer one.
        category: Place of the category that it lies in, itself above categories.
        block: Place of the lowest block that it lies in, itself above blocks.
        chapter: Place of its chapter.
        is_code: Whether it is a category or a code, not a chapter, a block or a placeholder.
        billable: Places of the codes that have no code below them.
        encounter: `initial`, `subsequent` or `sequela` for a code of seven characters that says the stage of
            care, else empty.
        names_rest: Whether its name begins with "other" or says so.
        special: Whether it lies in a chapter that names ask for by name.
        chapter_cues: For such a chapter's place, the words that ask for it.
        owner: By wording, the node that carries it, ascending.
        wordings: What they say.
        wording_weight: By wording, the weight of its words.
        wordings_with: For a word, the wordings that hold it.
        as_subject: For a word, whether each of them is of it, not only mentions it behind "with" or its like.
        rarity: For a word, the logarithm of how few categories say it.
        greatest_rarity: The rarity of a word that none says.
    """

    codes: list[str]
    names: list[str]
    parent: Places
    end: Places
    by_depth: list[Places]
    depth_class: NDArray[np.int8]
    category: Places
    block: Places
    chapter: Places
    is_code: NDArray[np.bool_]
    billable: Places
    encounter: NDArray[np.str_]
    names_rest: NDArray[np.bool_]
    special: NDArray[np.bool_]
    chapter_cues: dict[int, frozenset[str]]
    owner: Places
    wordings: list[Wording]
    wording_weight: Floats
    wordings_with: dict[str, Places]
    as_subject: dict[str, NDArray[np.bool_]]
    rarity: dict[str, float]
    greatest_rarity: float

    def __post_init__(self) -> None:
        """Find where each node's wordings begin."""
        self._first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        self._carriers = self.owner[self._first]
        self.billable_before = np.concatenate(
            [[0], np.cumsum(np.bincount(self.billable, minlength=len(self.codes)))]
        )

    def at_or_below(self, wordings: Places) -> NDArray[np.bool_]:
        """Mark the nodes that carry one of these wordings or lie below one that does."""
        return self.at_or_below_nodes(np.unique(self.owner[wordings]))

    def at_or_below_nodes(self, nodes: Places) -> NDArray[np.bool_]:
        """Mark these nodes, each given once, and those below them."""
        edges = np.zeros(len(self.codes) + 1, dtype=np.int32)
        np.add.at(edges, nodes, 1)
        np.add.at(edges, self.end[nodes], -1)
        return np.cumsum(edges[:-1]) > 0

    def best_wording(self, values: Floats) -> Floats:
        """Give each node the greatest value of its wordings, 0 if it has none."""
        best = np.zeros(len(self.codes))
        best[self._carriers] = np.maximum.reduceat(values, self._first)
        return best

    def best_on_way(self, values: Floats) -> tuple[Floats, Places]:
        """Give each node the greatest value of itself and those above, and the place of the first with it."""
        best = values.copy()
        at = np.arange(len(values))
        for level in self.by_depth[1:]:
            above = self.parent[level]
            up = best[above] >= best[level]
            best[level[up]] = best[above[up]]
            at[level[up]] = at[above[up]]
        return best, at

    def chapters_asked_for(self, words: Iterable[str]) -> set[int]:
        """Give the places of the special chapters, such as that of pregnancy, that words ask for."""
        said = set(words)
        return {place for place, cues in self.chapter_cues.items() if cues & said}

    def mean_by(self, group: Places, values: Floats) -> Floats:
        """Give for each group's place the mean value of its billable codes."""
        size = len(self.codes)
        total = np.bincount(group[self.billable], values[self.billable], size)
        return total / np.maximum(np.bincount(group[self.billable], minlength=size), 1)


def build_index(con: "DuckDBPyConnection") -> Index:
    """Read the ICD-10-CM part of a vocabulary; a few seconds for all of it."""
    from clinical_evals.ontology.vocabulary import ICD10CM, load_hierarchy

    hierarchy = load_hierarchy(con)
    rows = con.execute(
        """
        SELECT concept_id, name, kind, list(text ORDER BY place) FILTER (text IS NOT NULL)
        FROM concept LEFT JOIN (
            SELECT concept_id, text, rowid AS place FROM term
            WHERE kind IN ('inclusion', 'synonym', 'includes')
        ) USING (concept_id)
        WHERE vocabulary = ? GROUP BY concept_id, name, kind
        """,
        [ICD10CM],
    ).fetchall()
    known = {row[0]: (row[1], row[2], row[3] or []) for row in rows}
    order, parent, depth = _lay_out(hierarchy)
    nodes = [known[hierarchy.ids[node]] for node in order]
    codes = [hierarchy.code_of(node) for node in order]
    names = [name for name, _, _ in nodes]
    kinds = [kind for _, kind, _ in nodes]
    places = np.arange(len(order))
    end = _ends(parent)
    category, block, chapter = _containers(parent, kinds)
    owner, wordings = _read_wordings([(name, *terms) for name, _, terms in nodes])
    categories = max(kinds.count("category"), 1)
    wordings_with, as_subject = _by_word(wordings)
    rarity = {
        word: math.log1p(categories / len(np.unique(category[owner[numbers]])))
        for word, numbers in wordings_with.items()
    }
    weight = {
        word: value * (GENERIC_WEIGHT if word in generic_words() else 1) for word, value in rarity.items()
    }
    is_code = np.array([kind in ("category", "code") for kind in kinds], dtype=np.bool_)
    cues, special = _special_chapters([code[0] for code in codes], chapter, kinds)
    return Index(
        codes=codes,
        names=names,
        parent=parent,
        end=end,
        by_depth=[np.flatnonzero(depth == level) for level in range(int(depth.max(initial=0)) + 1)],
        depth_class=np.array(
            [
                _DEPTH_CLASSES.get(kind, 3 if len(code) <= 6 else 4)
                for kind, code in zip(kinds, codes, strict=True)
            ],
            dtype=np.int8,
        ),
        category=category,
        block=block,
        chapter=chapter,
        is_code=is_code,
        billable=np.flatnonzero((end == places + 1) & is_code),
        encounter=np.array([_encounter(code) for code in codes]),
        names_rest=np.array(["other" in name.lower().split() for name in names]),
        special=special,
        chapter_cues=cues,
        owner=owner,
        wordings=wordings,
        wording_weight=np.array([sum(weight[word] for word in wording.words) for wording in wordings]),
        wordings_with=wordings_with,
        as_subject=as_subject,
        rarity=rarity,
        greatest_rarity=math.log1p(categories),
    )


def _ends(parent: Places) -> Places:
    """Give the place behind each node's subtree."""
    end = np.arange(1, len(parent) + 1)
    for place in range(len(parent) - 1, -1, -1):
        if parent[place] != place:
            end[parent[place]] = max(end[parent[place]], end[place])
    return end


def _containers(parent: Places, kinds: Sequence[str]) -> tuple[Places, Places, Places]:
    """Give each node's category, block and chapter; see `Index`."""
    category, block, chapter = (np.arange(len(parent)) for _ in range(3))
    for place, kind in enumerate(kinds):
        above = parent[place]
        if above == place:
            continue
        chapter[place] = chapter[above]
        if kind not in ("chapter", "block"):
            block[place] = block[above]
            if kind != "category":
                category[place] = category[above]
    return category, block, chapter


def _read_wordings(texts: Sequence[Sequence[str]]) -> tuple[Places, list[Wording]]:
    """Read each node's name and terms; give the owners and the wordings that hold a word."""
    owner: list[int] = []
    wordings: list[Wording] = []
    for place, of_node in enumerate(texts):
        for text in dict.fromkeys(of_node):
            of, mentions = split_name(text)
            wording = Wording(
                tuple(name_words(of)), tuple(name_words(mentions)), _UNSPECIFIED.search(text) is not None
            )
            if wording.of or wording.mentions:
                owner.append(place)
                wordings.append(wording)
    return np.array(owner, dtype=np.intp), wordings


def _by_word(wordings: Sequence[Wording]) -> tuple[dict[str, Places], dict[str, NDArray[np.bool_]]]:
    """Give for each word the wordings that hold it, and whether each is of it."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    subjects: defaultdict[str, list[bool]] = defaultdict(list)
    for number, wording in enumerate(wordings):
        for word, subject in wording.words.items():
            numbers[word].append(number)
            subjects[word].append(subject)
    return (
        {word: np.array(found) for word, found in numbers.items()},
        {word: np.array(flags) for word, flags in subjects.items()},
    )


def _lay_out(hierarchy: Hierarchy) -> tuple[list[int], Places, NDArray[np.int64]]:
    """Put the nodes in the order of the tree; give their parents' places and their depths."""
    below: defaultdict[int, list[int]] = defaultdict(list)
    roots = []
    for node in range(len(hierarchy)):
        parents = hierarchy.parents(node)
        if parents:
            below[parents[0]].append(node)
        else:
            roots.append(node)
    order: list[int] = []
    parent: list[int] = []
    depth: list[int] = []
    waiting = [(node, -1, 0) for node in reversed(roots)]
    while waiting:
        node, above, level = waiting.pop()
        place = len(order)
        order.append(node)
        parent.append(above if above >= 0 else place)
        depth.append(level)
        waiting += [(child, place, level + 1) for child in reversed(below[node])]
    return order, np.array(parent, dtype=np.intp), np.array(depth, dtype=np.int64)


def _special_chapters(
    letters: list[str], chapter: Places, kinds: list[str]
) -> tuple[dict[int, frozenset[str]], NDArray[np.bool_]]:
    cues_by_letter = {
        letter: frozenset(word for cue in cues.split() for word in name_words(cue))
        for group, cues in _SPECIAL_CHAPTERS.items()
        for letter in group
    }
    cues: dict[int, frozenset[str]] = {}
    special = np.zeros(len(letters), dtype=np.bool_)
    for place, (letter, kind) in enumerate(zip(letters, kinds, strict=True)):
        if kind != "chapter" and letter in cues_by_letter:
            special[place] = True
            cues[int(chapter[place])] = cues_by_letter[letter]
    return cues, special


def _encounter(code: str) -> str:
    return _STAGES.get(code[-1], "") if len(code) == _LONGEST_CODE else ""
