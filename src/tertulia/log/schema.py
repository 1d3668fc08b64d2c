"""The tables of the log; docs/log.md describes them for those who query them by hand."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.engine import Dialect

from tertulia.corpus.times import as_utc

__all__ = ["METADATA", "VERSION", "conversation", "meta", "rating", "turn"]

# Raised whenever a table changes; a store of another version is refused and never altered silently.
VERSION = 1
METADATA = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC that comes back with its zone, also from SQLite, which keeps none."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """On the way in: converted to UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """On the way out: what has no zone was stored in UTC."""
        return None if value is None else as_utc(value)


meta = Table(
    "tertulia_meta",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

conversation = Table(
    "tertulia_conversation",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("bot", String(200), nullable=False),
    Column("bot_digest", String(64), nullable=False),
    Column("channel", String(40), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    # The topic that the user has wished for between two turns; the next turn takes it up.
    Column("wished_topic", Text),
)

turn = Table(
    "tertulia_turn",
    METADATA,
    Column("conversation", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("said_at", UtcDateTime, nullable=False),
    Column("text", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("component", String(200), nullable=False),
    Column("confidence", Float, nullable=False),
    Column("topic", Text),
    Column("elapsed_ms", Float, nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("trace", JSON, nullable=False),
    Column("memory", JSON, nullable=False),
    ForeignKeyConstraint(["conversation"], ["tertulia_conversation.id"]),
)
Index("tertulia_turn_said_at", turn.c.said_at)

# Ratings are only ever added: the latest of a kind counts, and the ones before it stay.
rating = Table(
    "tertulia_rating",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("conversation", String(64), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    # Empty where a rating was taken back.
    Column("value", Integer),
    Column("rated_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["conversation", "turn"], ["tertulia_turn.conversation", "tertulia_turn.number"]),
)
Index("tertulia_rating_turn", rating.c.conversation, rating.c.turn)
