"""The order of dialogues in a file, kept through a corpus, which sorts them by id.

From the first dialogue on whose id is not behind the one before, dialogues keep their number in the source as an attribute; a
writer that puts those with a number behind those without, in order of it, gives the order of the file again. A file that is sorted
by id leaves no trace.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

from tertulia.corpus.model import Dialogue
from tertulia.formats.files.json_writing import NUMBER

__all__ = ["FileOrder", "in_file_order"]


class FileOrder:
    """Numbers the dialogues of a source where they need it; ids are sorted by code points, as in a corpus."""

    def __init__(self) -> None:
        self._last = ""
        self._count = 0
        self._is_sorted = True

    def keep(self, dialogue: Dialogue) -> None:
        """Give the next dialogue of the source its number, if it needs one."""
        self._is_sorted = self._is_sorted and dialogue.id >= self._last
        self._last = dialogue.id
        if not self._is_sorted:
            dialogue.attributes[NUMBER] = self._count
        self._count += 1


def in_file_order(items: Iterable[tuple[int | None, str]]) -> Iterator[str]:
    """Texts in order of their numbers, those without one before them as they come. Those with a number wait on disk."""
    # A database without a name is a temporary file that vanishes when it is closed.
    with closing(sqlite3.connect("", isolation_level=None)) as waiting:
        waiting.execute("CREATE TABLE waiting (number INTEGER, text TEXT)")
        waiting.execute("BEGIN")
        for number, text in items:
            if number is None:
                yield text
            else:
                waiting.execute("INSERT INTO waiting VALUES (?, ?)", (number, text))
        for (text,) in waiting.execute("SELECT text FROM waiting ORDER BY number, rowid"):
            yield text
