"""The draw of negatives: seeded by the context itself, so that it depends on no order and no number of threads."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["draw", "draw_negatives", "permutation", "seed_of"]

# The generator is SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF = np.uint64(32)
_MOST = 2**32


def seed_of(seed: int, context_id: str) -> int:
    """The seed of one context: 64 bits that the seed of the set and the id of the context give together."""
    text = f"{seed}\x00{context_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def draw(size: int, count: int, seed: int) -> list[int]:
    """The first ``count`` numbers of a random permutation of ``range(size)``; all where there are fewer.

    A shuffle after Fisher and Yates of which only the first ``count`` steps are made.
    """
    count = min(count, size)
    if count <= 0:
        return []
    if size >= _MOST:
        raise ValueError(f"{size} numbers to draw from; expected fewer than 2**32")
    steps = np.arange(count, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = np.uint64(seed) + (steps + np.uint64(1)) * _GAMMA
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
        mixed ^= mixed >> np.uint64(31)
        # The upper half of a product with a random fraction of 32 bits is a number below ``size - step``.
        chosen = steps + ((mixed >> _HALF) * (np.uint64(size) - steps) >> _HALF)
    moved: dict[int, int] = {}
    drawn = []
    for step, at in enumerate(chosen.tolist()):
        drawn.append(moved.get(at, at))
        moved[at] = moved.get(step, step)
    return drawn


def permutation(size: int, seed: int) -> Iterator[int]:
    """A random permutation of ``range(size)``, made as far as it is asked for; it begins as ``draw`` says."""
    made = 0
    while made < size:
        wanted = min(size, max(64, 4 * made))
        yield from draw(size, wanted, seed)[made:]
        made = wanted


def draw_negatives(
    best: NDArray[np.int64], excluded: Collection[int], size: int, pool: int, count: int, seed: int
) -> list[int]:
    """The first ``count`` documents of a context's pool in random order; a larger count begins with the same ones.

    The pool is the ``pool`` best documents that are not excluded. Where fewer share a word with the query, the rest of the pool
    are others, chosen at random, for nothing ranks one of them before another.

    Parameters
    ----------
    best:
        The documents that share a word with the query, the best first, excluded ones among them: at least the ``pool`` best of
        those that are not excluded, or all.
    excluded:
        The documents that are no negatives of this context, distinct.
    size:
        How many documents there are.
    pool:
        How many of them are the pool.
    count:
        How many are asked for; all of the pool are given where it has fewer.
    seed:
        That of the context.
    """
    places = np.array(draw(min(pool, size - len(excluded)), count, seed), dtype=np.int64)
    out = np.zeros(len(best), dtype=bool)
    for document in excluded:
        out |= best == document
    ranked = best[~out][:pool]
    inside = places < len(ranked)
    if inside.all():
        found: list[int] = ranked[places].tolist()
        return found
    taken = {*excluded, *ranked.tolist()}
    others = (document for document in permutation(size, seed ^ int(_GAMMA)) if document not in taken)
    return [int(ranked[place]) if ranks else next(others) for place, ranks in zip(places, inside, strict=True)]
