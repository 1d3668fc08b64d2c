"""What a response is worth whatever the prompt, learned from the relevance of its words in train."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.errors import MissingExtraError
from tertulia.ranking.features.grades import grades

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.learned import Read
    from tertulia.ranking.features.lexicon import Lexicon
    from tertulia.ranking.ranker import FitRun

__all__ = ["Worth"]

_PENALTY = 3.0
_STEPS = 60
_PRIOR = 1.0


class Worth:
    """Ridge regression of relevance on the words of the response alone.

    The target is a candidate's worth (0 to 1) less that of its context, which is shrunk to the mean of all: what is common to the
    candidates of a prompt says nothing of them.
    """

    name: ClassVar[str] = "worth"
    features: ClassVar[Mapping[str, str]] = {
        "worth": "What relevance a ridge regression on the response's words expects. Source: Hoerl and Kennard 1970.",
        "worth_best": "The largest weight of a word of the response there.",
        "worth_least": "The smallest weight of a word of the response there.",
    }
    held_out: ClassVar[bool] = True

    def __init__(self, lexicon: Lexicon, weights: NDArray[np.float64], idf: NDArray[np.float64]) -> None:
        self._lexicon = lexicon
        self._weights, self._idf = weights, idf

    @classmethod
    def fit(cls, examples: Sequence[Example], lexicon: Lexicon, run: FitRun) -> Self:  # noqa: ARG003
        """Regress the relevance of the candidates of examples on their words."""
        try:
            from scipy import sparse
            from scipy.sparse.linalg import lsmr
        except ImportError:
            raise MissingExtraError("features of responses", package="scipy", extra="full") from None
        idf = np.array([lexicon.idf(word) for word in lexicon.numbers], dtype=np.float64)
        target = _targets(examples)
        rows = [lexicon.numbers_of(text) for example in examples for text in example.texts]
        values = [_unit(idf[row]) for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
        shape = (len(rows), len(idf))
        whole = np.concatenate([np.zeros(0), *values]), np.concatenate([np.zeros(0, dtype=np.int64), *rows]), starts
        matrix = sparse.csr_matrix(whole, shape=shape)
        weights = np.zeros(len(idf))
        if len(rows) and np.any(target):
            weights = lsmr(matrix, target, damp=math.sqrt(_PENALTY), atol=1e-6, btol=1e-6, maxiter=_STEPS)[0]
        return cls(lexicon, np.asarray(weights, dtype=np.float64), idf)

    def columns(self, read: Sequence[Read], *, own: bool) -> NDArray[np.float64]:  # noqa: ARG002
        """Values of the shape (candidates of all, features)."""
        texts = [self._lexicon.numbers_of(response.raw) for one in read for response in one.responses]
        rows = np.zeros((len(texts), len(self.features)))
        lengths = np.array([len(each) for each in texts], dtype=np.int64)
        some = np.flatnonzero(lengths)
        if len(some):
            words = np.concatenate(texts)
            starts = (np.cumsum(lengths) - lengths)[some]
            weights, idf = self._weights[words], self._idf[words]
            norms = np.sqrt(np.add.reduceat(idf * idf, starts))
            sums = np.add.reduceat(weights * idf, starts) / np.where(norms > 0, norms, 1.0)
            rows[some] = np.stack(
                [sums, np.maximum.reduceat(weights, starts), np.minimum.reduceat(weights, starts)], axis=1
            )
        return rows

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        return {"weights": self._weights, "idf": self._idf}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], lexicon: Lexicon) -> Self:
        """The part that was written; a ``KeyError`` or ``ValueError`` where it does not hold."""
        for array in (weights := arrays["weights"], idf := arrays["idf"]):
            if array.shape != (len(lexicon.numbers),) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError("weights of other words")
        return cls(lexicon, weights, idf)


def _targets(examples: Sequence[Example]) -> NDArray[np.float64]:
    graded = grades(examples)
    worth = graded.gains[graded.labels]
    if not len(worth):
        return worth
    worth = worth - worth.mean()
    found = []
    start = 0
    for example in examples:
        own = worth[start : start + len(example)]
        found.append(own - own.sum() / (len(own) + _PRIOR))
        start += len(example)
    return np.concatenate(found)


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    length = math.sqrt(float((values * values).sum()))
    return values / length if length else values
