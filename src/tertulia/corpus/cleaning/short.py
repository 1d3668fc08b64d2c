"""The filter ``short``: texts of too few words, dialogues of too few utterances."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tertulia.corpus.cleaning.filter import FilterBase, Hit, Setting

__all__ = ["TooShort", "length_in_words"]

# A word, or one character of a script that is written without spaces.
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = f"[{_HAN}\u3040-\u30ff\u0e00-\u0eff]"
_WORD = re.compile(rf"{_UNSPACED}|(?:(?!{_UNSPACED})[^\W_])+(?:['’-](?:(?!{_UNSPACED})[^\W_])+)*")


def length_in_words(text: str, most: int | None = None) -> int:
    """The words of a text, at most ``most``; a Chinese character counts as one, punctuation and emoji do not."""
    count = 0
    for count, _ in enumerate(_WORD.finditer(text), start=1):
        if count == most:
            break
    return count


class TooShort(FilterBase):
    """Finds utterances of fewer than ``words`` words, and dialogues of fewer than ``utterances`` utterances."""

    name: ClassVar[str] = "short"
    summary: ClassVar[str] = "fewer words (Chinese: characters) or utterances than asked for"
    settings: ClassVar[Mapping[str, Setting]] = {
        "words": Setting(2, "an utterance of fewer words, or Chinese characters, is too short", 0, 1_000_000),
        "utterances": Setting(2, "a dialogue of fewer utterances is too short", 0, 1_000_000),
    }

    def __init__(self, language: str, words: int = 2, utterances: int = 2) -> None:
        del language  # Words are counted by the script of each.
        self._words = words
        self._utterances = utterances

    def in_text(self, text: str) -> Sequence[Hit]:
        """The whole text where it is too short; the value is its number of words."""
        if not self._words:
            return ()
        count = length_in_words(text, self._words)
        return () if count >= self._words else (Hit("few words", value=float(count)),)

    def in_dialogue(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:  # noqa: ARG002
        """The dialogue where it has too few utterances; the value is their number."""
        return () if len(texts) >= self._utterances else (Hit("few utterances", value=float(len(texts))),)
