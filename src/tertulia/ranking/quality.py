"""What is tuned on dev: mean average precision at a relevance cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

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
        pairs = [(example, values) for example, values in zip(examples, scores, strict=True) if len(example)]
        if not pairs:
            return 0.0
        sizes = np.array([len(values) for _, values in pairs])
        first = np.cumsum(sizes) - sizes
        positive = np.concatenate([example.relevance for example, _ in pairs]) >= cut
        score = np.concatenate([values for _, values in pairs])
        ties = np.concatenate([_ties(example.id, len(example)) for example, _ in pairs])
        # All rankings after one another, each in its order: by score and then by tie key, descending.
        order = np.lexsort((~ties, -score, np.repeat(np.arange(len(sizes)), sizes)))
        hits = positive[order] & ~np.isnan(score[order])
        rank = np.arange(1, len(order) + 1) - np.repeat(first, sizes)
        found = np.cumsum(hits)
        above = found - np.repeat(found[first] - hits[first], sizes)
        precisions = np.add.reduceat(np.where(hits, above / rank, 0.0), first)
        relevant = np.add.reduceat(positive.astype(np.int64), first)
        telling = (relevant > 0) & (relevant < sizes)
        return float(np.mean(precisions[telling] / relevant[telling])) if telling.any() else 0.0

    return quality


@lru_cache(maxsize=1 << 16)
def _ties(context_id: str, count: int) -> NDArray[np.uint64]:
    """The tie keys of a context, remembered: tuning asks for those of dev again and again."""
    keys = tie_keys(context_id, count)
    keys.flags.writeable = False
    return keys
