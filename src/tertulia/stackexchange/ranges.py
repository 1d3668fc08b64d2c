"""The file of a table in byte ranges that are read apart: where its rows begin and end, and blocks of whole lines.

A range holds the lines that begin in it. So ranges of a fixed size cut a file in the same way whoever reads them, each without
knowing what the others found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tertulia.errors import InputError

__all__ = [
    "LONGEST_LINE",
    "Frame",
    "LongLineError",
    "StoppedError",
    "line_start",
    "pieces",
    "range_starts",
    "read_frame",
]

LONGEST_LINE = 64 << 20
"""A line of more bytes is an error."""
_EDGE = 1 << 16
_SEARCHED = 1 << 20
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_DECLARATION = re.compile(rb"<\?xml\b([^>]*)\?>")
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)["']""")
# What may stand before the root tag beside the declaration.
_ASIDE = re.compile(rb"<!DOCTYPE[^>\[]*>|<!--.*?-->", re.DOTALL)
_ROOT = re.compile(rb"<([^\s<>/]+)\s*(/?)>")
_SHOWN = 40


class StoppedError(Exception):
    """Reading was told to stop: what it had begun is of no use any more."""


class LongLineError(Exception):
    """A line longer than ``LONGEST_LINE``."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the rows of a table stand in its file.

    ``size`` is the file's bytes, ``start`` and ``end`` those between the root's tags, ``line`` the number of the line at
    ``start``, from 1; ``is_whole`` is false where the file ends without the root's end tag.
    """

    size: int
    start: int
    end: int
    line: int
    is_whole: bool


def read_frame(path: Path, shown: str, root: str) -> Frame:
    """Where the rows stand in a file whose root tag is ``root``; ``shown`` is the file in messages.

    Raises
    ------
    InputError
        It cannot be read, is not UTF-8 by its declaration, or begins with something else than a declaration and the root tag.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            head = file.read(_EDGE)
            start, is_empty = _start(head, len(head) == size, shown, root)
            if start < 0:
                return Frame(size, size, size, 1, False)
            line = head.count(b"\n", 0, start) + 1
            if is_empty:
                return Frame(size, start, size, line, True)
            tail_at = max(start, size - _EDGE)
            file.seek(tail_at)
            tail = file.read(_EDGE)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=shown) from None
    end = re.search(rb"</" + root.encode() + rb"[ \t\r\n]*>[ \t\r\n]*\Z", tail)
    return Frame(size, start, size if end is None else tail_at + end.start(), line, end is not None)


def _start(head: bytes, is_all: bool, shown: str, root: str) -> tuple[int, bool]:
    """Where the root tag ends, and whether it is an empty element; -1 for a file that is cut off before."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head[:4].count(0) >= 2:
        raise InputError("is UTF-16 or UTF-32 text; expected UTF-8", where=shown)
    at = len(_BOM) if head.startswith(_BOM) else 0
    declaration = _DECLARATION.match(head, at)
    if declaration:
        encoding = _ENCODING.search(declaration[1])
        if encoding and encoding[1].lower() not in (b"utf-8", b"utf8"):
            raise InputError(f"is declared as {encoding[1].decode('latin-1')}; expected UTF-8", where=shown)
        at = declaration.end()
    at = _after_blanks(head, at)
    while aside := _ASIDE.match(head, at):
        at = _after_blanks(head, aside.end())
    found = _ROOT.match(head, at)
    if found is not None and found[1] == root.encode():
        return found.end(), bool(found[2])
    rest = head[at:]
    if is_all and (not rest or _BOM.startswith(rest) or (rest.startswith(b"<") and b">" not in rest)):
        return -1, False
    what = rest[:_SHOWN].decode("utf-8", "replace")
    raise InputError(f"begins with {what!r}; expected an XML declaration and <{root}>", where=shown)


def _after_blanks(data: bytes, at: int) -> int:
    return len(data) - len(data[at:].lstrip(_BLANK))


def range_starts(frame: Frame, size: int) -> list[int]:
    """The bytes at which the ranges begin; at least one, be there rows or not."""
    return list(range(frame.start, max(frame.end, frame.start + 1), size))


def line_start(file: BinaryIO, offset: int, frame: Frame) -> int:
    """Where the first line begins that begins at ``offset`` or behind it; the end of the rows where none does.

    Raises
    ------
    LongLineError
        None begins within ``LONGEST_LINE`` bytes.
    """
    if offset <= frame.start:
        return frame.start
    at = offset - 1
    file.seek(at)
    while at < frame.end:
        data = file.read(min(_SEARCHED, frame.end - at))
        if not data:
            break
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
        if at - offset > LONGEST_LINE:
            raise LongLineError
    return frame.end


def pieces(file: BinaryIO, start: int, end: int, size: int) -> Iterator[memoryview]:
    """The bytes from ``start`` to ``end`` as blocks of whole lines, each of about ``size`` bytes or one longer line.

    A block is overwritten by the next one. The last line need not have a line end.

    Raises
    ------
    LongLineError
        A line is longer than ``LONGEST_LINE``.
    EOFError
        The file ends before ``end``: it became shorter while it was read.
    """
    buffer = bytearray(min(size, max(end - start, 1)))
    held, at = 0, start
    file.seek(start)
    while at < end or held:
        wanted = min(len(buffer) - held, end - at)
        if wanted:
            with memoryview(buffer) as view:
                got = file.readinto(view[held : held + wanted])  # type: ignore[attr-defined]
            if not got:
                raise EOFError
            held += got
            at += got
        cut = held if at == end else buffer.rfind(b"\n", 0, held) + 1
        if cut == 0:
            if held == len(buffer):
                if held > LONGEST_LINE:
                    raise LongLineError
                buffer = _grown(buffer)
            continue
        with memoryview(buffer) as view, view[:cut] as whole:
            yield whole
        held -= cut
        buffer[:held] = buffer[cut : cut + held]
        if held < size < len(buffer):
            del buffer[size:]


def _grown(buffer: bytearray) -> bytearray:
    larger = bytearray(min(2 * len(buffer), LONGEST_LINE + 1))
    larger[: len(buffer)] = buffer
    return larger
