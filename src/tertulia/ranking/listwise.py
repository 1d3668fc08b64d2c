"""What a listwise loss aims at: how the probability of being the best answer is shared among the candidates of a context.

The loss is the cross entropy between that and the softmax of the scores (ListNet's top-one probability: Cao et al. 2007, "Learning
to Rank: From Pairwise Approach to Listwise Approach"); its targets are shares of relevance, so that a binary set gives the
softmax loss of response selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["shares", "teaching"]


def shares(relevance: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Of each candidate its relevance above that of the worst one, over the sum; ``None`` where all are as good.

    What nobody has rated (NaN) counts as the worst, as measures have it. Shape (candidates,), the sum is 1.
    """
    if len(relevance) < 2:
        return None
    known = relevance[~np.isnan(relevance)]
    if not len(known):
        return None
    gains = np.nan_to_num(relevance - known.min(), nan=0.0)
    total = gains.sum()
    if len(known) < len(relevance) and total == 0:
        # All that was rated was rated alike: it is better than what nobody rated only where it is better than nothing.
        gains = np.where(np.isnan(relevance), 0.0, float(known[0] > 0))
        total = gains.sum()
    return gains / total if total > 0 else None


def teaching(examples: Sequence[Example]) -> list[tuple[Example, NDArray[np.float64]]]:
    """The examples that say which candidates are better than others, with the shares of these."""
    found = ((example, shares(example.relevance)) for example in examples)
    return [(example, target) for example, target in found if target is not None]
