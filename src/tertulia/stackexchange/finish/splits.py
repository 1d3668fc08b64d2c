"""Splits by time: the earliest threads first, and no thread on two sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.parts.splitting import assign, targets

__all__ = ["splits_of"]

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def splits_of(threads: pa.Array, created: pa.Array, fractions: Mapping[str, float]) -> tuple[list[str], Numbers]:
    """The names of the splits, and for each dialogue the number of its own.

    Threads stand in order of the time of their question, then of their id; one belongs to the split in which its first dialogue
    falls when the dialogues are counted in that order.

    Parameters
    ----------
    threads:
        The id of each dialogue's thread.
    created:
        When the thread's question was asked, milliseconds since 1970.
    fractions:
        Split → its share.
    """
    wanted = targets(len(threads), fractions=fractions, counts=None)
    names = list(wanted)
    if not len(threads):
        return names, np.zeros(0, dtype=np.int64)
    order = pc.sort_indices(
        pa.table({"created": created, "thread": threads}),
        sort_keys=[("created", "ascending"), ("thread", "ascending")],
    ).to_numpy()
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    groups = pc.dictionary_encode(threads).indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return names, assign(groups, ranks, list(wanted.values()), in_order=True)
