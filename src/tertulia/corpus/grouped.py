"""Records in several Parquet tables: a writer of sorted records, a reader that streams them or finds one by its key.

A record has one row in the first table and any number in the others; the first column of each holds the record's key. Rows are
sorted by key, and a record never straddles two row groups, so that the statistics of the row groups lead to one record without
reading the rest.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tertulia.corpus.columns import text_array, values_of
from tertulia.corpus.group_index import GroupIndex, footer_of
from tertulia.errors import ArtefactError, InputError

__all__ = ["GroupedReader", "GroupedWriter", "Layout", "Rows", "attributes_of", "footer_digest", "table_writer"]

R = TypeVar("R")
Rows = list[tuple[Any, ...]]
# A row group closes at the first of these. Small groups make one record cheap to reach, large ones compress better and keep the
# footer small: 4 MB gives some 5,500 groups in a corpus of 20 GB, whose footer takes Arrow a tenth of a second; the index of row
# groups spares that to whoever looks for one record.
_GROUP_ROWS = 16_384
_GROUP_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Layout(Generic[R]):
    """How records of one kind stand in tables.

    ``schemas`` names the tables, the one with a row a record first, and ``filled`` the columns that every row fills;
    ``dictionary`` the columns of few distinct values or long runs. ``rows`` gives for each table, in their order, the rows of a
    record and about how many bytes they take; ``build`` makes a record of its row and of its rows in the other tables, and says
    by a ``ValueError`` that they do not fit. ``noun`` is what a record is called in messages.
    """

    noun: str
    schemas: Mapping[str, pa.Schema]
    filled: Mapping[str, frozenset[str]]
    dictionary: frozenset[str]
    key: Callable[[R], str]
    rows: Callable[[R], Sequence[tuple[Rows, int]]]
    build: Callable[[tuple[Any, ...], Sequence[Rows]], R]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, that of the records first."""
        return tuple(self.schemas)


def table_writer(layout: Layout[Any], table: str, directory: Path) -> pq.ParquetWriter:
    """An open writer of one table of a layout: how all of its files are packed."""
    schema = layout.schemas[table]
    return pq.ParquetWriter(
        directory / f"{table}.parquet",
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=[column for column in schema.names if column in layout.dictionary],
        version="2.6",
        write_page_checksum=True,
    )


class GroupedWriter(Generic[R]):
    """Writes records, given in ascending order of key, to the tables of a layout in a directory.

    ``share`` divides the limits of a row group, for tables of which many are going to be read at the same time.
    """

    def __init__(self, layout: Layout[R], directory: Path, *, share: int = 1) -> None:
        self._layout = layout
        self._group_rows = max(1, _GROUP_ROWS // share)
        self._group_bytes = max(1, _GROUP_BYTES // share)
        self._tables = layout.tables
        self._writers = {name: table_writer(layout, name, directory) for name in layout.tables}
        self._rows: dict[str, Rows] = {name: [] for name in self._tables}
        self._bytes = dict.fromkeys(self._tables, 0)

    def write(self, record: R) -> None:
        """Append one record.

        Raises
        ------
        InputError
            A text is not Unicode, or an attribute is not JSON.
        """
        try:
            found = self._layout.rows(record)
        except ValueError as error:
            noun, key = self._layout.noun, self._layout.key(record)
            raise InputError(f"{noun} {key!r} has an attribute that is not JSON: {error}") from None
        for name, (rows, size) in zip(self._tables, found, strict=True):
            self._rows[name] += rows
            self._bytes[name] += size
            if self._bytes[name] >= self._group_bytes or len(self._rows[name]) >= self._group_rows:
                self._flush(name)

    def _flush(self, name: str) -> None:
        schema = self._layout.schemas[name]
        rows = self._rows[name]
        try:
            columns = [
                pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
        except UnicodeEncodeError:
            raise InputError(
                f"a {self._layout.noun} from {rows[0][0]!r} on has a text with half of a surrogate pair, "
                "which is not Unicode text"
            ) from None
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"a {self._layout.noun} from {rows[0][0]!r} on cannot be kept: {error}") from None
        self._writers[name].write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=max(1, len(rows)))
        self._rows[name] = []
        self._bytes[name] = 0

    def close(self) -> None:
        """Write what is left and close the files."""
        for name in self._tables:
            if self._rows[name]:
                self._flush(name)
        self.abandon()

    def abandon(self) -> None:
        """Close the files and forget what is not written yet."""
        for writer in self._writers.values():
            writer.close()


def footer_digest(path: Path) -> str:
    """The length and CRC-32 (hexadecimal) of the footer of a Parquet file: its schema, row groups and statistics.

    It tells damage before Arrow reads it, in a millisecond for the megabytes of a large file; the manifest's own digests tell more.
    """
    _, footer = footer_of(path)
    return f"{len(footer) - 8}-{zlib.crc32(footer):08x}"


def _is_footer(path: Path, digest: str) -> bool:
    """Whether the footer has this digest; the first corpora have a SHA-256 there."""
    if "-" not in digest:
        return hashlib.sha256(footer_of(path)[1]).hexdigest() == digest
    return footer_digest(path) == digest


class GroupedReader(Generic[R]):
    """Reads the tables of a layout in a directory as records, streaming or one by its key.

    Pages carry checksums, so that damage is met as an error also where nobody has checked the digests of the files.
    A footer carries none, and Arrow ends the process over some damaged ones: ``footers`` maps a table to its
    ``footer_digest``, and a table whose footer has another is not opened.
    """

    def __init__(
        self,
        layout: Layout[R],
        directory: Path,
        footers: Mapping[str, str] | None = None,
        index: Mapping[str, GroupIndex] | None = None,
    ) -> None:
        self._layout = layout
        self._directory = directory
        self._index = index or {}
        self._footers = footers or {}
        self._files: dict[str, pq.ParquetFile] = {}
        self._scans: dict[str, pq.ParquetFile] = {}

    def _path(self, table: str) -> Path:
        return self._directory / f"{table}.parquet"

    @contextmanager
    def _reading(self, table: str, what: str) -> Iterator[None]:
        """Whatever Arrow and Python say of damaged bytes becomes one clear error."""
        try:
            yield
        except FileNotFoundError:
            raise ArtefactError("is not there", where=self._path(table), hint="import the corpus again") from None
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            OverflowError,
            MemoryError,
            AttributeError,
            TypeError,
            IndexError,
        ) as error:
            raise ArtefactError(f"{what}: {error}", where=self._path(table), hint="import the corpus again") from None

    def file(self, table: str) -> pq.ParquetFile:
        """The open Parquet file of a table."""
        if table not in self._files:
            with self._reading(table, "is not a Parquet file"):
                expected = self._footers.get(table)
                if expected is not None and not _is_footer(self._path(table), expected):
                    raise ValueError("its footer is damaged")
                opened = pq.ParquetFile(self._path(table), memory_map=True, page_checksum_verification=True)
                schema = opened.schema_arrow
            for field in self._layout.schemas[table]:
                index = schema.get_field_index(field.name)
                if index < 0:
                    raise ArtefactError(f"has no column {field.name}", where=self._path(table))
                if schema.field(index).type != field.type:
                    found = schema.field(index).type
                    raise ArtefactError(
                        f"has {found} in the column {field.name}; expected {field.type}", where=self._path(table)
                    )
            self._files[table] = opened
        return self._files[table]

    def _scanned(self, table: str) -> pq.ParquetFile:
        """The file of a table for reading much of it: not mapped, for every page that a scan touches would count as its memory."""
        if table not in self._scans:
            metadata = self.file(table).metadata
            with self._reading(table, "cannot be read"):
                path = self._path(table)
                self._scans[table] = pq.ParquetFile(path, metadata=metadata, page_checksum_verification=True)
        return self._scans[table]

    def close(self) -> None:
        """Close the files."""
        for file in (*self._files.values(), *self._scans.values()):
            file.close()
        self._files.clear()
        self._scans.clear()

    def _group(
        self, table: str, group: int, only: pa.Array | None = None, single: pq.ParquetFile | None = None
    ) -> Rows:
        """The rows of a row group in the order of the schema's columns; with ``only`` those of these keys.

        ``single`` is the file to read one record from; else it is that of scans.
        """
        file = self._scanned(table) if single is None else single
        names = self._layout.schemas[table].names
        with self._reading(table, f"row group {group} is damaged"):
            batch = file.read_row_group(group, columns=names, use_threads=single is not None)
            if only is not None:
                batch = batch.filter(pc.is_in(batch.column(names[0]), only))
            self._check_filled(table, batch)
            return list(zip(*(values_of(batch.column(name)) for name in names), strict=True))

    def rows(self, table: str, only: pa.Array | None = None) -> Iterator[Rows]:
        """The rows of a table, or those whose keys are in ``only``; a list of tuples a row group."""
        for group in range(self.file(table).num_row_groups):
            if only is None or self._holds_any(table, group, only):
                yield self._group(table, group, only)

    def _holds_any(self, table: str, group: int, only: pa.Array) -> bool:
        name = self._layout.schemas[table].names[0]
        with self._reading(table, f"row group {group} is damaged"):
            keys = self._scanned(table).read_row_group(group, columns=[name], use_threads=False).column(name)
            return bool(pc.any(pc.is_in(keys, only)).as_py())

    def batches(
        self, table: str, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
    ) -> Iterator[pa.Table]:
        """The row groups of a table, or those of these numbers, as Arrow tables with these columns or all."""
        file = self._scanned(table)
        names = list(self._layout.schemas[table].names if columns is None else columns)
        for group in range(file.num_row_groups) if groups is None else groups:
            with self._reading(table, f"row group {group} is damaged"):
                batch = file.read_row_group(group, columns=names, use_threads=False)
                self._check_filled(table, batch)
            yield batch

    def _check_filled(self, table: str, batch: pa.Table) -> None:
        """A column without which no row makes sense has a value in every row."""
        for name in sorted(self._layout.filled[table] & set(batch.column_names)):
            if batch.column(name).null_count:
                raise ValueError(f"a row has no {name}")

    def records(self, only: pa.Array | None = None) -> Iterator[R]:
        """Every record in order of key, or those whose keys are in ``only``; memory holds one row group of each table."""
        first, *others = self._layout.tables
        streams = [_Group(self.rows(table, only)) for table in others]
        for rows in self.rows(first, only):
            for row in rows:
                yield self._record(row, [stream.take(row[0]) for stream in streams])
        for table, stream in zip(others, streams, strict=True):
            if not stream.exhausted():
                raise ArtefactError(
                    f"has rows of a {self._layout.noun} that {first}.parquet does not hold", where=self._path(table)
                )

    def get(self, wanted: str) -> R | None:
        """The record of one key, reading only the row groups that hold it; ``None`` where there is none."""
        try:
            key = wanted.encode()
        except UnicodeEncodeError:
            return None
        # Arrow parses and unpacks without Python's lock, so the tables are looked into at the same time.
        with ThreadPoolExecutor(len(self._layout.tables)) as pool:
            found, *others = pool.map(lambda table: self._find(table, wanted, key), self._layout.tables)
        return self._record(found[0], others) if found else None

    def _record(self, row: tuple[Any, ...], others: Sequence[Rows]) -> R:
        try:
            return self._layout.build(row, others)
        except (ValueError, RecursionError) as error:
            message = f"{self._layout.noun} {row[0]!r} does not hold together: {error}"
            raise ArtefactError(message, where=self._directory) from None

    def _find(self, table: str, wanted: str, key: bytes) -> Rows:
        if table in self._index:
            return self._find_by_index(table, wanted, key)
        group = self._group_of(table, key)
        return [] if group is None else self._group(table, group, text_array([wanted]), self.file(table))

    def _find_by_index(self, table: str, wanted: str, key: bytes) -> Rows:
        """As ``_find`` without parsing the footer: that of the one row group is put together, and opened."""
        group = self._index[table].group_of(key)
        if group is None:
            return []
        path = self._path(table)
        with self._reading(table, f"row group {group} is damaged"):
            metadata = self._index[table].metadata(path, group)
            file = pq.ParquetFile(path, metadata=metadata, memory_map=True, page_checksum_verification=True)
        with file:
            return self._group(table, 0, text_array([wanted]), file)

    def last_keys(self, table: str) -> list[str]:
        """The last key of each row group."""
        return [self._bounds(table, group)[1].decode() for group in range(self.file(table).num_row_groups)]

    def _group_of(self, table: str, key: bytes) -> int | None:
        """The row group that can hold the record ``key``, by bisection."""
        low, high = 0, int(self.file(table).num_row_groups)
        while low < high:
            middle = (low + high) // 2
            first, last = self._bounds(table, middle)
            if last < key:
                low = middle + 1
            elif first > key:
                high = middle
            else:
                return middle
        return None

    def _bounds(self, table: str, group: int) -> tuple[bytes, bytes]:
        """The first and last key of a row group, from its statistics where it has them (keys may be too long)."""
        file = self.file(table)
        name = self._layout.schemas[table].names[0]
        with self._reading(table, f"row group {group} is damaged"):
            statistics = file.metadata.row_group(group).column(self._layout.schemas[table].names.index(name)).statistics
            if statistics is not None and statistics.has_min_max:
                return str(statistics.min).encode(), str(statistics.max).encode()
            ids = file.read_row_group(group, columns=[name], use_threads=False).column(name)
            return str(ids[0]).encode(), str(ids[-1]).encode()


class _Group:
    """Hands out consecutive rows by key from a stream of row groups."""

    def __init__(self, groups: Iterator[Rows]) -> None:
        self._groups = groups
        self._rows: Rows = []
        self._next = 0

    def _ready(self) -> bool:
        while self._next >= len(self._rows):
            rows = next(self._groups, None)
            if rows is None:
                return False
            self._rows, self._next = rows, 0
        return True

    def take(self, key: str) -> Rows:
        """The rows of this record, which must come next if there are any."""
        taken: Rows = []
        while self._ready():
            rows, begin = self._rows, self._next
            end, count = begin, len(rows)
            while end < count and rows[end][0] == key:
                end += 1
            self._next = end
            taken += rows[begin:end]
            if end < count:
                break
        return taken

    def exhausted(self) -> bool:
        """Whether all rows have been taken."""
        return not self._ready()


def attributes_of(text: str | None) -> dict[str, Any]:
    """The attributes that a column of JSON holds; a ``ValueError`` where they are no object."""
    if text is None or text == "{}":
        return {}
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"attributes hold {text[:40]!r}; expected a JSON object")
    return value
