"""What may be stored of a run's settings: no text, no keys, nothing cut.

Arguments are kept because a number without its settings is worth little. A long value goes in as a digest of
the whole, so that two different values never look alike; a value that may be a key does not go in at all.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from inspect_ai.log import EvalSpec
    from inspect_ai.model import GenerateConfig, ModelConfig

LONGEST_VALUE = 250
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSW\w*|CREDENTIAL)S?(_ID)?$", re.IGNORECASE)
# The forms that vendors give their keys, and what stands in headers.
_SECRET_FORM = re.compile(
    r"(?<![\w/.-])(sk-|rk-|hf_|gsk_|xai-|gh[opsu]_|glpat-|pplx-|nvapi-|AIza|AKIA|ASIA|eyJ)"
    r"(?=[\w-]*\d)[\w-]{12,}|\bBearer\s+\S{6,}|\b(Basic|Token)\s+(?=\S*\d)\S{8,}"
)
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s\"']*@")
_TEXT_NAME = re.compile(
    r"prompt|message|instruction|template|system_?text|question|note_?text|quote", re.IGNORECASE
)
_MOST_WORDS = 5
# Generation settings whose text is one word from a list; every other text there may be a prompt.
_WORD_SETTINGS = {
    "effort", "verbosity", "reasoning_effort", "reasoning_summary", "reasoning_history",
    "internal_tools", "cache_prompt",
}  # fmt: skip
# Names that say "token" and hold a number of them.
_NUMBER_OF_TOKENS = re.compile(
    r"(max|num|reasoning|min|limit)_\w*tokens|tokens?_limit|top_logprobs", re.IGNORECASE
)


def digest(text: str) -> str:
    """Name a text by its digest and length."""
    return (
        f"sha256:{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()} ({len(text)} characters)"
    )


def short(text: str, longest: int = LONGEST_VALUE) -> str:
    """Return a text as it is if it is short and on one line, else its digest."""
    return text if len(text) <= longest and text.isprintable() else digest(text)


def host_of(url: str) -> str:
    """Return scheme, host and port of a URL: a path or query may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def run_params(spec: "EvalSpec") -> dict[str, str]:
    """Return the settings of a run, as text, ready to be stored.

    Args:
        spec: What Inspect was asked to run.

    Returns:
        Task arguments under their own names; model settings as `model.*` and `ROLE.*`; how it was run as
        `eval.*`.
    """
    params = {
        name: text for name, value in spec.task_args.items() if (text := _text(name, value)) is not None
    }
    params |= _model_params("model", spec.model_generate_config, spec.model_base_url, spec.model_args)
    for role, configured in (spec.model_roles or {}).items():
        models = configured if isinstance(configured, list) else [configured]
        for index, model in enumerate(models):
            params |= _role_params(role if len(models) == 1 else f"{role}.{index + 1}", model)
    for name in ("limit", "epochs", "message_limit", "token_limit", "time_limit", "working_limit"):
        value = getattr(spec.config, name, None)
        if value is not None:
            params[f"eval.{name}"] = str(value)
    return params


def _role_params(role: str, model: "ModelConfig") -> dict[str, str]:
    return {role: short(model.model)} | _model_params(role, model.config, model.base_url, model.args)


def _model_params(
    prefix: str, config: "GenerateConfig", base_url: str | None, arguments: Mapping[str, Any]
) -> dict[str, str]:
    params: dict[str, str] = {}
    for name, value in config.model_dump(exclude_none=True).items():
        if name in ("extra_headers", "extra_body"):
            continue
        if isinstance(value, bool | int | float) or (name in _WORD_SETTINGS and isinstance(value, str)):
            params[f"{prefix}.{name}"] = short(str(value), 40)
        else:
            params[f"{prefix}.{name}"] = digest(_json(value))
    if base_url:
        params[f"{prefix}.base_url"] = short(host_of(base_url))
    for name, value in arguments.items():
        text = _text(name, value)
        if text is not None:
            params[f"{prefix}.args.{name}"] = text
    return params


def _text(name: str, value: Any) -> str | None:
    """Write a setting as text; None if it may be a key."""
    if _is_secret_name(name):
        return None
    if isinstance(value, Mapping | list | tuple):
        text = _json(_without_secrets(value))
    elif str(value).startswith(("http://", "https://")):
        text = host_of(str(value))
    else:
        text = str(value)
    text = _USER_OF_URL.sub("", text)
    if _holds_secret(text):
        return None
    return digest(text) if _may_be_prose(name, value) else short(text)


def _may_be_prose(name: str, value: Any) -> bool:
    """Tell whether a setting may hold a prompt or a piece of a note: such go in as digests, however short."""
    if isinstance(value, Mapping):
        return any(_may_be_prose(str(inside), item) for inside, item in value.items())
    if isinstance(value, list | tuple):
        return any(_may_be_prose(name, item) for item in value)
    words = len(str(value).split())
    return words > _MOST_WORDS or (words > 1 and bool(_TEXT_NAME.search(name)))


def _is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _NUMBER_OF_TOKENS.search(name)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            str(name): _without_secrets(item)
            for name, item in value.items()
            if not _is_secret_name(str(name))
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(item) for item in value]
    return host_of(value) if isinstance(value, str) and value.startswith(("http://", "https://")) else value


def blacked_out(text: str) -> str:
    """Return a text with everything in it replaced that has the form of a key or is known to be one."""
    for value in _known_secrets():
        text = text.replace(value, "[key]")
    return _SECRET_FORM.sub("[key]", text)


def _holds_secret(text: str) -> bool:
    """Tell whether a text holds something in the form of a key, or the value of a variable named like one."""
    return bool(_SECRET_FORM.search(text)) or any(value in text for value in _known_secrets())


def _known_secrets() -> list[str]:
    return [value for name, value in os.environ.items() if len(value) >= 8 and _SECRET_VARIABLE.search(name)]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
