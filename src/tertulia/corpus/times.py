"""Times are in UTC: one without a zone is taken to be so already."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["as_utc", "utc_text"]


def as_utc(time: datetime) -> datetime:
    """The time in UTC, with its zone."""
    if time.tzinfo is UTC:
        return time
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def utc_text(time: datetime) -> str:
    """``2017-06-21T18:19:15Z``: the time in UTC as ISO 8601 writes it."""
    return as_utc(time).replace(tzinfo=None).isoformat() + "Z"
