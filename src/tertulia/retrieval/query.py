"""What is asked of an index, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Match", "Options", "Query", "distinct_words"]


class Match(NamedTuple):
    """A response of the bank: its number, its score ``S`` (above 0), and ``‖r‖``, the norm of its idf weights."""

    number: int
    score: float
    norm: float


@dataclass(slots=True)
class Options:
    """How a search scores and how many it gives.

    Raises
    ------
    ConfigurationError
        ``k`` is below 1, or ``bonus`` or ``lam`` (λ) is negative or not finite.
    """

    k: int = 10
    topic: str | None = None
    bonus: float = 0.02
    lam: float = 0.005

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigurationError(f"k is {self.k}; expected at least 1")
        for name, value in (("bonus", self.bonus), ("lam", self.lam)):
            if not (math.isfinite(value) and 0 <= value <= 1e6):
                raise ConfigurationError(f"{name} is {value}; expected a number from 0 to a million")


@dataclass(frozen=True, slots=True)
class Query:
    """The distinct words of the user's utterance and of the bot's before it, sorted, as UTF-8.

    The order of UTF-8 bytes is the order of code points, which is the term order of every sum.
    """

    words: list[bytes]
    previous: list[bytes]


def distinct_words(words: Iterable[str]) -> list[bytes]:
    """The distinct words as sorted UTF-8."""
    return sorted({word.encode() for word in words})
