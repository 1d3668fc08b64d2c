"""Texts set aside in a file, to be read back by number: memory holds 8 bytes for each of them."""

from __future__ import annotations

import mmap
from array import array
from pathlib import Path
from types import TracebackType

__all__ = ["Spool"]


class Spool:
    """A file of texts. Texts are appended first and read afterwards; the file goes with the directory that it is in."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._ends = array("Q", [0])
        self._map: mmap.mmap | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, text: str) -> int:
        """Set a text aside; its number, counted from 0."""
        self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
        return len(self._ends) - 2

    def __getitem__(self, number: int) -> str:
        begin, end = self._ends[number], self._ends[number + 1]
        if begin == end:
            return ""
        if self._map is None:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return self._map[begin:end].decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Close the file."""
        if self._map is not None:
            self._map.close()
            self._map = None
        self._file.close()
