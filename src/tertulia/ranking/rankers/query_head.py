"""What a bi-encoder learns over frozen embeddings: where in the space of texts the answer to a context is to be looked for.

Of a context there are two vectors: ``p``, that of the last turn, and ``c``, the sum of the earlier turns, each times its
weight. The query is ``q = s (p + c) + W p + U c + b``, and the score of a response with the vector ``r`` is ``q · r``. At the
beginning W, U and b are zero, so that the score is the plain cosine; weight decay draws back there, and there it stays unless dev
says otherwise. Responses keep their vectors: a bank of them can be searched by ``q`` as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Listing", "QueryHead", "Training", "train_head"]

# Of the softmax over cosines, whose differences are small: the inverse temperature of contrastively trained encoders.
_SCALE = 20.0
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


@dataclass(slots=True)
class QueryHead:
    """The learned numbers: ``last`` (W) and ``earlier`` (U), float32 of shape (dimension, dimension); ``bias`` (b) (dimension,)."""

    last: NDArray[np.float32]
    earlier: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def plain(cls, dimension: int) -> QueryHead:
        """The one whose score is the cosine."""
        square = (dimension, dimension)
        return cls(np.zeros(square, np.float32), np.zeros(square, np.float32), np.zeros(dimension, np.float32))

    @property
    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The numbers by name."""
        return {"last": self.last, "earlier": self.earlier, "bias": self.bias}

    def copy(self) -> QueryHead:
        """A copy that goes its own way."""
        return QueryHead(self.last.copy(), self.earlier.copy(), self.bias.copy())

    def score(
        self, last: NDArray[np.float32], earlier: NDArray[np.float32], responses: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """The scores, of shape (responses,), of the rows of ``responses`` for one context; a row's depends on no other row."""
        query = np.float32(_SCALE) * (last + earlier) + self.last @ last + self.earlier @ earlier + self.bias
        return np.asarray((responses.astype(np.float64) * query.astype(np.float64)).sum(axis=1))


@dataclass(frozen=True, slots=True)
class Listing:
    """A context to learn from: its two vectors, the numbers of its responses in a table, and the share of each."""

    last: NDArray[np.float32]
    earlier: NDArray[np.float32]
    responses: NDArray[np.int64]
    shares: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Training:
    """How a head is trained: the settings of the ranker, and the seed."""

    epochs: int
    patience: int
    learning_rate: float
    decay: float
    dropout: float
    batch: int
    others: float
    seed: int


def train_head(
    listings: Sequence[Listing],
    table: NDArray[np.float32],
    training: Training,
    quality: Callable[[QueryHead], tuple[float, NDArray[np.float64]]],
    told: Callable[[int], None],
) -> tuple[QueryHead, dict[str, Any]]:
    """Train by Adam on the listwise loss; the head that is best on dev, and what there is to say.

    ``quality`` gives that of dev, and of each of its examples. The plain cosine is kept unless the gain over it is larger than its
    standard error:
    on a handful of dev contexts the best of many epochs is best by chance.

    Parameters
    ----------
    table:
        Vectors of responses, of shape (texts, dimension).
    told:
        Is told of each epoch.
    """
    random = np.random.default_rng(training.seed)
    head = QueryHead.plain(table.shape[1])
    overall, first = quality(head)
    best, best_epoch, best_values, history = head.copy(), 0, first, [overall]
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in head.arrays.items()}
    step = 0
    for epoch in range(1, training.epochs + 1):
        order = random.permutation(len(listings))
        for start in range(0, len(order), training.batch):
            step += 1
            batch = [listings[number] for number in order[start : start + training.batch].tolist()]
            _descend(head, moments, _gradients(head, batch, table, training, random), training, step)
        told(1)
        overall, values = quality(head)
        history.append(overall)
        if history[-1] > history[best_epoch]:
            best, best_epoch, best_values = head.copy(), epoch, values
        elif epoch - best_epoch >= training.patience:
            break
    gain = best_values - first
    error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
    kept = best_epoch > 0 and float(gain.mean()) > error
    report = {
        "dev": history,
        "best_epoch": best_epoch,
        "gain": float(gain.mean()) if len(gain) else 0.0,
        "error": error,
    }
    return (best if kept else QueryHead.plain(table.shape[1])), report | {"kept": "head" if kept else "cosine"}


def _gradients(
    head: QueryHead,
    batch: Sequence[Listing],
    table: NDArray[np.float32],
    training: Training,
    random: np.random.Generator,
) -> dict[str, NDArray[np.float32]]:
    """The gradient of the mean loss of a batch: over the context's own candidates, and over those of all contexts of the batch."""
    last = _dropped(np.stack([each.last for each in batch]), training.dropout, random)
    earlier = _dropped(np.stack([each.earlier for each in batch]), training.dropout, random)
    plain = np.stack([each.last + each.earlier for each in batch])
    queries = np.float32(_SCALE) * plain + last @ head.last.T + earlier @ head.earlier.T + head.bias
    numbers = np.concatenate([each.responses for each in batch])
    owners = np.repeat(np.arange(len(batch)), [len(each.responses) for each in batch])
    responses = table[numbers]
    scores = (queries @ responses.T).astype(np.float64)
    own = owners[None, :] == np.arange(len(batch))[:, None]
    targets = np.zeros(scores.shape)
    targets[owners, np.arange(len(numbers))] = np.concatenate([each.shares for each in batch])
    slopes = _softmax(scores, own) - targets
    if training.others > 0:
        slopes += training.others * (_softmax(scores, own | ~_said_by(batch, numbers)) - targets)
    pulled = (slopes.astype(np.float32) @ responses) / np.float32(len(batch))
    return {"last": pulled.T @ last, "earlier": pulled.T @ earlier, "bias": pulled.sum(axis=0)}


def _said_by(batch: Sequence[Listing], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each context and each response of the batch, whether it is the text of a good answer to that context."""
    good = [each.responses[each.shares > 0] for each in batch]
    starts = np.cumsum([0, *(len(each) for each in good[:-1])])
    # Every context has a good answer, so that no run between two starts is empty.
    return np.logical_or.reduceat(np.concatenate(good)[:, None] == numbers, starts, axis=0)


def _softmax(scores: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of each row the softmax over what is counted; elsewhere 0."""
    shifted = np.where(counted, scores, -np.inf)
    exponents = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = exponents / exponents.sum(axis=1, keepdims=True)
    return shares


def _dropped(vectors: NDArray[np.float32], share: float, random: np.random.Generator) -> NDArray[np.float32]:
    """The vectors with a share of their numbers put out, and the others larger by as much."""
    if share <= 0:
        return vectors
    kept = random.random(vectors.shape, dtype=np.float32) >= share
    return np.where(kept, vectors / np.float32(1 - share), np.float32(0))


def _descend(
    head: QueryHead,
    moments: Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]],
    gradients: Mapping[str, NDArray[np.float32]],
    training: Training,
    step: int,
) -> None:
    """A step of Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    rate = training.learning_rate
    for name, value in head.arrays.items():
        gradient, (mean, square) = gradients[name], moments[name]
        mean += np.float32(1 - _BETA_1) * (gradient - mean)
        square += np.float32(1 - _BETA_2) * (gradient * gradient - square)
        corrected = mean / np.float32(1 - _BETA_1**step)
        spread = np.sqrt(square / np.float32(1 - _BETA_2**step)) + np.float32(_EPSILON)
        value *= np.float32(1 - rate * training.decay)
        value -= np.float32(rate) * corrected / spread
