"""Ask an OpenAI-compatible endpoint for what the commands on one text need: extraction, grading, rating.

Errors name the cause and never hold the note, an answer, or the key; the client's own messages may.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from clinical_evals.answers import PHRASES, NoteAnswers, read_extraction, read_verdicts
from clinical_evals.files import InputError
from clinical_evals.grounding.claims import MAX_CLAIMS, Extraction, build_claims
from clinical_evals.grounding.prompts import extraction_messages, grounding_messages
from clinical_evals.grounding.verdicts import VerdictList
from clinical_evals.prompting import Message, repair_message
from clinical_evals.reading import Problem, ReadResult
from clinical_evals.summary.answers import RatingAnswer
from clinical_evals.summary.judge import RatingReading, read_rating
from clinical_evals.summary.prompts import judge_messages

T = TypeVar("T")

DEFAULT_TIMEOUT = 120.0
"""Seconds to wait for an answer unless `LLM_TIMEOUT` says otherwise."""

# The answers of endpoints that do not take a response format or a temperature.
_BAD_REQUEST = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_HINTS = {
    HTTPStatus.UNAUTHORIZED: "check LLM_API_KEY",
    HTTPStatus.FORBIDDEN: "check LLM_API_KEY",
    HTTPStatus.NOT_FOUND: "check LLM_BASE_URL and LLM_MODEL",
}


class LiveError(Exception):
    """The endpoint or a model gave nothing that can be scored. One line, without text of note or answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to ask, from the environment.

    Attributes:
        base_url: `LLM_BASE_URL`, such as `http://localhost:11434/v1`.
        api_key: `LLM_API_KEY`; any word for servers without keys.
        model: `LLM_MODEL`.
        timeout: `LLM_TIMEOUT`, in seconds.
    """

    base_url: str
    api_key: str
    model: str
    timeout: float

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings.

        Raises:
            InputError: If a variable is missing or cannot be used, naming it.
        """
        names = ("LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL")
        values = {name: environment.get(name, "").strip() for name in names}
        missing = [name for name, value in values.items() if not value]
        if missing:
            raise InputError(f"a live run needs {', '.join(missing)} to be set (or give --fixture FILE)")
        if not _is_http(values["LLM_BASE_URL"]):
            raise InputError("LLM_BASE_URL must be an address such as http://localhost:11434/v1")
        if not (values["LLM_API_KEY"].isascii() and values["LLM_API_KEY"].isprintable()):
            raise InputError("LLM_API_KEY holds characters that cannot be sent in a header")
        timeout = DEFAULT_TIMEOUT
        if given := environment.get("LLM_TIMEOUT", "").strip():
            try:
                timeout = float(given)
            except ValueError:
                timeout = math.nan
            if not (math.isfinite(timeout) and timeout > 0):
                raise InputError("LLM_TIMEOUT must be a number of seconds above 0")
        return cls(values["LLM_BASE_URL"], values["LLM_API_KEY"], values["LLM_MODEL"], timeout)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def ask_live(note: str, settings: Settings, max_claims: int = MAX_CLAIMS) -> NoteAnswers:
    """Have claims extracted from a note and graded, in two calls that share nothing but the note.

    An answer that cannot be read gets one repair turn. Nothing is graded if nothing was extracted.

    Args:
        note: The note.
        settings: Where to ask.
        max_claims: The most claims put to the grader.

    Returns:
        The extraction and the grader's verdicts as given.

    Raises:
        LiveError: If the endpoint failed or an answer could not be read.
    """
    chat = Chat(settings)
    extraction = chat.ask("extraction", extraction_messages(note), Extraction, read_extraction)
    claims = build_claims(extraction, max_claims).claims
    verdicts = []
    if claims:
        verdicts = chat.ask("grader's answer", grounding_messages(note, claims), VerdictList, read_verdicts)
    return NoteAnswers(extraction, verdicts, settings.model, settings.model)


def rate_live(dialogue: str, summary: str, settings: Settings) -> RatingReading:
    """Have one summary rated by one judge. An answer that cannot be read gets one repair turn.

    Args:
        dialogue: The dialogue.
        summary: The summary.
        settings: Where to ask.

    Returns:
        The rating, or why there is none.

    Raises:
        LiveError: If the endpoint failed.
    """
    asked = judge_messages(dialogue, summary)
    try:
        return Chat(settings).read(
            "judge's answer",
            asked,
            RatingAnswer,
            lambda answer: read_rating(answer.text, cut_off=answer.cut_off),
        )
    except RefusedError:
        return read_rating("", refused=True)


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer: its text, and whether it was cut off at the token limit."""

    text: str
    cut_off: bool


class Reading(Protocol):
    """What was read from an answer: a value or a problem, with a hint where `PHRASES` does not know it."""

    @property
    def value(self) -> Any:
        """The value; None if nothing could be read."""

    @property
    def problem(self) -> str | None:
        """Why nothing was read."""


R = TypeVar("R", bound=Reading)


class RefusedError(LiveError):
    """The model or its filter would not answer."""


class Chat:
    """Questions to one endpoint.

    Args:
        settings: Where to ask.
    """

    def __init__(self, settings: Settings) -> None:
        import openai

        self._settings = settings
        self._client = openai.OpenAI(
            base_url=settings.base_url, api_key=settings.api_key, timeout=settings.timeout
        )
        self._plain = False

    def ask(
        self, what: str, messages: list[Message], form: type[BaseModel], read: Callable[[str], ReadResult[T]]
    ) -> T:
        """Return what was read from the answer, after one repair turn if need be.

        Raises:
            LiveError: The endpoint failed, or the answer could not be read.
        """
        result = self.read(what, messages, form, lambda answer: read(answer.text))
        if result.value is None:
            raise LiveError(f"the {what} could not be read: {PHRASES[result.problem or 'no_object']}")
        return result.value

    def read(
        self, what: str, messages: list[Message], form: type[BaseModel], read: Callable[[Completion], R]
    ) -> R:
        """Return what was read last: a value, or the problem that is left after one repair turn.

        Raises:
            LiveError: The endpoint failed. `RefusedError`: the model would not answer.
        """
        answer = self._complete(what, messages, form)
        result = read(answer)
        if result.value is not None or result.problem is None:
            return result
        hint = getattr(result, "hint", None) or PHRASES[cast("Problem", result.problem)]
        again: list[Message] = [{"role": "assistant", "content": answer.text}] if answer.text.strip() else []
        again.append({"role": "user", "content": repair_message(hint)})
        return read(self._complete(what, messages + again, form))

    def _complete(self, what: str, messages: list[Message], form: type[BaseModel]) -> Completion:
        """Return one answer."""
        import openai

        request: dict[str, Any] = {"model": self._settings.model, "messages": messages}
        extras: dict[str, Any] = {"temperature": 0, "response_format": _response_format(form)}
        try:
            if not self._plain:
                try:
                    return _completion(what, self._client.chat.completions.create(**request, **extras))
                except openai.APIStatusError as error:
                    if error.status_code not in _BAD_REQUEST:
                        raise
                    self._plain = True
            return _completion(what, self._client.chat.completions.create(**request))
        except LiveError:
            raise
        except Exception as error:  # the client lets errors of its transport through
            raise LiveError(self._cause(error)) from None

    def _cause(self, error: Exception) -> str:
        import openai

        parts = urlsplit(self._settings.base_url)
        where = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            known = status in HTTPStatus._value2member_map_
            phrase = f"{status} {HTTPStatus(status).phrase}" if known else str(status)
            hint = next((f"; {hint}" for code, hint in _HINTS.items() if code == status), "")
            return f"the endpoint at {where} answered {phrase}{hint}"
        if isinstance(error, openai.APITimeoutError):
            return f"the endpoint at {where} gave no answer within {self._settings.timeout:g} s (LLM_TIMEOUT)"
        if isinstance(error, openai.APIConnectionError):
            return f"cannot connect to the endpoint at {where}; check LLM_BASE_URL"
        return f"the endpoint at {where} could not be used ({type(error).__name__})"


def _response_format(form: type[BaseModel]) -> dict[str, Any]:
    schema = {"name": form.__name__, "schema": form.model_json_schema()}
    return {"type": "json_schema", "json_schema": schema}


def _completion(what: str, completion: object) -> Completion:
    """Return an answer out of a completion; servers send many things with status 200."""
    choices: Any = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    if message is None:
        raise LiveError("the endpoint's answer is not a chat completion; check LLM_BASE_URL")
    if getattr(message, "refusal", None) or choices[0].finish_reason == "content_filter":
        raise RefusedError(f"the {what} was refused by the model or its filter")
    content = message.content
    return Completion(content if isinstance(content, str) else "", choices[0].finish_reason == "length")
