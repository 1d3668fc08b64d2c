"""What a neural ranker sees of a prompt and a response: the numbers of their words, and how their words overlap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.encoders.vocabulary import TURN, Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.wording import Wording

__all__ = ["FEATURES", "PairReader", "Prompt", "Response", "word_weights"]

FEATURES = (
    "share of the response's words that the prompt has",
    "the same, words by their IDF",
    "share of the last turn's words, by their IDF, that the response has",
    "logarithm of the summed IDF of the words that both have",
    "the same, every turn in full",
    "the same, of the last turn",
    "the greatest IDF of a word that both have",
    "mean IDF of the response's words",
    "logarithm of the number of the response's words",
)
"""The numbers of a pair. A word of an earlier turn counts as much as its turn, where nothing else is said.

After Severyn and Moschitti (2015), ``x_feat``, whose overlap is that of one short text with another; sums beside shares are for
prompts of many turns.
"""


class Prompt(NamedTuple):
    """The numbers of a prompt's last words; of each distinct word the weight of its turn, the IDF of those of the last turn."""

    numbers: list[int]
    weights: dict[str, float]
    last: dict[str, float]


class Response(NamedTuple):
    """The numbers of a response's first words, the IDF of each distinct word, and how many words there are."""

    numbers: list[int]
    words: dict[str, float]
    length: int


def word_weights(texts: Iterable[Iterable[str]], vocabulary: Vocabulary) -> NDArray[np.float32]:
    """The IDF of every number of a vocabulary over texts of words; unknown words are as rare as can be.

    ``ln((N + 1) / (n + 0.5))``, at least 0, of ``N`` texts of which ``n`` have the word.
    """
    found: Counter[str] = Counter()
    count = 0
    for words in texts:
        found.update(set(words))
        count += 1
    weights = np.full(len(vocabulary), math.log((count + 1) / 0.5), dtype=np.float32)
    for word, texts_with in found.items():
        if vocabulary.knows(word):
            weights[vocabulary.number(word)] = max(0.0, math.log((count + 1) / (texts_with + 0.5)))
    return weights


class PairReader:
    """Reads examples for a network.

    Parameters
    ----------
    weights:
        The IDF of each number of the vocabulary.
    prompt_words, response_words:
        How many words of a text its encoder sees: the last of a prompt, the first of a response.
    """

    def __init__(
        self,
        wording: Wording,
        vocabulary: Vocabulary,
        weights: NDArray[np.float32],
        *,
        prompt_words: int,
        response_words: int,
    ) -> None:
        self.vocabulary = vocabulary
        self.weights = weights
        self._wording = wording
        self._idfs: list[float] = weights.tolist()
        self._prompt_words, self._response_words = prompt_words, response_words

    def prompt(self, example: Example) -> Prompt:
        """The turns of an example that count, in order, with a border between them."""
        turns = [(self._wording.words(text), weight) for text, weight in self._wording.weighted_turns(example)]
        weights: dict[str, float] = {}
        for words, weight in turns:
            for word in words:
                weights.setdefault(word, weight)
        numbers: list[int] = []
        for words, _ in reversed(turns):
            numbers += [TURN] * bool(numbers)
            numbers += self.vocabulary.numbers(words)
        return Prompt(numbers[-self._prompt_words :], weights, self._idf(turns[0][0] if turns else []))

    def response(self, text: str) -> Response:
        """A response."""
        words = self._wording.words(text)
        numbers = self.vocabulary.numbers(words[: self._response_words])
        return Response(numbers, self._idf(words), len(words))

    def _idf(self, words: Sequence[str]) -> dict[str, float]:
        return {word: self._idfs[self.vocabulary.number(word)] for word in dict.fromkeys(words)}

    @staticmethod
    def features(prompt: Prompt, response: Response) -> list[float]:
        """The numbers of ``FEATURES``."""
        words = response.words
        shared = [word for word in words if word in prompt.weights]
        total = math.fsum(words.values())
        weighed = [prompt.weights[word] * words[word] for word in shared]
        last = math.fsum(words[word] for word in shared if word in prompt.last)
        return [
            math.fsum(prompt.weights[word] for word in shared) / (len(words) or 1),
            math.fsum(weighed) / (total or 1.0),
            last / (math.fsum(prompt.last.values()) or 1.0),
            math.log1p(math.fsum(weighed)),
            math.log1p(math.fsum(words[word] for word in shared)),
            math.log1p(last),
            max(weighed, default=0.0),
            total / (len(words) or 1),
            math.log1p(response.length),
        ]
