"""A pairwise linear support vector machine on hand-made features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from tertulia.errors import ArtefactError, InputError, MissingExtraError
from tertulia.ranking.features import FeatureSet
from tertulia.ranking.features.borrowed import levels
from tertulia.ranking.importance import divided, permutation_importance
from tertulia.ranking.model import read_arrays, read_head, write_arrays, write_head
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.tuning import best_on_dev, combinations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["SvmRank"]

_WEIGHTS = "weights.npz"
_CLIPPED = 5.0
_USUAL = 20_000


class Pairs(NamedTuple):
    """Rows of a better and of a worse candidate of one context, and by how much it is better: shape (pairs)."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    gap: NDArray[np.float64]


class Linear(NamedTuple):
    """Weights of standardised features: values are clipped at 5 standard deviations from the mean of train."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    weights: NDArray[np.float64]

    def standardised(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """(rows, features) in and out."""
        scaled: NDArray[np.float64] = (matrix - self.mean) / self.deviation
        return scaled.clip(-_CLIPPED, _CLIPPED)

    def predict(self, matrix: NDArray[np.float32]) -> NDArray[np.float64]:
        """Scores of rows: (rows, features) to (rows); not by a matrix product, whose rounding depends on the number of rows."""
        sums: NDArray[np.float64] = np.add.reduce(self.standardised(matrix) * self.weights, axis=1)
        return sums


class SvmRank:
    """Weights of features such that better candidates of a context come before worse ones. Source: Joachims 2002."""

    name: ClassVar[str] = "svmrank"
    summary: ClassVar[str] = "pairwise linear SVM on hand-made features"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "c": Setting(
            0.001,
            "how much a pair in the wrong order costs, of 20,000 pairs; of fewer it is as much less",
            tried=(0.001, 0.0002, 0.005, 0.02),
            low=1e-9,
            high=1e6,
        ),
        "weight": Setting(
            "equal",
            "what a pair counts: all the same, or as much as the one is better than the other",
            tried=("equal", "gap"),
            choices=("equal", "gap"),
        ),
        "pairs": Setting(200_000, "pairs to learn from at most, drawn by chance", low=1, high=100_000_000),
        "embeddings": Setting(True, "whether cosines of the run's sentence model, if it names one, are features"),
        "shuffles": Setting(3, "of each feature, for its importance; 0: none is told", low=0, high=1000),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._fixed = frozenset(settings or ())
        self._features: FeatureSet | None = None
        self._linear: Linear | None = None
        self._report: dict[str, Any] = {}

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Fit the features and the weights; C is chosen by dev."""
        pairs = drawn_pairs(train, self.settings["pairs"], run.seed)
        features = FeatureSet.fit(train, run, embeddings=self.settings["embeddings"])
        matrix, dev_matrix = features.train_matrix(train, run), features.matrix(dev)
        fitted: dict[tuple[float, str], Linear] = {}
        alike = pairs._replace(gap=np.ones(len(pairs.gap)))

        def score(settings: Mapping[str, Any]) -> list[NDArray[np.float64]]:
            key = settings["c"], settings["weight"]
            if key not in fitted:
                run.progress("support vector machine", 1, None)
                cost = settings["c"] * len(pairs.gap) / _USUAL
                material = pairs if settings["weight"] == "gap" else alike
                fitted[key] = fitted_weights(matrix, material, cost, run.seed)
            return divided(fitted[key].predict(dev_matrix), dev)

        tried = combinations(self.known_settings, run.trials, run.seed, start=self.settings, fixed=self._fixed)
        tuned = best_on_dev(tried, score, dev, run)
        self.settings = tuned.settings
        self._features, self._linear = features, fitted[self.settings["c"], self.settings["weight"]]
        importance = []
        if dev and self.settings["shuffles"]:
            run.progress("importance of features", 0, None)
            importance = permutation_importance(
                self._linear.predict,
                dev_matrix,
                dev,
                features.groups,
                run.quality,
                seed=run.seed,
                shuffles=self.settings["shuffles"],
            )
        weights = dict(zip(features.names, np.round(self._linear.weights, 6).tolist(), strict=True))
        self._report = {
            "tuning": tuned.to_json(),
            "pairs": len(pairs.gap),
            "features": len(features.plain),
            "weights": weights,
            "importance": importance,
        }

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """The weighted sum of the features of each candidate of each example."""
        if self._features is None or self._linear is None:
            raise RuntimeError("the ranker is neither fitted nor loaded")
        yield from self._features.scores(examples, self._linear.predict)

    def save(self, directory: Path) -> None:
        """Write the settings, the features and the weights."""
        if self._features is None or self._linear is None:
            raise RuntimeError("the ranker is not fitted")
        write_head(directory, self, self._features.lexicon.wording, report=self._report)
        self._features.save(directory)
        write_arrays(directory / _WEIGHTS, self._linear._asdict())

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ranker that was saved; raises as ``Ranker.load`` says."""
        head = read_head(directory, cls)
        ranker = cls(head.settings)
        ranker._report = dict(head.more["report"])
        ranker._features = FeatureSet.load(directory)
        where = directory / _WEIGHTS
        arrays = read_arrays(where)
        width = (len(ranker._features.names),)
        for name in Linear._fields:
            array = arrays.get(name)
            if array is None or array.shape != width or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ArtefactError(f"has no {name} for {width[0]} features", where=where, hint="train it again")
        linear = Linear(*(arrays[name] for name in Linear._fields))
        if not (linear.deviation > 0).all() or np.abs(linear.weights).max(initial=0.0) > 1e100:
            raise ArtefactError("has weights that do not hold", where=where, hint="train it again")
        ranker._linear = linear
        return ranker

    def report(self) -> dict[str, Any]:
        """What was chosen on dev, the weights, and the importance of each feature there."""
        return self._report


def drawn_pairs(examples: Sequence[Example], most: int, seed: int) -> Pairs:
    """All pairs of a better and a worse candidate of one context, or ``most`` of them, drawn by chance.

    Raises
    ------
    InputError
        There is none.
    """
    random = np.random.default_rng(seed)
    relevance = divided(levels(examples), examples)
    counts = [_pair_count(values) for values in relevance]
    whole = sum(counts)
    if not whole:
        raise InputError("there is nothing to learn from: no train context has a better and a worse candidate")
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    start = 0
    for values, count in zip(relevance, counts, strict=True):
        if count:
            # As many of a context as are due to it, the fraction by chance: memory holds no more than what is kept.
            due = count if whole <= most else int(count * most / whole + random.random())
            better, worse = _some_pairs(values, count, due, random)
            found.append((better + start, worse + start, values[better] - values[worse]))
        start += len(values)
    better, worse, gap = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not len(gap):
        return drawn_pairs(examples, whole, seed)
    return Pairs(better, worse, gap / gap.mean())


def _pair_count(values: NDArray[np.float64]) -> int:
    sizes = np.unique(values, return_counts=True)[1]
    return int((len(values) ** 2 - (sizes**2).sum()) // 2)


def _some_pairs(
    values: NDArray[np.float64], count: int, due: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``due`` of the ``count`` pairs of places (better, worse)."""
    if len(values) <= 1_000:
        better, worse = np.nonzero(values[:, None] > values[None, :])
        kept = np.sort(random.permutation(count)[:due])
        return better[kept].astype(np.int64), worse[kept].astype(np.int64)
    # Of a context with so many candidates that all pairs would fill the memory, pairs drawn with replacement.
    one, other = random.integers(0, len(values), (2, 4 * due))
    unequal = np.flatnonzero(values[one] != values[other])[:due]
    one, other = one[unequal], other[unequal]
    first = values[one] > values[other]
    return np.where(first, one, other), np.where(first, other, one)


def fitted_weights(matrix: NDArray[np.float32], pairs: Pairs, c: float, seed: int) -> Linear:
    """The weights that a linear SVM with squared hinge loss finds on the differences of pairs, weighted by their gap.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.
    """
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        raise MissingExtraError("the ranker svmrank", package="scikit-learn", extra="full") from None
    deviation = matrix.std(axis=0, dtype=np.float64)
    # A feature that is the same everywhere in train says nothing, whatever it is elsewhere.
    dead = deviation < 1e-6
    scale = Linear(
        matrix.mean(axis=0, dtype=np.float64), np.where(dead, 1.0, deviation), np.where(dead, 0.0, np.ones(len(dead)))
    )
    differences = scale.standardised(matrix[pairs.better])
    differences -= scale.standardised(matrix[pairs.worse])
    differences *= scale.weights
    # Two classes, for the machine wants them: half of the pairs are turned round.
    turned = np.where(np.arange(len(differences)) % 2, -1.0, 1.0)
    if len(differences) == 1:
        differences, turned, gap = np.vstack([differences, -differences]), np.array([1.0, -1.0]), pairs.gap.repeat(2)
    else:
        differences, gap = differences * turned[:, None], pairs.gap
    machine = LinearSVC(C=c, fit_intercept=False, dual=False, random_state=seed & 0x7FFFFFFF, max_iter=1000, tol=1e-4)
    machine.fit(differences, turned, sample_weight=gap)
    return scale._replace(weights=np.where(dead, 0.0, machine.coef_[0].astype(np.float64)))
