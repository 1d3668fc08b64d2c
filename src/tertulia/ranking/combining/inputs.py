"""What is combined: of every candidate the scores of rankers, as they are and within its context, and features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Inputs", "Labels", "labels_of", "offsets_of", "ranks_within", "standardised_within"]

# Of standardised scores; the digits of neural scores beyond these depend on what is computed beside them.
_DIGITS = 5
_FLAT = 1e-6


@dataclass(frozen=True, slots=True)
class Inputs:
    """Rows are candidates; those of context ``i`` are ``offsets[i]`` to ``offsets[i + 1]``.

    ``scores`` (candidates, members) are standardised by mean and deviation over train; ``features`` are (candidates, features).
    """

    members: tuple[str, ...]
    names: tuple[str, ...]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, contexts: NDArray[np.int64]) -> Inputs:
        """Of these contexts, in this order."""
        rows = rows_of(self.offsets, contexts)
        sizes = np.diff(self.offsets)[contexts]
        return Inputs(self.members, self.names, self.scores[rows], self.features[rows], offsets_of(sizes))

    def split(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """One value for each row, by context."""
        return [values[start:end] for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True)]


@dataclass(frozen=True, slots=True)
class Labels:
    """What is learned: of every row the relevance (0 at least, 1 at most over train) and its standard deviation."""

    relevance: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def take(self, offsets: NDArray[np.int64], contexts: NDArray[np.int64]) -> Labels:
        """Of these contexts, in this order."""
        rows = rows_of(offsets, contexts)
        return Labels(self.relevance[rows], self.deviation[rows])


def offsets_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where contexts of these sizes begin (shape: contexts + 1)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def rows_of(offsets: NDArray[np.int64], contexts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of these contexts, in this order."""
    parts = [np.arange(offsets[context], offsets[context + 1]) for context in contexts.tolist()]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def labels_of(
    examples: Sequence[Example], bounds: tuple[float, float] | None = None
) -> tuple[Labels, tuple[float, float]]:
    """What examples say, scaled so that the least relevance of ``bounds`` is 0 and the greatest 1; and these bounds.

    A candidate that nobody has judged counts as the least relevant, as measures have it. Bounds are those of the examples unless
    given.
    """
    relevance = np.concatenate([np.zeros(0), *(example.relevance for example in examples)])
    deviation = np.concatenate([np.zeros(0), *(example.deviation for example in examples)])
    if bounds is None:
        known = relevance[~np.isnan(relevance)]
        bounds = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    low, high = bounds
    width = high - low if high > low else 1.0
    scaled = np.where(np.isnan(relevance), 0.0, (np.clip(np.nan_to_num(relevance, nan=low), low, high) - low) / width)
    return Labels(scaled, deviation / width), bounds


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardised scores without the digits that depend on what was computed beside them."""
    return np.round(values, _DIGITS)


def standardised_within(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each column less its mean over the context, by its deviation there; 0 where all of a context are equal.

    ``values`` have the shape (rows, columns). Every context is computed alone, so that its numbers do not depend on others.
    """
    found = np.zeros(values.shape)
    sizes = np.diff(offsets)
    for size in np.unique(sizes).tolist():
        if size == 0:
            continue
        rows = offsets[:-1][sizes == size][:, None] + np.arange(size)
        block = values[rows]
        # A plain loop over the few candidates of a context: sums in their order, whatever the number of contexts.
        mean = _sum(block) / size
        centred = block - mean[:, None]
        deviation = np.sqrt(_sum(centred**2) / size)[:, None]
        found[rows] = np.where(deviation > _FLAT, centred / np.maximum(deviation, _FLAT), 0.0)
    return found


def _sum(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over the second of three axes, one after the other."""
    total = np.zeros((block.shape[0], block.shape[2]))
    for place in range(block.shape[1]):
        total += block[:, place]
    return total


def ranks_within(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each column the share of the context's other candidates that one beats, ties counted half; .5 where it is alone."""
    found = np.full(values.shape, 0.5)
    sizes = np.diff(offsets)
    for size in np.unique(sizes).tolist():
        if size < 2:
            continue
        rows = offsets[:-1][sizes == size][:, None] + np.arange(size)
        block = values[rows]
        order = np.argsort(block, axis=1, kind="stable")
        ordered = np.take_along_axis(block, order, axis=1)
        places = np.arange(size)[None, :, None]
        # The first and the last place of each run of equal values; a candidate stands in the middle of its run.
        new = np.concatenate([np.ones_like(ordered[:, :1], dtype=bool), ordered[:, 1:] != ordered[:, :-1]], axis=1)
        first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
        ends = np.concatenate([new[:, 1:], np.ones_like(new[:, :1])], axis=1)
        last = np.minimum.accumulate(np.where(ends, places, size - 1)[:, ::-1], axis=1)[:, ::-1]
        middle = (first + last) / 2 / (size - 1)
        block_ranks = np.empty_like(middle)
        np.put_along_axis(block_ranks, order, middle, axis=1)
        found[rows] = block_ranks
    return found
