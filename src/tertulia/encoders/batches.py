"""Texts as numbers of words, held end to end, and how they are put into batches of about equal length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tertulia.encoders.vocabulary import EMPTY, PADDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NumberedTexts", "batches_by_length"]

# Batches are made of so many batches' worth of texts at a time, sorted by length: equal lengths meet, and chance stays.
_WINDOW = 32


class NumberedTexts:
    """Texts as numbers of words: ``numbers`` (int32, all texts end to end) and ``starts`` (shape: texts + 1).

    A text without a word has the number ``EMPTY``, so that no text is of length 0.
    """

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        held = [np.asarray(text if len(text) else (EMPTY,), dtype=np.int32) for text in texts]
        self.starts = np.concatenate([[0], np.cumsum([len(text) for text in held], dtype=np.int64)]).astype(np.int64)
        self.numbers = np.concatenate([np.zeros(0, dtype=np.int32), *held])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Of each text how many words it has, at least 1."""
        return np.diff(self.starts)

    def padded(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Some texts as one array (texts, longest), filled up with ``PADDING``, and their lengths (texts,)."""
        starts = self.starts[which]
        lengths = self.starts[which + 1] - starts
        places = np.arange(int(lengths.max(initial=1)))
        inside = places < lengths[:, None]
        found = np.full(inside.shape, PADDING, dtype=np.int64)
        found[inside] = self.numbers[(starts[:, None] + places)[inside]]
        return found, lengths


def batches_by_length(
    lengths: NDArray[np.int64], sizes: NDArray[np.int64], most: int, random: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Every number of ``lengths`` once, in batches whose ``sizes`` sum to at most ``most`` (or of one, where that is larger).

    What is in a batch is of about equal length; which, and the order of batches, is drawn.
    """
    order = random.permutation(len(lengths))
    window = max(1, _WINDOW * most // max(1, round(float(sizes.mean())))) if len(sizes) else 1
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), window):
        some = order[start : start + window]
        some = some[np.argsort(lengths[some], kind="stable")]
        filled = np.cumsum(sizes[some])
        first = 0
        while first < len(some):
            done = int(filled[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(filled, done + most, side="right")))
            batches.append(some[first:last])
            first = last
    for number in random.permutation(len(batches)):
        yield batches[int(number)]
