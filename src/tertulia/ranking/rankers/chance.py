"""The floor: an order drawn by chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.ranking.model import read_head, write_head
from tertulia.ranking.negatives import seed_of
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Chance"]


class Chance:
    """Scores are drawn evenly from 0 to 1, seeded by the seed of the fit and the id of the context."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "an order by chance: a floor"
    supervised: ClassVar[bool] = False
    known_settings: ClassVar[Mapping[str, Setting]] = {}

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._seed = 0
        self._wording = Wording()

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:  # noqa: ARG002
        """Take the seed."""
        self._seed, self._wording = run.seed, run.wording

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """Of each example as many numbers from 0 to 1 as it has candidates."""
        for example in examples:
            yield np.random.Generator(np.random.PCG64(seed_of(self._seed, example.id))).random(len(example))

    def save(self, directory: Path) -> None:
        """Write the seed."""
        write_head(directory, self, self._wording, seed=self._seed)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        seed = head.more.get("seed")
        if not isinstance(seed, int):
            raise ArtefactError("has no seed that is a whole number", where=directory, hint="train it again")
        ranker = cls(head.settings)
        ranker._seed, ranker._wording = seed, head.wording
        return ranker

    def report(self) -> dict[str, Any]:
        """The seed."""
        return {"seed": self._seed}
