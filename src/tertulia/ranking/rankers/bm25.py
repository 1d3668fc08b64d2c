"""BM25: the response is the document, the prompt the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tertulia.errors import InputError
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.terms import TermStatistics, distinct_texts, kept
from tertulia.ranking.tuning import best_on_dev, combinations
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Bm25"]

_ARRAYS = "terms.npz"


class _Parts(NamedTuple):
    """What the scores of one example are made of, whatever k1 and b are.

    The first three have an item for each word that a candidate shares with the prompt, the last has one for each candidate.
    """

    candidate: NDArray[np.int64]
    weight: NDArray[np.float64]  # the idf of the word, times how often and in which turns the prompt has it
    frequency: NDArray[np.float64]  # how often the candidate has it
    length: NDArray[np.float64]  # words of the candidate, where the mean of train is 1


class Bm25:
    """The score of a response is a sum over the words of the prompt, each as often as it stands there times its turn's weight.

    A word adds ``idf · f · (k1 + 1) / (f + k1 · (1 - b + b · l / L))`` where the response has it f times and is l words long, and
    the responses of train have L words on average: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond" (2009). The idf is that of :mod:`tertulia.ranking.terms` over the distinct texts of train.
    """

    name: ClassVar[str] = "bm25"
    summary: ClassVar[str] = "BM25 with the prompt as the query; k1 and b tuned on dev"
    supervised: ClassVar[bool] = False
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "k1": Setting(
            1.2,
            "how slowly further occurrences of a word saturate",
            tried=(1.2, 0.6, 0.3, 0.9, 2.0, 3.0),
            low=0,
            high=100,
        ),
        "b": Setting(
            0.75, "how much longer responses are discounted", tried=(0.75, 0.5, 1.0, 0.25, 0.0), low=0, high=1
        ),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._report: dict[str, Any] = {}
        self._use(Wording(), TermStatistics(0, 0.0, {}))

    def _use(self, wording: Wording, statistics: TermStatistics) -> None:
        self._wording, self._statistics = wording, statistics
        self._counted = kept(lambda text: _count(wording.words(text)))

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Count the documents of train that have each word; choose k1 and b by dev."""
        statistics = _statistics(train, run.wording)
        if not statistics.documents:
            raise InputError("train has no text to count words in")
        self._use(run.wording, statistics)
        # What k1 and b do not change is computed once, so that trying a combination costs little.
        parts = [self._parts(example) for example in dev]
        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        tuned = best_on_dev(tried, lambda settings: (_scores(each, settings) for each in parts), dev, run)
        self.settings = tuned.settings
        self._report = {
            "tuning": tuned.to_json(),
            "documents": statistics.documents,
            "terms": len(statistics.frequency),
            "mean_words_of_a_response": statistics.mean_length,
        }

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The BM25 of each candidate of each example."""
        for example in examples:
            yield _scores(self._parts(example), self.settings)

    def _parts(self, example: Example) -> _Parts:
        query: dict[str, float] = {}
        for text, weight in self._wording.weighted_turns(example):
            for word, count in self._counted(text)[0].items():
                query[word] = query.get(word, 0.0) + weight * count
        # A word that no text of train has still tells a response that has it from one that has not.
        weights = {word: weight * self._statistics.idf(word) for word, weight in query.items()}
        found: list[tuple[int, float, int]] = []
        lengths = []
        for number, text in enumerate(example.texts):
            counts, length = self._counted(text)
            lengths.append(length)
            if len(counts) < len(weights):
                found += [(number, weights[word], count) for word, count in counts.items() if word in weights]
            else:
                found += [(number, weight, counts[word]) for word, weight in weights.items() if word in counts]
        table = np.array(found, dtype=np.float64).reshape(-1, 3)
        length_of = np.array(lengths, dtype=np.float64) / (self._statistics.mean_length or 1.0)
        return _Parts(table[:, 0].astype(np.int64), table[:, 1], table[:, 2], length_of)

    def save(self, directory: Path) -> None:
        """Write the settings and the statistics."""
        write_head(directory, self, self._wording, report=self._report)
        write_arrays(directory / _ARRAYS, self._statistics.to_arrays())

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        ranker = cls(head.settings)
        ranker._report = dict(head.more["report"])
        ranker._use(head.wording, TermStatistics.from_arrays(read_arrays(directory / _ARRAYS)))
        return ranker

    def report(self) -> dict[str, Any]:
        """What was chosen on dev, and how much text was counted."""
        return self._report


def _statistics(train: Sequence[Example], wording: Wording) -> TermStatistics:
    """How many of the distinct texts of train have each word, and how long the responses among them are on average."""
    responses = set(distinct_texts(train, prompts=False))
    lengths: list[int] = []

    def documents() -> Iterator[list[str]]:
        for text in distinct_texts(train):
            words = wording.words(text)
            if text in responses:
                lengths.append(len(words))
            yield words

    statistics = TermStatistics.collect(documents())
    statistics.mean_length = sum(lengths) / len(lengths) if lengths else 0.0
    return statistics


def _count(words: list[str]) -> tuple[dict[str, int], int]:
    """How often each word stands there, and how many there are."""
    return dict(Counter(words)), len(words)


def _scores(parts: _Parts, settings: Mapping[str, Any]) -> NDArray[np.float64]:
    k1, b = settings["k1"], settings["b"]
    norm = k1 * (1 - b + b * parts.length[parts.candidate])
    weights = parts.weight * parts.frequency * (k1 + 1) / (parts.frequency + norm)
    # Without a word in common ``bincount`` counts in whole numbers.
    return np.bincount(parts.candidate, weights, minlength=len(parts.length)).astype(np.float64, copy=False)
