"""Names that need no search: a known clinical term, or what the classification itself calls something.

A person who is asked for "asthma" opens the category of that name and takes all of it; what only mentions
asthma elsewhere stays out. Likewise here: if the words of a name are, up to their order and to words such as
"disease", those of a term in `best_terms.csv` with codes, or of a wording of a node, those subtrees are the
answer. Nodes higher up count before lower ones.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from clinical_evals.ontology.best_index import Index
from clinical_evals.ontology.best_query import CohortQuery, name_parts
from clinical_evals.ontology.best_words import known_sets, name_words, spelled_terms, split_name, telling

Mask = NDArray[np.bool_]

_RANGE = re.compile(r"(?P<first>[A-Z]\w\w(?:\.\w+)?)-(?P<last>[A-Z]\w\w(?:\.\w+)?)")
_DEGREES = """mild moderate severe controlled uncontrolled poorly well resistant refractory recurrent
    persistent exacerbation flare advanced early late symptomatic stable unstable active established treated
    untreated clinical new current acute chronic attack episode pediatric childhood elderly suspected"""
(_OTHER,) = name_words("other")
_OPEN = frozenset(name_words("unspecified confined"))  # such a name is not of two conditions on a par


class NamedSets:
    """Finds the nodes that a name means outright."""

    def __init__(self, index: Index) -> None:
        """Read what every node is called."""
        self.index = index
        self._place = {code: place for place, code in enumerate(index.codes)}
        self._subject: dict[int, frozenset[str]] = {}
        self._categories: defaultdict[int, list[int]] = defaultdict(list)
        for place in np.flatnonzero(index.depth_class == 2).tolist():
            self._subject[place] = telling(name_words(split_name(index.names[place])[0]))
            self._categories[int(index.block[place])].append(place)
        self._called: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for place, wording in zip(index.owner.tolist(), index.wordings, strict=True):
            # "Viral infection, unspecified" is one code, not what is asked for by "viral infection".
            vague = wording.unspecified and index.depth_class[place] >= 2
            if not vague and not telling(wording.mentions):
                self._called[telling(wording.of)].append(place)
        for place in self._subject:  # "Cellulitis and acute lymphangitis"
            of, mentions = split_name(index.names[place])
            apart = index.special[place] and index.codes[place][0] not in "ST"
            if mentions or apart or _OPEN.intersection(name_words(of)):
                continue
            for words in name_parts(of):
                if place not in self._called[telling(words)]:
                    self._called[telling(words)].append(place)

    def codes_meant(self, entries: Iterable[str]) -> Mask:
        """Mark the nodes of codes and ranges, with all below them.

        `!` before a code takes it out; `/word` behind it keeps the nodes whose own name says that word.
        """
        index = self.index
        meant = np.zeros(len(index.codes), dtype=np.bool_)
        for entry in entries:
            code, _, word = entry.removeprefix("!").partition("/")
            first, last = self._ends(code)
            if first is None or last is None:
                continue
            stretch = slice(first, index.end[last])
            if word:
                meant[stretch] |= [word in name.lower() for name in index.names[stretch]]
            else:
                meant[stretch] = not entry.startswith("!")
        return meant

    def _ends(self, text: str) -> tuple[int | None, int | None]:
        span = _RANGE.fullmatch(text)
        first, last = (span["first"], span["last"]) if span else (text, text)
        return self._place.get(first), self._place.get(last)

    def read(self, query: CohortQuery, allowed: Mask) -> tuple[Mask, CohortQuery]:
        """Mark what a query means outright, and give the query of what is left to search.

        Args:
            query: The query.
            allowed: The nodes that the query does not leave out.
        """
        found = None if _OTHER in query.whole else self._allowed(self.find(query.whole), query, allowed)
        if found is not None:
            return found, replace(query, parts=())
        named = np.zeros(len(self.index.codes), dtype=np.bool_)
        left = []
        asked = self.index.chapters_asked_for(query.whole)
        for number, asked_part in enumerate(query.parts):
            part = asked_part
            if number and part[0][0] == _OTHER:  # "schizophrenia and other psychotic disorders"
                part = tuple(tuple(word for word in words if word != _OTHER) for words in part)
            if _OTHER not in part[0] and asked <= self.index.chapters_asked_for(part[0]):
                found = self._allowed(self._find_part(part), query, allowed)
            else:
                found = None
            if found is None:
                left.append(asked_part)
            else:
                named |= found
        return named, replace(query, parts=tuple(left))

    def _allowed(self, found: Mask | None, query: CohortQuery, allowed: Mask) -> Mask | None:
        if found is None or not (found & allowed).any():
            return None
        kept: Mask = found & allowed
        staged: Mask = kept & (self.index.encounter != "")
        # "Burn, initial encounter" is not its extent, which has no stage of care.
        return staged if query.encounter is not None and staged.any() else kept

    def _find_part(self, wordings: Sequence[Sequence[str]]) -> Mask | None:
        """Read it as a term or a category, else by its rewordings, else as a code, else as part of a term."""
        own = wordings[:2]
        found = next((found for words in own if (found := self.find(words, deep=False)) is not None), None)
        if found is None and (ways := wordings[2:]):
            covered = [way for words in ways if (way := self.find(words)) is not None]
            found = np.logical_or.reduce(covered) if len(covered) == len(ways) else None
        if found is None:
            found = next((found for words in own if (found := self.find(words)) is not None), None)
        return self._find_within(wordings[0]) if found is None else found

    def _find_within(self, words: Sequence[str]) -> Mask | None:
        """Take the part of a known term that the other words single out, such as a stage or complication.

        All of the term if the others only say how bad it is or what is done about it; None if they say
        something that is not in it.
        """
        index = self.index
        terms = []
        for start in range(len(words)):
            for end in range(start + 1, len(words) + (start > 0)):
                if frozenset(words[start:end]) in spelled_terms():
                    key = telling(words[start:end])
                    terms.append((len(telling(words) - key), -start, -end, key))
        for _, _, _, key in sorted(terms, key=lambda term: term[:3]):
            meant = self.codes_meant(known_sets()[key])
            single = np.ones(len(index.codes), dtype=np.bool_)
            others = telling(words) - key
            for word in others:
                single &= self._says(word)
            single = index.at_or_below_nodes(np.flatnonzero(single)) & meant
            if single.any():
                return single
            if others <= _degrees():
                return meant
        return None

    def _says(self, word: str, *, only_of: bool = False) -> Mask:
        """Mark the nodes whose own wordings say a word, not only behind "without"; or of what they are."""
        index = self.index
        said = np.zeros(len(index.codes), dtype=np.bool_)
        numbers = index.wordings_with.get(word)
        if numbers is None:
            return said
        if only_of:
            said[index.owner[numbers[index.as_subject[word]]]] = True
        else:
            affirmed = [number for number in numbers.tolist() if index.wordings[number].affirms(word)]
            said[index.owner[affirmed]] = True
        return said

    def find(self, words: Sequence[str], *, deep: bool = True) -> Mask | None:
        """Mark the codes that these words mean as a whole; None if they name nothing outright.

        Args:
            words: Canonical words.
            deep: Whether also a code below its category may be what they name.
        """
        key = telling(words)
        entries = known_sets().get(key)
        if entries is not None:
            return self.codes_meant(entries)
        places = self._called.get(key) if key else None
        if not places:
            return None
        index = self.index
        high = [place for place in places if index.depth_class[place] <= 2]
        if not high and not deep:
            return None
        meant = np.zeros(len(index.codes), dtype=np.bool_)
        for place in high or places:
            meant[place : index.end[place]] = True
        for place in high:
            if index.depth_class[place] == 2:
                for sibling in self._categories[int(index.block[place])]:
                    if key <= self._subject[sibling]:
                        meant[sibling : index.end[sibling]] = True
        return meant if high or self._holds_most(meant, key) else None

    def _holds_most(self, meant: Mask, key: frozenset[str]) -> bool:
        """Say whether the codes meant are most of those that are called so with more words.

        An inclusion term of one code may be the name of what many other codes are kinds of.
        """
        index = self.index
        so_called = np.logical_and.reduce([self._says(word, only_of=True) for word in key])
        called = index.at_or_below_nodes(np.flatnonzero(so_called))[index.billable]
        called &= ~index.special[index.billable] | meant[index.billable]
        return bool(2 * (called & meant[index.billable]).sum() >= called.sum())


@cache
def _degrees() -> frozenset[str]:
    return frozenset(name_words(_DEGREES))
