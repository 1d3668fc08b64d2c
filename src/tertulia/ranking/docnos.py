"""The numbers by which candidates go in run files, and the order of candidates of equal scores, which they decide.

``trec_eval`` orders documents of equal scores by their number, descending. In most sets the true response stands first, so
a number that follows the place in the set would let ties help or hurt it. Ours begins with a hash, so that ties fall at random,
and the same for every system; the place follows after a hyphen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tertulia.ranking.negatives import seed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["docno", "docnos", "place_of", "tie_keys"]

# SplitMix64, as in ranking/negatives.py.
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UPPER = np.uint64(0xFFFFFFFF00000000)


def tie_keys(context_id: str, count: int) -> NDArray[np.uint64]:
    """A key for each of ``count`` candidates: of equal scores the one with the larger key comes first; no two are equal."""
    places = np.arange(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = np.uint64(seed_of(0, context_id)) + (places + np.uint64(1)) * _GAMMA
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        mixed ^= mixed >> np.uint64(31)
    keys: NDArray[np.uint64] = (mixed & _UPPER) | places
    return keys


def docno(key: int) -> str:
    """The number of the candidate of a key, such as ``9f3a02c1-0000000007``: as texts they order as the keys do."""
    return f"{key >> 32:08x}-{key & 0xFFFFFFFF:010d}"


def docnos(context_id: str, count: int) -> list[str]:
    """The numbers of ``count`` candidates of a context."""
    return [docno(key) for key in tie_keys(context_id, count).tolist()]


def place_of(number: str) -> int | None:
    """The place in the set (position from 0) that a number tells, with or without the hash; ``None`` for what is no number."""
    place = number.rpartition("-")[2]
    return int(place) if place.isascii() and place.isdigit() and len(place) < 11 else None
