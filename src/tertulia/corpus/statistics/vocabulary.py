"""The groups that a corpus falls into by domain and split, and the distinct words of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.statistics.distinct import DistinctGroup, Hashes, Recent, hashes_of, unique
from tertulia.corpus.statistics.words import WordPart

__all__ = ["Groups", "Vocabularies"]

Integers = npt.NDArray[np.int64]

# More domains than this have no vocabularies of their own.
_MOST_GROUPS = 300
_SIDES = ("domain", "split")


class Groups:
    """Numbers the pairs of domain and split that occur: a cell each, from 0."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str | None, str | None], int] = {}
        self._pairs: list[tuple[str | None, str | None]] = []
        self._names: dict[str, set[str]] = {side: set() for side in _SIDES}

    @property
    def number(self) -> int:
        """How many cells there are."""
        return len(self._pairs)

    def cells(self, domains: pa.ChunkedArray, splits: pa.ChunkedArray) -> Integers:
        """The cell of each row of two columns; either may hold nulls."""
        codes = []
        names = []
        for column in (domains, splits):
            encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
            codes.append(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
            names.append(encoded.dictionary.to_pylist())
        width = max(len(names[1]), 1)
        both, inverse = np.unique(codes[0] * width + codes[1], return_inverse=True)
        numbers = [self._cell(names[0][pair // width], names[1][pair % width]) for pair in both.tolist()]
        return np.array(numbers, dtype=np.int64)[inverse]

    def _cell(self, domain: str | None, split: str | None) -> int:
        cell = self._cells.setdefault((domain, split), len(self._pairs))
        if cell == len(self._pairs):
            self._pairs.append((domain, split))
            for side, name in zip(_SIDES, (domain, split), strict=True):
                if name is not None:
                    self._names[side].add(name)
        return cell

    def of(self, cell: int) -> list[tuple[str, str]]:
        """The groups that a cell belongs to: (side, name) for its domain and its split, where it has them."""
        return [(side, name) for side, name in zip(_SIDES, self._pairs[cell], strict=True) if name is not None]

    def names(self, side: str) -> int:
        """How many domains or splits there are."""
        return len(self._names[side])

    def sums(self, side: str, counts: Mapping[int, int]) -> dict[str, int]:
        """Counts by cell, added up by domain or by split, in order of the name; what has none is left out."""
        index = _SIDES.index(side)
        sums: Counter[str] = Counter()
        for cell, count in counts.items():
            name = self._pairs[cell][index]
            if name is not None:
                sums[name] += count
        return dict(sorted(sums.items()))


class Vocabularies:
    """Distinct words of everything, of each domain and of each split; and distinct speakers."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._distinct = DistinctGroup()
        # What has just been seen in a cell has been counted for its domain and split.
        self._recent: dict[int, Recent] = {}

    def add_speakers(self, speakers: pa.Array) -> None:
        """Take the names of speakers."""
        self._distinct.add("speakers", hashes_of(speakers.unique()))

    def add(self, part: WordPart, cells: Integers) -> None:
        """Take the words of some texts, whose cells stand in ascending order, so that a cell's words are one slice."""
        ends = np.append(0, np.cumsum(part.counts))
        borders = [0, *(np.flatnonzero(cells[1:] != cells[:-1]) + 1).tolist(), len(cells)] if len(cells) else [0]
        pieces = []
        for first, last in pairwise(borders):
            cell = int(cells[first])
            hashes = self._not_just_seen(cell, part.hashes[ends[first] : ends[last]])
            pieces.append(hashes)
            for group in self.groups.of(cell):
                if self.groups.names(group[0]) <= _MOST_GROUPS:
                    self._distinct.add(group, hashes)
        if pieces:
            self._distinct.add("all", pieces[0] if len(pieces) == 1 else unique(pieces))

    def _not_just_seen(self, cell: int, hashes: Hashes) -> Hashes:
        recent = self._recent.get(cell)
        if recent is None:
            if len(self._recent) >= _MOST_GROUPS:
                return unique([hashes])
            recent = self._recent[cell] = Recent()
        step = 1 << 15
        return unique([recent.new(hashes[start : start + step]) for start in range(0, max(len(hashes), 1), step)])

    def all(self) -> int:
        """The distinct words, as they are written."""
        return self._distinct.count("all")

    def speakers(self) -> int:
        """The distinct speakers."""
        return self._distinct.count("speakers")

    def of(self, side: str, name: str) -> int | None:
        """The distinct words of a domain or split; ``None`` where there are too many domains to count them apart."""
        return None if self.groups.names(side) > _MOST_GROUPS else self._distinct.count((side, name))
