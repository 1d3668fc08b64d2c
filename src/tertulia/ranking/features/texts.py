"""Texts as features read them: words and character n-grams with their weights, and the turns before a response."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.lexicon import Lexicon

__all__ = ["Conversation", "Reader", "Text", "Weights", "squeezed"]

# Of a text's characters each takes some 300 bytes, once its runs are weighed.
_KEPT_CHARACTERS = 400_000


def squeezed(text: str) -> str:
    """Lower case, one space for each run of white space, none at the ends; a half surrogate, which no file can hold, is ``?``."""
    text = " ".join(text.lower().split())
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class Weights:
    """A sparse vector and its length."""

    __slots__ = ("length", "of")

    def __init__(self, of: dict[str, float]) -> None:
        self.of = of
        self.length = math.sqrt(sum([weight * weight for weight in of.values()]))

    def cosine(self, other: Weights) -> float:
        """The cosine of two vectors; 0 where one has no length."""
        if not (self.length and other.length):
            return 0.0
        mine, theirs = self.of, other.of
        shared = [weight * mine[key] for key, weight in theirs.items() if key in mine]
        return sum(shared) / (self.length * other.length) if shared else 0.0


class Text:
    """A text, read once. ``less`` is 1 for a text that the lexicon was made of, which is left out of the frequencies."""

    def __init__(self, raw: str, lexicon: Lexicon, less: int) -> None:
        self.raw = raw
        self.words = lexicon.wording.words(raw)
        self.counts = Counter(self.words)
        self.idf = {word: lexicon.idf(word, less) for word in self.counts}
        self._lexicon = lexicon
        self._less = less

    @cached_property
    def squeezed(self) -> str:
        """The text in lower case with single spaces."""
        return squeezed(self.raw)

    @cached_property
    def weights(self) -> Weights:
        """TF-IDF of its words, tf being 1 + ln(count)."""
        return Weights(self._lexicon.word_weights(self.counts, self._less))

    @cached_property
    def grams(self) -> dict[str, None]:
        """Its runs of characters, each once, in order."""
        return dict.fromkeys(self._lexicon.grams(self.squeezed))

    @cached_property
    def gram_weights(self) -> Weights:
        """The IDF of its runs of characters."""
        return Weights(self._lexicon.gram_weights(self.grams, self._less))

    @cached_property
    def relative_length(self) -> float:
        """Its number of words to that of a text of the lexicon on average."""
        return len(self.words) / (self._lexicon.mean_words or 1.0)

    @cached_property
    def whole_idf(self) -> float:
        """The sum of the IDF of its distinct words."""
        return sum(self.idf.values())


class Conversation:
    """The turns before a response: the last one is the prompt; ``turns`` are those that count, the last first, with weights."""

    def __init__(self, turns: list[tuple[Text, float]], count: int, nothing: Text, lexicon: Lexicon) -> None:
        self.turns = turns
        self.count = count
        self._lexicon = lexicon
        self.prompt = turns[0][0] if turns else nothing
        self.before = turns[1][0] if len(turns) > 1 else nothing

    @cached_property
    def query(self) -> dict[str, float]:
        """How often each word is asked for, an occurrence counting as much as its turn."""
        return _sum((turn.counts, weight) for turn, weight in self.turns)

    @cached_property
    def whole(self) -> Weights:
        """TF-IDF of the words of all turns as one text, each turn counting the same."""
        counts: dict[str, int] = {}
        for turn, _weight in self.turns:
            for word, count in turn.counts.items():
                counts[word] = counts.get(word, 0) + count
        return Weights(self._lexicon.word_weights(counts, 0))

    @cached_property
    def whole_grams(self) -> Weights:
        """The IDF of the runs of characters of all turns."""
        grams: dict[str, None] = {}
        for turn, _weight in self.turns:
            grams |= turn.grams
        return Weights(self._lexicon.gram_weights(grams, 0))


class Reader:
    """Reads examples with a lexicon; texts that come again are read once.

    ``known`` says that the texts are those the lexicon was made of.
    """

    def __init__(self, lexicon: Lexicon, *, known: bool = False) -> None:
        self.lexicon = lexicon
        self._less = int(known)
        self._texts: dict[str, Text] = {}
        self._characters = 0

    def text(self, raw: str) -> Text:
        """The text, read."""
        found = self._texts.get(raw)
        if found is None:
            if self._characters > _KEPT_CHARACTERS:
                self._texts, self._characters = {}, 0
            self._characters += len(raw) + 10
            found = self._texts[raw] = Text(raw, self.lexicon, self._less)
        return found

    def conversation(self, example: Example) -> Conversation:
        """The turns of an example that count."""
        weighted = self.lexicon.wording.weighted_turns(example)
        turns = [(self.text(raw), weight) for raw, weight in weighted]
        return Conversation(turns, len(example.turns), self.text(""), self.lexicon)


def _sum(parts: Iterable[tuple[Counter[str], float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for weights, weight in parts:
        for key, value in weights.items():
            found[key] = found.get(key, 0.0) + weight * value
    return found
