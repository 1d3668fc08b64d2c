"""The ranker ``ensemble``: the scores of all others, and the features, combined in the way that does best by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from tertulia.artefact import Manifest
from tertulia.errors import ArtefactError, InputError, MissingExtraError
from tertulia.ranking.combining.choice import WAYS, Material, Mixture, choose
from tertulia.ranking.combining.feature_members import FeatureTable
from tertulia.ranking.combining.importance import input_importance
from tertulia.ranking.combining.inputs import Inputs, labels_of, offsets_of
from tertulia.ranking.combining.keeping import load_combiner, load_members, save_combiner
from tertulia.ranking.combining.members import Member, fit_members, joined, member_names, most_folds, standardised
from tertulia.ranking.features import FeatureSet
from tertulia.ranking.model import RANKER, read_head, save_ranker, write_head
from tertulia.ranking.negatives import seed_of
from tertulia.ranking.ranker import Ranker, Setting, chosen_settings
from tertulia.ranking.wording import Wording

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun

__all__ = ["Ensemble"]

# So many candidates are scored at once by every member.
_CHUNK = 4_096
# LightGBM takes no more of one context.
_LARGEST = 10_000
# What combines is chosen by so many folds; of many contexts fewer say enough. Of train and dev so many are looked at.
_FOLDS, _FEW_FOLDS, _MANY, _TRIED = 5, 3, 2_000, 2_400


class Ensemble:
    """Members are fitted on train; what combines them learns from their scores out of fold, and is chosen on train and dev."""

    name: ClassVar[str] = "ensemble"
    summary: ClassVar[str] = (
        "all the other rankers and the features, combined in the way that cross-validation finds best"
    )
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {
        "members": Setting("auto", "auto: all that can be fitted here; fast: those without a neural network; or names"),
        "features": Setting(True, "whether the features of svmrank and gbdt are combined as well"),
        "combine": Setting("auto", "how: auto is what does best by cross-validation", choices=("auto", *WAYS)),
        "folds": Setting(5, "members score train in so many folds", low=2, high=20),
        "slow_folds": Setting(2, "as folds, for bilstm, cnn and crossencoder", low=2, high=20),
        "contexts": Setting(
            20_000, "so many contexts of train at most are combined on; members learn from all", low=10
        ),
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self._members: dict[str, tuple[Ranker, float, float]] = {}
        self._features: FeatureSet | None = None
        self._combiner = Mixture(())
        self._wording = Wording()
        self._report: dict[str, Any] = {}

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        """Fit the members, score train out of fold, choose how to combine on train and dev, and learn that from train.

        Raises
        ------
        InputError
            There is nothing to learn from, or no member that can be fitted.
        MissingExtraError
            scipy or LightGBM is not installed.
        """
        _check_material(train)
        self._wording = run.wording
        table: FeatureTable | None = None
        without: dict[str, str] = {}
        if self.settings["features"]:
            features, without = _fitted_features(train, run)
            table = FeatureTable(features, features.train_matrix(train, run), features.matrix(dev))
        members, left_out = self._fit_members(train, dev, run, table)
        left_out |= without
        self._members = {each.name: (each.ranker, each.center, each.scale) for each in members}
        self._features = None if table is None else table.features
        none = np.zeros((_rows(train) + _rows(dev), 0))
        everything = Inputs(
            tuple(self._members),
            () if self._features is None else tuple(self._features.names),
            np.stack([np.concatenate([each.train, each.dev]) for each in members], axis=1),
            none if table is None else np.concatenate([table.train, table.dev]).astype(np.float64),
            offsets_of(np.array([len(example) for example in [*train, *dev]], dtype=np.int64)),
        )
        self._choose(everything, [*train, *dev], len(train), run)
        self._report["left_out"] = left_out
        self._report["members"] = {name: each.report() for name, (each, _, _) in self._members.items()}

    def _fit_members(
        self, train: Sequence[Example], dev: Sequence[Example], run: FitRun, table: FeatureTable | None
    ) -> tuple[list[Member], dict[str, str]]:
        """The members, and of those that cannot be fitted why."""
        chosen = self.settings
        found = list(
            fit_members(
                member_names(chosen["members"], run),
                train,
                dev,
                run,
                folds=chosen["folds"],
                slow_folds=chosen["slow_folds"],
                strict=chosen["members"] not in ("auto", "fast"),
                table=table,
            )
        )
        members = [each for each in found if isinstance(each, Member)]
        left_out = dict(each for each in found if not isinstance(each, Member))
        if not members:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            raise InputError(f"no member of the ensemble can be fitted: {reasons}")
        return members, left_out

    def _choose(self, everything: Inputs, examples: Sequence[Example], of_train: int, run: FitRun) -> None:
        """Choose a combiner on all that is given, and learn it from what is of train."""
        sizes = np.diff(everything.offsets)
        usable = np.flatnonzero((sizes > 0) & (sizes <= _LARGEST))
        of_train_places = _drawn(usable[usable < of_train], examples, self.settings["contexts"], run.seed)
        of_dev_places = usable[usable >= of_train]
        learned = [examples[place] for place in of_train_places.tolist()]
        labels, bounds = labels_of(learned)
        # Which way is better can be seen on some thousand contexts; it is then learned from all.
        tried = np.concatenate([_drawn(of_train_places, examples, _TRIED, run.seed), of_dev_places[:_TRIED]])
        kept = [examples[place] for place in tried.tolist()]
        material = Material(
            everything.take(tried),
            labels_of(kept, bounds)[0],
            kept,
            most_folds(kept, _FOLDS if len(kept) < _MANY else _FEW_FOLDS, run.seed),
            run.quality,
        )
        choice = choose(material, everything.take(of_train_places), labels, self.settings["combine"], run)
        self._combiner = choice.combiner
        self._report = choice.report()
        dev_inputs = everything.take(of_dev_places)
        self._report["importance"] = input_importance(
            self._combiner, dev_inputs, [examples[place] for place in of_dev_places.tolist()], run
        )

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        """Of each example the scores of its candidates, by every member and combined; some thousand candidates at once."""
        for chunk in _chunks(examples):
            offsets = offsets_of(np.array([len(example) for example in chunk], dtype=np.int64))
            columns = [
                standardised(joined(list(ranker.score(chunk))), center, scale)
                for ranker, center, scale in self._members.values()
            ]
            names: tuple[str, ...] = ()
            features = np.zeros((int(offsets[-1]), 0))
            if self._features is not None:
                names = tuple(self._features.names)
                features = self._features.matrix(chunk).astype(np.float64)
            inputs = Inputs(tuple(self._members), names, np.stack(columns, axis=1), features, offsets)
            yield from inputs.split(self._combiner.combine(inputs))

    def save(self, directory: Path) -> None:
        """Members as artefacts of their own under ``members``; features; and what combines them."""
        described = {name: {"center": center, "scale": scale} for name, (_, center, scale) in self._members.items()}
        more = {"members": described, "features": self._features is not None, "report": self._report}
        write_head(directory, self, self._wording, **more)
        for name, (ranker, _, _) in self._members.items():
            save_ranker(ranker, directory / "members" / name, Manifest(RANKER))
        if self._features is not None:
            (directory / "features").mkdir()
            self._features.save(directory / "features")
        save_combiner(self._combiner, directory / "combiner")

    @classmethod
    def load(cls, directory: Path) -> Self:
        """The ensemble that was saved, with its members.

        Raises
        ------
        ArtefactError
            What is there does not hold.
        MissingExtraError
            A package that a member or the combiner needs is not installed.
        """
        head = read_head(directory, cls)
        members, features, report = (head.more.get(key) for key in ("members", "features", "report"))
        if not isinstance(features, bool) or not isinstance(report, dict):
            raise ArtefactError("has no report of an ensemble", where=directory, hint="train it again")
        ensemble = cls(head.settings)
        ensemble._wording = head.wording
        ensemble._members = load_members(directory / "members", members)
        ensemble._features = FeatureSet.load(directory / "features") if features else None
        names = () if ensemble._features is None else tuple(ensemble._features.names)
        ensemble._combiner = load_combiner(directory / "combiner", tuple(ensemble._members), names)
        ensemble._report = report
        return ensemble

    def report(self) -> dict[str, Any]:
        """The settings, the members and those left out, how each way to combine did by cross-validation, and what was chosen."""
        return {"settings": self.settings, **self._report}


def _fitted_features(train: Sequence[Example], run: FitRun) -> tuple[FeatureSet, dict[str, str]]:
    """Features, without embeddings where these cannot be computed; what was left out, with the reason."""
    try:
        return FeatureSet.fit(train, run), {}
    except MissingExtraError as error:
        return FeatureSet.fit(train, run, embeddings=False), {"features of embeddings": error.one_line()}


def _check_material(train: Sequence[Example]) -> None:
    values = joined([example.relevance for example in train])
    if len(np.unique(values[~np.isnan(values)])) < 2:
        raise InputError(
            f"{len(train):,} contexts have no two candidates of different relevance; an ensemble needs some to learn from",
            hint="tertulia corpus stats shows what the set holds",
        )


def _rows(examples: Sequence[Example]) -> int:
    return sum(len(example) for example in examples)


def _drawn(places: NDArray[np.int64], examples: Sequence[Example], most: int, seed: int) -> NDArray[np.int64]:
    """So many of the places at most, drawn by the ids of their examples, in order."""
    if len(places) <= most:
        return places
    keys = np.array([seed_of(seed, examples[place].id) for place in places.tolist()], dtype=np.uint64)
    return np.sort(places[np.argsort(keys, kind="stable")[:most]])


def _chunks(examples: Iterable[Example]) -> Iterator[list[Example]]:
    chunk: list[Example] = []
    rows = 0
    for example in examples:
        chunk.append(example)
        rows += len(example)
        if rows >= _CHUNK or len(chunk) >= _CHUNK:
            yield chunk
            chunk, rows = [], 0
    if chunk:
        yield chunk
