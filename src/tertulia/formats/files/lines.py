"""Lines of a file of which none may fill the memory."""

from __future__ import annotations

from typing import IO, AnyStr, Generic

from tertulia.errors import InputError

__all__ = ["LONGEST_LINE", "Lines"]

LONGEST_LINE = 32_000_000
"""The longest line that is read, in bytes (of a text stream: in characters)."""


class Lines(Generic[AnyStr]):
    """Iterates over the lines of a stream; one that is too long is passed over in pieces, then raised as an ``InputError``.

    Unlike a generator it goes on after the error. ``number`` is the line given last, from 1.
    """

    def __init__(self, stream: IO[AnyStr]) -> None:
        self._stream: IO[AnyStr] = stream
        self._ends = ("\n", "\r", b"\n")
        self.number = 0

    def __iter__(self) -> Lines[AnyStr]:
        return self

    def __next__(self) -> AnyStr:
        line: AnyStr = self._stream.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) <= LONGEST_LINE:
            return line
        while len(line) > LONGEST_LINE and line[-1:] not in self._ends:
            line = self._stream.readline(LONGEST_LINE + 1)
        raise InputError(f"the line is longer than {LONGEST_LINE:,} characters")
