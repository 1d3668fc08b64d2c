"""The lines of a UTF-8 text file, split at line feeds and nowhere else, and how the file begins and ends them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from tertulia.corpus.exchange import ReadOptions
from tertulia.errors import InputError
from tertulia.formats.files.lines import Lines
from tertulia.formats.files.sources import SourceFile

__all__ = ["TextLine", "TextLines"]


class TextLine(NamedTuple):
    """A line without its end: its number from 1, the text, the end (``\\n``, ``\\r\\n`` or nothing), or what is wrong with it."""

    number: int
    text: str
    end: str
    problem: InputError | None = None


class TextLines:
    """Iterates once over the lines of a file; a malformed line is given with its ``problem``, not raised.

    ``byte_order_mark``, ``crlf`` (of the first line) and ``unterminated`` (the last line has no end) tell of what has been read.
    A byte-order mark is no part of the first line.

    Raises
    ------
    InputError
        While iterating: the file itself cannot be read.
    """

    def __init__(self, file: SourceFile, options: ReadOptions) -> None:
        self._file = file
        self._options = options
        self.byte_order_mark = False
        self.crlf = False
        self.unterminated = False

    def __iter__(self) -> Iterator[TextLine]:
        with self._file.open(self._options) as stream:
            lines = Lines(stream)
            while True:
                try:
                    raw = next(lines, None)
                except InputError as error:
                    # Damage of the file has named its place; a line that is too long has not.
                    if error.where is not None:
                        raise
                    yield TextLine(lines.number, "", "\n", error)
                    continue
                if raw is None:
                    return
                yield self._line(raw, lines.number)

    def _line(self, raw: bytes, number: int) -> TextLine:
        if number == 1 and raw.startswith(codecs.BOM_UTF8):
            self.byte_order_mark = True
            raw = raw.removeprefix(codecs.BOM_UTF8)
        end = "\r\n" if raw.endswith(b"\r\n") else "\n" if raw.endswith(b"\n") else ""
        if number == 1:
            self.crlf = end == "\r\n"
        self.unterminated = not end
        try:
            return TextLine(number, raw[: len(raw) - len(end)].decode(), end)
        except UnicodeDecodeError as error:
            return TextLine(number, "", end, InputError(f"is not UTF-8 (byte {error.start} of the line)"))
