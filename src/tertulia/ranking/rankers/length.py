"""The other floor: the longest response first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.ranking.model import read_head, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.tuning import best_on_dev, combinations
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Length"]


class Length:
    """The score of a response is its length, or that with a minus sign where dev says that short ones are better."""

    name: ClassVar[str] = "length"
    summary: ClassVar[str] = "the longest response first, or the shortest where dev says so: a floor"
    supervised: ClassVar[bool] = False
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "order": Setting("longest", "which come first", tried=("longest", "shortest"), choices=("longest", "shortest")),
        "by": Setting("words", "what is counted", tried=("words", "characters"), choices=("words", "characters")),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._wording = Wording()
        self._report: dict[str, Any] = {}

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:  # noqa: ARG002
        """Choose by dev what is counted and which come first; train is not looked at."""
        self._wording = run.wording
        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        tuned = best_on_dev(tried, lambda settings: self._scores(dev, settings), dev, run)
        self.settings, self._report = tuned.settings, {"tuning": tuned.to_json()}

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The lengths of the candidates of each example."""
        yield from self._scores(examples, self.settings)

    def _scores(self, examples: Iterable[Example], settings: Mapping[str, Any]) -> Iterator[NDArray[np.float64]]:
        sign = 1.0 if settings["order"] == "longest" else -1.0
        words = self._wording.words
        for example in examples:
            if settings["by"] == "words":
                lengths = [len(words(text)) for text in example.texts]
            else:
                lengths = [len("".join(text.split())) for text in example.texts]
            # Adding 0 makes 0 of the -0 of an empty text.
            yield sign * np.array(lengths, dtype=np.float64) + 0.0

    def save(self, directory: Path) -> None:
        """Write the settings and the wording."""
        write_head(directory, self, self._wording, report=self._report)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        ranker = cls(head.settings)
        ranker._wording, ranker._report = head.wording, dict(head.more["report"])
        return ranker

    def report(self) -> dict[str, Any]:
        """What was chosen on dev."""
        return self._report
