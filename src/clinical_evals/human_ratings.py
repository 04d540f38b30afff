"""Human ratings of summaries, by which a judge is calibrated: bundled ones, a user's, and two public sets.

Two scales are kept apart. `rubric`: people scored the rubric's criteria from 1 to 10. `share`: people counted
facts, and a criterion is a share from 0 to 1, which a judge's score is compared with by rank, or after
`as_share`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .checklists import read_checklists
from .data import digest_of, read_rows, warn_of_numbered_rows
from .data_path import given_path
from .dialogues import (
    BUNDLED,
    DIALOGUE_FIELDS,
    REFERENCE_FIELDS,
    DialogueDataset,
    identity_of,
    load_dialogues,
    pick_field,
    text_of,
)
from .files import InputError, field_name, shown_names
from .summary.fields import criterion_named
from .summary.rubric import CRITERIA, HIGHEST, LOWEST

__all__ = ["RatedSummaries", "RatedSummary", "as_share", "load_ratings"]

_SUMMARY_FIELDS = ("summary", "generated_summary", "automatic_summary", "candidate")
_FACT_SCORES = {"dialogue_id", "system_index", "automatic_summary", "OmissionRate", "HallucinationRate"}
_CHECKLIST = {"id", "sheets"}
_SCORE = re.compile(r"(\d{1,3}(?:\.\d+)?)(?:\s*/\s*10)?")
_SHARE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NOT_RATED = {"", "na", "n/a", "nan", "null", "none", "-", "–", "—", "?"}
_NOT_SCORED = -1.0
"""What MTS-Dialog writes for a rate that nobody gave."""


class RatedSummary(BaseModel):
    """One summary and what people gave it.

    Attributes:
        id: Unique in the set.
        family: Summaries of one dialogue share it; intervals are clustered by it.
        dialogue: The dialogue.
        summary: The summary that was rated.
        reference: A summary that a person wrote, if there is one.
        human: For each criterion the human rating, on the set's scale; None if missing.
        by_rater: The same of each rater, if there were several; `human` is then their median, the lower of
            two middle ones.
    """

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1)
    family: str
    dialogue: str
    summary: str
    reference: str | None = None
    human: dict[str, float | None]
    by_rater: dict[str, dict[str, float | None]] = Field(default_factory=dict)


class RatedSummaries(BaseModel):
    """A set of rated summaries and what a result must name about it.

    Attributes:
        name: Its name, or the file's.
        digest: 12 hex digits of a hash over all its records.
        scale: `rubric`, 1 to 10, or `share`, 0 to 1.
        criteria: The criteria that people rated at least once, in the rubric's order.
        missing: For each criterion that has a column, the number of summaries without a rating.
        unusable: Number of ratings whose summary or dialogue is not there, for public sets that lack some.
        records: The summaries, in order.
    """

    name: str
    digest: str
    scale: Literal["rubric", "share"]
    criteria: tuple[str, ...]
    missing: dict[str, int]
    unusable: int = 0
    records: list[RatedSummary]


def as_share(score: float) -> float:
    """Put a score from 1 to 10 on the scale of shares: 1 is 0, 10 is 1."""
    return (score - LOWEST) / (HIGHEST - LOWEST)


def load_ratings(
    source: str = BUNDLED,
    *,
    dialogues: DialogueDataset | None = None,
    id_field: str | None = None,
    dialogue_field: str | None = None,
    summary_field: str | None = None,
    family_field: str | None = None,
) -> RatedSummaries:
    """Load human ratings of summaries.

    Read are: a table with a column for the summary, one for the dialogue (or for the id of one in
    `dialogues`) and one for each criterion rated (`Factual Completeness`, `no_hallucinations`, `human tone &
    structure`…), with a column `rater` if several people rated a summary, a row each; the human fact scores
    of MTS-Dialog; and PriMock57's checklists, with its `transcripts.jsonl` beside them.

    Args:
        source: `bundled`, or a JSONL, CSV or TSV file.
        dialogues: The dialogues that ratings name by id.
        id_field: The column that holds the id of a rated summary. Default: `id` or `ID`; where a file has
            neither, the row number is taken.
        dialogue_field: The one that holds the dialogue. Default: `dialogue`, or another usual name.
        summary_field: The one that holds the summary. Default: `summary`, or another usual name.
        family_field: The one that holds the family. Default: `family`, else summaries of one dialogue
            are a family.

    Returns:
        The set. A rating that is empty, `NA`, `-` and the like is missing, and counted.

    Raises:
        InputError: A row cannot be used, or none is rated; names file, row and column, and none of its text.
    """
    if source == BUNDLED:
        return _from_candidates(dialogues or load_dialogues())
    path = given_path(source)
    columns = next((set(row) for _, row in read_rows(path)), set())
    if columns >= _FACT_SCORES:
        return _set(path.stem, "share", list(_fact_scores(path)))
    if columns >= _CHECKLIST:
        records, unusable = _checklists(path, dialogues)
        return _set(path.stem, "share", records, unusable)
    fields = {"dialogue": dialogue_field, "summary": summary_field, "id": id_field, "family": family_field}
    return _set(path.stem, "rubric", list(_table(path, dialogues, fields)))


def _set(
    name: str, scale: Literal["rubric", "share"], records: list[RatedSummary], unusable: int = 0
) -> RatedSummaries:
    if not records:
        raise InputError(f"{name}: holds no ratings")
    often = Counter(record.id for record in records)
    twice = next((identity for identity, number in often.items() if number > 1), None)
    if twice is not None:
        raise InputError(f"{name}: holds two ratings of {twice}")
    columns = [one for one in CRITERIA if any(one in record.human for record in records)]
    missing = {one: sum(record.human.get(one) is None for record in records) for one in columns}
    criteria = tuple(one for one in columns if missing[one] < len(records))
    if not criteria:
        raise InputError(f"{name}: no summary has a rating; all are empty in: {', '.join(columns)}")
    return RatedSummaries(
        name=name,
        digest=digest_of(record.model_dump() for record in records),
        scale=scale,
        criteria=criteria,
        missing=missing,
        unusable=unusable,
        records=records,
    )


def _from_candidates(dataset: DialogueDataset) -> RatedSummaries:
    """Take the rated candidates of a dataset of dialogues."""
    records = [
        RatedSummary(
            id=f"{record.id}/{name}",
            family=record.family,
            dialogue=record.dialogue,
            summary=record.candidates[name],
            reference=record.reference,
            human=dict(scores),
        )
        for record in dataset.records
        for name, scores in record.ratings.items()
    ]
    return _set(dataset.name, "rubric", records)


def _table(
    path: Path, dialogues: DialogueDataset | None, fields: Mapping[str, str | None]
) -> Iterator[RatedSummary]:
    """Read a user's table; rows of several raters are put together."""
    known = {record.id: record for record in dialogues.records} if dialogues else {}
    texts: dict[str, str] = {}
    found: dict[str, RatedSummary] = {}
    for where, row in read_rows(path):
        criteria = _criteria(row, where)
        written = pick_field(row, where, fields["summary"], _SUMMARY_FIELDS, "summary_field")
        spoken = pick_field(row, where, fields["dialogue"], DIALOGUE_FIELDS, "dialogue_field")
        named = pick_field(row, where, fields["id"], ("id", "ID"), "id_field")
        kin = pick_field(row, where, fields["family"], ("family",), "family_field")
        if named is None and not found:
            warn_of_numbered_rows(where)
        of = next((name for name in ("dialogue_id", "encounter_id") if name in row), named)
        columns = shown_names(row, _criterion)
        if written is None:
            raise InputError(f"{where}: no column 'summary'. It has: {columns}")
        about = known.get(identity_of(row, where, of)) if of and spoken is None else None
        if spoken is None and about is None:
            raise InputError(f"{where}: no column 'dialogue', and no dialogue of that id. It has: {columns}")
        dialogue = about.dialogue if about else text_of(row, where, spoken or "")
        summary = row[written]
        if not isinstance(summary, str):
            raise InputError(f"{where}: column '{field_name(written)}' holds no text")
        # Families by the dialogue's words where nothing else says which summaries belong together.
        family = str(row[kin]).strip() if kin and row[kin] else about.family if about else None
        human = {criterion: _rating(row[column], where, column) for criterion, column in criteria.items()}
        reference = next((row[name] for name in REFERENCE_FIELDS if isinstance(row.get(name), str)), None)
        identity = identity_of(row, where, named)
        rater = str(row.get("rater") or "").strip()
        given = RatedSummary(
            id=identity,
            family=family or texts.setdefault(dialogue, identity),
            dialogue=dialogue,
            summary=summary,
            reference=reference or (about.reference if about else None),
            human=human,
            by_rater={rater: human} if rater else {},
        )
        first = found.setdefault(identity, given)
        if first is given:
            continue
        if not rater or not first.by_rater or rater in first.by_rater:
            raise InputError(f"{where}: a second rating of one summary; name the raters in a column 'rater'")
        if (first.dialogue, first.summary) != (dialogue, summary):
            raise InputError(f"{where}: another summary or dialogue than an earlier row of its id")
        first.by_rater[rater] = human
    for record in found.values():
        if record.by_rater:
            rated = {one for scores in record.by_rater.values() for one in scores}
            record.human = {one: _median(record, one) for one in CRITERIA if one in rated}
        yield record


def _median(record: RatedSummary, criterion: str) -> float | None:
    """Return the median of the raters, the lower of two middle ones: a rating that was given."""
    given = sorted(value for one in record.by_rater.values() if (value := one.get(criterion)) is not None)
    return given[(len(given) - 1) // 2] if given else None


def _criteria(row: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the column of each criterion that a table has."""
    found: dict[str, str] = {}
    for column in row:
        criterion = _criterion(column)
        if criterion in found:
            raise InputError(f"{where}: two columns for '{criterion}'")
        if criterion:
            found[criterion] = column
    if not found:
        raise InputError(
            f"{where}: no column for a criterion ({', '.join(CRITERIA)}). "
            f"It has: {shown_names(row, _criterion)}"
        )
    return {criterion: found[criterion] for criterion in CRITERIA if criterion in found}


def _criterion(column: str) -> str | None:
    return criterion_named(re.sub(r"^human[\s_.-]+", "", column, flags=re.IGNORECASE))


def _shown(column: str) -> str:
    """Return a column's name as it may be shown: that of a criterion is no text of a note."""
    return " ".join(column.split()) if _criterion(column) else field_name(column)


def _rating(value: object, where: str, column: str) -> float | None:
    """Read a rating from 1 to 10; fractions stay, as people average."""
    text = str(value).strip() if value is not None else ""
    if text.lower() in _NOT_RATED:
        return None
    match = None if isinstance(value, bool) else _SCORE.fullmatch(text)
    if match is None or not LOWEST <= float(match[1]) <= HIGHEST:
        raise InputError(f"{where}: column '{_shown(column)}' holds no number from {LOWEST} to {HIGHEST}")
    return float(match[1])


def _fact_scores(path: Path) -> Iterator[RatedSummary]:
    """Read MTS-Dialog's human fact scores; the share that was not omitted, or not invented, is the rating.

    A rate of -1 stands for one that was not scored, and is missing, as an empty one is. Dialogue and
    reference may be given once, with the first system.
    """
    rates = {CRITERIA[0]: "OmissionRate", CRITERIA[1]: "HallucinationRate"}
    told: dict[str, tuple[str, str | None]] = {}
    seen: dict[tuple[str, str], str] = {}
    for where, row in read_rows(path):
        lacking = sorted(_FACT_SCORES - row.keys())
        if lacking:
            raise InputError(f"{where}: no column '{lacking[0]}'")
        identity, system = (identity_of(row, where, column) for column in ("dialogue_id", "system_index"))
        earlier = seen.setdefault((identity, system), where)
        if earlier != where:
            raise InputError(f"{where}: dialogue_id and system_index are those of {earlier} too")
        if not _is_blank(row.get("dialogue")):
            spoken, reference = text_of(row, where, "dialogue"), row.get("reference_summary")
            if told.get(identity, (spoken,))[0] != spoken:
                raise InputError(f"{where}: column 'dialogue': another one than in an earlier row of its id")
            told.setdefault(identity, (spoken, reference if isinstance(reference, str) else None))
        if identity not in told:
            raise InputError(f"{where}: column 'dialogue_id': no row before it gives the dialogue")
        dialogue, reference = told[identity]
        yield RatedSummary(
            id=f"{identity}/{system}",
            family=identity,
            dialogue=dialogue,
            summary=text_of(row, where, "automatic_summary"),
            reference=reference or None,
            human={criterion: _share_kept(row[column], where, column) for criterion, column in rates.items()},
        )


def _share_kept(rate: object, where: str, column: str) -> float | None:
    """Return one minus a rate from 0 to 1, given as a number or as its text; None for one that is missing."""
    if _is_blank(rate):
        return None
    text = "" if isinstance(rate, bool) else str(rate).strip()
    value = float(text) if _SHARE.fullmatch(text) else None
    if value == _NOT_SCORED:
        return None
    if value is None or not 0 <= value <= 1:
        raise InputError(
            f"{where}: column '{column}' holds no share from 0 to 1, nor -1 or an empty cell for none"
        )
    return 1 - value


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _checklists(path: Path, dialogues: DialogueDataset | None) -> tuple[list[RatedSummary], int]:
    """Read PriMock57's checklists: the share of a note's judged lines that the clinician found correct."""
    spoken = dialogues or load_dialogues(str(path.with_name("transcripts.jsonl")))
    known = {record.id: record for record in spoken.records}
    records, unusable = [], 0
    for judged in read_checklists(path):
        about = known.get(judged.consultation)
        if about is None or not judged.lines or judged.share_correct is None:
            unusable += 1
            continue
        records.append(
            RatedSummary(
                id=f"{judged.consultation}/{judged.clinician}/{judged.note}",
                family=judged.consultation,
                dialogue=about.dialogue,
                summary="\n".join(judged.lines),
                reference=about.reference,
                human={CRITERIA[1]: judged.share_correct},
            )
        )
    return records, unusable
