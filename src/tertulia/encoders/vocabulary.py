"""A vocabulary: the numbers of words, learned from training texts. A word it has not gets one of a few shared numbers."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tertulia.errors import ArtefactError

__all__ = ["EMPTY", "PADDING", "TURN", "Vocabulary"]

PADDING, TURN, EMPTY = 0, 1, 2
"""The number of no word, of the border between two turns, and of a text without a word."""

_SPECIAL = 3


class Vocabulary:
    """The numbers of words: 0 to 2 are special, the next ``buckets`` are for unknown words, then ``words`` in order.

    An unknown word goes into a bucket by a hash of its letters, so that two of them are mostly told apart.
    """

    def __init__(self, words: Sequence[str], buckets: int) -> None:
        if buckets < 1:
            raise ValueError(f"{buckets} buckets; expected at least 1")
        self.words = tuple(words)
        self.buckets = buckets
        self._first = _SPECIAL + buckets
        self._numbers = {word: number for number, word in enumerate(self.words, self._first)}
        if len(self._numbers) != len(self.words):
            raise ValueError("a word is in the vocabulary twice")

    @classmethod
    def of(
        cls, texts: Iterable[Iterable[str]], *, minimum: int = 1, most: int = 50_000, buckets: int = 100
    ) -> Vocabulary:
        """The ``most`` frequent words of texts that have at least ``minimum`` occurrences; of equally frequent ones by letter."""
        counts: Counter[str] = Counter()
        for words in texts:
            counts.update(words)
        kept = sorted((-count, word) for word, count in counts.items() if count >= minimum)
        return cls([word for _, word in kept[:most]], buckets)

    def __len__(self) -> int:
        """How many numbers there are."""
        return self._first + len(self.words)

    def number(self, word: str) -> int:
        """The number of a word."""
        found = self._numbers.get(word)
        return _SPECIAL + zlib.crc32(word.encode("utf-8", "replace")) % self.buckets if found is None else found

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The numbers of the words of a text, in order; nothing for a text without a word."""
        return [self.number(word) for word in words]

    def knows(self, word: str) -> bool:
        """Whether a word has a number of its own."""
        return word in self._numbers

    def to_json(self) -> dict[str, Any]:
        """What ``from_json`` takes."""
        return {"buckets": self.buckets, "words": list(self.words)}

    @classmethod
    def from_json(cls, value: Any, where: object = None) -> Vocabulary:
        """The vocabulary that was written.

        Raises
        ------
        ArtefactError
            It is none.
        """
        words = value.get("words") if isinstance(value, dict) else None
        buckets = value.get("buckets") if isinstance(value, dict) else None
        if isinstance(words, list) and isinstance(buckets, int) and all(isinstance(word, str) for word in words):
            try:
                return cls(words, buckets)
            except ValueError as error:
                raise ArtefactError(f"has no vocabulary that holds: {error}", where=where) from None
        raise ArtefactError("has no vocabulary; expected buckets and a list of words", where=where)
