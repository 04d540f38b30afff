"""Finding one code of a vocabulary however it is spelt, or concepts by the words of their names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from clinical_evals.ontology.codes import read_code

_NAME_KINDS = ("inclusion", "synonym")
_DEEPEST = 40  # levels; real classifications stay below 20, and a cycle must not be climbed for ever


@dataclass(frozen=True)
class Concept:
    """A concept as its vocabulary lists it."""

    concept_id: int
    code: str
    name: str
    vocabulary: str
    kind: str
    billable: bool
    valid: bool


@dataclass(frozen=True)
class Entry:
    """A concept with what stands around it.

    Attributes:
        concept: The concept.
        above: Code and name of its ancestors, the nearest first.
        below: Code and name of the concepts directly below it.
        terms: Its other names and notes, by kind.
    """

    concept: Concept
    above: Sequence[tuple[str, str]]
    below: Sequence[tuple[str, str]]
    terms: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Match:
    """A concept whose name, or other name `text`, holds every word that was looked for."""

    concept: Concept
    text: str


def find_code(con: duckdb.DuckDBPyConnection, text: str) -> list[Entry]:
    """Find the concepts that carry a code, in whatever case and with or without its dot.

    Nothing is guessed: a code that is not in the vocabulary is not found.

    Args:
        con: A vocabulary.
        text: The code. In a database of several vocabularies, each may have a concept of that code.

    Returns:
        One entry a concept, in the order of vocabularies.
    """
    spellings = {text.strip().upper().replace(".", "")}
    canonical = read_code(text)
    if canonical is not None:
        spellings.add(canonical.replace(".", ""))
    rows = con.execute(
        "SELECT * FROM concept WHERE upper(replace(code, '.', '')) IN (SELECT unnest(?)) "
        "ORDER BY vocabulary, valid DESC, concept_id",
        [sorted(spellings)],
    ).fetchall()
    return [_entry(con, Concept(*row)) for row in rows]


def search_names(con: duckdb.DuckDBPyConnection, text: str, limit: int) -> list[Match]:
    """Find concepts whose name or other name holds every word, or a word that begins with it.

    A name equal to the text comes first, then names that begin with it, then the shorter ones. This looks
    words up; `clinical-evals retrieve` ranks by what they weigh.

    Args:
        con: A vocabulary.
        text: The words. Without any, nothing is found.
        limit: At most so many concepts.
    """
    words = re.findall(r"\w+", text.lower())
    if not words:
        return []
    kinds = ", ".join(f"'{kind}'" for kind in _NAME_KINDS)
    holds = " AND ".join("regexp_matches(lower(text), ?)" for _ in words)
    rows = con.execute(
        f"""
        WITH named AS (
            SELECT concept_id, name AS text, 0 AS place FROM concept
            UNION ALL SELECT concept_id, text, 1 FROM term WHERE kind IN ({kinds})
        ), found AS (
            SELECT *, CASE WHEN lower(text) = ? THEN 0
                WHEN starts_with(lower(text), ?) THEN 1 ELSE 2 END AS fit
            FROM named WHERE {holds}
            QUALIFY row_number() OVER (PARTITION BY concept_id ORDER BY fit, place, length(text), text) = 1
        )
        SELECT concept.*, found.text FROM found JOIN concept USING (concept_id)
        ORDER BY fit, place, valid DESC, length(found.text), code, concept_id LIMIT ?
        """,
        [text.strip().lower(), text.strip().lower(), *(rf"\b{re.escape(word)}" for word in words), limit],
    ).fetchall()
    return [Match(Concept(*row[:-1]), row[-1]) for row in rows]


def _entry(con: duckdb.DuckDBPyConnection, concept: Concept) -> Entry:
    above = con.execute(
        f"""
        WITH RECURSIVE up(concept_id, level) AS (
            SELECT parent, 1 FROM is_a WHERE child = $id
            UNION SELECT parent, level + 1 FROM up JOIN is_a ON child = concept_id WHERE level < {_DEEPEST}
        )
        SELECT code, name FROM concept JOIN up USING (concept_id)
        GROUP BY concept_id, code, name ORDER BY min(level), concept_id
        """,
        {"id": concept.concept_id},
    ).fetchall()
    below = con.execute(
        "SELECT code, name FROM concept JOIN is_a ON child = concept_id WHERE parent = ? ORDER BY concept_id",
        [concept.concept_id],
    ).fetchall()
    terms: dict[str, list[str]] = {}
    rows = con.execute(
        "SELECT kind, text FROM term WHERE concept_id = ? ORDER BY rowid", [concept.concept_id]
    )
    for kind, text in rows.fetchall():
        terms.setdefault(kind, []).append(text)
    return Entry(concept, above, below, terms)
