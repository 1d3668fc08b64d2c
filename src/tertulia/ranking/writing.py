"""The tables of a ranking set, written column by column from texts that are set aside: candidates never become objects.

A set of 25,000 contexts has a million candidates, nearly all of them texts that stand in it many times.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tertulia.corpus.model import Candidate, Context, RankingRecord
from tertulia.corpus.ranking_set import RankingSetWriter
from tertulia.corpus.ranking_tables import RANKING_RECORDS, RANKING_SCHEMAS

if TYPE_CHECKING:
    from tertulia.ranking.spool import Spool

__all__ = ["ColumnWriter", "Entry", "EntryWriter", "RecordWriter"]

# A row group closes at the first of these, as those of corpus/grouped.py do.
_GROUP_ROWS = 16_384
_GROUP_BYTES = 4 << 20
# zstd: twice as fast as level 3, at which corpora are written, and a quarter larger. Candidates are made again in a minute.
_LEVEL = 1
# Row groups that wait to be compressed.
_WAITING = 2


class Entry(NamedTuple):
    """A context, the numbers of the texts that are its candidates, and how many of them, the first ones, are true."""

    context: Context
    numbers: list[int]
    true: int


class EntryWriter(Protocol):
    """What takes entries and leaves the tables."""

    @property
    def counts(self) -> dict[str, int]:
        """The contexts and candidates so far."""
        ...

    def add(self, entry: Entry) -> None:
        """Take an entry."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...

    def abandon(self) -> None:
        """Let go of the files; nothing after ``close``."""
        ...


class RecordWriter:
    """Takes entries in any order: each becomes a record, and records are sorted."""

    def __init__(self, directory: Path, texts: Spool, sources: Spool) -> None:
        self._writer = RankingSetWriter(directory)
        self._texts = texts
        self._sources = sources

    @property
    def counts(self) -> dict[str, int]:
        """The contexts and candidates so far."""
        return self._writer.counts

    def add(self, entry: Entry) -> None:
        """Take an entry."""
        candidates = [
            Candidate(position, self._texts[number], float(position < entry.true), source=self._sources[number])
            for position, number in enumerate(entry.numbers)
        ]
        self._writer.add(RankingRecord(entry.context, candidates))

    def close(self) -> None:
        """Write what is left, sorted."""
        self._writer.close()

    def abandon(self) -> None:
        """Let go of the files."""
        self._writer.abandon()


def _writer(table: str, directory: Path) -> pq.ParquetWriter:
    """An open writer of a table, as ``corpus.grouped.table_writer`` opens them but for the level of compression."""
    schema = RANKING_SCHEMAS[table]
    return pq.ParquetWriter(
        directory / f"{table}.parquet",
        schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[column for column in schema.names if column in RANKING_RECORDS.dictionary],
        version="2.6",
        write_page_checksum=True,
    )


class ColumnWriter:
    """Takes entries in ascending order of context id; a thread of its own compresses while the next ones come."""

    def __init__(self, directory: Path, texts: Spool, sources: Spool) -> None:
        self.counts = {"contexts": 0, "candidates": 0}
        self._spool = texts
        self._texts, self._sources = texts.to_arrow(), sources.to_arrow()
        self._writers = {name: _writer(name, directory) for name in RANKING_SCHEMAS}
        self._pool = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._contexts: list[Entry] = []
        self._context_bytes = 0
        self._entries: list[Entry] = []
        self._rows = self._bytes = 0

    def add(self, entry: Entry) -> None:
        """Take an entry."""
        self.counts["contexts"] += 1
        self.counts["candidates"] += len(entry.numbers)
        self._contexts.append(entry)
        self._context_bytes += 64 + sum(len(turn.text) + 24 for turn in entry.context.turns)
        if self._context_bytes >= _GROUP_BYTES or len(self._contexts) >= _GROUP_ROWS:
            self._flush_contexts()
        self._entries.append(entry)
        self._rows += len(entry.numbers)
        self._bytes += int(self._spool.lengths(np.array(entry.numbers, dtype=np.int64)).sum()) + 64 * len(entry.numbers)
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self._flush_candidates()

    def _flush_contexts(self) -> None:
        rows = [
            (
                context.id,
                context.dialogue_id,
                context.domain,
                context.split,
                [{"role": turn.role, "text": turn.text} for turn in context.turns],
                len(numbers),
                "{}",
            )
            for context, numbers, _ in self._contexts
        ]
        schema = RANKING_SCHEMAS["contexts"]
        columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
        self._write("contexts", columns)
        self._contexts, self._context_bytes = [], 0

    def _flush_candidates(self) -> None:
        entries = self._entries
        sizes = np.array([len(entry.numbers) for entry in entries], dtype=np.int64)
        true = np.array([entry.true for entry in entries], dtype=np.int64)
        total = int(sizes.sum())
        owner = np.repeat(np.arange(len(entries)), sizes)
        position = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        numbers = pa.array([number for entry in entries for number in entry.numbers], pa.int64())
        schema = RANKING_SCHEMAS["candidates"]
        ratings = schema.field("ratings").type
        columns = [
            pa.array([entry.context.id for entry in entries], pa.string()).take(pa.array(owner)),
            pa.array(position, pa.int32()),
            pc.cast(self._texts.take(numbers), pa.string()),
            pa.array((position < true[owner]).astype(np.float64)),
            pa.ListArray.from_arrays(pa.array(np.zeros(total + 1, dtype=np.int32)), pa.array([], ratings.value_type)),
            pc.cast(self._sources.take(numbers), pa.string()),
            pa.repeat(pa.scalar("{}", pa.string()), total),
        ]
        self._write("candidates", columns)
        self._entries, self._rows, self._bytes = [], 0, 0

    def _write(self, name: str, columns: list[Any]) -> None:
        table = pa.Table.from_arrays(columns, schema=RANKING_SCHEMAS[name])
        writer = self._writers[name]
        self._waiting.append(self._pool.submit(writer.write_table, table, max(1, len(table))))
        while len(self._waiting) > _WAITING:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Write what is left and close the files."""
        if self._contexts:
            self._flush_contexts()
        if self._rows:
            self._flush_candidates()
        while self._waiting:
            self._waiting.popleft().result()
        self.abandon()

    def abandon(self) -> None:
        """Close the files and forget what is not written yet."""
        self._pool.shutdown(cancel_futures=True)
        for writer in self._writers.values():
            writer.close()
