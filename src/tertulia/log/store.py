"""The store of conversations. What a method has returned from is committed, and survives the death of the process."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine, Row, create_engine, event, func, insert, inspect, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from tertulia.errors import InputError, MissingExtraError, NotFoundError, StoreError
from tertulia.log import schema

__all__ = ["LogStore", "StoredTurn", "TakenError"]

_RATING_KINDS = ("thumb", "grade")
# So long a process waits for another one that is writing to the same SQLite file.
_SQLITE_WAIT_S = 30.0


class TakenError(StoreError):
    """The turn's number was taken meanwhile: another process has carried the conversation on."""


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """One turn as the log holds it: ``memory`` is the bot's memory after it, ``trace`` everything it considered."""

    number: int
    said_at: datetime
    text: str
    reply: str
    component: str
    confidence: float
    topic: str | None
    elapsed_ms: float
    evidence: dict[str, Any]
    trace: dict[str, Any]
    memory: dict[str, Any]


class LogStore:
    """The log at a database URL: ``sqlite:///file.sqlite`` or ``postgresql://user@host/name``.

    The tables are made at the first use. One store serves many threads; several processes may share a database.

    Parameters
    ----------
    url:
        The database; a plain path means SQLite.
    must_exist:
        Whether a database that is not there is an error, for commands that only read.

    Raises
    ------
    StoreError
        The database cannot be reached, is not a log, or is of another version.
    """

    def __init__(self, url: str, *, must_exist: bool = False) -> None:
        self.url = _parse_url(url)
        self._shown = self.url.render_as_string(hide_password=True)
        if self.url.get_backend_name() == "sqlite":
            self._check_sqlite_path(must_exist)
        # SQLite has one writer at a time, and whoever finds it busy sleeps and tries again, without turn: threads wait here.
        self._writer: AbstractContextManager[Any] = (
            threading.Lock() if self.url.get_backend_name() == "sqlite" else nullcontext()
        )
        self._engine = self._create_engine()
        try:
            with self._guard():
                self._prepare(must_exist)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LogStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # -- conversations -----------------------------------------------------------------------------------------------

    def start(self, identifier: str, *, bot: str, bot_digest: str, channel: str) -> None:
        """Open a conversation."""
        row = {
            "id": identifier,
            "bot": bot,
            "bot_digest": bot_digest,
            "channel": channel,
            "started_at": datetime.now(UTC),
        }
        with self._writing() as connection:
            connection.execute(insert(schema.conversation).values(row))

    def conversation(self, identifier: str) -> dict[str, Any] | None:
        """The row of a conversation, or ``None``."""
        query = select(schema.conversation).where(schema.conversation.c.id == identifier)
        with self._guard(), self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else dict(row._mapping)

    def conversations(self) -> Iterator[dict[str, Any]]:
        """All conversations in order of id, streaming."""
        query = select(schema.conversation).order_by(schema.conversation.c.id)
        with self._guard(), self._engine.connect() as connection:
            for row in connection.execution_options(yield_per=500).execute(query):
                yield dict(row._mapping)

    def wish_topic(self, identifier: str, topic: str | None) -> None:
        """Keep the topic that the user wishes for until the next turn."""
        change = update(schema.conversation).where(schema.conversation.c.id == identifier).values(wished_topic=topic)
        with self._writing() as connection:
            connection.execute(change)

    # -- turns -------------------------------------------------------------------------------------------------------

    def append(self, identifier: str, turn: StoredTurn) -> None:
        """Keep a turn; when this returns it is on disk.

        Raises
        ------
        TakenError
            The conversation has a turn of this number already.
        InputError
            A text holds what no database of both kinds can keep: the character NUL, or half of a surrogate pair.
        StoreError
            There is no such conversation, or the database did not take the turn.
        """
        row = {field: getattr(turn, field) for field in StoredTurn.__dataclass_fields__}
        row["conversation"] = identifier
        for field in ("text", "reply", "topic"):
            _check_text(field, row[field])
        try:
            with self._writing() as connection:
                connection.execute(insert(schema.turn).values(row))
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError) and self.turn(identifier, turn.number) is not None:
                raise TakenError(f"turn {turn.number} was taken meanwhile", where=self._shown) from None
            raise

    def last_number(self, identifier: str) -> int:
        """The number of the last turn; 0 before the first."""
        query = select(func.max(schema.turn.c.number)).where(schema.turn.c.conversation == identifier)
        with self._guard(), self._engine.connect() as connection:
            return connection.execute(query).scalar() or 0

    def turns(self, identifier: str) -> list[StoredTurn]:
        """All turns of a conversation in order."""
        query = select(schema.turn).where(schema.turn.c.conversation == identifier).order_by(schema.turn.c.number)
        with self._guard(), self._engine.connect() as connection:
            return [_stored(row) for row in connection.execute(query)]

    def turn(self, identifier: str, number: int) -> StoredTurn | None:
        """One turn, or ``None``."""
        query = select(schema.turn).where(schema.turn.c.conversation == identifier, schema.turn.c.number == number)
        with self._guard(), self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else _stored(row)

    def latest(self) -> tuple[str, int] | None:
        """The conversation and number of the turn said last in the whole log."""
        query = (
            select(schema.turn.c.conversation, schema.turn.c.number)
            .order_by(schema.turn.c.said_at.desc(), schema.turn.c.number.desc(), schema.turn.c.conversation)
            .limit(1)
        )
        with self._guard(), self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else (str(row[0]), int(row[1]))

    # -- ratings -----------------------------------------------------------------------------------------------------

    def rate(self, identifier: str, number: int, kind: str, value: int | None) -> None:
        """Add a rating of a turn: a thumb (1 or -1), a grade (1 to 5), or ``None`` to take it back.

        Raises
        ------
        InputError
            There is no rating of that kind, or no such turn (``NotFoundError``).
        """
        if kind not in _RATING_KINDS:
            raise InputError(f"there is no rating {kind!r}; there are: {', '.join(_RATING_KINDS)}")
        row = {
            "conversation": identifier,
            "turn": number,
            "kind": kind,
            "value": value,
            "rated_at": datetime.now(UTC),
        }
        try:
            with self._writing() as connection:
                connection.execute(insert(schema.rating).values(row))
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise NotFoundError(f"the conversation has no turn {number}") from None
            raise

    def ratings(self, identifier: str) -> dict[int, dict[str, int | None]]:
        """The rating of each rated turn that counts, the latest of each kind: ``{turn: {"thumb", "grade"}}``."""
        table = schema.rating
        query = select(table.c.turn, table.c.kind, table.c.value).where(table.c.conversation == identifier)
        found: dict[int, dict[str, int | None]] = {}
        with self._guard(), self._engine.connect() as connection:
            for number, kind, value in connection.execute(query.order_by(table.c.id)):
                found.setdefault(number, dict.fromkeys(_RATING_KINDS))[kind] = value
        return found

    def rating_history(self, identifier: str) -> list[dict[str, Any]]:
        """Every rating of a conversation in the order given, those taken back or replaced too."""
        table = schema.rating
        query = select(table).where(table.c.conversation == identifier).order_by(table.c.id)
        with self._guard(), self._engine.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]

    # -- opening -----------------------------------------------------------------------------------------------------

    def _check_sqlite_path(self, must_exist: bool) -> None:
        name = self.url.database
        if name in (None, "", ":memory:"):
            raise StoreError("names no file; a log is kept", where=self._shown, hint="use sqlite:///path/log.sqlite")
        path = Path(str(name))
        if path.is_dir():
            raise StoreError("is a directory; expected a database file", where=path)
        if not path.exists():
            if must_exist:
                raise StoreError("there is no database at this path", where=path)
            if not path.parent.is_dir():
                raise StoreError("cannot be made: its folder does not exist", where=path, hint="make the folder first")

    def _create_engine(self) -> Engine:
        is_sqlite = self.url.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"json_serializer": _to_json, "pool_pre_ping": not is_sqlite}
        if is_sqlite:
            options["connect_args"] = {"timeout": _SQLITE_WAIT_S}
        else:
            options["pool_size"] = 10
            options["connect_args"] = {"connect_timeout": 5}
        try:
            engine = create_engine(self.url, **options)
        except (NoSuchModuleError, ArgumentError, TypeError, ValueError):
            raise StoreError(_NO_URL, where=self._shown) from None
        except ModuleNotFoundError as error:
            raise MissingExtraError("a PostgreSQL log", package=error.name or "psycopg", extra="full") from None
        if is_sqlite:
            event.listen(engine, "connect", _configure_sqlite)
        return engine

    def _prepare(self, must_exist: bool) -> None:
        with self._engine.connect() as connection:
            if inspect(connection).has_table(schema.meta.name):
                self._check_version(connection)
                return
        if must_exist:
            raise StoreError("holds no log of Tertulia", where=self._shown)
        with self._engine.connect() as connection:
            _lock_for_making(connection)
            if not inspect(connection).has_table(schema.meta.name):
                schema.METADATA.create_all(connection)
                connection.execute(insert(schema.meta).values(key="schema", value=str(schema.VERSION)))
            self._check_version(connection)
            connection.commit()

    def _check_version(self, connection: Connection) -> None:
        query = select(schema.meta.c.value).where(schema.meta.c.key == "schema")
        found = connection.execute(query).scalar()
        if found != str(schema.VERSION):
            raise StoreError(
                f"is a log of schema {found}; this version of Tertulia reads {schema.VERSION}", where=self._shown
            )

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction that writes; it is committed, and on disk, when the block has ended."""
        with self._guard(), self._writer, self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn whatever the database says into one clear error."""
        try:
            yield
        except UnicodeEncodeError:
            raise InputError("the text holds half of a surrogate pair, which is not Unicode text") from None
        except (SQLAlchemyError, sqlite3.Error, ValueError) as error:
            cause = str(getattr(error, "orig", None) or error)
            if self.url.password:
                cause = cause.replace(str(self.url.password), "***")
            raise StoreError(f"the database does not answer as it should: {cause}", where=self._shown) from error


_NO_URL = "is not a database URL; expected sqlite:///file.sqlite or postgresql://user@host/name"


def _parse_url(url: str) -> URL:
    if "://" not in url:
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError(_NO_URL, where=re.sub(r"://.*@", "://***@", url, flags=re.DOTALL)) from None
    if parsed.drivername in {"postgresql", "postgres"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise StoreError(
            f"is a {parsed.get_backend_name()} database; the log is kept in SQLite or PostgreSQL",
            where=parsed.render_as_string(hide_password=True),
        )
    # A password among the parameters moves to where it is never shown.
    password = parsed.query.get("password")
    if isinstance(password, str):
        parsed = parsed.difference_update_query(["password"]).set(password=password)
    return parsed


def _configure_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    try:
        with closing(connection.cursor()) as cursor:
            # Write-ahead logging lets readers go on beside the writer; FULL makes a commit outlive a power cut as well.
            _use_write_ahead_log(cursor)
            for pragma in ("synchronous=FULL", "foreign_keys=ON"):
                cursor.execute(f"PRAGMA {pragma}")
    except BaseException:
        # The pool does not know this connection yet.
        connection.close()
        raise


def _use_write_ahead_log(cursor: sqlite3.Cursor) -> None:
    """Switch the file to write-ahead logging; SQLite itself does not wait where another process does the same just now."""
    end = time.monotonic() + _SQLITE_WAIT_S
    while cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _lock_for_making(connection: Connection) -> None:
    """Keep two processes that start at once from making the tables twice."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(0x7E27)))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _check_text(field: str, text: str | None) -> None:
    if text is not None and ("\0" in text or any("\ud800" <= character <= "\udfff" for character in text)):
        raise InputError(f"the {field} holds the character NUL or half of a surrogate pair, which a log cannot keep")


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _stored(row: Row[Any]) -> StoredTurn:
    return StoredTurn(**{field: row._mapping[field] for field in StoredTurn.__dataclass_fields__})
