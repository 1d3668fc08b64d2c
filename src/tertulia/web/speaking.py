"""How a message from outside reaches a conversation: one at a time in each, and never twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

from tertulia.errors import TertuliaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tertulia.bot.service import Conversations
    from tertulia.bot.turn import Step, Turn

__all__ = ["Speaking", "StaleError"]


class StaleError(TertuliaError):
    """The conversation went on since the sender last looked, so the message was not said."""


class Speaking:
    """The way in which the routes say something in a conversation.

    A message whose answer got lost on the way may be sent again while the first is still being answered. They wait for
    each other, and the second, which says how many turns its sender has seen, is refused: the conversation went on.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def say(
        self, conversation: str, text: str, *, after: int | None, on_step: Callable[[Step], None] | None = None
    ) -> Turn:
        """Say it, and wait for the reply; ``on_step`` is called in another thread.

        Raises
        ------
        StaleError
            The conversation has not ``after`` turns.
        InputError, StoreError
            As :meth:`tertulia.bot.service.Conversations.say`.
        """
        lock = self._locks.setdefault(conversation, asyncio.Lock())
        async with lock:
            return await run_in_threadpool(self._say, conversation, text, after, on_step)

    def _say(self, conversation: str, text: str, after: int | None, on_step: Callable[[Step], None] | None) -> Turn:
        if after is not None:
            turns = len(self._conversations.history(conversation)["turns"])
            if turns != after:
                raise StaleError(
                    f"the conversation has {turns} turns, you have seen {after}, so nothing was said",
                    hint="read the conversation, then say it again if it is still to be said",
                )
        return self._conversations.say(conversation, text, on_step=on_step)
