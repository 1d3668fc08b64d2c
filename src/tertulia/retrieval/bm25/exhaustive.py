"""BM25 by NumPy: every document of every list is added up. It needs no compiler and gives what the kernel gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tertulia.retrieval.bm25.lists import SPARSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.retrieval.bm25.bags import Queries
    from tertulia.retrieval.bm25.lists import Block

__all__ = ["search"]


def search(
    blocks: Sequence[Block],
    queries: Queries,
    k: int,
    documents: NDArray[np.uint32],
    scores: NDArray[np.uint64],
    found: NDArray[np.uint32],
) -> None:
    """Fill the last three arrays, of the shapes (queries, k), (queries, k) and (queries,), with the answers."""
    for number in range(len(queries)):
        query = queries.part(number, number + 1)
        sums = np.concatenate([_sums(block, query) for block in blocks] or [np.zeros(0, dtype=np.uint64)])
        matching = np.flatnonzero(sums)
        if len(matching) > k:
            least = np.partition(sums[matching], len(matching) - k)[len(matching) - k]
            matching = matching[sums[matching] >= least]
        # The sort is stable: of equal scores the smaller document comes first.
        order = np.argsort(-sums[matching].astype(np.int64), kind="stable")[:k]
        best = matching[order]
        found[number] = len(best)
        documents[number, : len(best)] = best
        scores[number, : len(best)] = sums[best]


def _sums(block: Block, query: Queries) -> NDArray[np.uint64]:
    """The scores of all documents of a block."""
    sums = np.zeros(block.size, dtype=np.uint64)
    places = np.searchsorted(block.words, query.words)
    for word, count, at in zip(query.words.tolist(), query.counts.tolist(), places.tolist(), strict=True):
        if at == len(block.words) or block.words[at] != word:
            continue
        if block.slots[at] == SPARSE:
            begin, end = int(block.first[at]), int(block.first[at + 1])
            sums[block.documents[begin:end]] += block.weights[begin:end].astype(np.uint64) * np.uint64(count)
        else:
            weights = block.dense[:, int(block.slots[at])].reshape(-1)[: block.size]
            sums += weights.astype(np.uint64) * np.uint64(count)
    return sums
