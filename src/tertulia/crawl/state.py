"""The state of a crawl while it runs: which addresses there are, and what came of each; it survives a kill at any moment.

A SQLite database in a hidden folder beside the output. A page's bytes go to the archive first, then its row is committed together
with the new size of the archive file: what a killed crawl has left behind that size is half a record, and is cut off.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from tertulia.errors import ArtefactError, StoreError

if sys.platform != "win32":
    import fcntl

__all__ = ["Outcome", "Result", "State", "Waiting"]

Outcome = str
_VERSION = "1"
_DATABASE = "state.sqlite"
_BATCH = 1000
_TABLES = """
create table if not exists meta (name text primary key, value text not null) without rowid;
create table if not exists archive (name text primary key, bytes integer not null) without rowid;
create table if not exists page (
    id integer primary key, url text not null unique, host text not null, depth integer not null, tries integer not null default 0,
    status integer, outcome text, final_url text, content_type text, charset text, title text, text blob, bytes integer,
    fetched_at integer, warc_file text, warc_offset integer, reason text
);
create index if not exists waiting on page (host, id) where outcome is null;
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An address that is still to be asked for."""

    id: int
    url: str
    depth: int
    tries: int


@dataclass(slots=True)
class Result:
    """What came of one address.

    ``fetched_at`` is in milliseconds since 1970, UTC; ``bytes`` counts the unpacked body; ``warc_file`` and ``warc_offset`` say
    where the answer lies in the archive; ``reason`` says more of an outcome that is not ``ok``.
    """

    url: str
    status: int | None = None
    outcome: Outcome = "ok"
    final_url: str | None = None
    content_type: str | None = None
    charset: str | None = None
    title: str | None = None
    text: str | None = None
    bytes: int | None = None
    fetched_at: int | None = None
    warc_file: str | None = None
    warc_offset: int | None = None
    reason: str | None = None


_COLUMNS = [field.name for field in fields(Result)]
_SET = ", ".join(f"{name} = ?" for name in _COLUMNS[1:])


class State:
    """The state of one crawl, open for its one writer. A context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None
        self._open: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
            self._open = sqlite3.connect(folder / _DATABASE, isolation_level=None)
            self._database.execute("pragma journal_mode = wal")
            # Safe against a kill; a power cut may lose the last pages, never the order of what is there.
            self._database.execute("pragma synchronous = normal")
            self._database.executescript(_TABLES)
            if self._meta("version") not in (None, _VERSION):
                hint = "--fresh begins anew"
                raise StoreError("is of a crawl of another version of Tertulia", where=folder, hint=hint)
            self._put("version", _VERSION)
        except (OSError, sqlite3.Error) as error:
            self.close()
            said = error.strerror if isinstance(error, OSError) else error
            raise StoreError(
                f"the state of the crawl cannot be opened: {said}", where=folder, hint="--fresh begins anew"
            ) from None
        except BaseException:
            self.close()
            raise

    @property
    def _database(self) -> sqlite3.Connection:
        if self._open is None:
            raise StoreError("is closed", where=self.folder)
        return self._open

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and let another crawl have the folder."""
        if self._open is not None:
            self._open.close()
            self._open = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # -- what is to be done

    @property
    def source(self) -> str | None:
        """The digest of the list of addresses that was loaded whole; none where none was."""
        return self._meta("source")

    def load(self, addresses: Iterable[tuple[str, str, Outcome | None, str | None]]) -> None:
        """Take a list of addresses, each ``(url, host, outcome, reason)``, the last two of what cannot be asked for.

        What a crawl that was killed while it loaded has left is forgotten.
        """
        self._database.execute("delete from page")
        batch = []
        for address in addresses:
            batch.append(address)
            if len(batch) >= _BATCH:
                self._add(batch)
                batch = []
        self._add(batch)

    @property
    def table(self) -> str | None:
        """The digest of the table that was made of this state, where one was."""
        return self._meta("table")

    def made(self, digest: str) -> None:
        """Note the digest of the table that was made of this state."""
        self._put("table", digest)

    def loaded(self, digest: str) -> None:
        """Note that a list of this digest was loaded whole."""
        self._put("source", digest)

    def _add(self, rows: Sequence[tuple[str, str, Outcome | None, str | None]]) -> None:
        with self._transaction():
            self._database.executemany(
                "insert or ignore into page (url, host, depth, outcome, reason) values (?, ?, 0, ?, ?)", rows
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("begin")
        try:
            yield
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")

    def hosts(self) -> list[str]:
        """The hosts that have addresses waiting."""
        return [
            row[0]
            for row in self._database.execute("select distinct host from page where outcome is null order by host")
        ]

    def next_of(self, host: str) -> Waiting | None:
        """The first address of a host that is waiting."""
        row = self._database.execute(
            "select id, url, depth, tries from page where host = ? and outcome is null order by id limit 1", (host,)
        ).fetchone()
        return None if row is None else Waiting(*row)

    # -- what came of it

    def tried(self, page: Waiting) -> None:
        """Count a try that came to nothing and is going to be made again."""
        self._database.execute("update page set tries = tries + 1 where id = ?", (page.id,))

    def record(
        self, page: Waiting, result: Result, archive: tuple[str, int] | None, found: Iterable[tuple[str, str]] = ()
    ) -> int:
        """Write down what came of an address: the row, the archive's new size, the addresses found in it, all or none.

        Gives how many of the found addresses are new.
        """
        run = self._database.execute
        values = [getattr(result, name) for name in _COLUMNS[1:]]
        text = _COLUMNS.index("text") - 1
        values[text] = None if result.text is None else zlib.compress(_clean(result.text).encode(), 1)
        values[_COLUMNS.index("title") - 1] = None if result.title is None else _clean(result.title)
        with self._transaction():
            run(f"update page set {_SET} where id = ?", (*values, page.id))  # noqa: S608
            if archive is not None:
                run(
                    "insert into archive values (?, ?) on conflict (name) do update set bytes = excluded.bytes", archive
                )
            before = self._database.total_changes
            rows = [(url, host, page.depth + 1) for url, host in found]
            self._database.executemany("insert or ignore into page (url, host, depth) values (?, ?, ?)", rows)
            return self._database.total_changes - before

    def give_up(self, host: str, outcome: Outcome, reason: str) -> int:
        """Every address of a host that is still waiting gets this outcome; gives how many."""
        return self._database.execute(
            "update page set outcome = ?, reason = ? where host = ? and outcome is null", (outcome, reason, host)
        ).rowcount

    def reset(self, outcome: Outcome) -> None:
        """Have every address with this outcome wait again."""
        self._database.execute("update page set outcome = null, reason = null, tries = 0 where outcome = ?", (outcome,))

    def give_up_all(self, outcome: Outcome, reason: str) -> int:
        """Every address that is still waiting gets this outcome; gives how many."""
        return self._database.execute(
            "update page set outcome = ?, reason = ? where outcome is null", (outcome, reason)
        ).rowcount

    def counts(self) -> dict[Outcome | None, int]:
        """How many addresses have which outcome; under ``None`` those that are waiting."""
        return dict(self._database.execute("select outcome, count(*) from page group by outcome order by 2 desc, 1"))

    def results(self) -> Iterator[Result]:
        """Every address with an outcome, in order of address (by code point)."""
        names, at = ", ".join(_COLUMNS), _COLUMNS.index("text")
        for row in self._database.execute(f"select {names} from page where outcome is not null order by url"):  # noqa: S608
            values = list(row)
            values[at] = None if row[at] is None else zlib.decompress(row[at]).decode()
            yield Result(*values)

    # -- the archive

    def archives(self) -> dict[str, int]:
        """The archive files and their sizes as they were last committed, in order of name."""
        return dict(self._database.execute("select name, bytes from archive order by name"))

    def mend_archives(self) -> None:
        """Cut off what was half written when the last crawl ended, and ask anew for what is missing after a power cut."""
        known = self.archives()
        for file in self.folder.glob("*.warc.gz"):
            if file.name not in known:
                file.unlink()
        for name, size in known.items():
            file = self.folder / name
            there = file.stat().st_size if file.exists() else 0
            if there > size:
                with file.open("r+b") as stream:
                    stream.truncate(size)
            elif there < size:
                blank = ", ".join(f"{column} = null" for column in _COLUMNS[1:])
                self._database.execute(f"update page set {blank} where warc_file = ?", (name,))  # noqa: S608
                self._database.execute("delete from archive where name = ?", (name,))
                file.unlink(missing_ok=True)

    def _meta(self, name: str) -> str | None:
        row = self._database.execute("select value from meta where name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, name: str, value: str) -> None:
        self._database.execute("insert or replace into meta values (?, ?)", (name, value))


def _clean(text: str) -> str:
    """A text that can be kept: halves of surrogate pairs, which damaged pages have, become U+FFFD."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _locked(folder: Path) -> int | None:
    if sys.platform == "win32":
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise ArtefactError(
            "another crawl is writing here", where=folder, hint="wait for it, or name another output"
        ) from None
    return descriptor
