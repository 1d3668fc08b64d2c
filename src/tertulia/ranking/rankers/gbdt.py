"""Boosted trees on hand-made features: LambdaMART."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.ranking.features import FeatureSet
from tertulia.ranking.importance import permutation_importance
from tertulia.ranking.lambdamart import LambdaMart, Trees
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.ranker import FitRun, Progress, Setting, chosen_settings
from tertulia.ranking.tuning import combinations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Gbdt"]

_TREES = "trees.npz"


class Gbdt:
    """LambdaMART over the features of :mod:`tertulia.ranking.features`."""

    name: ClassVar[str] = "gbdt"
    summary: ClassVar[str] = "LambdaMART: boosted trees on hand-made features"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "leaves": Setting(7, "leaves of a tree at most", tried=(7, 4, 15, 31), low=2, high=4096),
        "learning_rate": Setting(0.05, "how much a tree counts", tried=(0.05, 0.1, 0.03), low=1e-4, high=1),
        "least": Setting(20, "candidates in a leaf at least", tried=(20, 60), low=1, high=1_000_000),
        "rounds": Setting(500, "trees at most", low=1, high=100_000),
        "patience": Setting(
            100, "rounds without a better dev after which no more trees are grown", low=1, high=100_000
        ),
        "share": Setting(0.5, "of the features, for each tree", low=0.01, high=1),
        "penalty": Setting(5.0, "of the squared values of leaves", low=0, high=1e6),
        "embeddings": Setting(True, "whether cosines of the run's sentence model, if it names one, are features"),
        "shuffles": Setting(3, "of each feature, for its importance; 0: none is told", low=0, high=1000),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._features: FeatureSet | None = None
        self._trees: Trees | None = None
        self._report: dict[str, Any] = {}

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Fit the features and grow the trees; which settings, and how many trees, dev decides."""
        features = FeatureSet.fit(train, run, embeddings=self.settings["embeddings"])
        matrix, dev_matrix = features.train_matrix(train, run), features.matrix(dev)
        fitted: list[tuple[float, dict[str, Any], LambdaMart]] = []
        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        for trial, settings in enumerate(tried, 1):
            stage = f"trial {trial} of {len(tried)}"
            options = {name: value for name, value in settings.items() if name not in ("shuffles", "embeddings")}
            model = LambdaMart.fit(
                matrix,
                train,
                dev_matrix,
                dev,
                run.quality,
                **options,
                seed=run.seed,
                workers=run.workers,
                progress=partial(_told, run.progress, stage),
            )
            fitted.append((model.quality or 0.0, settings, model))
        quality, self.settings, model = max(fitted, key=lambda one: one[0])
        self._features, self._trees = features, model.trees
        importance = []
        if dev and self.settings["shuffles"]:
            run.progress("importance of features", 0, None)
            importance = permutation_importance(
                model.trees.predict,
                dev_matrix,
                dev,
                features.groups,
                run.quality,
                seed=run.seed,
                shuffles=self.settings["shuffles"],
            )
        self._report = {
            "tuning": {"tried": len(fitted), "quality": quality, "quality_of_first": fitted[0][0]},
            "trees": model.rounds,
            "features": len(features.plain),
            "importance": importance,
        }

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """What the trees say of each candidate of each example."""
        if self._features is None or self._trees is None:
            raise RuntimeError("the ranker is neither fitted nor loaded")
        yield from self._features.scores(examples, self._trees.predict)

    def save(self, directory: Path) -> None:
        """Write the settings, the features and the trees."""
        if self._features is None or self._trees is None:
            raise RuntimeError("the ranker is not fitted")
        write_head(directory, self, self._features.lexicon.wording, report=self._report)
        self._features.save(directory)
        write_arrays(directory / _TREES, self._trees.to_arrays())

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        ranker = cls(head.settings)
        ranker._report = dict(head.more["report"])
        ranker._features = FeatureSet.load(directory)
        try:
            ranker._trees = Trees.from_arrays(read_arrays(directory / _TREES), len(ranker._features.names))
        except (KeyError, ValueError) as error:
            raise ArtefactError(f"does not hold: {error}", where=directory / _TREES, hint="train it again") from None
        return ranker

    def report(self) -> dict[str, Any]:
        """What was chosen on dev, and the importance of each feature there."""
        return self._report


def _told(progress: Progress, trial: str, stage: str, done: int, total: int | None) -> None:
    progress(f"{stage}, {trial}", done, total)
