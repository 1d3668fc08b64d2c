"""How likely a response is as a text: a language model of the responses of train."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tertulia.ranking.features.exchanges import exchanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.learned import Read
    from tertulia.ranking.features.lexicon import Lexicon
    from tertulia.ranking.ranker import FitRun

__all__ = ["LanguageModel"]

_MOST_WORDS = 200
_MOST_TEXTS = 500_000


class _Order(NamedTuple):
    """Counts of histories and of what follows them: keys ascending, counts beside them; of a history also how many words follow."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    histories: NDArray[np.int64]
    history_counts: NDArray[np.int64]
    followers: NDArray[np.int64]


class LanguageModel:
    """Interpolated trigrams: p(w | h) = (c(h, w) + T(h) p(w | h')) / (c(h) + T(h)).

    T(h) is how many distinct words follow h, h' is h without its first word: Witten and Bell 1991, as Chen and Goodman 1998
    interpolate it. Words that only one text has are one word, unknown; a text begins after, and ends in, a mark of its own.
    """

    name: ClassVar[str] = "language_model"
    features: ClassVar[Mapping[str, str]] = {
        "likelihood": "The mean log probability of the response's words in a trigram model of train responses. "
        "Source: Witten and Bell 1991; Chen and Goodman 1998.",
        "least_likelihood": "The smallest of these.",
        "fluency": "The mean of log probability less that of the word alone. Source: SLOR, Pauls and Klein 2012.",
    }
    held_out: ClassVar[bool] = True

    def __init__(self, lexicon: Lexicon, unigrams: NDArray[np.int64], bigrams: _Order, trigrams: _Order) -> None:
        self._lexicon = lexicon
        self._unigrams, self._bigrams, self._trigrams = unigrams, bigrams, trigrams
        self._size = len(lexicon.numbers)
        whole, kinds = float(unigrams.sum()), float(np.count_nonzero(unigrams))
        alone = (unigrams + max(1.0, kinds) / len(unigrams)) / (whole + max(1.0, kinds))
        self._alone = alone.astype(np.float64)

    @classmethod
    def fit(cls, examples: Sequence[Example], lexicon: Lexicon, run: FitRun) -> Self:
        """Count the trigrams of the distinct texts that answer something; of 500,000 of them at most, drawn by chance."""
        texts = list(dict.fromkeys(exchanges(examples).answered))
        if len(texts) > _MOST_TEXTS:
            drawn = np.random.default_rng(run.seed).permutation(len(texts))[:_MOST_TEXTS]
            texts = [texts[at] for at in np.sort(drawn).tolist()]
        size = len(lexicon.numbers)
        sequences = [_numbers(lexicon, lexicon.wording.words(text)) for text in texts]
        before, last, words, _starts = _histories(sequences, size)
        unigrams = np.bincount(words, minlength=size + 3).astype(np.int64)
        # Marks of a beginning are never words.
        return cls(lexicon, unigrams, _counted(last, words, size), _counted(before * (size + 3) + last, words, size))

    def columns(self, read: Sequence[Read], *, own: bool) -> NDArray[np.float64]:  # noqa: ARG002
        """Values of the shape (candidates of all, features)."""
        sequences = [_numbers(self._lexicon, response.words) for one in read for response in one.responses]
        if not sequences:
            return np.zeros((0, len(self.features)))
        before, last, words, starts = _histories(sequences, self._size)
        alone = self._alone[words]
        width = self._size + 3
        pair = _interpolated(self._bigrams, last, words, width, alone)
        logs = np.log(_interpolated(self._trigrams, before * width + last, words, width, pair))
        lengths = np.diff(np.append(starts, len(words)))
        means = np.add.reduceat(logs, starts) / lengths
        gained = np.add.reduceat(logs - np.log(alone), starts) / lengths
        found: NDArray[np.float64] = np.stack([means, np.minimum.reduceat(logs, starts), gained], axis=1)
        return found

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        orders = {"bigrams": self._bigrams, "trigrams": self._trigrams}
        arrays = {f"{name}.{key}": array for name, order in orders.items() for key, array in order._asdict().items()}
        return {"unigrams": self._unigrams, **arrays}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], lexicon: Lexicon) -> Self:
        """The part that was written; a ``KeyError`` or ``ValueError`` where it does not hold."""
        orders = [_Order(*(arrays[f"{name}.{field}"] for field in _Order._fields)) for name in ("bigrams", "trigrams")]
        unigrams = arrays["unigrams"]
        every = [unigrams, *orders[0], *orders[1]]
        if any(array.dtype != np.int64 or array.ndim != 1 or (array < 0).any() for array in every):
            raise ValueError("counts that are none")
        if unigrams.shape != (len(lexicon.numbers) + 3,) or unigrams.max(initial=0) > 2**50:
            raise ValueError("other words")
        for order in orders:
            alike = (order.keys.shape == order.counts.shape) and (
                order.histories.shape == order.history_counts.shape == order.followers.shape
            )
            if not alike or (np.diff(order.keys) <= 0).any() or (np.diff(order.histories) <= 0).any():
                raise ValueError("histories that do not fit")
            if (order.history_counts < 1).any() or (order.counts < 1).any() or (order.followers < 1).any():
                raise ValueError("counts of nothing")
            if any(array.max(initial=0) > 2**50 for array in (order.counts, order.history_counts, order.followers)):
                raise ValueError("counts that are too large")
        return cls(lexicon, unigrams, *orders)


def _numbers(lexicon: Lexicon, words: Sequence[str]) -> list[int]:
    unknown = len(lexicon.numbers)
    return [lexicon.numbers.get(word, unknown) for word in words[:_MOST_WORDS]]


def _histories(
    sequences: Sequence[Sequence[int]], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of every word, the end of a text among them, the two before it and itself; and where texts start."""
    begin, end = size + 1, size + 2
    lengths = np.fromiter((len(each) + 1 for each in sequences), np.int64, len(sequences))
    starts = np.cumsum(lengths) - lengths
    words = np.fromiter((number for each in sequences for number in (*each, end)), np.int64, int(lengths.sum()))
    last = np.concatenate([[begin], words[:-1]])
    last[starts] = begin
    before = np.concatenate([[begin], last[:-1]])
    before[starts] = begin
    return before, last, words, starts


def _counted(histories: NDArray[np.int64], words: NDArray[np.int64], size: int) -> _Order:
    keys, counts = np.unique(histories * (size + 3) + words, return_counts=True)
    which, first, followers = np.unique(keys // (size + 3), return_index=True, return_counts=True)
    sums = np.add.reduceat(counts, first) if len(first) else np.zeros(0)
    return _Order(keys, counts.astype(np.int64), which, sums.astype(np.int64), followers.astype(np.int64))


def _interpolated(
    order: _Order,
    histories: NDArray[np.int64],
    words: NDArray[np.int64],
    width: int,
    lower: NDArray[np.float64],
) -> NDArray[np.float64]:
    """p(word | history), from that of the shorter history; shapes (words)."""
    count = _looked_up(order.keys, order.counts, histories * width + words)
    of_history = _looked_up(order.histories, order.history_counts, histories)
    followers = _looked_up(order.histories, order.followers, histories)
    known = of_history > 0
    smooth: NDArray[np.float64] = (count + followers * lower) / np.where(known, of_history + followers, 1)
    return np.where(known, smooth, lower)


def _looked_up(keys: NDArray[np.int64], values: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)
