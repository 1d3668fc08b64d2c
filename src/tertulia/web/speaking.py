"""How a message from outside reaches a conversation: one at a time in each, and never twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from starlette.concurrency import run_in_threadpool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tertulia.bot.service import Conversations
    from tertulia.bot.turn import Step, Turn

__all__ = ["Speaking"]


class Speaking:
    """The way in which the routes say something in a conversation.

    A message whose answer got lost on the way may be sent again while the first is still being answered. They wait for
    each other here, not in threads of the pool, and the second, which says how many turns its sender has seen, is refused.
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
            return await run_in_threadpool(self._conversations.say, conversation, text, after=after, on_step=on_step)
