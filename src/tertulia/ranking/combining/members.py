"""The rankers that an ensemble combines: which there are, fitted, and how each scores examples that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import ArtefactError, ConfigurationError, InputError, TertuliaError
from tertulia.ranking.combining.feature_members import FEATURE_MEMBERS, out_of_fold_by_features
from tertulia.ranking.combining.inputs import rounded
from tertulia.ranking.crossfit import folds_of, out_of_fold
from tertulia.ranking.model import load_ranker
from tertulia.ranking.registry import RANKERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.combining.feature_members import FeatureTable
    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun, Ranker

__all__ = ["FAST", "SLOW", "Member", "fit_members", "joined", "member_names", "most_folds", "standardised"]

FAST = ("length", "cosine", "bm25", "matching", "svmrank", "gbdt")
"""The members of ``members=fast``: those without a neural network."""
SLOW = frozenset({"bilstm", "cnn", "crossencoder"})
"""Rankers whose fit takes so long that it is repeated for fewer folds."""
_MANY = 1_000
_NEVER = frozenset({"ensemble", "random"})


@dataclass(frozen=True, slots=True)
class Member:
    """A ranker fitted on train, and its scores of train (by rankers that had not seen the example) and dev, one value a candidate.

    ``center`` and ``scale`` are the mean and deviation of its scores of train.
    """

    name: str
    ranker: Ranker
    center: float
    scale: float
    train: NDArray[np.float64]
    dev: NDArray[np.float64]

    def score(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Of all candidates, one after the other, the standardised scores."""
        return standardised(joined(list(self.ranker.score(examples))), self.center, self.scale)


def standardised(scores: NDArray[np.float64], center: float, scale: float) -> NDArray[np.float64]:
    """By mean and deviation over train, without the last digits."""
    return rounded((scores - center) / scale)


def member_names(setting: str, run: FitRun) -> list[str]:
    """The names that a value of the setting ``members`` stands for, in alphabetical order.

    ``auto`` are the rankers that ``run.trained`` has, or where it has none all there are, but for ``random``; ``fast`` are those
    without a neural network.

    Raises
    ------
    ConfigurationError
        A name is of no ranker, or of the ensemble itself.
    """
    if setting == "auto":
        return sorted(set(run.trained or RANKERS.names()) - _NEVER)
    if setting == "fast":
        return sorted(FAST)
    names = [name.strip() for name in setting.split(",") if name.strip()]
    known = [name for name in RANKERS.names() if name != "ensemble"]
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"the ranker 'ensemble' cannot have the member {name!r}; expected auto, fast, or some of {', '.join(known)}"
            )
    if not names:
        raise ConfigurationError(
            "the setting 'members' of the ranker 'ensemble' names none; expected auto, fast, or names"
        )
    return sorted(set(names))


def most_folds(examples: Sequence[Example], folds: int, seed: int) -> NDArray[np.int64]:
    """The folds of examples: so many, or fewer where there are too few prompts for them.

    Raises
    ------
    InputError
        There are not two prompts.
    """
    for count in range(folds, 2, -1):
        try:
            return folds_of(examples, count, seed=seed)
        except InputError:
            continue
    return folds_of(examples, 2, seed=seed)


def fit_members(
    names: Sequence[str],
    train: Sequence[Example],
    dev: Sequence[Example],
    run: FitRun,
    *,
    folds: int,
    slow_folds: int,
    strict: bool,
    table: FeatureTable | None = None,
) -> Iterator[Member | tuple[str, str]]:
    """The members one after the other; a name with the reason where one cannot be fitted, unless ``strict``.

    A ranker that ``run.trained`` has is loaded, not fitted again; its settings are those of the rankers of the folds. What learns
    from features alone takes those of ``table`` in the folds, if there is one.
    """
    for name in names:
        run.progress(name, 0, None)
        try:
            yield _fitted(name, train, dev, _told(run, name), slow_folds if name in SLOW else folds, table)
        except TertuliaError as error:
            if strict:
                raise
            yield name, error.one_line()
        except Exception as error:
            # A library may fail in any way on a set it was not made for; the others are combined all the same.
            if strict:
                raise
            yield name, f"{type(error).__name__}: {error}"


def _told(run: FitRun, name: str) -> FitRun:
    """The same, but that stages have the member's name before them; of those that it may go through again no total is told."""

    def progress(stage: str, done: int, total: int | None) -> None:
        run.progress(f"{name}: {stage}", done, total if stage == "folds" else None)

    return replace(run, progress=progress)


def _fitted(
    name: str, train: Sequence[Example], dev: Sequence[Example], run: FitRun, folds: int, table: FeatureTable | None
) -> Member:
    factory: type[Ranker] = RANKERS.factory(name)
    if name in run.trained:
        ranker = load_ranker(run.trained[name])
        if ranker.name != name:
            raise ArtefactError(f"is the ranker {ranker.name!r}; expected {name!r}", where=run.trained[name])
    else:
        ranker = factory()
        ranker.fit(train, dev, run)
    if not factory.supervised and len(train) >= _MANY:
        # It knows no relevance to give away, and one text of so many changes little.
        seen = list(ranker.score(train))
    else:
        # Nobody asks what the features of the rankers of folds are worth.
        chosen = ranker.settings | ({"shuffles": 0} if "shuffles" in ranker.settings else {})
        parts = most_folds(train, folds, run.seed)
        if table is not None and name in FEATURE_MEMBERS and chosen.get("embeddings", True):
            seen = out_of_fold_by_features(name, chosen, table, train, dev, run, parts)
        else:
            seen = out_of_fold(lambda: factory(chosen), train, dev, run, parts)
    scores = joined(seen)
    center, scale = float(scores.mean()), float(scores.std())
    if scale <= 1e-9 * max(1.0, abs(center)):
        scale = 1.0
    dev_scores = joined(list(ranker.score(dev)))
    return Member(
        name, ranker, center, scale, standardised(scores, center, scale), standardised(dev_scores, center, scale)
    )


def joined(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Arrays one after the other; of none, an empty one."""
    return np.concatenate([np.zeros(0), *scores])
