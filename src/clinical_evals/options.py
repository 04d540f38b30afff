"""The options of a task (`-T name=value`): checked by their annotations, refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Annotated, ParamSpec, TypeVar, get_type_hints

from inspect_ai._util.error import PrerequisiteError
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from rich.markup import escape

from .files import InputError

__all__ = ["AtLeastOne", "checked", "refusal"]

AtLeastOne = Annotated[int, Field(ge=1)]

P = ParamSpec("P")
R = TypeVar("R")

_STRICT = ConfigDict(strict=True)
_LONGEST_LINE = 600


def refusal(message: object) -> PrerequisiteError:
    """Give the error that ends `inspect eval` with one line.

    Args:
        message: The line. Inspect reads markup in it, so that `[dense]` would vanish were it not escaped.
    """
    return PrerequisiteError(escape(_shortened(str(message), _LONGEST_LINE)))


def checked(build: Callable[P, R]) -> Callable[P, R]:
    """Decorate the function that builds a task, so that bad options end in one line.

    An option must be of its annotation's type as it is: `-T k=true` is no number, `-T dataset=5` no name.
    An `InputError` of the function becomes such a line too.
    """
    parameters = signature(build)

    @wraps(build)
    def build_checked(*args: P.args, **options: P.kwargs) -> R:
        types = get_type_hints(build, include_extras=True)
        for name, value in parameters.bind(*args, **options).arguments.items():
            try:
                TypeAdapter(types[name], config=_STRICT).validate_python(value)
            except ValidationError as error:
                raise refusal(_problem(name, value, error)) from None
        try:
            return build(*args, **options)
        except InputError as error:
            raise refusal(error) from None
        except OSError as error:
            if error.filename is None:
                raise
            # A name that no file can have, or a file that cannot be read.
            raise refusal(f"{_shortened(str(error.filename))}: {error.strerror}") from None

    return build_checked


def _problem(name: str, value: object, error: ValidationError) -> str:
    messages = dict.fromkeys(one["msg"] for one in error.errors(include_url=False, include_input=False))
    expected = " or ".join(message.removeprefix("Input should be ") for message in messages)
    return f"option {name} (-T {name}=…) should be {expected}, got {_shortened(repr(value))}"


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
