"""Values with the same key brought together, in the order in which keys first come, in bounded memory."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from tertulia.errors import InputError

__all__ = ["gathered"]

_BATCH = 1_000
_CACHE_KIB = 65_536
_MOST_CHARACTERS = 256_000_000
_IN_ORDER = """
    select first, value from (select rowid as line, value, min(rowid) over (partition by key) as first from rows)
    order by first, line
"""


def gathered(pairs: Iterable[tuple[str, Any]], *, where: str) -> Iterator[list[Any]]:
    """The values (JSON) of each key, a list a key, in the order in which they came.

    Memory holds the values of one key; the rest waits in a temporary database, on disk beyond some 64 MB. ``where`` is the file
    that an error names.

    Raises
    ------
    InputError
        The disk for temporary files is full or cannot be written, or the values of one key are too many for the memory.
    """
    # The empty name is SQLite's for a database of its own that is in a temporary file where it outgrows the cache.
    database = sqlite3.connect("")
    try:
        database.execute(f"pragma cache_size = -{_CACHE_KIB}")
        database.execute("pragma journal_mode = off")
        database.execute("create table rows (key blob, value text)")
        batch: list[tuple[bytes, str]] = []
        for key, value in pairs:
            batch.append((hashlib.blake2b(key.encode(), digest_size=16).digest(), json.dumps(value)))
            if len(batch) >= _BATCH:
                _insert(database, batch)
        _insert(database, batch)
        current: int | None = None
        values: list[Any] = []
        characters = 0
        for first, value in database.execute(_IN_ORDER):
            if first != current:
                if values:
                    yield values
                current, values, characters = first, [], 0
            characters += len(value)
            if characters > _MOST_CHARACTERS:
                raise InputError(f"the rows of one context hold more than {_MOST_CHARACTERS:,} characters", where=where)
            values.append(json.loads(value))
        if values:
            yield values
    except sqlite3.Error as error:
        raise InputError(f"the rows cannot be kept aside in a temporary file: {error}", where=where) from None
    finally:
        database.close()


def _insert(database: sqlite3.Connection, batch: list[tuple[bytes, str]]) -> None:
    database.executemany("insert into rows values (?, ?)", batch)
    batch.clear()
