"""How every task wraps text for a model: as data, in a tag that the text cannot close."""

from __future__ import annotations

import secrets
from typing import TypedDict

__all__ = ["Message", "new_tag", "repair_message", "wrapped"]


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


_REPAIR = """\
Your last answer could not be read: {problem}. Give the same answer again as one complete JSON object of \
the form asked for, with nothing before or after it."""


def new_tag(kind: str, *texts: str) -> str:
    """Draw an unguessable tag, for example `note-9f86d081884c7d65`, that none of the texts holds.

    Args:
        kind: What is wrapped, one word.
        *texts: The texts that will stand inside.
    """
    while True:
        tag = f"{kind}-{secrets.token_hex(8)}"
        if not any(tag in text for text in texts):
            return tag


def wrapped(text: str, kind: str, tag: str | None = None) -> str:
    """Put a text between an opening and a closing tag, and say so.

    Args:
        text: Any text.
        kind: What it is, one word.
        tag: The tag; drawn at random if not given.

    Raises:
        ValueError: The text contains the tag.
    """
    tag = tag or new_tag(kind, text)
    if tag in text:
        raise ValueError(f"the wrapper's tag occurs in the {kind}; draw another with new_tag()")
    return f"The {kind} stands between <{tag}> and </{tag}>.\n\n<{tag}>\n{text}\n</{tag}>"


def repair_message(problem: str) -> str:
    """Build the one further turn that an unreadable answer gets.

    Args:
        problem: What was wrong, in a few words, without any of the answer's text.
    """
    return _REPAIR.format(problem=problem)
