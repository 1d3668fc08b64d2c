"""Which words answer which: how much more often a word stands in what follows a word than anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.errors import MissingExtraError
from tertulia.ranking.features.exchanges import Exchanges, exchanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features.learned import Read
    from tertulia.ranking.features.lexicon import Lexicon
    from tertulia.ranking.ranker import FitRun

__all__ = ["Association", "Table"]

_PRIOR = 300.0
_COMMON = 0.03
_NONE = np.zeros(0, dtype=np.int64)
_MOST_WORDS = 100
_MOST_MEETINGS = 20_000_000


@dataclass(frozen=True, slots=True)
class Table:
    """How often words meet: the words said have rows, the words of answers are columns (CSR).

    ``starts`` (words + 1), ``words`` and ``counts`` (entries) are the rows; ``said`` and ``answered`` (words) are the weights of
    all exchanges whose one or other side has a word, ``whole`` of all.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    said: NDArray[np.float64]
    answered: NDArray[np.float64]
    whole: float

    @classmethod
    def of(cls, pairs: Exchanges, lexicon: Lexicon, seed: int) -> Self:
        """Count meetings; where there are more than 20 million, in exchanges that are drawn by chance."""
        from scipy import sparse

        said = [lexicon.numbers_of(text)[:_MOST_WORDS] for text in pairs.said]
        answered = [lexicon.numbers_of(text)[:_MOST_WORDS] for text in pairs.answered]
        meetings = np.array([len(one) * len(other) for one, other in zip(said, answered, strict=True)], dtype=np.int64)
        order = np.random.default_rng(seed).permutation(len(meetings))
        kept = np.sort(order[np.cumsum(meetings[order]) <= _MOST_MEETINGS])
        size = len(lexicon.numbers)

        def incidence(lists: Sequence[NDArray[np.int64]]) -> Any:
            chosen = [lists[at] for at in kept.tolist()]
            starts = np.concatenate([[0], np.cumsum([len(each) for each in chosen], dtype=np.int64)])
            columns = np.concatenate([np.zeros(0, dtype=np.int64), *chosen])
            return sparse.csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(chosen), size))

        weights = pairs.weights[kept]
        one, other = incidence(said), incidence(answered)
        weighted = sparse.diags_array(weights).tocsr() @ other if len(kept) else other
        met = (one.T @ weighted).tocsr()
        met.sort_indices()
        return cls(
            met.indptr.astype(np.int64),
            met.indices.astype(np.int32),
            met.data.astype(np.float32),
            one.T @ weights,
            other.T @ weights,
            float(weights.sum()),
        )

    def lift(self, said: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        """ln(p(word | words said) / p(word)) of the wanted words of answers: shape (wanted).

        p(a | s) = (c(s, a) + μ p(a)) / (c(s) + μ) with μ = 300, and the words said count the same. Source: the translation model of
        Berger and Lafferty 1999, with the conditional counts of Karimzadehgan and Zhai 2010 and a Dirichlet prior.
        """
        said = said[self.said[said] > 0]
        if not len(said):
            return np.zeros(len(wanted))
        parts = 1.0 / (self.said[said] + _PRIOR)
        met = np.zeros(len(self.answered))
        for number, part in zip(said.tolist(), parts.tolist(), strict=True):
            row = slice(self.starts[number], self.starts[number + 1])
            met[self.words[row]] += self.counts[row] * part
        base = (self.answered[wanted] + 0.5) / (self.whole + 1.0)
        found: NDArray[np.float64] = np.log((met[wanted] / base + _PRIOR * float(parts.sum())) / len(said))
        return found

    def rare(self, said: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some words that at most 3 % of all exchanges begin with: what is talked of, not how."""
        return said[self.said[said] <= _COMMON * self.whole]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        return {name: np.atleast_1d(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], size: int) -> Self:
        """The table that was written, of so many words; a ``KeyError`` or ``ValueError`` where it does not hold."""
        starts, words, counts = arrays["starts"], arrays["words"], arrays["counts"]
        said, answered, whole = arrays["said"], arrays["answered"], arrays["whole"]
        kinds = [starts.dtype == np.int64, words.dtype == np.int32, counts.dtype == np.float32]
        if not all(kinds) or said.dtype != np.float64 or answered.dtype != np.float64:
            raise ValueError("other kinds of numbers")
        if starts.shape != (size + 1,) or said.shape != (size,) or answered.shape != (size,):
            raise ValueError(f"not of {size} words")
        if words.shape != counts.shape or words.ndim != 1 or starts[0] != 0 or starts[-1] != len(words):
            raise ValueError("rows that do not fit")
        if (np.diff(starts) < 0).any() or (words < 0).any() or (words >= size).any():
            raise ValueError("rows of words that are none")
        if whole.shape != (1,):
            raise ValueError("no one sum")
        for array in (counts, said, answered, whole):
            if not (np.isfinite(array) & (array >= 0) & (array < 1e18)).all():
                raise ValueError("counts that are none")
        return cls(starts, words, counts, said, answered, float(whole[0]))


class Association:
    """What is said next, and what the same speaker says next, given the words of a turn."""

    name: ClassVar[str] = "association"
    features: ClassVar[Mapping[str, str]] = {
        "answers_prompt": "Of the response's words, the mean of ln(p(word | prompt) / p(word)), from what follows what in train. "
        "Source: Berger and Lafferty 1999; Karimzadehgan and Zhai 2010.",
        "answers_prompt_best": "The largest of these.",
        "answers_prompt_least": "The smallest of these.",
        "answers_dialogue": "The mean, given the words of all turns that at most 3 % of exchanges begin with.",
        "follows_before": "The mean, given the turn before the prompt, from what is said two turns later.",
    }
    held_out: ClassVar[bool] = True

    def __init__(self, lexicon: Lexicon, following: Table, later: Table) -> None:
        self._lexicon = lexicon
        self._following, self._later = following, later

    @classmethod
    def fit(cls, examples: Sequence[Example], lexicon: Lexicon, run: FitRun) -> Self:
        """Count which words meet in exchanges."""
        try:
            import scipy.sparse  # noqa: F401
        except ImportError:
            raise MissingExtraError("features of responses", package="scipy", extra="full") from None
        tables = (Table.of(exchanges(examples, distance), lexicon, run.seed) for distance in (1, 2))
        return cls(lexicon, *tables)

    def columns(self, read: Sequence[Read], *, own: bool) -> NDArray[np.float64]:  # noqa: ARG002
        """Values of the shape (candidates of all, features)."""
        number = self._lexicon.numbers_of
        found = [np.zeros((0, len(self.features)))]
        for one in read:
            conversation = one.conversation
            responses = [number(response.raw) for response in one.responses]
            words = np.concatenate([_NONE, *responses])
            texts = [number(turn.raw) for turn, _weight in conversation.turns]
            dialogue = self._following.rare(np.unique(np.concatenate([_NONE, *texts])))
            lifts = np.stack(
                [
                    self._following.lift(number(conversation.prompt.raw), words),
                    self._following.lift(dialogue, words),
                    self._later.lift(number(conversation.before.raw), words),
                ],
                axis=1,
            )
            lengths = np.array([len(each) for each in responses], dtype=np.int64)
            some = np.flatnonzero(lengths)
            rows = np.zeros((len(responses), len(self.features)))
            if len(some):
                starts = (np.cumsum(lengths) - lengths)[some]
                means = np.add.reduceat(lifts, starts, axis=0) / lengths[some, None]
                best, least = (each.reduceat(lifts[:, 0], starts) for each in (np.maximum, np.minimum))
                rows[some] = np.stack([means[:, 0], best, least, means[:, 1], means[:, 2]], axis=1)
            found.append(rows)
        return np.concatenate(found)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What ``from_arrays`` takes."""
        tables = {"following": self._following, "later": self._later}
        return {f"{name}.{key}": array for name, table in tables.items() for key, array in table.to_arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], lexicon: Lexicon) -> Self:
        """The part that was written; a ``KeyError`` or ``ValueError`` where it does not hold."""
        tables = []
        for name in ("following.", "later."):
            own = {key.removeprefix(name): array for key, array in arrays.items() if key.startswith(name)}
            tables.append(Table.from_arrays(own, len(lexicon.numbers)))
        return cls(lexicon, *tables)
