"""Columns told relative to the other candidates of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["relative"]

_SMALLEST = 1e-6


def relative(columns: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Each value in standard deviations from the mean of its context: (candidates of all, features) in and out.

    ``sizes`` are the numbers of candidates of the contexts, in order. 0 where all candidates of a context have the same.
    """
    counts = np.array([size for size in sizes if size], dtype=np.int64)
    if not len(counts):
        return np.zeros_like(columns)
    starts = np.cumsum(counts) - counts
    means = np.add.reduceat(columns, starts, axis=0) / counts[:, None]
    centred = columns - np.repeat(means, counts, axis=0)
    deviations = np.sqrt(np.add.reduceat(centred * centred, starts, axis=0) / counts[:, None])
    deviations[deviations < _SMALLEST * np.maximum(1.0, np.abs(means))] = np.inf
    told: NDArray[np.float64] = centred / np.repeat(deviations, counts, axis=0)
    return told
