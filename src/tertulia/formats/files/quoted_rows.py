"""Rows of a tab-separated file of which some cells may stand in quotation marks, as the csv writers of most languages write them.

A cell that holds a quotation mark, a tab or a line break then stands in quotation marks, with those inside doubled. Other files
use quotation marks as they come. Nothing tells the two apart but the rows: the first row with a quotation mark decides, unless the
caller does.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tertulia.corpus.exchange import ReadOptions
from tertulia.errors import InputError
from tertulia.formats.files.lines import LONGEST_LINE
from tertulia.formats.files.sources import SourceFile
from tertulia.formats.files.text_lines import TextLine, TextLines

__all__ = ["Quoting", "Row", "quoted", "rows"]

Quoting = Literal["detect", "csv", "none"]

_CELL = re.compile(r'"([^"]*(?:""[^"]*)*)"|([^"\t]*)')
_NEEDS = re.compile(r'["\t\r\n]')
# While it is not known whether a quotation mark opens a cell of several lines, this many lines are looked at.
_LOOK_AHEAD = 1_000


class Row(NamedTuple):
    """The cells of a row and the line that it begins on, or what is wrong with it."""

    number: int
    cells: list[str]
    problem: InputError | None = None


def quoted(cell: str) -> str:
    """A cell as it is written: in quotation marks where it holds one."""
    return '"' + cell.replace('"', '""') + '"' if '"' in cell else cell


def rows(file: SourceFile, options: ReadOptions, quoting: Quoting) -> Iterator[Row]:
    """The rows of a file; blank lines are passed over, and a malformed row is given with its problem, not raised."""
    reader = _Rows(TextLines(file, options), quoting)
    yield from reader.run()


class _Rows:
    def __init__(self, lines: TextLines, quoting: Quoting) -> None:
        self._lines = iter(lines)
        self._waiting: deque[TextLine] = deque()
        self._quoting = quoting
        # Marks without need tell a text from what csv wrote, unless the caller knows that csv wrote it.
        self._strict = quoting == "detect"

    def run(self) -> Iterator[Row]:
        while (line := self._next()) is not None:
            if line.problem is not None:
                yield Row(line.number, [], line.problem)
            elif not line.text:
                continue
            elif '"' not in line.text or self._quoting == "none":
                yield Row(line.number, line.text.split("\t"))
            else:
                yield self._with_quotes(line)

    def _next(self) -> TextLine | None:
        return self._waiting.popleft() if self._waiting else next(self._lines, None)

    def _with_quotes(self, first: TextLine) -> Row:
        decided = self._quoting == "csv"
        taken, problem = [first], None
        text, end, opens = first.text, first.end, _opens(first.text)
        # In a row that csv wrote, quotation marks come in pairs; an odd one opens a cell that goes on after the line's end.
        pieces = [text]
        odd, length = text.count('"') % 2, len(text)
        while odd and opens and (decided or len(taken) < _LOOK_AHEAD) and length <= LONGEST_LINE:
            line = self._next()
            if line is None:
                break
            taken.append(line)
            if line.problem is not None:
                problem = line.problem
                break
            pieces += [end, line.text]
            odd, length, end = (odd + line.text.count('"')) % 2, length + len(end) + len(line.text), line.end
        cells = None if problem is not None else _cells("".join(pieces), self._strict)
        if cells is not None:
            self._quoting = "csv"
            return Row(first.number, cells)
        if decided:
            if problem is None:
                problem = InputError(
                    "a quotation mark does not stand as csv writes it: expected a cell in quotation marks, those inside doubled",
                    hint="--option quoting=none reads quotation marks as they come",
                )
            return Row(first.number, [], problem)
        self._quoting = "none"
        self._waiting.extendleft(reversed(taken[1:]))
        return Row(first.number, text.split("\t"))


def _opens(text: str) -> bool:
    return text.startswith('"') or '\t"' in text


def _cells(text: str, strict: bool) -> list[str] | None:
    """The cells of a row as csv writes it, ``None`` where there is a mark in a bare cell or, when ``strict``, without need."""
    # A writer that puts every text in marks does so with the first cell, too.
    strict = strict and not text.startswith('"')
    cells: list[str] = []
    at = 0
    while True:
        match = _CELL.match(text, at)
        if match is None:
            return None
        inside, bare = match.groups()
        if inside is not None:
            if strict and _NEEDS.search(inside) is None:
                return None
            cells.append(inside.replace('""', '"'))
        else:
            cells.append(bare)
        at = match.end()
        if at == len(text):
            return cells
        if text[at] != "\t":
            return None
        at += 1
