"""How many texts of the train examples have a word or a run of characters: what all weights of features come from."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.ranking.features.texts import squeezed
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Lexicon", "distinct_texts"]

_GRAM_SIZES = {"en": (4,), "zh": (1, 2), "segmented": (1, 2)}
_KEPT_NUMBERS = 4_000_000
_MOST = 1_000_000
_MARK = "?"
_ASKING = re.compile("[?？]")


def distinct_texts(examples: Iterable[Example]) -> list[str]:
    """All turns and candidates, each text once, in order of appearance."""
    found: dict[str, None] = {}
    for example in examples:
        for turn in example.turns:
            found[turn.text] = None
        for text in example.texts:
            found[text] = None
    return list(found)


class Lexicon:
    """Document frequencies; a document is a distinct text of the train examples, be it a turn or a candidate.

    ``documents`` is how many there are, ``mean_words`` how many words one has on average. Runs of characters that are in one text
    only are not kept: they weigh what an unknown one weighs.
    """

    def __init__(
        self, wording: Wording, documents: int, mean_words: float, words: dict[str, int], grams: dict[str, int]
    ) -> None:
        self.wording = wording
        self.documents = documents
        self.mean_words = mean_words
        self.frequency = words
        self._grams = grams
        # Words that only one text has tell nothing of other words. A question mark is a word as well: it asks for an answer.
        shared = [word for word, count in words.items() if count > 1 and word != _MARK]
        shared = _most_frequent(shared, words)
        self.numbers = {word: number for number, word in enumerate((_MARK, *shared))}
        self._numbered: dict[str, NDArray[np.int64]] = {}
        self._numbers_kept = 0
        self._sizes = _GRAM_SIZES[wording.language]
        self._spaced = wording.language == "en"
        self._unknown = math.log((documents + 1.0) / 0.5)
        # Weights of words and runs, looked up far more often than there are any: by how many texts they are less.
        self._word_idf = [self._weights(words, less) for less in (0, 1)]
        self._gram_idf = [self._weights(grams, less) for less in (0, 1)]

    @classmethod
    def of(cls, examples: Sequence[Example], wording: Wording) -> Lexicon:
        """The lexicon of the texts of examples."""
        empty = cls(wording, 0, 0.0, {}, {})
        words: Counter[str] = Counter()
        grams: Counter[str] = Counter()
        texts = distinct_texts(examples)
        length = 0
        for text in texts:
            found = wording.words(text)
            length += len(found)
            words.update(set(found))
            grams.update(set(empty.grams(squeezed(text))))
        shared = sorted(gram for gram, count in grams.items() if count > 1)
        kept = {gram: grams[gram] for gram in _most_frequent(shared, grams)}
        return cls(wording, len(texts), length / max(1, len(texts)), dict(sorted(words.items())), kept)

    def numbers_of(self, text: str) -> NDArray[np.int64]:
        """The numbers of a text's distinct words that other texts have too, ascending."""
        found = self._numbered.get(text)
        if found is None:
            numbers = {self.numbers.get(word, -1) for word in self.wording.words(text)} - {-1}
            if _ASKING.search(text):
                numbers.add(0)
            found = np.array(sorted(numbers), dtype=np.int64)
            if self._numbers_kept > _KEPT_NUMBERS:
                self._numbered, self._numbers_kept = {}, 0
            self._numbers_kept += len(found) + 20
            self._numbered[text] = found
        return found

    def idf(self, word: str, less: int = 0) -> float:
        """ln((N + 1) / (n + ½)) with n the number of texts that have the word, ``less`` (0 or 1) so many of them."""
        return self._word_idf[less].get(word, self._unknown)

    def word_weights(self, counts: Mapping[str, int], less: int) -> dict[str, float]:
        """(1 + ln(count)) · idf of words."""
        return _weighted(counts, self._word_idf[less], self._unknown)

    def gram_weights(self, grams: Iterable[str], less: int) -> dict[str, float]:
        """idf of runs of characters."""
        idf, unknown = self._gram_idf[less], self._unknown
        return {gram: idf.get(gram, unknown) for gram in grams}

    def _weights(self, frequency: Mapping[str, int], less: int) -> dict[str, float]:
        # Of frequencies there are few, of words many.
        counts = np.array(list(frequency.values()), dtype=np.float64)
        weights = np.log((self.documents + 1.0) / (np.maximum(counts - less, 0.0) + 0.5))
        return dict(zip(frequency, weights.tolist(), strict=True))

    def grams(self, text: str) -> list[str]:
        """The runs of characters of a squeezed text: of 4 in English, of 1 and 2 in Chinese, without spaces there."""
        text = f" {text} " if self._spaced else text.replace(" ", "")
        return [text[at : at + size] for size in self._sizes for at in range(len(text) - size + 1)]

    def to_json(self) -> dict[str, Any]:
        """What ``from_json`` takes."""
        return {
            "wording": self.wording.to_json(),
            "documents": self.documents,
            "mean_words": self.mean_words,
            "words": self.frequency,
            "grams": self._grams,
        }

    @classmethod
    def from_json(cls, value: Any) -> Lexicon:
        """The lexicon that was written.

        Raises
        ------
        ArtefactError
            It is none.
        """
        try:
            documents, mean_words = value["documents"], float(value["mean_words"])
            words, grams = value["words"], value["grams"]
            whole = isinstance(documents, int) and 0 <= documents < 2**40 and 0 <= mean_words < math.inf
            if not whole or not all(_are_counts(counts, documents) for counts in (words, grams)):
                raise ValueError("counts that are none")
            return cls(Wording.from_json(value["wording"]), documents, mean_words, words, grams)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ArtefactError(f"has no lexicon that holds: {error}", hint="train it again") from None


def _most_frequent(keys: list[str], frequency: Mapping[str, int]) -> list[str]:
    """A million of the keys at most, in their order."""
    if len(keys) <= _MOST:
        return keys
    kept = set(sorted(keys, key=lambda key: (-frequency[key], key))[:_MOST])
    return [key for key in keys if key in kept]


def _weighted(counts: Mapping[str, int], idf: Mapping[str, float], unknown: float) -> dict[str, float]:
    return {
        key: idf.get(key, unknown) if count == 1 else (1.0 + math.log(count)) * idf.get(key, unknown)
        for key, count in counts.items()
    }


def _are_counts(counts: Any, documents: int) -> bool:
    return isinstance(counts, dict) and all(type(count) is int and 0 < count <= documents for count in counts.values())
