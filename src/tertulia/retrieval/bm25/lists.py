"""The lists of an inverted index, block by block: which documents have a word, and what it weighs there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.retrieval.bm25.weights import weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.retrieval.bm25.bags import Queries

__all__ = ["BLOCK", "CHUNK", "SPARSE", "Block", "make_block"]

BLOCK = 8192
"""Documents of a block: their sums fit a processor's first cache (``kBlock`` in bm25_kernel/block.hpp)."""
CHUNK = 64
"""Documents whose weights in dense lists stand together (``kChunk`` there)."""
SPARSE = 2**32 - 1
"""What stands for the number of a dense list where a list is sparse."""
# A list that so large a share of a block's documents is in is kept dense: it is read eight documents at a time.
_DENSE_SHARE = 10
_MOST_DENSE = 65_535


class Block(NamedTuple):
    """Consecutive documents and their lists, one for each word that one of them has.

    ``words`` ascend; list ``i`` has the postings ``first[i] : first[i + 1]`` of ``documents`` (counted within the block) and
    ``weights``, or where ``slots[i]`` is not SPARSE that slot of ``dense``, an array of the shape (chunks, slots, CHUNK).
    ``most`` has the largest weight of each list.
    """

    size: int
    dense_lists: int
    words: NDArray[np.uint32]
    first: NDArray[np.uint32]
    slots: NDArray[np.uint32]
    most: NDArray[np.uint32]
    documents: NDArray[np.uint16]
    weights: NDArray[np.uint32]
    dense: NDArray[np.uint16]


def make_block(bags: Queries, idfs: NDArray[np.float64], saturations: NDArray[np.float64]) -> Block:
    """The lists of up to BLOCK documents.

    Parameters
    ----------
    bags:
        Their bags of words.
    idfs:
        The idf of each word of the vocabulary.
    saturations:
        Of each document ``k1 · (1 - b + b · l / L)``.
    """
    size = len(bags)
    document = np.repeat(np.arange(size, dtype=np.uint64), np.diff(bags.first).astype(np.int64))
    # One number a posting sorts them by word, then by document.
    keys = (bags.words.astype(np.uint64) << np.uint64(32)) | (document << np.uint64(16)) | bags.counts.astype(np.uint64)
    keys.sort()
    word = (keys >> np.uint64(32)).astype(np.uint32)
    local = ((keys >> np.uint64(16)) & np.uint64(0xFFFF)).astype(np.uint16)
    weight = weights(idfs[word], (keys & np.uint64(0xFFFF)).astype(np.uint32), saturations[local])
    begins = np.flatnonzero(np.concatenate([np.ones(min(1, len(word)), dtype=bool), word[1:] != word[:-1]]))
    lengths = np.diff(np.concatenate([begins, [len(word)]]))
    most = np.maximum.reduceat(weight, begins) if len(begins) else np.zeros(0, dtype=np.uint32)
    is_dense = (lengths * _DENSE_SHARE >= size) & (most <= _MOST_DENSE) & (lengths >= CHUNK)
    slots = np.full(len(begins), SPARSE, dtype=np.uint32)
    dense_lists = int(is_dense.sum())
    slots[is_dense] = np.arange(dense_lists, dtype=np.uint32)
    dense = np.zeros((-(-size // CHUNK), dense_lists, CHUNK), dtype=np.uint16)
    in_dense = np.repeat(is_dense, lengths)
    slot_of = np.repeat(slots, lengths)[in_dense]
    where = local[in_dense]
    dense[where // CHUNK, slot_of, where % CHUNK] = weight[in_dense]
    first = np.concatenate([[0], np.cumsum(np.where(is_dense, 0, lengths))]).astype(np.uint32)
    return Block(
        size,
        dense_lists,
        word[begins],
        first,
        slots,
        most.astype(np.uint32),
        local[~in_dense],
        weight[~in_dense],
        dense,
    )
