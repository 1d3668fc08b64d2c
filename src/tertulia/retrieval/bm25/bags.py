"""Texts as bags of words: of each text its distinct words, as numbers, and how often it has each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.errors import InputError
from tertulia.retrieval.bm25.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.retrieval.tokenizer import Tokenizer

__all__ = ["MOST_COUNT", "Bags", "Queries"]

MOST_COUNT = 65_535
"""A word that a text has more often counts as this often; the weight has long stopped growing there."""
_MOST_WORDS = 2**32 - 2


class Queries(NamedTuple):
    """Bags as arrays: those of query ``i`` are ``words[first[i] : first[i + 1]]`` and ``counts`` likewise."""

    first: NDArray[np.uint64]
    words: NDArray[np.uint32]
    counts: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.first) - 1

    def part(self, begin: int, end: int) -> Queries:
        """The queries from ``begin`` up to ``end``."""
        first = self.first[begin : end + 1]
        start, stop = int(first[0]), int(first[-1])
        return Queries(first - first[0], self.words[start:stop], self.counts[start:stop])


class Bags:
    """A growing list of bags of words with their vocabulary; some 6 bytes for each distinct word of a text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._vocabulary = vocabulary_of(tokenizer)
        self._words = array("I")
        self._counts = array("H")
        self._first = array("Q", [0])
        self._lengths = array("I")

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def vocabulary(self) -> int:
        """How many distinct words there are."""
        return len(self._vocabulary)

    def add(self, text: str) -> int:
        """Take a text; the number of its bag, counted from 0.

        Raises
        ------
        InputError
            There are more distinct words than numbers for them.
        """
        counted = self._vocabulary.count(text)
        if len(self._vocabulary) > _MOST_WORDS:
            raise InputError(f"the texts have more than {_MOST_WORDS:,} distinct words, which no index holds")
        counts = np.frombuffer(counted.counts, dtype=np.uint32)
        self._words.frombytes(counted.words)
        self._counts.frombytes(np.minimum(counts, MOST_COUNT).astype(np.uint16).tobytes())
        self._lengths.append(min(counted.length, _MOST_WORDS))
        self._first.append(len(self._words))
        return len(self._lengths) - 1

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """The words of each text, repetitions counted: array of the shape (bags,)."""
        return np.frombuffer(self._lengths, dtype=np.uint32).copy()

    def gather(self, numbers: NDArray[np.int64]) -> Queries:
        """The bags of these numbers, one after the other."""
        first = np.frombuffer(self._first, dtype=np.uint64).astype(np.int64)
        begins, sizes = first[numbers], first[numbers + 1] - first[numbers]
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        # Of each entry its place: its offset within the result, moved to where its bag begins.
        at = np.arange(int(ends[-1]), dtype=np.int64) + np.repeat(begins - ends[:-1], sizes)
        words = np.frombuffer(self._words, dtype=np.uint32)[at]
        counts = np.frombuffer(self._counts, dtype=np.uint16)[at].astype(np.uint32)
        return Queries(ends.astype(np.uint64), words, counts)

    def queries(self, texts: Iterable[str]) -> Queries:
        """Texts as queries: their words that the vocabulary has; nothing is kept of them."""
        first, words, counts = [0], bytearray(), bytearray()
        for text in texts:
            counted = self._vocabulary.count(text, adds=False)
            words += counted.words
            counts += counted.counts
            first.append(len(words) // 4)
        return Queries(
            np.array(first, dtype=np.uint64),
            np.frombuffer(words, dtype=np.uint32),
            np.frombuffer(counts, dtype=np.uint32),
        )
