"""What a reader or writer has to remember of a whole source, and memory may not hold: it waits in a temporary database.

SQLite keeps it in memory while it is small and on disk beyond that, in the folder for temporary files (``TMPDIR``); no process
has to clear it away.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import Any

from tertulia.errors import InputError

__all__ = ["SpilledRows", "SpilledTexts"]

_CACHE_KIB = 65_536


class _Spill:
    """A temporary database; a context manager."""

    _schema = ""

    def __init__(self) -> None:
        try:
            self._database = sqlite3.connect("", isolation_level=None)
            # What a killed process has left is nobody's, so nothing has to be kept safe.
            for setting in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE", f"cache_size=-{_CACHE_KIB}"):
                self._database.execute(f"PRAGMA {setting}")
            self._database.execute(self._schema)
            self._database.execute("BEGIN")
        except sqlite3.Error as error:
            raise _full(error) from None

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()


class SpilledRows(_Spill):
    """Takes rows of a key in any order and gives the rows of each key together, in order of key and, within one, of arrival.

    Keys are texts in order of code points; a row is of plain Python values, such as JSON gives.
    """

    _schema = "CREATE TABLE rows (key BLOB, number INTEGER PRIMARY KEY, row BLOB)"

    def add(self, key: str, row: Any) -> None:
        """Take a row."""
        try:
            self._database.execute("INSERT INTO rows (key, row) VALUES (?, ?)", (key.encode(), marshal.dumps(row)))
        except sqlite3.Error as error:
            raise _full(error) from None

    def groups(self) -> Iterator[tuple[str, Iterator[Any]]]:
        """Each key with its rows; those that have not been taken when the next key is asked for are passed over."""
        for key, rows in groupby(self._ordered(), key=itemgetter(0)):
            yield key.decode(), (marshal.loads(row) for _, row in rows)  # noqa: S302 - this process has written it

    def _ordered(self) -> Iterator[tuple[bytes, bytes]]:
        try:
            # Not "yield from": that would close the cursor of a database that is closed when nobody wants the rest.
            for row in self._database.execute("SELECT key, row FROM rows ORDER BY key, number"):  # noqa: UP028
                yield row
        except sqlite3.Error as error:
            raise _full(error) from None


class SpilledTexts(_Spill):
    """A mapping from text to text that keeps what it was given first."""

    _schema = "CREATE TABLE texts (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID"

    def add(self, key: str, value: str = "") -> bool:
        """Remember the value of a key; false, and nothing changes, where the key has one."""
        try:
            cursor = self._database.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key.encode(), value))
        except sqlite3.Error as error:
            raise _full(error) from None
        return cursor.rowcount == 1

    def get(self, key: str) -> str | None:
        """The value of a key."""
        try:
            row = self._database.execute("SELECT value FROM texts WHERE key = ?", (key.encode(),)).fetchone()
        except sqlite3.Error as error:
            raise _full(error) from None
        return None if row is None else str(row[0])

    def items(self) -> Iterator[tuple[str, str]]:
        """All keys with their values, in order of key by code points."""
        try:
            for key, value in self._database.execute("SELECT key, value FROM texts ORDER BY key"):
                yield key.decode(), value
        except sqlite3.Error as error:
            raise _full(error) from None


def _full(error: sqlite3.Error) -> InputError:
    return InputError(
        f"what has to wait on disk cannot be kept there: {error}", hint="TMPDIR names a folder with more room"
    )
