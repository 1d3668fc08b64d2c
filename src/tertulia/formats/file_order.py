"""The order of dialogues in a file, kept through a corpus, which sorts them by id.

A file is a sequence of ascending runs of ids. Each dialogue keeps the number of its run as an attribute, the first run none; a
writer that takes runs in order, and within a run the order of id, gives the order of the file again. A file that is sorted
by id leaves no trace.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

from tertulia.corpus.model import Dialogue
from tertulia.errors import InputError

__all__ = ["ATTRIBUTE", "FileOrder", "in_file_order", "refuse_attribute", "run_of"]

ATTRIBUTE = "file_order"
"""The attribute of a dialogue that holds the number of its run, from 1; the first run has none."""
_MOST_RUNS = 2**62


class FileOrder:
    """Numbers the ascending runs of ids, in the order (by code points) in which a corpus sorts them."""

    def __init__(self) -> None:
        self._last = ""
        self._run = 0

    def keep(self, dialogue: Dialogue) -> None:
        """Give the next dialogue of the file the attribute, where it needs one."""
        if dialogue.id < self._last:
            self._run += 1
        self._last = dialogue.id
        if self._run:
            dialogue.attributes[ATTRIBUTE] = self._run


def refuse_attribute(fields: Iterable[str]) -> None:
    """A file's own field of the attribute's name would be taken for it.

    Raises
    ------
    InputError
        There is such a field.
    """
    if ATTRIBUTE in fields:
        raise InputError(f"has a field {ATTRIBUTE!r}, a name that is kept for the order of the file; rename it")


def run_of(dialogue: Dialogue) -> int:
    """The run of a dialogue; 0 where the attribute is missing or not one that ``FileOrder`` gives."""
    run = dialogue.attributes.get(ATTRIBUTE)
    return run if isinstance(run, int) and not isinstance(run, bool) and 0 < run < _MOST_RUNS else 0


def in_file_order(items: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Texts in order of their run, and within a run as they come. Those of the first run pass; the others wait on disk."""
    # A database without a name is a temporary file that vanishes when it is closed.
    with closing(sqlite3.connect("", isolation_level=None)) as waiting:
        waiting.execute("CREATE TABLE waiting (run INTEGER, text TEXT)")
        waiting.execute("BEGIN")
        for run, text in items:
            if run == 0:
                yield text
            else:
                waiting.execute("INSERT INTO waiting VALUES (?, ?)", (run, text))
        for (text,) in waiting.execute("SELECT text FROM waiting ORDER BY run, rowid"):
            yield text
