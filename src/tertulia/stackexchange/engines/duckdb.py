"""DuckDB as the engine: within this process, out of core, on as many threads as there are workers."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tertulia.errors import MissingExtraError, StoreError
from tertulia.stackexchange.engines.expressions import empty_file, sql_of, table_of

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

__all__ = ["DuckEngine"]

_MEMORY = 1_000_000_000
# Rows of a row group: with two bodies a row some 30 MB while it is written, once for each thread.
_ROW_GROUP = 8_192
# Rows that a thread gathers before it writes them to the files of their shares.
_GATHERED = 32_768
_SHARE = 400_000


class DuckEngine:
    """An engine in this process. What does not fit into ``memory`` bytes is put into ``work`` and removed at the end."""

    share: int | None = _SHARE

    def __init__(self, work: Path, *, workers: int, memory: int | None = None) -> None:
        self._work = work
        self._workers = max(1, workers)
        self._memory = memory or _MEMORY
        self._numbers = itertools.count()
        self._connection: Any = None

    def expect(self) -> None:
        """Fail now where a package is not there: nothing is started."""
        for package, name in (("duckdb", "duckdb"), ("ibis", "ibis-framework")):
            try:
                __import__(package)
            except ImportError:
                raise MissingExtraError("narrowing with DuckDB", package=name, extra="full") from None

    def __enter__(self) -> DuckEngine:
        self.expect()
        import duckdb

        self._errors = duckdb.Error
        with self._explained():
            self._work.mkdir(parents=True, exist_ok=True)
            self._connection = duckdb.connect(
                config={
                    "threads": self._workers,
                    "memory_limit": f"{self._memory // 1000}KB",
                    "temp_directory": str(self._work),
                    "preserve_insertion_order": False,
                    "partitioned_write_flush_threshold": _GATHERED,
                    # Nothing is fetched from anywhere.
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                }
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read(self, paths: Sequence[Path]) -> Table:
        """The rows of these Parquet files, all of one schema, as one table."""
        name = f"files_{next(self._numbers)}"
        files = ", ".join(_literal(_plain_pattern(path)) for path in paths)
        with self._explained():
            # A folder of the name "site=3" is no column.
            scan = f"read_parquet([{files}], hive_partitioning = false)"
            self._run(f"CREATE VIEW {name} AS SELECT * FROM {scan}")  # noqa: S608  paths and names are quoted
        return table_of(paths[0], name)

    def write(self, expression: Table, folder: Path) -> list[Path]:
        """Write the rows of an expression to ``folder``, which is made, and return its files."""
        with self._explained():
            self._copy(expression, folder, "PER_THREAD_OUTPUT true")
            return sorted(folder.glob("*.parquet")) or [empty_file(expression, folder)]

    def write_shares(self, expression: Table, folder: Path, column: str, count: int) -> list[list[Path]]:
        """The same, the rows apart by the integer of a column, from 0 to less than ``count``."""
        with self._explained():
            self._copy(expression, folder, f'PARTITION_BY ("{column}"), WRITE_PARTITION_COLUMNS true')
            folders = [folder / f"{column}={share}" for share in range(count)]
            return [sorted(share.glob("*.parquet")) or [empty_file(expression, share)] for share in folders]

    def execute(self, expression: Table) -> pa.Table:
        """The rows of an expression that has few of them."""
        with self._explained():
            found = self._connection.sql(sql_of(expression, "duckdb")).to_arrow_table()
            # A sum of integers of 64 bits is one of 128 here.
            return found.cast(expression.schema().to_pyarrow())

    def _copy(self, expression: Table, folder: Path, options: str) -> None:
        folder.mkdir(parents=True)
        self._run(
            f"COPY ({sql_of(expression, 'duckdb')}) TO {_literal(folder.absolute())} "
            f"(FORMAT parquet, COMPRESSION lz4, ROW_GROUP_SIZE {_ROW_GROUP}, {options})"
        )

    def _run(self, sql: str) -> None:
        self._connection.execute(sql)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of DuckDB and of the disk as errors that a user can read."""
        try:
            yield
        except (self._errors, RuntimeError) as error:
            if "nterrupted" in str(error):
                # So DuckDB tells of Ctrl-C.
                raise KeyboardInterrupt from None
            if not isinstance(error, self._errors):
                raise
            raise self._explain(str(error), type(error).__name__) from None
        except OSError as error:
            raise StoreError(f"cannot be used: {error.strerror}", where=error.filename or self._work) from None

    def _explain(self, text: str, kind: str) -> StoreError:
        line = " ".join(text.split())
        if kind == "OutOfMemoryException":
            hint = f"{self._memory / 1e9:.1f} GB on {self._workers} threads do not do: fewer workers need less"
        elif "No space left" in line or "max_temp_directory_size" in line:
            hint = "free some space there, or name another cache folder"
        else:
            hint = "where the cache is damaged, remove it and run again"
        return StoreError(f"DuckDB could not go on: {line[:400]}", where=self._work, hint=hint)


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _plain_pattern(path: Path) -> str:
    """A path as a pattern that matches it alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(path.absolute()))
