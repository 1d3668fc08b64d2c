"""How many texts of the train examples have a word or a run of characters: what all weights of features come from."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from tertulia.errors import ArtefactError
from tertulia.ranking.features.texts import squeezed
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tertulia.ranking.examples import Example

__all__ = ["Lexicon", "distinct_texts"]

_GRAM_SIZES = {"en": (3, 4), "zh": (1, 2), "segmented": (1, 2)}


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
        self._sizes = _GRAM_SIZES[wording.language]
        self._spaced = wording.language == "en"
        # Of frequencies there are few, of words many.
        self._idf_of = [math.log((documents + 1.0) / (count + 0.5)) for count in range(documents + 1)]

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
        kept = {gram: count for gram, count in sorted(grams.items()) if count > 1}
        return cls(wording, len(texts), length / max(1, len(texts)), dict(sorted(words.items())), kept)

    def idf(self, word: str, less: int = 0) -> float:
        """ln((N + 1) / (n + ½)) with n the number of texts that have the word, ``less`` so many of them."""
        return self._idf_of[max(0, self.frequency.get(word, 0) - less)]

    def gram_idf(self, gram: str, less: int = 0) -> float:
        """The same of a run of characters."""
        return self._idf_of[max(0, self._grams.get(gram, 0) - less)]

    def grams(self, text: str) -> list[str]:
        """The runs of characters of a squeezed text: of 3 and 4 in English, of 1 and 2 in Chinese, without spaces there."""
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
            whole = isinstance(documents, int) and 0 <= documents < 2**40 and math.isfinite(mean_words)
            if not whole or not all(_are_counts(counts, documents) for counts in (words, grams)):
                raise ValueError("counts that are none")
            return cls(Wording.from_json(value["wording"]), documents, mean_words, words, grams)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ArtefactError(f"has no lexicon that holds: {error}", hint="train it again") from None


def _are_counts(counts: Any, documents: int) -> bool:
    return isinstance(counts, dict) and all(type(count) is int and 0 < count <= documents for count in counts.values())
