"""Records in any order, left sorted in the tables of a layout, in bounded memory."""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from tertulia.corpus.grouped import GroupedReader, GroupedWriter, Layout
from tertulia.errors import InputError

__all__ = ["SortedWriter"]

R = TypeVar("R")
# Records wait in memory until this many characters of text; then they are sorted and written as a run.
_RUN_CHARACTERS = 64_000_000
# So many runs at most are merged at a time, each holding one row group of each table in memory and its files open.
_FAN_IN = 16


class SortedWriter(Generic[R]):
    """Takes records in any order and leaves the sorted tables of a layout in a directory.

    Memory is bounded: what does not fit waits on disk in sorted runs, which are merged at the end. Records that come in order
    of key make one run, which is the result. ``size`` is about how many characters a record takes.
    """

    def __init__(
        self, layout: Layout[R], directory: Path, size: Callable[[R], int], *, run_characters: int | None = None
    ) -> None:
        self._layout = layout
        self._directory = directory
        self._size = size
        self._limit = _RUN_CHARACTERS if run_characters is None else run_characters
        self._waiting: list[R] = []
        self._characters = 0
        self._runs: list[Path] = []
        self._run_count = 0
        self._writer: GroupedWriter[R] | None = None
        self._last: str | None = None

    def add(self, record: R) -> None:
        """Take one record."""
        self._waiting.append(record)
        self._characters += self._size(record)
        if self._characters >= self._limit:
            self._write_run()

    def _write_run(self) -> None:
        key = self._layout.key
        self._waiting.sort(key=key)
        first = key(self._waiting[0]) if self._waiting else None
        if self._writer is None or (first is not None and self._last is not None and first <= self._last):
            self._start_run()
        for record in self._waiting:
            identifier = key(record)
            if identifier == self._last:
                raise self._twice(identifier)
            if self._writer is not None:
                self._writer.write(record)
            self._last = identifier
        self._waiting = []
        self._characters = 0

    def _start_run(self) -> None:
        if self._writer is not None:
            self._writer.close()
        # The first run is the result where it stays alone, so it has row groups of full size.
        self._writer = GroupedWriter(self._layout, self._new_run(), share=_FAN_IN if self._runs[1:] else 1)
        self._last = None

    def _new_run(self) -> Path:
        run = self._directory / f".run-{self._run_count:05d}"
        self._run_count += 1
        run.mkdir()
        self._runs.append(run)
        return run

    def close(self) -> None:
        """Merge the runs into one and remove them."""
        self._write_run()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        while len(self._runs) > _FAN_IN:
            merging, self._runs = self._runs[:_FAN_IN], self._runs[_FAN_IN:]
            self._merge(merging, GroupedWriter(self._layout, self._new_run(), share=_FAN_IN))
        if len(self._runs) == 1:
            for table in self._layout.tables:
                (self._runs[0] / f"{table}.parquet").rename(self._directory / f"{table}.parquet")
            self._runs[0].rmdir()
        else:
            self._merge(self._runs, GroupedWriter(self._layout, self._directory))

    def abandon(self) -> None:
        """Close the files without a result; does nothing after ``close``."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None

    def _merge(self, runs: list[Path], merged: GroupedWriter[R]) -> None:
        """Write the records of sorted runs in order, and remove the runs."""
        key = self._layout.key
        readers = [GroupedReader(self._layout, run) for run in runs]
        try:
            last = None
            for record in heapq.merge(*(reader.records() for reader in readers), key=key):
                if key(record) == last:
                    raise self._twice(key(record))
                last = key(record)
                merged.write(record)
            merged.close()
        finally:
            merged.abandon()
            for reader in readers:
                reader.close()
        for run in runs:
            shutil.rmtree(run)

    def _twice(self, identifier: str) -> InputError:
        return InputError(f"two {self._layout.noun}s have the id {identifier!r}; expected every id once")
