"""Measures of rankings. A ranking is what was retrieved, the best first; what was not retrieved is not in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["average_precision", "rank_order"]


def rank_order(scores: NDArray[np.float64], ties: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The places of what was retrieved, the best first: by score descending, then by ``ties`` descending; NaN: not retrieved."""
    order = np.lexsort((~ties, -scores))
    return order[: len(scores) - int(np.isnan(scores).sum())]


def average_precision(hits: NDArray[np.bool_], relevant: int) -> float:
    """The mean, over all ``relevant`` documents, of the precision where each stands; 0 for those that were not retrieved.

    ``hits`` (shape: retrieved) says of each place, the best first, whether what stands there is relevant. NaN without
    relevant ones.
    """
    if relevant == 0:
        return float("nan")
    places = np.flatnonzero(hits)
    return float((np.arange(1, len(places) + 1) / (places + 1)).sum() / relevant)
