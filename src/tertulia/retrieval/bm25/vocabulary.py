"""The numbers of words, and how often a text has each of its words: by the compiled kernel where there is one."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tertulia.retrieval.engine import KERNEL_VARIABLE
from tertulia.retrieval.tokenizer import EnglishTokenizer

if TYPE_CHECKING:
    from tertulia.retrieval.tokenizer import Tokenizer

__all__ = ["Counted", "Vocabulary", "vocabulary_of"]


class Counted(NamedTuple):
    """How many words a text has, and its distinct ones: their numbers and counts as bytes of 32-bit numbers."""

    length: int
    words: bytes
    counts: bytes


class Vocabulary(Protocol):
    """Numbers words from 0 as they come; its length is how many there are."""

    def __len__(self) -> int: ...

    def count(self, text: str, *, adds: bool = True) -> Counted:
        """Count the words of a text; new ones get a number, or are left out where not ``adds``."""
        ...


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """An empty vocabulary of the words that a tokenizer gives."""
    if os.environ.get(KERNEL_VARIABLE) == "numpy":
        return _Plain(tokenizer)
    try:
        return _Compiled(tokenizer)
    except ImportError:
        return _Plain(tokenizer)


class _Plain:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def count(self, text: str, *, adds: bool = True) -> Counted:
        words = self._tokenizer.words(text)
        counted = Counter(words)
        numbers = self._numbers
        if adds:
            # A new word takes the next number; most words of a text are known.
            found = [numbers.setdefault(word, len(numbers)) for word in counted]
            return Counted(len(words), array("I", found).tobytes(), array("I", counted.values()).tobytes())
        known = [(numbers[word], count) for word, count in counted.items() if word in numbers]
        return Counted(
            len(words), array("I", [n for n, _ in known]).tobytes(), array("I", [c for _, c in known]).tobytes()
        )


class _Compiled:
    def __init__(self, tokenizer: Tokenizer) -> None:
        from tertulia.retrieval import _bm25

        self._tokenizer = tokenizer
        self._vocabulary = _bm25.Vocabulary()
        # The compiled tokenizer is the English one; words of other languages come from Python.
        self._takes_text = isinstance(tokenizer, EnglishTokenizer)

    def __len__(self) -> int:
        return len(self._vocabulary)

    def count(self, text: str, *, adds: bool = True) -> Counted:
        found = self._vocabulary.count_english(text, adds) if self._takes_text else None
        if found is None:
            found = self._vocabulary.count_words(self._tokenizer.words(text), adds)
        return Counted(*found)
