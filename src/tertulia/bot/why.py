"""Find a logged turn and the dialogue that its reply came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tertulia.bot.pipeline import Bot
from tertulia.bot.reranking import unused_rerankers
from tertulia.bot.service import turn_json
from tertulia.bot.starter import starter_bot
from tertulia.errors import InputError, NotFoundError
from tertulia.log.store import LogStore

__all__ = ["find_turn"]


def find_turn(database: str, name: str, bot: Path | None = None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A turn with its trace, and the source dialogue where the bot at hand still has it.

    Parameters
    ----------
    name:
        ``CONVERSATION/NUMBER``, a conversation (its last turn), or ``last`` (the turn said last in the whole log).
    bot:
        The directory of the bot; the starter bot is at hand by itself.

    Raises
    ------
    StoreError
        There is no log at ``database``.
    NotFoundError
        There is no such turn.
    """
    with LogStore(database, must_exist=True) as store:
        conversation, number = _parse(name, store)
        row = store.conversation(conversation)
        stored = store.turn(conversation, number)
        if row is None or stored is None:
            raise NotFoundError(f"there is no turn {number} of a conversation {conversation!r} in the log")
        ratings = store.ratings(conversation).get(number)
    found = {**turn_json(stored, ratings), "conversation": conversation, "bot": row["bot"], "trace": stored.trace}
    return found, _source(found["evidence"], row["bot_digest"], bot)


def _parse(name: str, store: LogStore) -> tuple[str, int]:
    if name == "last":
        latest = store.latest()
        if latest is None:
            raise NotFoundError("nothing has been said in this log yet")
        return latest
    conversation, slash, number = name.partition("/")
    if not slash:
        return conversation, store.last_number(conversation)
    if not number.isdigit() or not 1 <= len(number) <= 9:
        raise InputError(f"{name!r} names no turn; expected CONVERSATION/NUMBER, such as 5f0e8c…/2")
    return conversation, int(number)


def _source(evidence: dict[str, Any], digest: str, path: Path | None) -> dict[str, Any] | None:
    if evidence["type"] != "dialogue":
        return None
    opened = Bot(starter_bot() if path is None else path, check_digests=False, open_reranker=unused_rerankers)
    try:
        if path is None and opened.manifest.digest != digest:
            return None
        return opened.dialogue(evidence["dialogue_id"])
    except NotFoundError:
        return None
    finally:
        opened.close()
