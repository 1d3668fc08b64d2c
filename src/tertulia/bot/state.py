"""What a bot remembers of one conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Exchange", "State"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One user message and the reply to it."""

    text: str
    reply: str


@dataclass(slots=True)
class State:
    """The memory of one conversation.

    ``topic`` is the topic of the talk, one of the bank's; ``variables`` holds each component's own memory under the component's
    name. The exchanges are in the log; topic and variables are stored beside each turn (``memory``) so that a conversation goes on
    after a restart as if there had been none.
    """

    conversation: str
    exchanges: list[Exchange] = field(default_factory=list)
    topic: str | None = None
    variables: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def previous(self) -> str:
        """What the bot said last; empty at the start."""
        return self.exchanges[-1].reply if self.exchanges else ""

    def said(self) -> set[str]:
        """Everything the bot has said, folded for comparison."""
        return {fold(exchange.reply) for exchange in self.exchanges}

    def memory(self) -> dict[str, Any]:
        """What is stored beside a turn."""
        return {"topic": self.topic, "variables": self.variables}

    @classmethod
    def restore(cls, conversation: str, exchanges: list[Exchange], memory: dict[str, Any]) -> State:
        """The state after the given exchanges, from the memory stored with the last of them."""
        return cls(conversation, exchanges, memory.get("topic"), dict(memory.get("variables", {})))


def fold(text: str) -> str:
    """A text without case, punctuation and repeated spaces: two replies that fold alike sound alike."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
