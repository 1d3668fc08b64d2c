"""JSON as a stream: the elements of one large array or object, or one object a line. Memory holds one element at a time."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any, BinaryIO

import orjson

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.errors import InputError
from tertulia.formats.files.fields import found
from tertulia.formats.files.lines import LONGEST_LINE, Lines
from tertulia.formats.files.sources import SourceFile

__all__ = ["json_elements", "json_lines"]

_CHUNK = 1 << 18
# An error this far from the end of what has been read is not because there is more to read.
_MARGIN = 64


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


_LONG_NUMBER = re.compile(rb"[0-9]{18}")
_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def json_lines(
    files: Sequence[SourceFile], report: Report, options: ReadOptions
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The object of every line of every file, with its place; blank lines are passed over.

    A line that is no JSON object goes through ``report.catching``.
    """
    for file in files:
        with file.open(options) as stream:
            lines = Lines(stream)
            while True:
                value = raw = None
                try:
                    raw = next(lines, None)
                    if raw is None:
                        break
                    if raw.isspace():
                        continue
                    value = _object(raw)
                except InputError as error:
                    # Damage of the file itself has named its place already, and nothing can be read behind it.
                    if error.where is not None:
                        raise
                    with report.catching(options, file.place(lines.number)):
                        raise
                if value is not None:
                    yield file.place(lines.number), value


def _object(raw: bytes) -> dict[str, Any]:
    try:
        # The quick parser makes floats of numbers that do not fit 64 bits; what it refuses the other one explains or takes.
        if _LONG_NUMBER.search(raw) is None:
            with contextlib.suppress(orjson.JSONDecodeError):
                quick = orjson.loads(raw)
                if isinstance(quick, dict):
                    return quick
        value = _DECODER.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start} of the line)") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"holds {found(value)}; expected an object")
    return value


def json_elements(file: SourceFile, options: ReadOptions) -> Iterator[tuple[str | int, Any, Place]]:
    """The elements of the file's one array with their index from 0, or the members of its one object with their name.

    Raises
    ------
    InputError
        The file is not JSON from there on, or an element is longer than 32,000,000 characters; neither can be passed over.
    """
    with file.open(options) as stream:
        yield from _Elements(file, stream).run()


class _Elements:
    """Reads one array or object an element at a time."""

    def __init__(self, file: SourceFile, stream: BinaryIO) -> None:
        self._file = file
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        # What has been read and not forgotten, and the place in it; lines are counted up to ``_counted``.
        self._text = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        self._ended = False

    def run(self) -> Iterator[tuple[str | int, Any, Place]]:
        opening = self._next()
        if opening not in ("[", "{"):
            raise self._error("is not a JSON array or object of records")
        closing = "]" if opening == "[" else "}"
        self._at += 1
        index = 0
        while (mark := self._next()) != closing:
            if index:
                if mark != ",":
                    raise self._error(
                        f"is not JSON: expected , or {closing} after record {index - 1}"
                        if mark
                        else f"ends after record {index - 1}; expected {closing}"
                    )
                self._at += 1
                self._next()
            place = self._file.place(f"{self._line_here()} (record {index})")
            key: str | int = self._name() if closing == "}" else index
            yield key, self._value(f"record {index}"), place
            index += 1
        self._at += 1
        if self._next():
            raise self._error("is not JSON: something follows the end")

    def _name(self) -> str:
        if self._next() != '"':
            raise self._error("is not JSON: expected a name in quotes")
        name = self._value("a name")
        if self._next() != ":":
            raise self._error("is not JSON: expected : after a name")
        self._at += 1
        return str(name)

    def _line_here(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _error(self, message: str) -> InputError:
        return InputError(message, where=self._file.place(self._line_here()).full)

    def _more(self, size: int = 0) -> bool:
        """Read on, at least ``size`` bytes if there are any, forgetting what lies behind; whether there was anything."""
        if self._ended:
            return False
        self._line_here()
        data = self._stream.read(max(size, _CHUNK))
        try:
            new = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            raise self._error("is not UTF-8 here or soon after") from None
        self._ended = not data
        self._text = self._text[self._at :] + new
        self._at = self._counted = 0
        return bool(data)

    def _next(self) -> str:
        """The next character that is no white space, not taken; empty at the end."""
        while True:
            match = WHITESPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self, what: str) -> Any:
        """The value that begins here. One whose end has not been read yet is tried again with twice as much text."""
        self._next()
        while True:
            pending = len(self._text) - self._at
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                unfinished = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _MARGIN
                if not unfinished:
                    self._at = error.pos
                    raise self._error(f"is not JSON: {error.msg}") from None
                if pending > LONGEST_LINE:
                    message = f"{what} is longer than {LONGEST_LINE:,} characters, or never ends"
                    raise self._error(message) from None
                left = len(self._text.rstrip()) - error.pos
                if not self._more(pending):
                    cut = left <= 0 or error.msg.startswith("Unterminated string")
                    raise self._error(f"ends in the middle of {what}" if cut else f"is not JSON: {error.msg}") from None
            except RecursionError:
                raise self._error(f"{what} is nested too deeply") from None
            except ValueError as error:
                raise self._error(f"{what} is not JSON: {error}") from None
            else:
                length = end - self._at
                # A number at the end of what has been read may go on: "0." is the beginning of "0.5".
                goes_on = length == pending or (length > pending - 4 and self._text[end] in ".eE")
                if not goes_on or not self._more():
                    self._at += length
                    return value
