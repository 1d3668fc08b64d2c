"""Texts set aside in a file, to be read back by number: memory holds 8 bytes for each of them."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pyarrow as pa

from tertulia.errors import InputError

__all__ = ["Spool"]


class Spool:
    """A file of texts. Texts are appended first and read afterwards; the file goes with the directory that it is in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._ends = array("Q", [0])
        self._data: pa.Buffer | None = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, text: str) -> int:
        """Set a text aside; its number, counted from 0.

        Raises
        ------
        InputError
            It is no Unicode text.
        """
        try:
            self._ends.append(self._ends[-1] + self._file.write(text.encode()))
        except UnicodeEncodeError:
            raise InputError(f"{text[:40]!r} has half of a surrogate pair, which is not Unicode text") from None
        return len(self._ends) - 2

    def _mapped(self) -> pa.Buffer:
        if self._data is None:
            self._file.flush()
            if self._ends[-1]:
                with pa.memory_map(str(self._path)) as mapped:
                    self._data = mapped.read_buffer(self._ends[-1])
            else:
                self._data = pa.py_buffer(b"")
        return self._data

    def __getitem__(self, number: int) -> str:
        begin, end = self._ends[number], self._ends[number + 1]
        text: str = self._mapped().slice(begin, end - begin).to_pybytes().decode()
        return text

    def to_arrow(self) -> pa.Array:
        """All texts as one ``large_string`` array whose bytes stay in the file, mapped into memory."""
        ends = pa.py_buffer(np.frombuffer(self._ends, dtype=np.uint64).astype(np.int64))
        return pa.LargeStringArray.from_buffers(len(self), ends, self._mapped())

    def lengths(
        self, numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The bytes of the texts of these numbers."""
        ends = np.frombuffer(self._ends, dtype=np.uint64)
        found: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = (ends[numbers + 1] - ends[numbers]).astype(np.int64)
        return found

    def close(self) -> None:
        """Close the file."""
        self._data = None
        self._file.close()
