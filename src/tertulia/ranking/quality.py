"""What is tuned on dev: mean average precision at a relevance cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tertulia.measures.ranking import average_precision, rank_order
from tertulia.ranking.docnos import tie_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["default_cuts", "map_at"]

_BINARY = (1.0,)
_GRADES = (3.0, 4.0, 5.0)
_FEW_GRADES = (1.0, 2.0)
# Of a scale that goes beyond 5, such as 0 to 100: half of the largest grade, three quarters of it, and the largest.
_PARTS = (0.5, 0.75, 1.0)
# Shares of likes: more likes than dislikes, twice as many, three times as many.
_SHARES = (0.5, 2 / 3, 0.75)


def default_cuts(examples: Iterable[Example]) -> tuple[float, ...]:
    """The relevances from which a candidate counts as positive, the least strict first.

    1 in a binary set; 3, 4 and 5 for grades up to 5; the whole numbers from 1 for grades up to less than 3; half of the largest,
    three quarters of it and the largest for grades beyond 5; 1/2, 2/3 and 3/4 for shares of likes.
    """
    values = np.concatenate([np.zeros(0), *(example.relevance for example in examples)])
    values = values[~np.isnan(values)]
    if not len(values) or np.isin(values, (0.0, 1.0)).all():
        return _BINARY
    largest = float(values.max())
    if largest <= 1:
        return _SHARES
    if largest < _GRADES[0]:
        return tuple(grade for grade in _FEW_GRADES if grade <= largest)
    return _GRADES if largest <= _GRADES[-1] else tuple(part * largest for part in _PARTS)


def map_at(cut: float) -> Callable[[Sequence[Example], Iterable[NDArray[np.float64]]], float]:
    """A function of examples and their scores: MAP over those that have a candidate of relevance ≥ ``cut`` and one below it.

    A context whose candidates are all positive, or none, says nothing, however it is ordered. 0 where all are so.
    """

    def quality(examples: Sequence[Example], scores: Iterable[NDArray[np.float64]]) -> float:
        found = []
        for example, values in zip(examples, scores, strict=True):
            positive = example.relevance >= cut
            if 0 < int(positive.sum()) < len(positive):
                order = rank_order(values, tie_keys(example.id, len(values)))
                found.append(average_precision(positive[order], int(positive.sum())))
        return float(np.mean(found)) if found else 0.0

    return quality
