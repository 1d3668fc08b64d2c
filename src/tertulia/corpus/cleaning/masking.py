"""Masking: spans of a text are replaced by placeholders, and other spans of the same text move along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Masking", "Moved", "placeholder"]


def placeholder(kind: str) -> str:
    """What stands for something of this kind: ``[E-MAIL]``."""
    return f"[{kind.upper()}]"


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a span is after masking, and whether it has lost a part of what it covered."""

    start: int
    end: int
    clipped: bool


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    new_start: int
    new_end: int


class Masking:
    """A text with spans replaced.

    Parameters
    ----------
    text:
        The text as it was.
    spans:
        ``(start, end, replacement)`` in code points, the end exclusive, in any order. Of spans that overlap, one replacement
        stands for all: that of the first and, of those, of the longest.
    """

    def __init__(self, text: str, spans: Iterable[tuple[int, int, str]]) -> None:
        merged: list[tuple[int, int, str]] = []
        for start, end, replacement in sorted(spans, key=lambda span: (span[0], -span[1], span[2])):
            if merged and start < merged[-1][1]:
                before = merged[-1]
                merged[-1] = (before[0], max(before[1], end), before[2])
            else:
                merged.append((start, end, replacement))
        self._parts: list[_Part] = []
        pieces: list[str] = []
        done = length = 0
        for start, end, replacement in merged:
            length += start - done
            pieces += (text[done:start], replacement)
            self._parts.append(_Part(start, end, length, length + len(replacement)))
            length += len(replacement)
            done = end
        pieces.append(text[done:])
        self.text = "".join(pieces)

    def move(self, start: int, end: int) -> Moved:
        """Where a span of the old text is in the new one.

        A span around a masked one covers the placeholder too. One that overlaps a masked one by a part keeps the rest of what it
        covered; one inside a masked one becomes the placeholder's. The last two are clipped.
        """
        shift_start = shift_end = 0
        new_start = new_end = None
        for part in self._parts:
            grown = (part.new_end - part.new_start) - (part.end - part.start)
            if start == part.start and end == part.end:
                return Moved(part.new_start, part.new_end, False)
            if part.start <= start and end <= part.end and (start < end or part.start < start < part.end):
                return Moved(part.new_start, part.new_end, True)
            if part.start < start < part.end:
                new_start = part.new_end
            elif part.end <= start:
                shift_start += grown
            if part.start < end < part.end:
                new_end = part.new_start
            elif part.end <= end:
                shift_end += grown
        clipped = new_start is not None or new_end is not None
        first = start + shift_start if new_start is None else new_start
        last = end + shift_end if new_end is None else new_end
        # Between two masked spans that touch nothing is left, so that the span keeps its place there and covers nothing.
        return Moved(first, max(first, last), clipped)
