"""Curated ground truth: bundled value sets, CCSR categories, and the user's own definitions and lists.

`load_cohorts` takes any source by its name or path. The loaders behind it are `load_value_sets`,
`load_ccsr`, `read_circe` with `resolve_circe`, and `load_code_list`.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinical_evals.data import read_rows
from clinical_evals.data_path import bundled
from clinical_evals.files import read_text
from clinical_evals.ontology.ccsr import load_ccsr
from clinical_evals.ontology.circe import read_circe, resolve_circe
from clinical_evals.ontology.code_lists import TABLES, load_code_list
from clinical_evals.ontology.codes import shown
from clinical_evals.ontology.cohorts import Cohort, CuratedError, Dropped, Release

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "BUNDLED",
    "CCSR",
    "Cohort",
    "CuratedError",
    "Dropped",
    "cohort_ids",
    "find_matching_cohort",
    "load_ccsr",
    "load_code_list",
    "load_cohorts",
    "load_curated_concept_set",
    "load_value_sets",
    "read_circe",
    "resolve_circe",
    "resolve_target",
]

BUNDLED = "bundled"
CCSR = "ccsr"

_VALUE_SETS = "value_sets.jsonl"
_MANIFEST = "manifest.json"  # cohort id and name of each definition beside it
_CATALOGUE = "Cohorts.csv"  # the same in the OHDSI Phenotype Library


def load_cohorts(
    con: "DuckDBPyConnection", source: str | Path = BUNDLED, fanout_threshold: int = 100
) -> list[Cohort]:
    """Load all cohorts of a source.

    Args:
        con: An open vocabulary.
        source: `bundled`; `ccsr`; a value set file (`.jsonl`); a Circe definition (`.json`); a table of
            condition and code (`.csv`, `.tsv`, `.tab`); or a folder with value_sets.jsonl, else with Circe
            definitions, else with tables.
        fanout_threshold: See `resolve_circe`.

    Raises:
        CuratedError: If there is nothing to read, or two cohorts have one id.
        InputError: If a file cannot be read.
    """
    if str(source) == CCSR:
        return load_ccsr(con)
    if str(source) == BUNDLED:
        return load_value_sets(con)
    if not str(source).strip():
        raise CuratedError("the source of the cohorts is empty; name one, such as `bundled` or a file")
    path = Path(source).expanduser()
    files = _files_in(path) if path.is_dir() else [path]
    cohorts: list[Cohort] = []
    for file in files:
        kind = file.suffix.lower()
        if kind == ".jsonl":
            cohorts += load_value_sets(con, file)
        elif kind == ".json":
            cohorts.append(load_curated_concept_set(con, file.parent, file.stem, fanout_threshold))
        elif kind in TABLES:
            cohorts += load_code_list(con, file)
        else:
            raise CuratedError(f"{file}: choose a .jsonl, .json or {', '.join(TABLES)} file, or a folder")
    seen: set[str] = set()
    for cohort in cohorts:
        if cohort.cohort_id in seen:
            raise CuratedError(f"{path}: two cohorts have the id {shown(cohort.cohort_id)!r}")
        seen.add(cohort.cohort_id)
    return cohorts


def load_value_sets(con: "DuckDBPyConnection", file: Path | None = None) -> list[Cohort]:
    """Load value sets: rows of cohort id, name, and codes to include and exclude with all below them.

    Args:
        con: An open vocabulary.
        file: A JSONL file. Default: the bundled 23 value sets.

    Raises:
        CuratedError: If a row cannot be used; names file, row and field.
        InputError: If the file cannot be read.
    """
    release = Release(con)
    rows = _read_value_sets(file or bundled("value_sets", _VALUE_SETS))
    cohorts = []
    for row in rows:
        codes, dropped = release.resolve(row["include"], row["exclude"])
        cohorts.append(release.cohort(row["cohort_id"], row["name"], codes, dropped))
    return cohorts


def cohort_ids(library_dir: Path | None = None) -> list[str]:
    """List the ids that `load_curated_concept_set` knows in a folder; default: the bundled value sets."""
    folder = library_dir or bundled("value_sets")
    if (folder / _VALUE_SETS).is_file():
        return [row["cohort_id"] for row in _read_value_sets(folder / _VALUE_SETS)]
    return [file.stem for file in _files_in(folder) if file.suffix.lower() == ".json"]


def load_curated_concept_set(
    con: "DuckDBPyConnection",
    library_dir: Path | None,
    cohort_id: str,
    fanout_threshold: int = 100,
) -> Cohort:
    """Load one cohort of a folder as ground truth.

    Args:
        con: An open vocabulary.
        library_dir: A folder with `ID.json` Circe definitions, named by a `manifest.json` of id and name or
            the Phenotype Library's `Cohorts.csv` if it holds one; or one with a `value_sets.jsonl`. Default:
            the bundled value sets.
        cohort_id: The id.
        fanout_threshold: See `resolve_circe`.

    Raises:
        CuratedError: If the folder has no such cohort.
        InputError: If a file cannot be read.
    """
    folder = library_dir or bundled("value_sets")
    definition = folder / f"{cohort_id}.json"
    if definition.is_file():
        circe = read_circe(definition)
        name = _names_in(folder).get(cohort_id) or circe.name or cohort_id
        return resolve_circe(con, cohort_id, name, circe, fanout_threshold)
    file = folder / _VALUE_SETS
    if file.is_file():
        for row in _read_value_sets(file):
            if row["cohort_id"] == cohort_id:
                release = Release(con)
                codes, dropped = release.resolve(row["include"], row["exclude"])
                return release.cohort(cohort_id, row["name"], codes, dropped)
    raise CuratedError(
        f"{folder}: no cohort {cohort_id!r}: neither {definition.name} nor a row in {_VALUE_SETS}"
    )


def resolve_target(
    con: "DuckDBPyConnection", include: Sequence[str], exclude: Sequence[str] = ()
) -> list[str]:
    """Give the codes of a target that is written as codes to include and exclude, both with all below them.

    Raises:
        CuratedError: If an entry has not the shape of a code.
    """
    codes, dropped = Release(con).resolve(include, exclude)
    if dropped:
        raise CuratedError(f"target code {dropped[0].code_or_concept!r} {dropped[0].reason}")
    return sorted(codes)


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CuratedError(f"{folder}: no such folder")
    if (folder / _VALUE_SETS).is_file():
        return [folder / _VALUE_SETS]
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != _MANIFEST)
    definitions = [file for file in files if file.suffix.lower() == ".json"]
    tables = [file for file in files if file.suffix.lower() in TABLES]
    if not definitions and not tables:
        raise CuratedError(
            f"{folder}: no {_VALUE_SETS}, no .json definition and no {', '.join(TABLES)} table in it"
        )
    return definitions or tables


def _names_in(folder: Path) -> dict[str, str]:
    manifest, catalogue = folder / _MANIFEST, folder / _CATALOGUE
    if manifest.is_file():
        try:
            names = json.loads(read_text(manifest))
        except ValueError:
            raise CuratedError(f"{manifest}: no JSON") from None
        if not isinstance(names, dict):
            raise CuratedError(f"{manifest}: not a JSON object of cohort id and name")
        return {str(identity): str(name) for identity, name in names.items()}
    if catalogue.is_file():
        rows = csv.DictReader(io.StringIO(read_text(catalogue), newline=""))
        return {row.get("cohortId") or "": row.get("cohortName") or "" for row in rows}
    return {}


def _read_value_sets(file: Path) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for where, row in read_rows(file):
        for field in ("cohort_id", "name"):
            if not isinstance(row.get(field), str) or not row[field].strip():
                raise CuratedError(f"{where}: field '{field}' holds no text")
        for field in ("include", "exclude"):
            codes = row.setdefault(field, [])
            if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
                raise CuratedError(f"{where}: field '{field}' must be a list of codes")
        if row["cohort_id"] in rows:
            raise CuratedError(f"{where}: the id of field 'cohort_id' is that of an earlier row too")
        rows[row["cohort_id"]] = row
    if not rows:
        raise CuratedError(f"{file}: holds no value sets")
    return list(rows.values())


# --- Matching ----------------------------------------------------------------------------------------------

_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    "a an the of in on or and with to by for from at as due who whose that is are be mellitus "
    "patient patients adult adults people diagnosis diagnosed".split()
)
# They say that something is a disease, not which.
_GENERIC = frozenset(("diseas", "disord", "syndrom", "condit", "unspecifi"))
# A term that says one of these of a name's condition means something else.
_TURNING = frozenset("without no not non except exclud old prior previous former famili".split())  # stems
_SPELLING = (
    (re.compile(r"ae(?=m[aio])|(?<=p)ae(?=d)"), "e"),  # anaemia, haematuria, paediatric
    (re.compile(r"^oe(?=[ds])|oe(?=a)"), "e"),  # oedema, oesophagitis, diarrhoea
    (re.compile(r"is(e|ed|ing|ation)$"), r"iz\1"),  # generalised
    (re.compile(r"^i$"), "1"),
    (re.compile(r"^ii$"), "2"),
)


def find_matching_cohort(term: str, cohorts: Sequence[Cohort]) -> Cohort | None:
    """Find the one cohort whose name a term means, by the words they share.

    Words are compared by stem, British spelling as American, `II` as `2`; small words do not count. A cohort
    can match if more than half of the term's words are in its name; "disease", "disorder" and the like count
    among the term's words but are no match. A term with a word such as "without" or "old" that the name lacks
    does not match it. Of the rest the one with the greatest share of common words (intersection over union)
    is meant.

    Args:
        term: A clinical term, such as a seed term of a decomposition.
        cohorts: The cohorts to choose from.

    Returns:
        The cohort, or None if none can match or several match equally well.
    """
    wanted = _tokens(term)
    turning = wanted & _TURNING
    best: list[Cohort] = []
    best_share = 0.0
    for cohort in cohorts:
        words = _tokens(cohort.name)
        common = wanted & words
        if turning - words or (wanted != words and 2 * len(common - _GENERIC) <= len(wanted)):
            continue
        share = len(common) / len(wanted | words) if common else 0.0
        if share > best_share:
            best, best_share = [cohort], share
        elif share == best_share and share:
            best.append(cohort)
    return best[0] if len(best) == 1 else None


@lru_cache(maxsize=4096)
def _tokens(text: str) -> frozenset[str]:
    from snowballstemmer import stemmer

    words = []
    for word in _WORD.findall(text.lower().replace("'s", "").replace("’s", "")):
        if word in _STOP:
            continue
        for pattern, replacement in _SPELLING:
            word = pattern.sub(replacement, word)  # noqa: PLW2901
        words.append(word)
    return frozenset(stemmer("english").stemWords(words))
