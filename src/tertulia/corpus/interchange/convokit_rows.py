"""The utterances of a conversation as ConvoKit has them, what their timestamps mean, and the order to read them in."""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from tertulia.corpus.times import as_utc

__all__ = ["OWN", "Row", "in_a_circle", "own_of", "reading_order", "time_of", "timestamp_of"]

OWN = "tertulia"
"""The key of metadata under which stands what ConvoKit has no field for."""
_OWN_OF_UTTERANCE = {"turn", "role", "id", "sent_at", "position", "annotations", "attributes"}
_OWN_OF_CONVERSATION = {"domain", "split", "title", "started_at", "annotations", "attributes"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Smaller numbers (before March 1973) are seconds into a recording, positions or the like, and larger ones milliseconds.
_FIRST_SECOND, _LAST_SECOND = 100_000_000, 253_402_300_799
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")


@dataclass(slots=True)
class Row:
    """An utterance as ConvoKit has it."""

    id: str
    speaker: str
    text: str
    reply_to: str | None = None
    timestamp: Any = None
    meta: dict[str, Any] = field(default_factory=dict)


def own_of(meta: Mapping[str, Any], *, of_conversation: bool = False) -> dict[str, Any] | None:
    """What we have put into metadata; somebody else's value under the same key is not ours."""
    if OWN not in meta:
        return None
    own = meta[OWN]
    known = _OWN_OF_CONVERSATION if of_conversation else _OWN_OF_UTTERANCE
    return own if isinstance(own, dict) and own.keys() <= known else None


def time_of(timestamp: Any) -> datetime | None:
    """The time that a timestamp names: seconds since 1970 (as a number or a text) or ISO 8601; else ``None``."""
    seconds = _seconds(timestamp)
    if seconds is not None:
        if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
            return None
        return _EPOCH + timedelta(seconds=seconds)
    if isinstance(timestamp, str):
        try:
            return as_utc(datetime.fromisoformat(timestamp))
        except (ValueError, OverflowError):
            return None
    return None


def timestamp_of(time: datetime | None) -> int | float | None:
    """Seconds since 1970, a whole number where it is one; ``None`` for a time that could not be told from another number."""
    if time is None:
        return None
    micros = (as_utc(time) - _EPOCH) // timedelta(microseconds=1)
    seconds = micros // 1_000_000 if micros % 1_000_000 == 0 else micros / 1_000_000
    return seconds if time_of(seconds) == time else None


def _seconds(timestamp: Any) -> int | float | None:
    if isinstance(timestamp, int | float) and not isinstance(timestamp, bool):
        return timestamp
    if isinstance(timestamp, str) and _NUMBER.fullmatch(timestamp):
        return float(timestamp) if "." in timestamp else int(timestamp)
    return None


def reading_order(rows: Sequence[Row]) -> list[int]:
    """The order in which to read the rows of a conversation: by time, and a reply never before what it replies to.

    A text time counts as a time only if all rows have one that can be read; otherwise, and among equal times, the order of the
    file decides. Where ``tertulia`` gives the positions, they do.
    """
    given = _given_positions(rows)
    if given is not None:
        return given
    keys = [_order_key(row.timestamp) for row in rows]
    known = [key for key in keys if key is not None]
    times = known if len(known) == len(keys) else [0] * len(keys)
    where = {row.id: index for index, row in enumerate(rows)}
    parents = [where.get(row.reply_to) if row.reply_to is not None else None for row in rows]
    if all(a <= b for a, b in pairwise(times)) and all(
        parent is None or parent < index for index, parent in enumerate(parents)
    ):
        return list(range(len(rows)))
    return _in_order_of_reply(times, parents)


def _order_key(timestamp: Any) -> float | None:
    seconds = _seconds(timestamp)
    if seconds is None and (time := time_of(timestamp)) is not None:
        seconds = (time - _EPOCH).total_seconds()
    return seconds


def _given_positions(rows: Sequence[Row]) -> list[int] | None:
    if not rows or OWN not in rows[0].meta:
        return None
    positions = [own.get("position") if (own := own_of(row.meta)) else None for row in rows]
    if any(not isinstance(position, int) for position in positions):
        return None
    order = sorted(range(len(rows)), key=lambda index: positions[index] or 0)
    return order if [positions[index] for index in order] == list(range(len(rows))) else None


def _in_order_of_reply(times: Sequence[float], parents: Sequence[int | None]) -> list[int]:
    """Indexes by time and index, but each after its parent; those that reply to each other in a circle come last."""
    children: dict[int, list[int]] = {}
    ready: list[tuple[float, int]] = []
    for index, parent in enumerate(parents):
        if parent is None:
            ready.append((times[index], index))
        else:
            children.setdefault(parent, []).append(index)
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(index)
        for child in children.get(index, ()):
            heapq.heappush(ready, (times[child], child))
    if len(order) < len(times):
        left = set(range(len(times))).difference(order)
        order += sorted(left, key=lambda index: (times[index], index))
    return order


def in_a_circle(rows: Sequence[Row]) -> bool:
    """Whether some reply comes, in the order of the rows given, before what it replies to: then they reply in a circle."""
    where = {row.id: index for index, row in enumerate(rows)}
    return any(where.get(row.reply_to, -1) >= index for index, row in enumerate(rows) if row.reply_to is not None)
