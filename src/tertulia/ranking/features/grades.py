"""Relevance as the whole numbers that learners take, with what each is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.ranking.features.borrowed import levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Grades", "grades"]

_MOST = 31


class Grades(NamedTuple):
    """``labels`` (candidates of all) are whole numbers from 0; ``gains`` (labels) says what each is worth, from 0 to 1."""

    labels: NDArray[np.int64]
    gains: NDArray[np.float64]


def grades(examples: Sequence[Example]) -> Grades:
    """The relevance of all candidates in at most 31 grades, each worth the mean of what is in it, where the largest is worth 1.

    A relevance that nobody has said counts as the smallest there is, as it does when rankings are measured.
    """
    relevance = levels(examples)
    values = np.unique(relevance)
    if len(values) > _MOST:
        edges = np.unique(np.quantile(relevance, np.linspace(0, 1, _MOST + 1)[1:-1]))
        labels = np.searchsorted(edges, relevance, side="left")
        _used, labels = np.unique(labels, return_inverse=True)
        worth = np.bincount(labels, relevance) / np.bincount(labels)
    else:
        labels, worth = np.searchsorted(values, relevance), values
    spread = float(np.ptp(worth)) if len(worth) else 0.0
    gains = (worth - worth[0]) / spread if spread > 0 else np.zeros(len(worth))
    return Grades(labels.astype(np.int64), gains.astype(np.float64))
