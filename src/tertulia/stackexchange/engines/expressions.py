"""Between Ibis and an engine: a table that stands for Parquet files, an expression as SQL, a file for what has no rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.errors import StoreError

if TYPE_CHECKING:
    from ibis.expr.types import Table

__all__ = ["empty_file", "sql_of", "table_of"]


def table_of(path: Path, name: str) -> Table:
    """The table of that name in an engine, with the columns that one of its Parquet files has.

    Raises
    ------
    StoreError
        The file cannot be read.
    """
    import ibis
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"cannot be read: {error}", where=path, hint="where the cache is damaged, remove it and run again"
        ) from None
    return ibis.table(ibis.Schema.from_pyarrow(schema), name=name)


def sql_of(expression: Table, dialect: str) -> str:
    """An expression in the SQL of an engine (``duckdb``, ``pyspark``)."""
    import ibis

    return str(ibis.to_sql(expression, dialect=dialect))


def empty_file(expression: Table, folder: Path) -> Path:
    """One file without rows but with the columns of an expression, so that there is always something to read."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "empty.parquet"
    pq.write_table(expression.schema().to_pyarrow().empty_table(), path)
    return path
