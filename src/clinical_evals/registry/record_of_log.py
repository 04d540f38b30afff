"""What is kept of a finished task, read off its Inspect log.

Reading a sample never copies text: not its input, its output, its messages, an explanation or an error.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from clinical_evals.registry.record import (
    DatasetFacts,
    MetricFacts,
    RunRecord,
    SampleRow,
    SampleStatus,
)
from clinical_evals.registry.redact import digest, run_params, short
from clinical_evals.registry.text import text_source

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSpec
    from inspect_ai.model import ModelUsage

METADATA_KEY = "clinical_evals"
"""Where a task's metadata says what the registry must know of it."""

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_TIME_LIMITS = ("time", "working")
# A reason is a word of code such as `grader_failed`; anything else may be somebody's text.
_REASON = re.compile(r"(?=.{1,40}$)[a-z]+([_-][a-z]+)*")
_COUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,59}")
_LONGEST_ID = 200
_LONGEST_SIGNATURE = 2_000
# Generation settings that change no answer: patience, width, keys.
_NO_NUMBER = {
    "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections",
    "adaptive_connections", "cache_prompt", "cache", "batch", "extra_headers", "fail_on_refusal",
}  # fmt: skip


def is_of_suite(spec: "EvalSpec") -> bool:
    """Tell whether a task says what the registry must know."""
    return isinstance((spec.metadata or {}).get(METADATA_KEY), Mapping)


def sample_row(sample: "EvalSample") -> SampleRow:
    """Read ids and numbers off a sample."""
    values, counts, reason = _read_scores(sample.scores or {})
    status: SampleStatus = "scored"
    cause = None
    if values is None:
        status, cause = _why_unscored(sample, reason)
    elif reason is not None:
        status, cause = "failed", reason
    usages = list(sample.model_usage.values())
    identity = short(str(sample.id), _LONGEST_ID)
    family = sample.metadata.get("family")
    return SampleRow(
        sample=identity,
        epoch=sample.epoch,
        family=short(str(family), _LONGEST_ID)
        if isinstance(family, str | int) and str(family).strip()
        else identity,
        status=status,
        cause=cause,
        values=values or {},
        counts=counts,
        seconds=_finite(sample.working_time),
        input_tokens=sum(map(_tokens_read, usages)),
        output_tokens=sum(usage.output_tokens for usage in usages),
    )


def build_record(log: "EvalLog", rows: Iterable[SampleRow], kept_for: str) -> RunRecord:
    """Put together what is kept of a finished task.

    Args:
        log: Its log; only the header is read.
        rows: Its samples.
        kept_for: Name of the registry it is meant for.
    """
    spec = log.eval
    facts = _mapping((spec.metadata or {}).get(METADATA_KEY))
    arguments = hashlib.sha256(repr(sorted(spec.task_args.items(), key=str)).encode()).hexdigest()[:12]
    ordered = sorted(rows, key=lambda row: (row.sample, row.epoch))
    names = sorted({name for row in ordered for name in row.values})
    declared = _mapping(facts.get("metrics"))
    metrics = {name: _metric_facts(declared.get(name)) for name in [*declared, *names]}
    return RunRecord(
        eval_id=spec.eval_id if re.fullmatch(r"[\w.-]{1,100}", spec.eval_id) else digest(spec.eval_id)[7:47],
        task=short((spec.task_registry_name or spec.task).rpartition("/")[2], 100),
        model=_subject(facts) or short(spec.model, 200),
        grader=_grader(spec, facts),
        arguments=arguments,
        status=log.status,
        created=spec.created,
        completed=log.stats.completed_at or spec.created,
        signature=_signature(spec, facts),
        headline=str(facts.get("headline") or (names[0] if names else "")),
        dataset=_dataset(spec, _mapping(facts.get("dataset"))),
        metrics=metrics,
        epochs=spec.config.epochs or 1,
        params=run_params(spec),
        tags=_tags(spec),
        totals=_totals(log),
        graded=_is_graded(facts),
        calibrated_by=_calibrated_by(facts),
        text_log=text_source(log, _mapping(facts.get("dataset"))),
        kept_for=kept_for,
        rows=ordered,
    )


def _read_scores(
    scores: Mapping[str, Any],
) -> tuple[dict[str, float | None] | None, dict[str, int], str | None]:
    """Return the values by metric (None if unscored), the counts, and the reason of an abnormal score."""
    values: dict[str, float | None] = {}
    counts: dict[str, int] = {}
    reason = None
    unscored = not scores
    for scorer, score in scores.items():
        prefix = "" if len(scores) == 1 else f"{scorer}/"
        for name, count in _mapping(_mapping(score.metadata).get("counts")).items():
            if type(count) is int and _COUNT.fullmatch(str(name)):
                counts[f"{prefix}{name}"] = count
        reason = reason or (_label(score.reason) if score.reason else None)
        if isinstance(score.value, Mapping):
            values |= {f"{prefix}{name}": _number(value) for name, value in score.value.items()}
        else:
            number = _number(score.value)
            unscored = unscored or number is None
            values[str(scorer)] = number
    return None if unscored else values, counts, reason


def _why_unscored(sample: "EvalSample", reason: str | None) -> tuple[SampleStatus, str]:
    if sample.error is not None:
        said = sample.error.message
        if said.startswith(("CancelledError", "Cancelled(")):
            return "cancelled", "cancelled"
        is_endpoint = "EndpointError" in said or "EndpointError" in sample.error.traceback
        if "ReplayError" in sample.error.traceback:
            return "unscored", "no recorded answer"
        if "data-use rule" in said:
            return "unscored", "refused by the data-use rule"
        return "unscored", "endpoint error" if is_endpoint else "internal error"
    if sample.limit is not None:
        kind = sample.limit.type
        return "unscored", "time-out" if kind in _TIME_LIMITS else f"{kind} limit"
    return "unscored", reason or "not scored"


def _label(reason: Any) -> str:
    """Return a reason in words, if it is a label; free text is not kept."""
    text = str(getattr(reason, "value", reason))
    return text.replace("_", " ") if _REASON.fullmatch(text) else "other reason"


def _number(value: Any) -> float | None:
    if isinstance(value, bool | int | float):
        return _finite(value)
    return _GRADES.get(value) if isinstance(value, str) else None


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _metric_facts(declared: Any) -> MetricFacts:
    facts = _mapping(declared)
    return MetricFacts(
        range=facts.get("range"),
        higher_is_better=bool(facts.get("higher_is_better", True)),
        formula=facts.get("formula"),
        statistic=facts.get("statistic"),
        of=facts.get("of") or (),
    )


def _subject(facts: Mapping[str, Any]) -> str | None:
    """Return what a task says is ranked in the model's place, such as a search method."""
    subject = facts.get("subject")
    return short(subject, 200) if isinstance(subject, str) and subject.strip() else None


def _is_graded(facts: Mapping[str, Any]) -> bool:
    return facts.get("graded") is True or _calibrated_by(facts) is not None


def _calibrated_by(facts: Mapping[str, Any]) -> dict[str, str] | None:
    declared = _mapping(facts.get("calibrated_by"))
    names = ("task", "metric", "signature_key")
    if not all(isinstance(declared.get(name), str) for name in names):
        return None
    return {name: short(declared[name], 200) for name in names}


def _grader(spec: "EvalSpec", facts: Mapping[str, Any]) -> str:
    configured = (spec.model_roles or {}).get("grader")
    if configured is None:
        # Where something else is ranked, the model that was named is its grader, if it has one.
        return (None if _is_graded(facts) else _subject(facts)) or short(spec.model, 200)
    models = configured if isinstance(configured, list) else [configured]
    return short(" + ".join(model.model for model in models), 200)


def _signature(spec: "EvalSpec", facts: Mapping[str, Any]) -> str:
    """Return the scorer's signature; a grader of its own is part of it, for it moves the numbers."""
    own = facts.get("signature")
    if not isinstance(own, str):
        scorers = "+".join(scorer.name for scorer in spec.scorers or []) or "none"
        own = f"{scorers} unsigned task={spec.task_version}"
    # A model that was named its own grader is ranked with those that have the same one.
    alone = (spec.model_roles or {}).get("grader") is None and not (_subject(facts) and _is_graded(facts))
    grader = _grader(spec, facts).replace(" + ", "+")
    asked = "" if alone else _grader_settings(spec)
    return short(own if alone else f"{own} grader={grader}{asked}", _LONGEST_SIGNATURE)


def _grader_settings(spec: "EvalSpec") -> str:
    """Digest what was set for graders beside their names, such as a temperature; empty if nothing was."""
    configured = (spec.model_roles or {}).get("grader") or []
    models = configured if isinstance(configured, list) else [configured]
    said = [model.config.model_dump(mode="json", exclude_none=True, exclude=_NO_NUMBER) for model in models]
    if not any(said):
        return ""
    return f" grader_settings={hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]}"


def _dataset(spec: "EvalSpec", facts: Mapping[str, Any]) -> DatasetFacts:
    identity = facts.get("digest")
    if not isinstance(identity, str):
        ids = sorted(map(str, spec.dataset.sample_ids or []))
        identity = f"ids:{hashlib.sha256(repr(ids).encode()).hexdigest()}"
    return DatasetFacts(
        name=short(str(facts.get("name") or spec.dataset.name or "unnamed"), 200),
        version=short(str(facts.get("version", "")), 100),
        digest=short(identity, 200),
        samples=int(facts.get("samples") or spec.dataset.samples or 0),
        access=short(str(facts.get("access", "")), 100),
    )


def _tags(spec: "EvalSpec") -> dict[str, str]:
    tags = {"task_version": str(spec.task_version), "inspect_run_id": spec.run_id}
    try:
        tags["package_version"] = spec.packages.get("clinical_evals") or version("clinical-evals")
    except PackageNotFoundError:
        tags["package_version"] = "unknown"
    if "inspect_ai" in spec.packages:
        tags["inspect_version"] = spec.packages["inspect_ai"]
    if spec.revision is not None:
        tags["git_commit"] = spec.revision.commit + ("-dirty" if spec.revision.dirty else "")
    return {name: short(text) for name, text in tags.items()}


def _totals(log: "EvalLog") -> dict[str, float]:
    usages = list(log.stats.model_usage.values())
    totals: dict[str, float] = {
        "input_tokens": sum(map(_tokens_read, usages)),
        "output_tokens": sum(usage.output_tokens for usage in usages),
    }
    for role, usage in log.stats.role_usage.items():
        totals[f"{role}_input_tokens"] = _tokens_read(usage)
        totals[f"{role}_output_tokens"] = usage.output_tokens
    costs = [usage.total_cost for usage in usages]
    if costs and all(cost is not None for cost in costs):
        totals["cost_usd"] = math.fsum(cost for cost in costs if cost is not None)
    if log.stats.started_at and log.stats.completed_at:
        totals["wall_seconds"] = seconds_between(log.stats.started_at, log.stats.completed_at)
    return {name: float(value) for name, value in totals.items()}


def seconds_between(start: str, end: str) -> float:
    """Return the seconds between two ISO times."""
    from datetime import datetime

    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _tokens_read(usage: "ModelUsage") -> int:
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
