"""Curated cohorts, which are code sets held to be right, and the release their codes are looked up in."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from clinical_evals.files import InputError
from clinical_evals.ontology.codes import read_code, read_codes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clinical_evals.ontology.hierarchy import Hierarchy

NOT_A_CODE = "has not the shape of an ICD-10-CM code"

# All codes and the billable ones; a hierarchy is kept for its database, so reading them once is enough.
_known: "WeakKeyDictionary[Hierarchy, tuple[frozenset[str], frozenset[str]]]" = WeakKeyDictionary()


class CuratedError(InputError):
    """A curated set that cannot be found or read. The message is one line."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something a definition names that gave no code.

    Attributes:
        code_or_concept: The code or concept with its vocabulary, such as `SNOMED 22298006`.
        reason: Why it gave none, in a few words.
    """

    code_or_concept: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cohort:
    """A curated set of ICD-10-CM codes.

    Attributes:
        cohort_id: Its id, unique in its source.
        name: Its display name, which is also the query that retrieval methods get.
        codes: Its codes in canonical form, sorted, headers among them. A code that this release lacks stays
            in: scoring lists it as unresolvable ground truth and sets it aside.
        dropped: What its definition names beside them, each with the reason.
        unresolvable: Those of the codes that this release lacks.
    """

    cohort_id: str
    name: str
    codes: list[str]
    dropped: list[Dropped] = field(default_factory=list)
    unresolvable: list[str] = field(default_factory=list)

    @property
    def resolvable(self) -> list[str]:
        """Its codes that this release has."""
        missing = set(self.unresolvable)
        return [code for code in self.codes if code not in missing]


class Release:
    """The ICD-10-CM codes of an open vocabulary.

    Attributes:
        hierarchy: All of its nodes: chapters, blocks, categories, codes and placeholders.
        codes: Its categories and codes.
        billable: Those of them that a claim may carry.
    """

    def __init__(self, con: "DuckDBPyConnection") -> None:
        from clinical_evals.ontology.vocabulary import ICD10CM, load_hierarchy

        self.hierarchy = load_hierarchy(con)
        known = _known.get(self.hierarchy)
        if known is None:
            rows = con.execute(
                "SELECT code, billable FROM concept WHERE vocabulary = ? AND kind IN ('category', 'code')",
                [ICD10CM],
            ).fetchnumpy()
            codes = [str(code) for code in rows["code"]]
            billable = (code for code, can in zip(codes, rows["billable"].tolist(), strict=True) if can)
            known = _known[self.hierarchy] = (frozenset(codes), frozenset(billable))
        self.codes, self.billable = known

    def below(self, code: str) -> list[str]:
        """Give the categories and codes at and below a code, or in a range; itself if there are none."""
        found = self.hierarchy.descendants(code)
        if not found and "-" in code:
            found = read_codes([code], self.hierarchy).codes
        return [node for node in found if node in self.codes] or [code]

    def above(self, code: str) -> list[str]:
        """Give the nodes above a code, nearest first; none if the release lacks it."""
        index = self.hierarchy.index_of(code)
        nodes = () if index is None else self.hierarchy.chain_indices(index)[1:]
        return [self.hierarchy.code_of(node) for node in nodes]

    def cohort(
        self, cohort_id: str, name: str, codes: Iterable[str], dropped: Iterable[Dropped] = ()
    ) -> Cohort:
        """Put a cohort together: codes sorted, those that the release lacks named, reasons given once."""
        sorted_codes = sorted(set(codes))
        missing = [code for code in sorted_codes if code not in self.hierarchy]
        return Cohort(cohort_id, name, sorted_codes, list(dict.fromkeys(dropped)), missing)

    def resolve(self, include: Iterable[str], exclude: Iterable[str] = ()) -> tuple[set[str], list[Dropped]]:
        """Expand codes and blocks with all below them, and take away what is excluded with all below it.

        Returns:
            The codes, and what has not the shape of a code.
        """
        dropped: list[Dropped] = []
        sets: list[set[str]] = []
        for texts in (include, exclude):
            found: set[str] = set()
            for text in texts:
                code = read_code(text)
                if code is None:
                    dropped.append(Dropped(text, NOT_A_CODE))
                else:
                    found.update(self.below(code))
            sets.append(found)
        return sets[0] - sets[1], dropped
