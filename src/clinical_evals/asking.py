"""One question to one model, with one repair turn: what every task of the suite does the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
)
from inspect_ai.util import LimitExceededError, json_schema

from .answers import PHRASES
from .prompting import Message, repair_message
from .reading import Problem, ReadResult
from .replay import METADATA_KEY, ReplayError

__all__ = ["Answer", "EndpointError", "Failure", "StepAddress", "ask"]

Failure = Literal["invalid_response_format", "refusal", "no_response"]
"""Why an answer could not be used; Inspect's own words for it."""


class Reading(Protocol):
    """What was read from an answer: a value, or a problem."""

    @property
    def value(self) -> Any:
        """The value; None if nothing could be read."""

    @property
    def problem(self) -> str | None:
        """Why nothing was read, a key of `answers.PHRASES` unless the reading has a `hint` of its own."""


class Reader(Protocol):
    """Reads the text of an answer."""

    def __call__(self, text: str, /, *, cut_off: bool) -> Reading:
        """Read an answer; `cut_off` says that the model was stopped before its end."""


class EndpointError(Exception):
    """A model call that got no answer: wrong key, no connection, a server's fault."""


@dataclass(frozen=True, slots=True)
class StepAddress:
    """Which call of which sample this is, for replay and recording."""

    task: str
    sample: str
    epoch: int
    step: str

    def metadata(self, repair: bool = False) -> dict[str, Any]:
        """Give the metadata that the call's last user message carries; it is not sent to the model."""
        step = f"{self.step}/repair" if repair else self.step
        return {METADATA_KEY: {"task": self.task, "sample": self.sample, "epoch": self.epoch, "step": step}}


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read, or why nothing was; and the conversation that led there.

    Attributes:
        value: What was read last; None if nothing could be.
        failure: Why nothing was.
        reading: The last reading itself.
        messages: The conversation.
        output: The last answer.
    """

    value: Any
    failure: Failure | None
    reading: Reading
    messages: list[ChatMessage]
    output: ModelOutput


async def ask(
    model: Model,
    messages: Sequence[Message],
    read: Callable[[str], Reading] | Reader,
    *,
    address: StepAddress,
    schema: type | None = None,
    heed_cut: bool = False,
    repair: bool = True,
) -> Answer:
    """Put a question, read the answer, and give an unreadable answer one chance to be given again.

    Args:
        model: The model to ask.
        messages: System and user message.
        read: Reads the answer's text.
        address: Which call this is.
        schema: The pydantic model of the answer; sent as the response schema, which Inspect passes on to
            the providers that have one. An endpoint that answers 400 to it is asked once more without.
        heed_cut: Tell `read` whether the answer was cut off.
        repair: Ask once more for an answer that could not be read; its words ask for JSON.

    Returns:
        The value, or the failure that is left after the repair turn.

    Raises:
        EndpointError: The call itself failed. Inspect has done its retries by then.
    """
    chat: list[ChatMessage] = [
        ChatMessageSystem(content=message["content"])
        if message["role"] == "system"
        else ChatMessageUser(content=message["content"], metadata=address.metadata())
        for message in messages
    ]
    output = await _call(model, chat, schema, address)
    reader = cast("Reader", read) if heed_cut else _unheeding(cast("Callable[[str], Reading]", read))
    result, failure = _read(output, reader)
    chat.append(_message(output))
    if repair and failure in ("invalid_response_format", "no_response"):
        problem = getattr(result, "hint", None) or PHRASES[cast("Problem", result.problem or "empty")]
        chat.append(ChatMessageUser(content=repair_message(problem), metadata=address.metadata(repair=True)))
        output = await _call(model, chat, schema, address)
        result, failure = _read(output, reader)
        chat.append(_message(output))
    return Answer(result.value, failure, result, chat, output)


def _unheeding(read: Callable[[str], Reading]) -> Reader:
    def reader(text: str, /, *, cut_off: bool) -> Reading:
        return read(text)

    return reader


def _read(output: ModelOutput, read: Reader) -> tuple[Reading, Failure | None]:
    if output.stop_reason == "content_filter":
        return ReadResult(None, "empty"), "refusal"
    result = read(output.completion, cut_off=output.stop_reason == "max_tokens")
    if result.value is not None:
        return result, None
    return result, "no_response" if result.problem == "empty" else "invalid_response_format"


def _message(output: ModelOutput) -> ChatMessage:
    """The answer as it goes into the conversation; half a character would break the log and the next call."""
    if not output.choices:
        return ChatMessageAssistant(content="")
    text = output.completion
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return output.message if whole == text else ChatMessageAssistant(content=whole)


async def _call(
    model: Model, chat: list[ChatMessage], schema: type | None, address: StepAddress
) -> ModelOutput:
    config = GenerateConfig()
    if schema is not None:
        config = GenerateConfig(
            response_schema=ResponseSchema(name=schema.__name__, json_schema=json_schema(schema))
        )
    try:
        return await model.generate(chat, config=config)
    except (LimitExceededError, PrerequisiteError, ReplayError):
        raise
    except Exception as error:
        if schema is not None and _status(error) == 400:
            return await _call(model, chat, None, address)
        status = f" {_status(error)}" if _status(error) else ""
        # The provider's own words may repeat the prompt or the key, so only their kind is passed on.
        raise EndpointError(
            f"EndpointError: sample {address.sample}, step {address.step}: {type(error).__name__}{status}"
        ) from None


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None
