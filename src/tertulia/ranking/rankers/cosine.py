"""The cosine of response and prompt in the space of TF-IDF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.errors import InputError
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.terms import TermStatistics, character_grams, cosine, distinct_texts, kept, tfidf, weighted_sum
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Cosine"]

_ARRAYS = "terms.npz"


class Cosine:
    """The score of a response is its cosine with the turns before it, each turn by its weight.

    Document frequencies are those of the distinct texts of train, prompts and responses.
    """

    name: ClassVar[str] = "cosine"
    summary: ClassVar[str] = "the TF-IDF cosine of response and prompt"
    supervised: ClassVar[bool] = False
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "terms": Setting("words", "words, or runs of 2 to 4 characters", choices=("words", "characters")),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._report: dict[str, Any] = {}
        self._use(Wording(), TermStatistics(0, 0.0, {}))

    def _use(self, wording: Wording, statistics: TermStatistics) -> None:
        self._wording, self._statistics = wording, statistics
        terms: Callable[[str], list[str]] = wording.words if self.settings["terms"] == "words" else character_grams
        self._terms = terms
        self._vector = kept(lambda text: tfidf(terms(text), statistics))

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:  # noqa: ARG002
        """Count the documents of train that have each term; there is nothing to tune."""
        self._use(run.wording, TermStatistics(0, 0.0, {}))
        statistics = TermStatistics.collect(map(self._terms, distinct_texts(train)))
        if not statistics.documents:
            raise InputError("train has no text to count words in")
        self._use(run.wording, statistics)
        self._report = {"documents": statistics.documents, "terms": len(statistics.frequency)}

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """Of each candidate the cosine with each turn, times the weight of the turn, summed."""
        for example in examples:
            # The sum of the products with each turn is the product with their sum.
            turns = weighted_sum((self._vector(text), weight) for text, weight in self._wording.weighted_turns(example))
            yield np.array([cosine(turns, self._vector(text)) for text in example.texts], dtype=np.float64)

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
        """How much text was counted."""
        return self._report
