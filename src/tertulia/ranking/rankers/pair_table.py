"""Examples as the arrays that a network of pairs learns from: distinct texts, pairs, targets, and what each pair weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tertulia.encoders.batches import NumberedTexts
from tertulia.ranking.rankers.pair_texts import FEATURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.rankers.pair_texts import PairReader, Response

__all__ = ["PairTable", "Scale"]


class Scale:
    """Relevance on a scale from 0 to 1, which are the least and the greatest of train."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Scale | None:
        """The scale of examples; ``None`` where nobody has said anything."""
        values = np.concatenate([np.zeros(0), *(example.relevance for example in examples)])
        values = values[np.isfinite(values)]
        return cls(float(values.min()), float(values.max())) if len(values) else None

    def targets(self, relevance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Relevance on the scale; NaN stays."""
        return (relevance - self.low) / ((self.high - self.low) or 1.0)


class PairTable:
    """The pairs of examples, those of an example together.

    Attributes
    ----------
    prompts, responses:
        The prompts, one an example, and the distinct responses.
    starts:
        Where the pairs of each example begin (examples + 1).
    response, features, targets, weights:
        Of each pair the number of its response, its features, its relevance from 0 to 1 (NaN: nobody has said), and how much it
        counts in the loss, 0 where nobody has said.
    """

    def __init__(self, examples: Sequence[Example], reader: PairReader, scale: Scale, *, weigh: bool = False) -> None:
        seen: dict[str, int] = {}
        responses: list[Response] = []
        numbers: list[list[int]] = []
        pairs: list[int] = []
        features: list[list[float]] = []
        for example in examples:
            prompt = reader.prompt(example)
            numbers.append(prompt.numbers)
            for text in example.texts:
                number = seen.setdefault(text, len(seen))
                if number == len(responses):
                    responses.append(reader.response(text))
                pairs.append(number)
                features.append(reader.features(prompt, responses[number]))
        self.prompts = NumberedTexts(numbers)
        self.responses = NumberedTexts(response.numbers for response in responses)
        self.starts = np.concatenate([[0], np.cumsum([len(example) for example in examples], dtype=np.int64)])
        self.response = np.array(pairs, dtype=np.int64)
        self.features = np.array(features, dtype=np.float32).reshape(-1, len(FEATURES))
        empty = np.zeros(0)
        self.targets = scale.targets(np.concatenate([empty, *(example.relevance for example in examples)]))
        deviation = np.concatenate([empty, *(example.deviation for example in examples)])
        self.weights = np.where(np.isnan(self.targets), 0.0, _certainty(deviation) if weigh else 1.0)

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many pairs each example has."""
        return np.diff(self.starts)

    @property
    def useful(self) -> NDArray[np.int64]:
        """The examples of which somebody has said something."""
        of = np.repeat(np.arange(len(self)), self.sizes)
        return np.flatnonzero(np.bincount(of, weights=self.weights, minlength=len(self)) > 0)

    def pairs_of(self, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of some examples, and of each pair the place of its example among them."""
        sizes = self.sizes[which]
        place = np.repeat(np.arange(len(which)), sizes)
        before = np.cumsum(sizes) - sizes
        return np.arange(len(place)) - before[place] + self.starts[which][place], place


def _certainty(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over the deviation, 1 on average; what is given as it is counts as the most certain of the others."""
    sure = deviation > 0
    if not sure.any():
        return np.ones(len(deviation))
    weights = 1 / np.where(sure, deviation, deviation[sure].min())
    found: NDArray[np.float64] = weights / weights.mean()
    return found
