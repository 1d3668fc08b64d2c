"""The words of the texts of a collection, counted by its cells (pairs of domain and split)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tertulia.corpus.collection import Collection
from tertulia.corpus.statistics.vocabulary import Groups, Vocabularies
from tertulia.corpus.statistics.words import WordMethod, split_texts

__all__ = ["CellCounts", "Progress", "TextCounts", "ratio", "sample_of"]

Integers = npt.NDArray[np.int64]
Progress = Callable[[int, int | None], None]

# So many texts of so many row groups, evenly over the table, tell how its words are to be counted.
_SAMPLE_GROUPS = 8
_SAMPLE_TEXTS = 500


def sample_of(collection: Collection[Any], table: str, column: str, texts: Callable[[Any], Any]) -> list[str]:
    """Some texts from all over a table; ``texts`` makes an array of texts of the column."""
    number = collection.row_groups(table)
    chosen = sorted({number * part // _SAMPLE_GROUPS for part in range(_SAMPLE_GROUPS if number else 0)})
    sample: list[str] = []
    for rows in collection.batches(table, [column], chosen):
        sample += texts(rows.column(column)).slice(0, _SAMPLE_TEXTS).to_pylist()
    return sample


def ratio(count: int, among: int) -> float | None:
    """A mean; none of nothing."""
    return count / among if among else None


class CellCounts:
    """A number a cell."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._counts: Counter[int] = Counter()

    def add(self, cells: Integers, numbers: Integers) -> None:
        """Add numbers to their cells."""
        sums = np.zeros(self._groups.number, dtype=np.int64)
        np.add.at(sums, cells, numbers)
        for cell in np.flatnonzero(sums).tolist():
            self._counts[cell] += int(sums[cell])

    def sums(self, side: str) -> dict[str, int]:
        """The numbers by ``"domain"`` or ``"split"``, in order of the name.

        A group is there as soon as it has a cell with a number; dialogues without a domain (or split) are in none.
        """
        return self._groups.sums(side, self._counts)


class TextCounts:
    """Counts words text by text, and collects the vocabularies of the texts' cells."""

    def __init__(self, method: WordMethod, vocabularies: Vocabularies) -> None:
        self.method = method
        self.vocabularies = vocabularies
        self._texts = 0
        self._by_rjieba = 0

    def add(self, texts: pa.Array, cells: Integers) -> Integers:
        """Take texts (Arrow strings without nulls), each in its cell, and give the number of words of each."""
        order = None
        if len(cells) and (cells != cells[0]).any():
            # The texts of a cell together, so that its words are one piece.
            order = np.argsort(cells, kind="stable")
            texts, cells = texts.take(pa.array(order)), cells[order]
        counts = np.zeros(len(cells), dtype=np.int64)
        for part in split_texts(texts, self.method):
            counts[part.rows] = part.counts
            self._texts += len(part.rows)
            self._by_rjieba += len(part.rows) if part.by_rjieba else 0
            self.vocabularies.add(part, cells[part.rows])
        if order is None:
            return counts
        in_order = np.empty_like(counts)
        in_order[order] = counts
        return in_order

    def tokenizer(self) -> dict[str, Any]:
        """How words were counted, as JSON."""
        name = "white space, Chinese texts by rjieba"
        if not self._by_rjieba:
            name = "white space"
        elif self._by_rjieba == self._texts:
            name = "rjieba"
        return {
            "method": name,
            "words": self.method.wanted,
            "texts_by_rjieba": self._by_rjieba,
            "remark": self.method.remark,
        }
