"""Which record the rows of a table belong to, where a table of records counts the rows of each: dialogues, contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tertulia.corpus.collection import Collection
from tertulia.corpus.statistics.vocabulary import Groups
from tertulia.errors import ArtefactError

__all__ = ["Owners"]

Integers = npt.NDArray[np.int64]


class Owners:
    """Goes along the first table of a collection while another one, in the same order, is read row group by row group.

    ``first`` gives the row groups of the first table, with the columns ``domain``, ``split`` and ``counts``, the number of rows
    that a record has in the table ``rows``.
    """

    def __init__(
        self, collection: Collection[Any], first: Iterator[pa.Table], counts: str, rows: str, groups: Groups
    ) -> None:
        self._path = collection.path
        self._names = f"{collection.layout.tables[0]}.parquet", f"{rows}.parquet"
        self._first = first
        self._counts = counts
        self._groups = groups
        self._cells: Integers = np.zeros(0, dtype=np.int64)
        self._sizes: Integers = np.zeros(0, dtype=np.int64)

    def _more(self) -> bool:
        table = next(self._first, None)
        if table is None:
            return False
        cells = self._groups.cells(table.column("domain"), table.column("split"))
        sizes = table.column(self._counts).to_numpy().astype(np.int64)
        if (sizes < 0).any():
            raise self._apart()
        self._cells = np.concatenate([self._cells, cells])
        self._sizes = np.concatenate([self._sizes, sizes])
        return True

    def _apart(self) -> ArtefactError:
        first, rows = self._names
        return ArtefactError(
            f"{rows} does not have the rows that {first} counts", where=self._path, hint="import the corpus again"
        )

    def take(self, table: pa.Table) -> tuple[Integers, Integers]:
        """The cells of the records that have the next rows, a row group with the column ``position``, and how many each has.

        Raises
        ------
        ArtefactError
            The rows are not those that the first table counts, or not in their order.
        """
        position = table.column("position").to_numpy()
        while self._sizes.sum() < len(position):
            if not self._more():
                raise self._apart()
        ends = np.cumsum(self._sizes)
        number = int(np.searchsorted(ends, len(position))) + 1 if len(position) else 0
        cells, sizes, ends = self._cells[:number], self._sizes[:number], ends[:number]
        if number and ends[-1] != len(position):
            raise self._apart()
        if not np.array_equal(position, np.arange(len(position)) - np.repeat(ends - sizes, sizes)):
            raise self._apart()
        self._cells, self._sizes = self._cells[number:], self._sizes[number:]
        return cells, sizes

    def rest(self) -> Iterator[Integers]:
        """The cells of the records after the last row: they have none."""
        while True:
            if self._sizes.any():
                raise self._apart()
            yield self._cells
            self._cells, self._sizes = self._cells[:0], self._sizes[:0]
            if not self._more():
                return
