"""The Parquet tables that parsing leaves: their columns, the columns that are computed, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["COLUMNS", "arrow_schema", "finished", "table_writer", "write_empty"]

COLUMNS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "posts": (
        ("site", "int32"),
        ("id", "int64"),
        ("type", "int64"),
        ("parent", "int64"),
        ("created", "int64"),
        ("score", "int64"),
        ("user", "int64"),
        ("person", "string"),
        ("name", "string"),
        ("title", "string"),
        ("tags", "string"),
        ("accepted", "int64"),
        ("licence", "string"),
        ("edited_at", "int64"),
        ("body", "string"),
        ("linked", "bool"),
        ("marked", "bool"),
    ),
    "comments": (
        ("site", "int32"),
        ("id", "int64"),
        ("post", "int64"),
        ("created", "int64"),
        ("score", "int64"),
        ("user", "int64"),
        ("person", "string"),
        ("name", "string"),
        ("licence", "string"),
        ("text", "string"),
        ("linked", "bool"),
        ("marked", "bool"),
    ),
    "votes": (("site", "int32"), ("post", "int64"), ("type", "int64")),
    "users": (("site", "int32"), ("id", "int64"), ("name", "string")),
    "history": (("site", "int32"), ("post", "int64")),
}
"""Table → its columns and their Arrow types; ``docs/stackexchange.md`` says what they hold."""
# A person whom nobody can be told to be: a text that no other row of the site has.
_NOBODY = {"posts": "?p", "comments": "?c"}
# Texts that come again and again; for the others a dictionary is built only to be thrown away.
_REPEATED = frozenset({"site", "person", "licence"})
# Columns that are looked up by, whose least and greatest value let a reader pass over row groups.
_LOOKED_UP = frozenset({"site", "id", "post", "parent", "type", "created"})


def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of a table."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS[table]])


def finished(scanned: pa.Table, table: str, site: int) -> pa.Table:
    """The rows of a scan with the columns of the Parquet table: ``site`` and ``person`` added, what only chose rows left out.

    A person is the user id as text, without one ``~`` and the display name, without either a text of its own.
    """
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = []
    for field in schema:
        if field.name == "site":
            columns.append(_repeated(site, len(scanned)))
        elif field.name == "person":
            columns.append(_persons(scanned, _NOBODY[table]))
        else:
            columns.append(scanned[field.name].cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _persons(scanned: pa.Table, nobody: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    users = scanned["user"].cast(pa.string())
    if not users.null_count:
        return users
    names, empty = scanned["name"].cast(pa.string()), _text("")
    named = pc.binary_join_element_wise(_text("~"), names, empty)
    unknown = pc.binary_join_element_wise(_text(nobody), scanned["id"].cast(pa.string()), empty)
    # An empty name tells nobody from anybody.
    return pc.coalesce(users, pc.if_else(pc.not_equal(names, empty), named, unknown), unknown)


# Constants are made of buffers: of a Python value, pyarrow makes them only after it has imported pandas, which takes longer than
# many a dump.


def _repeated(value: int, count: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(np.full(count, value, np.int32))])


def _text(value: str) -> pa.Scalar:
    import numpy as np
    import pyarrow as pa

    data = value.encode()
    offsets = np.array([0, len(data)], np.int32)
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])[0]


def table_writer(path: Path, table: str) -> pq.ParquetWriter:
    """A writer of part files: fast to write, and to read by a few columns.

    They are not compressed: that took four times as long to write, and a third longer to read, for half the bytes.
    """
    import pyarrow.parquet as pq

    names = [name for name, _ in COLUMNS[table]]
    return pq.ParquetWriter(
        str(path),
        arrow_schema(table),
        compression="none",
        use_dictionary=[name for name in names if name in _REPEATED],
        write_statistics=[name for name in names if name in _LOOKED_UP],
        store_schema=False,
    )


def write_empty(path: Path, table: str) -> None:
    """Write a part file without rows."""
    table_writer(path, table).close()
