"""Measures of rankings. A ranking is what was retrieved, the best first; what was not retrieved is not in it.

They are those of ``trec_eval``, to the last detail: a precision at k is a share of k, however few were retrieved; a gain is
linear in relevance and discounted by log2(rank + 1). Which candidates are relevant, and how a measure is called, is said in
``ranking_names.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["average_precision", "ndcg", "precision_at", "rank_order", "recall_at", "reciprocal_rank"]


def rank_order(scores: NDArray[np.float64], ties: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The places of what was retrieved, the best first: by score descending, then by ``ties`` descending; NaN: not retrieved."""
    order = np.lexsort((~ties, -scores))
    return order[: len(scores) - int(np.isnan(scores).sum())]


def precision_at(hits: NDArray[np.bool_], k: int) -> float:
    """The share of the first ``k`` places that have a relevant one; a place where nothing was retrieved has none.

    ``hits`` (shape: retrieved) says of each place, the best first, whether what stands there is relevant.
    """
    return int(np.count_nonzero(hits[:k])) / k


def recall_at(hits: NDArray[np.bool_], relevant: int, k: int) -> float:
    """The share of all ``relevant`` candidates that stand among the first ``k``: R_n@k of response selection.

    There n is the number of candidates, of which mostly one is relevant. NaN without relevant ones.
    """
    if relevant == 0:
        return math.nan
    return int(np.count_nonzero(hits[:k])) / relevant


def reciprocal_rank(hits: NDArray[np.bool_]) -> float:
    """1 / the rank (from 1) of the first relevant one; 0 where none was retrieved."""
    places = np.flatnonzero(hits)
    return 1 / (int(places[0]) + 1) if len(places) else 0.0


def average_precision(hits: NDArray[np.bool_], relevant: int) -> float:
    """The mean, over all ``relevant`` documents, of the precision where each stands; 0 for those that were not retrieved.

    ``hits`` (shape: retrieved) says of each place, the best first, whether what stands there is relevant. NaN without
    relevant ones.
    """
    if relevant == 0:
        return math.nan
    places = np.flatnonzero(hits)
    return float((np.arange(1, len(places) + 1) / (places + 1)).sum() / relevant)


def ndcg(gains: NDArray[np.float64], ideal: NDArray[np.float64], k: int | None = None) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) of the first ``k`` places; ``None`` for all.

    Parameters
    ----------
    gains:
        What stands at each place, the best first, is worth (shape: retrieved), from 0.
    ideal:
        What every candidate is worth, retrieved or not, in any order (shape: candidates).

    Returns
    -------
    Σ gain / log2(rank + 1), divided by that of the best order there is; NaN where nothing is worth anything.
    """
    best = _discounted(np.sort(ideal)[::-1], k)
    return _discounted(gains, k) / best if best > 0 else math.nan


def _discounted(gains: NDArray[np.float64], k: int | None) -> float:
    counted = gains[:k]
    return float((counted / np.log2(np.arange(2, len(counted) + 2))).sum())
