"""Members that learn from features: their scores out of fold, from features that are computed once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.ranking.combining.inputs import offsets_of, rows_of
from tertulia.ranking.importance import divided
from tertulia.ranking.lambdamart import LambdaMart
from tertulia.ranking.rankers.svmrank import drawn_pairs, fitted_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.features import FeatureSet
    from tertulia.ranking.ranker import FitRun

__all__ = ["FEATURE_MEMBERS", "FeatureTable", "out_of_fold_by_features"]


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Features of all candidates of train, as if each example had not been learned from, and of dev: (candidates, features)."""

    features: FeatureSet
    train: NDArray[np.float32]
    dev: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Learned:
    """What a fold is learned from: rows of the table and their examples; dev to stop on; the settings of the ranker."""

    matrix: NDArray[np.float32]
    train: Sequence[Example]
    dev_matrix: NDArray[np.float32]
    dev: Sequence[Example]
    settings: Mapping[str, Any]
    run: FitRun


_TREE_SETTINGS = ("leaves", "learning_rate", "least", "rounds", "patience", "share", "penalty")
Predict = Callable[["NDArray[np.float32]"], "NDArray[np.float64]"]


def _trees(fold: _Learned) -> Predict:
    options = {name: fold.settings[name] for name in _TREE_SETTINGS} | {
        "seed": fold.run.seed,
        "workers": fold.run.workers,
    }
    return LambdaMart.fit(fold.matrix, fold.train, fold.dev_matrix, fold.dev, fold.run.quality, **options).predict


def _weights(fold: _Learned) -> Predict:
    pairs = drawn_pairs(fold.train, fold.settings["pairs"], fold.run.seed)
    return fitted_weights(fold.matrix, pairs, fold.settings["c"], fold.run.seed).predict


FEATURE_MEMBERS: dict[str, Callable[[_Learned], Predict]] = {"gbdt": _trees, "svmrank": _weights}


def out_of_fold_by_features(
    name: str,
    settings: Mapping[str, Any],
    table: FeatureTable,
    train: Sequence[Example],
    dev: Sequence[Example],
    run: FitRun,
    folds: NDArray[np.int64],
) -> list[NDArray[np.float64]]:
    """Scores of every train example by a ranker of features with these settings that was fitted on the other folds."""
    offsets = offsets_of(np.array([len(example) for example in train], dtype=np.int64))
    scores = np.zeros(int(offsets[-1]))
    numbers = np.unique(folds).tolist()
    for fold in numbers:
        others = np.flatnonzero(folds != fold)
        learned = [train[place] for place in others.tolist()]
        matrix = table.train[rows_of(offsets, others)]
        predict = FEATURE_MEMBERS[name](_Learned(matrix, learned, table.dev, dev, settings, run))
        rows = rows_of(offsets, np.flatnonzero(folds == fold))
        scores[rows] = predict(table.train[rows])
        run.progress("folds", 1, len(numbers))
    return divided(scores, train)
