"""How many distinct texts there are among very many, in bounded memory.

A text stands for itself by 64 bits. Among n distinct texts some two share them with a probability of about n² / 2⁶⁵: one in
37 million for a million words, one in 15,000 for fifty million; then the count is one short.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Distinct", "DistinctGroup", "Recent", "hash_slices", "hashes_of", "unique"]

Hashes = npt.NDArray[np.uint64]

_CHUNK = 8
# Up to this many bytes are hashed all texts at once.
_LONGEST = 64
# The low 0 to 8 bytes of eight.
_MASKS: Hashes = np.array([(1 << 8 * size) - 1 for size in range(_CHUNK + 1)], dtype=np.uint64)
_FINISH = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_STEP = np.uint64(0x9E3779B97F4A7C15)
# The hashes that are remembered as just seen; a power of two.
_RECENT = 1 << 15
# So many hashes wait unsorted at least.
_PATCH = 1 << 16
# So many hashes together stay in memory (8 bytes each, and as much again while they are sorted); more go to disk.
_IN_MEMORY = 16_000_000


def _mixed(state: Hashes, values: Hashes) -> Hashes:
    """One round: the values join the state, and the finalizer of SplitMix64 (Steele, Lea and Flood 2014) spreads every bit."""
    mixed: Hashes = (state + _STEP) * _STEP ^ values
    for shift, factor in _FINISH:
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return mixed


def hashes_of(texts: pa.Array) -> Hashes:
    """64 bits for each of an array of Arrow strings without nulls: equal for equal texts, on every machine."""
    if not len(texts):
        return np.zeros(0, dtype=np.uint64)
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    raw = b"" if data is None else bytes(memoryview(data)[int(edges[0]) : int(edges[-1])])
    return hash_slices(raw, edges[:-1] - edges[0], np.diff(edges))


def hash_slices(raw: bytes, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Hashes:
    """64 bits for each of many slices of some bytes."""
    # Eight bytes from every offset as one number: the array lies over the bytes with a step of one.
    padded = raw + bytes(_CHUNK)
    eight: Hashes = np.ascontiguousarray(np.ndarray(len(raw) + 1, dtype="<u8", buffer=padded, strides=(1,)))
    # The length goes in too, so it does no harm that what lies beyond the end counts as zeros.
    hashes = _mixed(lengths.astype(np.uint64), eight[starts] & _MASKS[np.minimum(lengths, _CHUNK)])
    rows = np.flatnonzero(lengths > _CHUNK)
    at, left = starts[rows], lengths[rows]
    for _ in range(_LONGEST // _CHUNK - 1):
        at, left = at + _CHUNK, left - _CHUNK
        hashes[rows] = _mixed(hashes[rows], eight[at] & _MASKS[np.minimum(left, _CHUNK)])
        more = np.flatnonzero(left > _CHUNK)
        rows, at, left = rows[more], at[more], left[more]
        if not len(rows):
            return hashes
    # Few slices are longer: they are hashed one by one.
    for row in rows.tolist():
        digest = hashlib.blake2b(raw[starts[row] : starts[row] + lengths[row]], digest_size=8).digest()
        hashes[row] = int.from_bytes(digest, "little")
    return hashes


def unique(parts: Sequence[npt.NDArray[Any]]) -> Hashes:
    """The distinct ones in ascending order; by sorting, which is many times as fast as the hash table of ``np.unique``."""
    values: Hashes = np.sort(np.concatenate(parts))
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


class Recent:
    """Lets hashes through that it has not just seen: most words of a text are among a few thousand.

    It forgets, so a hash may come through again; but none is ever kept back that has not come through before.
    """

    def __init__(self) -> None:
        self._seen: Hashes = np.zeros(_RECENT, dtype=np.uint64)
        # A hash of 0 belongs here, and must not be taken for seen.
        self._seen[0] = 1

    def new(self, hashes: Hashes) -> Hashes:
        """Those that may be new."""
        slots = (hashes & np.uint64(_RECENT - 1)).astype(np.intp)
        fresh = np.flatnonzero(self._seen[slots] != hashes)
        passed: Hashes = hashes[fresh]
        self._seen[slots[fresh]] = passed
        return passed


class Distinct:
    """Counts the distinct ones of the hashes it is given."""

    def __init__(self) -> None:
        self._sorted: Hashes = np.zeros(0, dtype=np.uint64)
        self._waiting: list[Hashes] = []
        self._waiting_count = 0
        self._runs: list[npt.NDArray[Any]] = []

    def add(self, hashes: Hashes) -> None:
        """Take some more."""
        self._waiting.append(hashes)
        self._waiting_count += len(hashes)
        if self._waiting_count >= max(_PATCH, len(self._sorted) // 2):
            self._settle()

    def _settle(self) -> None:
        if self._waiting:
            self._sorted = unique([self._sorted, *self._waiting])
            self._waiting, self._waiting_count = [], 0

    @property
    def held(self) -> int:
        """The hashes in memory."""
        return len(self._sorted) + self._waiting_count

    def to_disk(self) -> None:
        """Move what is in memory to a temporary file, which has no name and is gone with this object."""
        self._settle()
        if not len(self._sorted):
            return
        with tempfile.TemporaryFile() as run:
            self._sorted.tofile(run)
            run.flush()
            # The mapping outlives the open file.
            self._runs.append(np.memmap(run, dtype=np.uint64, mode="r", shape=self._sorted.shape))
        self._sorted = np.zeros(0, dtype=np.uint64)

    def count(self) -> int:
        """How many distinct ones there have been so far."""
        self._settle()
        if not self._runs:
            return len(self._sorted)
        runs = [self._sorted, *self._runs]
        # The runs are sorted, so equal hashes meet in the same of many equal slices of the range of 64 bits.
        slices = max(1, sum(map(len, runs)) // 2_000_000)
        bounds = np.array([(edge << 64) // slices for edge in range(1, slices)], dtype=np.uint64)
        edges = [[0, *np.searchsorted(run, bounds).tolist(), len(run)] for run in runs]
        return sum(
            len(unique([run[at[i] : at[i + 1]] for run, at in zip(runs, edges, strict=True)])) for i in range(slices)
        )


class DistinctGroup:
    """Distinct counts by name, which share one bound of memory."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._counters: dict[Any, Distinct] = {}
        self._in_memory = in_memory
        self._held = 0

    def add(self, name: Any, hashes: Hashes) -> None:
        """Take some more of the one of that name."""
        counter = self._counters.setdefault(name, Distinct())
        before = counter.held
        counter.add(hashes)
        self._held += counter.held - before
        if self._held > self._in_memory:
            max(self._counters.values(), key=lambda counter: counter.held).to_disk()
            self._held = sum(counter.held for counter in self._counters.values())

    def count(self, name: Any) -> int:
        """The distinct ones of that name."""
        counter = self._counters.get(name)
        return 0 if counter is None else counter.count()
