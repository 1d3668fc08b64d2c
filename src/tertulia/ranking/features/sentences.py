"""How near a response is to the turns before it in the space of a sentence embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from tertulia.encoders.sentence import SentenceEncoder, load_encoder, open_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.features.learned import Read
    from tertulia.ranking.ranker import FitRun

__all__ = ["Sentences"]

_TURNS = 4


class Sentences:
    """Cosines of embeddings; there only where a run names a sentence model, for they cost more than all other features together."""

    features: ClassVar[Mapping[str, str]] = {
        "embedding_cosine": "Cosine of the sentence embeddings of prompt and response.",
        "embedding_context_cosine": "Cosine of the weighted mean of the last four turns' embeddings and the response's.",
        "embedding_before_cosine": "Cosine of the sentence embeddings of the turn before the prompt and of the response.",
    }

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder

    @classmethod
    def open(cls, model: str, run: FitRun) -> Self:
        """The features by a model of that name or path; raises as ``open_encoder`` does."""
        return cls(open_encoder(model, run.cache, run.workers, device=run.device))

    def columns(self, read: Sequence[Read]) -> NDArray[np.float64]:
        """Values of the shape (candidates of all, features)."""
        numbers: dict[str, int] = {}
        for one in read:
            for text in (*(turn for turn, _weight in one.conversation.turns[:_TURNS]), *one.responses):
                numbers.setdefault(text.raw, len(numbers))
        vectors = self._encoder.encode(list(numbers)).astype(np.float64)
        found = [np.zeros((0, len(self.features)))]
        for one in read:
            turns = [(vectors[numbers[turn.raw]], weight) for turn, weight in one.conversation.turns[:_TURNS]]
            nothing = np.zeros(self._encoder.dimension)
            prompt = turns[0][0] if turns else nothing
            before = turns[1][0] if len(turns) > 1 else nothing
            mean = sum((vector * weight for vector, weight in turns), nothing)
            mean /= float(np.sqrt(np.add.reduce(mean * mean))) or 1.0
            responses = vectors[[numbers[response.raw] for response in one.responses]].reshape(-1, len(nothing))
            # Not by a matrix product, whose rounding depends on the number of candidates.
            cosines = [np.add.reduce(responses * side, axis=1) for side in (prompt, mean, before)]
            found.append(np.stack(cosines, axis=1))
        return np.concatenate(found)

    def save(self, directory: Path) -> None:
        """Leave in a directory what ``load`` needs."""
        self._encoder.save(directory)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The features that were saved; raises as ``load_encoder`` does."""
        return cls(load_encoder(directory))
