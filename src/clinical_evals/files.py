"""Reading what people hand in, and writing so that no half-written file is ever left."""

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


class InputError(Exception):
    """Input or a place for output that cannot be used. The message is one line and holds none of its text."""


_FIELD_NAME = re.compile(r"[A-Za-z_][\w .-]{0,30}")


def field_name(name: object) -> str:
    """Return a field's name if it looks like one; else only that it does not, as it may be a note's text."""
    text = str(name)
    plain = _FIELD_NAME.fullmatch(text) and text.count(" ") < 3
    return text if isinstance(name, int) or plain else f"(a name of {len(text)} characters)"


def shown_names(names: Iterable[object], known: Callable[[str], object] = lambda name: False) -> str:
    """Return the names of columns, or only their number if one may be a text: a table may lack its header.

    Args:
        names: The names.
        known: Whether a name is one of ours, whatever it looks like.
    """
    listed = [str(name) for name in names]
    if all(field_name(name) == name or known(name) for name in listed):
        return ", ".join(listed) or "none"
    return f"{len(listed)} columns whose names may be texts (is there a header?)"


def printable(text: str) -> str:
    """Replace what a terminal would take for an order, and what would break a line of a table."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "�" for one in text)


def decode_text(data: bytes, name: str) -> str:
    """Return the text of a UTF-8 file, without its byte order mark and with its line ends as they are.

    Args:
        data: The bytes of the file.
        name: What to call it in errors.

    Raises:
        InputError: If it is not UTF-8 text, naming the byte.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{name}: looks like UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The byte order mark is not counted by the decoder.
        skipped = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        raise InputError(f"{name}: not UTF-8 at byte {error.start + skipped}") from None
    if "\0" in text:
        raise InputError(f"{name}: holds NUL characters, so it is no UTF-8 text file")
    return text


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file; see `decode_text`.

    Raises:
        InputError: If the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or type(error).__name__}") from None
    return decode_text(data, str(path))


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file to write in, which takes the place of `path` at the end, or leaves no trace on an error.

    Entering fails if the file cannot be written, so a caller can ask before it does costly work.

    Raises:
        InputError: If nothing can be written there.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("w", encoding="utf-8") as device:  # such as /dev/stdout: nothing to replace
            yield device
        return
    beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(21, os.strerror(21))
        file = beside.open("x", encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or type(error).__name__}") from None
    try:
        with file:
            yield file
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
