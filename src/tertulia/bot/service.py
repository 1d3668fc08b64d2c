"""Conversations: bots and the log together, as the terminal, the page and the API use them."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from tertulia.bot.pipeline import Bot
from tertulia.bot.state import Exchange, State
from tertulia.bot.turn import Step, Turn, turn_line
from tertulia.corpus.times import utc_text
from tertulia.errors import InputError, NotFoundError, StaleError, StoreError
from tertulia.log.store import LogStore, StoredTurn, TakenError

__all__ = ["Conversations", "turn_json"]

_REMEMBERED = 10_000
_LOCKS = 256
_TRIES = 12


class Conversations:
    """Carries conversations on. What has been returned is in the log; what was not logged was not said.

    The log is the truth, and memory only spares reading it again: a conversation may move between processes that share a
    database, and goes on after any of them dies.

    Parameters
    ----------
    bots:
        The bots by name; a conversation that names none gets the first.
    store:
        The log.
    """

    def __init__(self, bots: Sequence[Bot], store: LogStore) -> None:
        names = [bot.name for bot in bots]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or not names:
            raise InputError(f"two bots have the name {twice[0]!r}" if twice else "there is no bot to talk with")
        self._bots = dict(zip(names, bots, strict=True))
        self._store = store
        self._states: OrderedDict[str, State] = OrderedDict()
        self._states_lock = threading.Lock()
        # Turns of one conversation follow one another; those of different ones seldom share a lock.
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    @property
    def bots(self) -> Mapping[str, Bot]:
        """The bots by name, the default first."""
        return MappingProxyType(self._bots)

    def bot(self, name: str | None = None) -> Bot:
        """A bot by name, or the default."""
        if name is None:
            return next(iter(self._bots.values()))
        if name not in self._bots:
            raise NotFoundError(f"there is no bot {name!r}; there are: {', '.join(self._bots)}")
        return self._bots[name]

    def start(self, bot: str | None = None, *, channel: str = "page") -> str:
        """Open a conversation; its id is not to be guessed, for whoever knows it may read and continue it."""
        chosen = self.bot(bot)
        identifier = secrets.token_hex(16)
        self._store.start(identifier, bot=chosen.name, bot_digest=chosen.manifest.digest, channel=channel)
        return identifier

    def say(
        self,
        conversation: str,
        text: str,
        *,
        after: int | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> Turn:
        """One turn of a conversation, logged before it is returned.

        ``after`` is how many turns the sender has seen: a message that is sent again because its answer was lost is so
        never said twice, whichever process gets it.

        Raises
        ------
        StaleError
            The conversation has not ``after`` turns; nothing was said.
        InputError
            The message is empty or too long.
        NotFoundError
            There is no such conversation, or its bot is not here.
        StoreError
            The turn could not be logged; it has not happened.
        """
        with self._locks[hash(conversation) % _LOCKS]:
            for attempt in range(_TRIES):
                row = self._row(conversation)
                bot = self.bot(row["bot"])
                state = self._state(conversation)
                if after is not None and len(state.exchanges) != after:
                    raise StaleError(
                        f"the conversation has {len(state.exchanges)} turns, you have seen {after}, so nothing was said",
                        hint="read the conversation, then say it again if it is still to be said",
                    )
                if row["wished_topic"] is not None:
                    state = replace(state, topic=row["wished_topic"])
                turn, state_after = bot.respond(state, text, on_step=on_step)
                try:
                    self._store.append(conversation, _stored(turn, state_after))
                except TakenError:
                    # Another process was first. Not all who try again should do so at the same moment.
                    self._forget(conversation)
                    time.sleep(random.uniform(0, 0.005 * (attempt + 1)))
                    continue
                if row["wished_topic"] is not None:
                    self._store.wish_topic(conversation, None)
                self._remember(state_after)
                return turn
            raise StoreError("the conversation is being carried on elsewhere at the same time; try again")

    def history(self, conversation: str) -> dict[str, Any]:
        """A conversation with its turns and their ratings, as plain JSON values."""
        row = self._row(conversation)
        ratings = self._store.ratings(conversation)
        turns = [turn_json(turn, ratings.get(turn.number)) for turn in self._store.turns(conversation)]
        topic = row["wished_topic"] or (turns[-1]["topic"] if turns else None)
        return {
            "conversation": conversation,
            "bot": row["bot"],
            "channel": row["channel"],
            "started_at": utc_text(row["started_at"]),
            "topic": topic,
            "turns": turns,
        }

    def turn(self, conversation: str, number: int) -> dict[str, Any]:
        """One turn with its trace, as plain JSON values."""
        self._row(conversation)
        stored = self._store.turn(conversation, number)
        if stored is None:
            raise NotFoundError(f"the conversation has no turn {number}")
        ratings = self._store.ratings(conversation)
        return {**turn_json(stored, ratings.get(number)), "trace": stored.trace}

    def rate(
        self, conversation: str, number: int, *, thumb: int | None = None, grade: int | None = None
    ) -> dict[str, int | None]:
        """Rate a turn: ``thumb`` is 1 or -1, ``grade`` 1 to 5, and 0 takes either back. Returns the rating now."""
        if thumb not in (None, -1, 0, 1):
            raise InputError(f"the thumb is {thumb}; expected 1 (up), -1 (down) or 0 (none)")
        if grade is not None and not 0 <= grade <= 5:
            raise InputError(f"the grade is {grade}; expected 1 to 5, or 0 (none)")
        self._row(conversation)
        if self._store.turn(conversation, number) is None:
            raise NotFoundError(f"the conversation has no turn {number}")
        for kind, value in (("thumb", thumb), ("grade", grade)):
            if value is not None:
                self._store.rate(conversation, number, kind, value or None)
        return self._store.ratings(conversation).get(number, {"thumb": None, "grade": None})

    def wish_topic(self, conversation: str, topic: str) -> str:
        """Turn the talk to a topic; returns the topic of the bank that is meant."""
        bot = self.bot(self._row(conversation)["bot"])
        found = bot.find_topic(topic)
        if found is None:
            raise NotFoundError(f"there is no topic {topic!r}; there are: {', '.join(bot.topics)}")
        self._store.wish_topic(conversation, found)
        return found

    def dialogue(self, bot: str, dialogue_id: str) -> dict[str, Any]:
        """A dialogue of a bot's bank: ``{"dialogue_id", "topic", "utterances"}``."""
        return self.bot(bot).dialogue(dialogue_id)

    def source(self, evidence: dict[str, Any], bot: str | None = None) -> dict[str, Any] | None:
        """The dialogue that a reply with this evidence came from; ``None`` where it came from elsewhere or is gone."""
        if evidence["type"] != "dialogue":
            return None
        try:
            return self.bot(bot).dialogue(evidence["dialogue_id"])
        except NotFoundError:
            return None

    def close(self) -> None:
        """Close the log and the bots."""
        self._store.close()
        for bot in self._bots.values():
            bot.close()

    def _row(self, conversation: str) -> dict[str, Any]:
        row = self._store.conversation(conversation) if 0 < len(conversation) <= 64 else None
        if row is None:
            raise NotFoundError("there is no such conversation")
        return row

    def _state(self, conversation: str) -> State:
        """The state after the last logged turn, from memory where no other process has gone on since."""
        with self._states_lock:
            state = self._states.get(conversation)
        if state is not None and len(state.exchanges) == self._store.last_number(conversation):
            return state
        turns = self._store.turns(conversation)
        memory = turns[-1].memory if turns else {}
        return State.restore(conversation, [Exchange(turn.text, turn.reply) for turn in turns], memory)

    def _remember(self, state: State) -> None:
        with self._states_lock:
            self._states[state.conversation] = state
            self._states.move_to_end(state.conversation)
            while len(self._states) > _REMEMBERED:
                self._states.popitem(last=False)

    def _forget(self, conversation: str) -> None:
        with self._states_lock:
            self._states.pop(conversation, None)


def _stored(turn: Turn, after: State) -> StoredTurn:
    return StoredTurn(
        turn.number,
        datetime.now(UTC),
        turn.text,
        turn.reply,
        turn.component,
        turn.confidence,
        turn.topic,
        turn.elapsed_ms,
        asdict(turn.evidence),
        turn.trace(),
        after.memory(),
    )


def turn_json(turn: StoredTurn, rating: dict[str, int | None] | None) -> dict[str, Any]:
    """A logged turn as plain JSON values: the documented line of a turn, with its time and rating."""
    return {
        **turn_line(turn, turn.evidence, turn.trace.get("steps", [])),
        "said_at": utc_text(turn.said_at),
        "rating": rating or {"thumb": None, "grade": None},
    }
