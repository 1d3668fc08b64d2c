"""Records as one row each, with the rows of their other tables as lists in it: an Arrow stream that no record passes as Python.

A dialogue's row holds a list of its utterances and one of its annotations, a context's row a list of its candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.grouped import GroupedReader, Layout
from tertulia.errors import ArtefactError

__all__ = ["Groups", "nested_schema", "nested_tables"]

# So many records make one table; with the row groups that they lie in, this is what memory holds.
_SLICE = 500


def nested_schema(layout: Layout[Any]) -> pa.Schema:
    """The columns of the first table, without the number of the parts, and a list of structs for each other table."""
    first, *others = layout.tables
    columns = [field for field in layout.schemas[first] if field.name not in others]
    parts = [pa.field(name, pa.list_(pa.struct(list(layout.schemas[name])[1:]))) for name in others]
    return pa.schema(columns + parts)


def nested_tables(
    directory: str | Path, layout: Layout[Any], footers: Mapping[str, str] | None, groups: Iterable[int]
) -> Iterator[pa.Table]:
    """The records of these row groups of the first table as tables of ``nested_schema``, in order of id.

    Raises
    ------
    ArtefactError
        A table is not there or is damaged.
    """
    schema = nested_schema(layout)
    first, *others = layout.tables
    key = layout.schemas[first].names[0]
    reader = GroupedReader[Any](layout, Path(directory), footers)
    try:
        tables = {name: Groups(reader, Path(directory) / f"{name}.parquet", name) for name in layout.tables}
        for group in groups:
            whole = tables[first].read(group)
            parts = {name: _Parts(tables[name], layout.schemas[name]) for name in others}
            for start in range(0, whole.num_rows, _SLICE):
                rows = whole.slice(start, _SLICE)
                lists = [parts[name].lists(rows.column(key), schema.field(name).type) for name in others]
                columns = [rows.column(name) for name in schema.names if name not in others]
                yield pa.table([*columns, *lists], schema=schema)
    finally:
        reader.close()


class Groups:
    """The row groups of one table of a collection, each read by its number."""

    def __init__(self, reader: GroupedReader[Any], path: Path, table: str) -> None:
        self._path = path
        self._file = reader.file(table)
        self.count = int(self._file.num_row_groups)

    def read(self, group: int) -> pa.Table:
        """One row group.

        Raises
        ------
        ArtefactError
            It is damaged.
        """
        try:
            return self._file.read_row_group(group, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self.damaged(f"row group {group} is damaged: {error}") from None

    def first_with(self, key: str) -> int:
        """The first row group that may hold this key or a later one: by bisection, as far as there are statistics."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            statistics = self._file.metadata.row_group(middle).column(0).statistics
            if statistics is not None and statistics.has_min_max and str(statistics.max).encode() < key.encode():
                low = middle + 1
            elif statistics is not None and statistics.has_min_max:
                high = middle
            else:
                return 0
        return low

    def damaged(self, message: str) -> ArtefactError:
        """What to raise where rows do not hold together."""
        return ArtefactError(message, where=self._path, hint="import the corpus again")


class _Parts:
    """Takes from a sorted table the rows of ascending keys, as lists."""

    def __init__(self, groups: Groups, schema: pa.Schema) -> None:
        self._groups = groups
        self._key = schema.names[0]
        self._next: int | None = None
        self._rows: pa.Table = schema.empty_table()

    def lists(self, ids: pa.ChunkedArray, kind: pa.DataType) -> pa.ListArray:
        """For each of the ids, which go on where the last call ended, the list of its rows."""
        rows = self._take(ids[0], ids[len(ids) - 1])
        counted = pc.value_counts(rows.column(self._key))
        places = pc.index_in(ids, value_set=counted.field("values"))
        counts = pc.fill_null(counted.field("counts").take(_one(places)), 0)
        ends = pc.cumulative_sum(counts).cast(pa.int32())
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        if offsets[len(ids)].as_py() != rows.num_rows:
            raise self._groups.damaged("has rows of a record that the first table does not hold")
        fields = list(kind.value_field.type)
        structs = pa.StructArray.from_arrays([_one(rows.column(field.name)) for field in fields], fields=fields)
        return pa.ListArray.from_arrays(offsets, structs, type=kind)

    def _take(self, first: pa.Scalar, last: pa.Scalar) -> pa.Table:
        """The rows from the key ``first`` to the key ``last``."""
        if self._next is None:
            self._next = self._groups.first_with(first.as_py())
        while self._next < self._groups.count and not self._goes_beyond(last):
            group = self._groups.read(self._next)
            self._next += 1
            beginning = group.filter(pc.greater_equal(group.column(self._key), first))
            self._rows = pa.concat_tables([self._rows, beginning])
        taken = pc.sum(pc.less_equal(self._rows.column(self._key), last)).as_py() or 0
        rows, self._rows = self._rows.slice(0, taken), self._rows.slice(taken)
        return rows

    def _goes_beyond(self, last: pa.Scalar) -> bool:
        count = self._rows.num_rows
        return count > 0 and bool(pc.greater(self._rows.column(self._key)[count - 1], last).as_py())


def _one(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    combined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
