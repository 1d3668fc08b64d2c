"""What narrowing asks of an engine: tables from Parquet files, and expressions carried out, written or small enough to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa
    from ibis.expr.types import Table

__all__ = ["ENGINES", "Engine", "open_engine"]

ENGINES = ("duckdb", "spark")
"""The engines that there are; the first is the default, within this process."""


class Engine(Protocol):
    """Carries out Ibis expressions over Parquet files. Opened by ``with``, which frees whatever it holds.

    Every failure inside an engine (no space left, no memory, a cluster that is gone) is a ``TertuliaError``.
    """

    share: int | None
    """The rows with texts that one step can take without outgrowing its memory; ``None`` where the engine sees to that."""

    def expect(self) -> None:
        """Fail now where something is missing that the engine needs; nothing is started, so it may be asked hours before."""
        ...

    def __enter__(self) -> Self:
        """Start what the engine needs."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free what it holds."""
        ...

    def read(self, paths: Sequence[Path]) -> Table:
        """The rows of these Parquet files, at least one, all of one schema, as one table."""
        ...

    def write(self, expression: Table, folder: Path) -> list[Path]:
        """Write the rows of an expression to ``folder``, which is made, and return its files, at least one; in no order."""
        ...

    def write_shares(self, expression: Table, folder: Path, column: str, count: int) -> list[list[Path]]:
        """The same, the rows apart by the integer of a column, from 0 to less than ``count``: the files of each share."""
        ...

    def execute(self, expression: Table) -> pa.Table:
        """The rows of an expression that has few of them."""
        ...


def open_engine(name: str, *, work: Path, workers: int, master: str | None = None, memory: int | None = None) -> Engine:
    """The engine of that name, to be opened by ``with``; made, it has started nothing yet.

    Parameters
    ----------
    work:
        A folder for what does not fit in memory; made where it is not there.
    workers:
        The threads of DuckDB, and of Spark in this process.
    master:
        The master of a Spark cluster (``spark://host:7077``); for Spark only, which without one works in this machine.
    memory:
        The bytes that the engine may take in this process: for DuckDB about 1 GB unless told otherwise.

    Raises
    ------
    ConfigurationError
        There is no such engine, or a master is named for one that has none.
    MissingExtraError
        A package that the engine needs is not installed.
    """
    if name not in ENGINES:
        raise ConfigurationError(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "spark":
        from tertulia.stackexchange.engines.spark import SparkEngine

        return SparkEngine(work, master=master, workers=workers, memory=memory)
    if master is not None:
        raise ConfigurationError("a master is named, and the engine is duckdb, which has none", hint="--engine spark")
    from tertulia.stackexchange.engines.duckdb import DuckEngine

    return DuckEngine(work, workers=workers, memory=memory)
