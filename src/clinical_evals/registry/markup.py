"""HTML and SVG written so that nothing but markup made here is ever markup."""

import html
import re
from typing import Final

# What a page cannot hold, and what turns the direction of the text round it: shown as a replacement mark.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff\ud800-\udfff]")
_VOID: Final = frozenset({"meta", "link", "br", "wbr"})
# Where a long name may go on in the next line: after a mark and, in long words, after 20 letters.
_PIECE = re.compile(r"[^\s/_.:@,;=-]{1,20}[/_.:@,;=-]*\s*|[/_.:@,;=-]+\s*|\s+")


class Markup(str):
    """Text that is markup already, made by `element` or `joined` only."""

    __slots__ = ()


def escaped(value: object) -> Markup:
    """Write a value so that it is text, in an element as well as in a quoted attribute."""
    if isinstance(value, Markup):
        return value
    return Markup(html.escape(_UNSEEN.sub("\ufffd", str(value)), quote=True))


def joined(*children: object) -> Markup:
    """Put pieces one after another; all but markup are escaped, and None is left out."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def breakable(text: str) -> Markup:
    """Write a name so that it can be broken into lines between its words."""
    *pieces, last = _PIECE.findall(text) or [""]
    breaks = (joined(piece, None if piece[-1].isspace() else element("wbr")) for piece in pieces)
    return joined(*breaks, last)


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """Write an element.

    Args:
        name: Its name.
        *children: What is in it; all but markup is escaped.
        **attributes: Its attributes, `class_` for `class` and `aria_label` for `aria-label`. None is left
            out, and so is False; True is an attribute without a value.
    """
    written = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{escaped(value)}"')
    written.append(">")
    if name not in _VOID:
        written += [*(escaped(child) for child in children if child is not None), f"</{name}>"]
    return Markup("".join(written))
