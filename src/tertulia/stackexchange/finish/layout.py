"""Lays text out in lines: blocks apart by blank lines, quotes and lists by what stands before their lines."""

from __future__ import annotations

__all__ = ["BREAK", "Lines", "collapsed"]

BREAK = "\x00"
"""Stands for a line break inside a run of text, where every other white space is as good as a space."""
# Containers deeper than this put nothing more before their lines, or the lines of hostile HTML would grow with its depth.
_DEEPEST = 100
# What stands between the last block and the next: a line break, which only items of the same list have, or a blank line.
_LINE, _BLANK = 1, 2


def collapsed(text: str) -> str:
    """The text with every run of white space as one space, and none at its ends."""
    return " ".join(text.split())


class Lines:
    """Takes blocks and their containers in the order of the document and gives the text.

    A container (a quote, an item of a list) has something that stands before its first line and before its others.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._prefixes = [""]
        # What stands before the next line, where a container has opened since the last; else ``None``.
        self._first: str | None = None
        self._opened: list[tuple[str | None, bool, int]] = []
        self._gap = _BLANK
        # Whether an item has begun that has no line yet: what begins in it leaves the gap before the item as it is.
        self._fresh = False
        # The fewest containers that were open at one time since the last line: a blank line belongs to the outermost.
        self._low = 0

    def block(self) -> None:
        """A block begins or ends here."""
        if not self._fresh:
            self._gap = _BLANK

    def item(self) -> None:
        """An item (of a list, a row of a table) begins here."""
        if not self._fresh and self._gap != _LINE:
            self._gap = _BLANK

    def end_item(self) -> None:
        """The item whose lines have been added ends: between it and another item there is a line break."""
        self._gap = _LINE

    def open(self, first: str, others: str, *, item: bool = False) -> None:
        """A container opens, whose first line begins with ``first`` and whose others begin with ``others``."""
        deep = len(self._prefixes) > _DEEPEST
        prefix = self._prefixes[-1]
        self._opened.append((self._first, self._fresh, len(self._lines)))
        self._fresh = self._fresh or item
        if not deep and (first != others or self._first is not None):
            self._first = (prefix if self._first is None else self._first) + first
        self._prefixes.append(prefix if deep else prefix + others)

    @property
    def is_empty(self) -> bool:
        """Whether the innermost container has no line yet."""
        return not self._opened or self._opened[-1][2] == len(self._lines)

    def close(self) -> bool:
        """The innermost container closes; whether it had any line."""
        self._prefixes.pop()
        self._low = min(self._low, len(self._prefixes) - 1)
        first, fresh, count = self._opened.pop()
        if len(self._lines) > count:
            return True
        self._first, self._fresh = first, fresh
        return False

    def add(self, lines: list[str]) -> None:
        """Add the lines of a block, of which there is at least one."""
        prefix = self._prefixes[-1]
        out = self._lines
        if out and self._gap == _BLANK:
            out.append(self._prefixes[self._low].rstrip())
        first = prefix if self._first is None else self._first
        self._first = None
        self._fresh = False
        self._low = len(self._prefixes) - 1
        self._gap = _BLANK
        out.append(first + lines[0] if lines[0] else first.rstrip())
        for line in lines[1:]:
            out.append(prefix + line if line else prefix.rstrip())

    def text(self) -> str:
        """The whole text."""
        return "\n".join(self._lines).strip()
