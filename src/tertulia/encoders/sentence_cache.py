"""Vectors of texts on disk, by what the text is: a file that only grows, which several processes may read and add to at a time.

The file begins with a head (what it is, the digest of the model, the dimension); then come records of one size: the key of a text,
a checksum, the vector. A record that a killed writer left half written is cut off by the next writer; one whose checksum does not
hold is as if it were not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import sys
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VectorCache", "key_of"]

_MAGIC = b"TERTULIA vectors 1\n"
_HEAD = 64
_KEY = 16
# Read by so many records, so that the index of a large file needs little memory besides itself.
_BLOCK = 1 << 14


def key_of(text: str) -> bytes:
    """What stands for a text in the file: 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY).digest()


class VectorCache:
    """The vectors that one model gave, in one file of a directory.

    Parameters
    ----------
    directory:
        Where the file is, or will be; made where it is absent.
    digest:
        That of the model, hexadecimal: a file for each.
    dimension:
        Numbers of a vector.

    Raises
    ------
    ArtefactError
        The file cannot be written, or is something else.
    """

    def __init__(self, directory: str | Path, digest: str, dimension: int) -> None:
        self.path = Path(directory) / f"sentences-{digest[:16]}.vectors"
        self.dimension = dimension
        self._record = np.dtype([("key", np.uint8, (_KEY,)), ("check", "<u4"), ("vector", "<f4", (dimension,))])
        self._head = (_MAGIC + struct.pack("<I", dimension) + bytes.fromhex(digest[:64]))[:_HEAD].ljust(_HEAD, b"\0")
        self._first: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self._known = 0
        self._lock = threading.Lock()
        with self._opened() as file:
            # Empty: new, or its first writer was killed before it had written the head.
            if os.fstat(file).st_size < _HEAD:
                os.ftruncate(file, 0)
                os.write(file, self._head)
            elif os.read(file, _HEAD) != self._head:
                raise ArtefactError("is not a file of vectors of this model", where=self.path, hint="delete it")

    def __len__(self) -> int:
        """How many records there are, those of equal keys each."""
        return self._whole(self.path.stat().st_size)

    def read(self, keys: Sequence[bytes]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Of each key whether it is there, and the vectors of those that are, in order.

        Returns
        -------
        found:
            Shape (keys,).
        vectors:
            Shape (found.sum(), dimension).
        """
        with self._lock:
            return self._read(keys)

    def _read(self, keys: Sequence[bytes]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        try:
            records = self._records()
        except OSError as error:
            raise ArtefactError(f"cannot be read: {error.strerror}", where=self.path) from None
        self._learn(records)
        found = np.zeros(len(keys), np.bool_)
        vectors = np.empty((len(keys), self.dimension), np.float32)
        wanted = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _KEY)
        places = np.searchsorted(self._first, _first_half(wanted))
        for number, (place, key) in enumerate(zip(places.tolist(), keys, strict=True)):
            record = self._find(records, place, key)
            if record is not None:
                vectors[number] = record
                found[number] = True
        return found, vectors[found]

    def _find(self, records: NDArray[Any], place: int, key: bytes) -> NDArray[np.float32] | None:
        """The vector of the first record from ``place`` of the index on that has the key and holds."""
        first = int.from_bytes(key[:8], "little")
        while place < len(self._first) and int(self._first[place]) == first:
            record = records[self._rows[place]]
            if record["key"].tobytes() == key and int(record["check"]) == _check(key, record["vector"].tobytes()):
                vector: NDArray[np.float32] = record["vector"]
                return vector
            place += 1
        return None

    def write(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Add vectors, of shape (keys, dimension); what another writer added meanwhile stays.

        Raises
        ------
        ArtefactError
            The disk is full, or the file cannot be written any more.
        """
        records = np.empty(len(keys), self._record)
        records["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, _KEY)
        records["vector"] = vectors
        records["check"] = [_check(key, row.tobytes()) for key, row in zip(keys, records["vector"], strict=True)]
        data = memoryview(records.tobytes())
        with self._opened() as file:
            size = os.fstat(file).st_size
            whole = _HEAD + self._whole(size) * self._record.itemsize
            if size > whole:
                os.ftruncate(file, whole)
            while data:
                data = data[os.write(file, data) :]

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, open to be added to and locked against other writers."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                if sys.platform != "win32":
                    fcntl.flock(file, fcntl.LOCK_EX)
                yield file
            finally:
                os.close(file)
        except OSError as error:
            raise ArtefactError(
                f"cannot be written: {error.strerror}", where=self.path, hint="--cache names another directory"
            ) from None

    def _whole(self, size: int) -> int:
        return max(0, size - _HEAD) // self._record.itemsize

    def _records(self) -> NDArray[Any]:
        count = self._whole(self.path.stat().st_size)
        if count == 0:
            return np.empty(0, self._record)
        return np.memmap(self.path, self._record, mode="r", offset=_HEAD, shape=(count,))

    def _learn(self, records: NDArray[Any]) -> None:
        """Take into the index what has been added since it was last looked at."""
        if len(records) < self._known:
            # Cut short by somebody else: begin anew.
            self._first, self._rows, self._known = np.zeros(0, np.uint64), np.zeros(0, np.int64), 0
        if len(records) == self._known:
            return
        news = [
            _first_half(np.ascontiguousarray(records["key"][start : start + _BLOCK]))
            for start in range(self._known, len(records), _BLOCK)
        ]
        first = np.concatenate([self._first, *news])
        rows = np.concatenate([self._rows, np.arange(self._known, len(records))])
        order = np.argsort(first, kind="stable")
        self._first, self._rows, self._known = first[order], rows[order], len(records)


def _first_half(keys: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The first 8 bytes of keys, of shape (keys, 16), as numbers."""
    halves: NDArray[np.uint64] = np.ascontiguousarray(keys[:, :8]).view("<u8")[:, 0].astype(np.uint64)
    return halves


def _check(key: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(key))
