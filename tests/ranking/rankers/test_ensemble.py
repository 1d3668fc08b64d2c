from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from numpy.typing import NDArray

from tertulia.artefact import Manifest, read_manifest
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.combining.members import member_names
from tertulia.ranking.examples import Example
from tertulia.ranking.model import RANKER, load_ranker, read_json, save_ranker, write_json
from tertulia.ranking.ranker import FitRun, Setting, chosen_settings
from tertulia.ranking.rankers.bm25 import Bm25
from tertulia.ranking.rankers.ensemble import Ensemble
from tertulia.ranking.registry import RANKERS

from .contract import check_contract, fitted, scores_of
from .made import BINARY_CUT, GRADED_CUT, example, made_run, made_splits

QUICK = {"combine": "pairs", "features": "no"}


class Memory:
    """Knows the relevance of train by heart, and has one ranker's worth of nothing for others."""

    name: ClassVar[str] = "memory"
    summary: ClassVar[str] = "knows by heart"
    supervised: ClassVar[bool] = True
    known_settings: ClassVar[Mapping[str, Setting]] = {}

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = chosen_settings(type(self), settings)
        self.known: dict[tuple[str, str], float] = {}

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        for one in train:
            values = np.nan_to_num(one.relevance, nan=0.0).tolist()
            self.known |= {(one.id, text): value for text, value in zip(one.texts, values, strict=True)}

    def score(self, examples: Iterable[Example]) -> Iterator[NDArray[np.float64]]:
        for one in examples:
            yield np.array([self.known.get((one.id, text), len(text) % 3) for text in one.texts], dtype=np.float64)

    def save(self, directory: Path) -> None:
        write_json(directory / "known.json", [[*key, value] for key, value in self.known.items()])

    @classmethod
    def load(cls, directory: Path) -> Self:
        ranker = cls()
        ranker.known = {(name, text): value for name, text, value in read_json(directory / "known.json")}
        return ranker

    def report(self) -> dict[str, Any]:
        return {"known": len(self.known)}


class Broken(Memory):
    name: ClassVar[str] = "broken"

    def fit(self, train: Sequence[Example], dev: Sequence[Example], run: FitRun) -> None:
        raise ZeroDivisionError("a library of its own")


@pytest.fixture
def more_rankers(monkeypatch: pytest.MonkeyPatch) -> None:
    """``memory`` and ``broken`` are registered like those that ship."""
    for kind in (Memory, Broken):
        monkeypatch.setitem(RANKERS._shipped, kind.name, f"{__name__}:{kind.__name__}")


def test_the_ensemble_is_a_ranker(tmp_path: Path) -> None:
    run = made_run()
    ranker = check_contract(Ensemble, tmp_path, {"members": "bm25, length"}, run)
    report = ranker.report()
    assert report["left_out"] == {}
    assert set(report["members"]) == {"bm25", "length"}
    kept = tmp_path / "model"
    assert sorted(read_manifest(kept).parts) == ["members/bm25", "members/length"]
    member = load_ranker(kept / "members" / "bm25")
    assert member.settings["k1"] == 1.2
    # Features are in use, so an importance is told of each of them; the members have theirs.
    told = {each["name"] for each in report["importance"]}
    assert {"bm25", "length"} < told
    assert len(told) > 20


@pytest.mark.parametrize(
    ("settings", "binary"), [(QUICK, True), ({"combine": "trees-scores", "features": "no"}, False)], ids=str
)
def test_it_is_a_ranker_of_binary_sets_and_without_features(
    tmp_path: Path, settings: dict[str, str], binary: bool
) -> None:
    splits = made_splits(graded=not binary, votes=not binary, turns=3)
    run = made_run(BINARY_CUT if binary else GRADED_CUT, seed=3)
    settings = {"members": "cosine,bm25,length", **settings}
    ranker = check_contract(Ensemble, tmp_path, settings, run, splits=splits, damage=False)
    assert [each["way"] for each in ranker.report()["chosen"]] == [settings["combine"]]


def test_it_does_better_than_its_members_on_test() -> None:
    splits, run = made_splits(train=80, test=80, odd=False), made_run()
    ensemble = fitted(Ensemble, splits, run, {"members": "bm25,length,matching"})
    found = run.quality(splits.test, scores_of(ensemble, splits.test))
    for name in ("bm25", "length", "matching"):
        member = fitted(RANKERS.factory(name), splits, run)
        assert found > run.quality(splits.test, scores_of(member, splits.test)) - 0.01, name


@pytest.mark.usefixtures("more_rankers")
def test_a_member_that_knows_train_by_heart_is_not_believed(tmp_path: Path) -> None:
    splits, run = made_splits(odd=False), made_run()
    memory = fitted(Memory, splits, run)
    assert run.quality(splits.train, memory.score(splits.train)) == 1.0
    ensemble = fitted(Ensemble, splits, run, {"members": "memory,bm25", **QUICK})
    ways = fitted(Ensemble, splits, run, {"members": "memory,bm25", "features": "no"}).report()["ways"]
    quality = {each["way"]: each["quality"] for each in ways}
    assert quality["member:memory"] < quality["member:bm25"]
    found = run.quality(splits.test, ensemble.score(splits.test))
    assert found > run.quality(splits.test, fitted(Bm25, splits, run).score(splits.test)) - 0.05
    save_ranker(ensemble, tmp_path / "model", Manifest(RANKER))
    assert load_ranker(tmp_path / "model").report()["members"]["memory"] == {"known": len(memory.known)}


@pytest.mark.usefixtures("more_rankers")
def test_a_member_that_cannot_be_fitted_is_left_out_and_told_unless_it_was_named(tmp_path: Path) -> None:
    splits = made_splits(odd=False)
    save_ranker(fitted(Bm25, splits, None, {"k1": 2.5}), tmp_path / "bm25", Manifest(RANKER))
    save_ranker(Broken(), tmp_path / "broken", Manifest(RANKER))
    paths = {"bm25": "bm25", "broken": "broken", "length": "nothing", "cosine": "bm25"}
    trained = {name: tmp_path / path for name, path in paths.items()}
    run = made_run(trained=trained)
    ensemble = fitted(Ensemble, splits, run, QUICK)
    left_out = ensemble.report()["left_out"]
    assert set(left_out) == {"broken", "cosine", "length"}
    assert "there is nothing at this path" in left_out["length"]
    assert "is the ranker 'bm25'; expected 'cosine'" in left_out["cosine"]
    assert left_out["broken"] == "ZeroDivisionError: a library of its own"
    # What was trained is taken as it is.
    assert ensemble.report()["members"]["bm25"] == load_ranker(tmp_path / "bm25").report()
    save_ranker(ensemble, tmp_path / "model", Manifest(RANKER))
    assert load_ranker(tmp_path / "model" / "members" / "bm25").settings["k1"] == 2.5
    with pytest.raises(InputError, match="there is nothing at this path"):
        fitted(Ensemble, splits, run, {"members": "bm25,length", **QUICK})
    with pytest.raises(InputError, match=r"no member .* length: "):
        fitted(Ensemble, splits, replace(run, trained={"length": tmp_path / "nothing"}), QUICK)


def test_members_are_named_by_the_setting() -> None:
    run = made_run()
    everything = member_names("auto", run)
    assert {"bm25", "gbdt", "crossencoder"} < set(everything)
    assert not {"ensemble", "random"} & set(everything)
    assert member_names("auto", replace(run, trained={"bm25": Path("x"), "random": Path("y")})) == ["bm25"]
    assert not {"bilstm", "cnn", "biencoder", "crossencoder"} & set(member_names("fast", run))
    assert member_names(" length, bm25 ,bm25", run) == ["bm25", "length"]
    for wrong in ("bm52", "ensemble", ",", "bm25,ensemble"):
        with pytest.raises(ConfigurationError, match="expected auto, fast, or"):
            member_names(wrong, run)


def test_where_all_are_equally_relevant_there_is_nothing_to_learn() -> None:
    equal = [example(str(number), f"prompt {number}", ["a", "b"], [1.0, 1.0]) for number in range(9)]
    for train in ([], equal):
        with pytest.raises(InputError, match="no two candidates of different relevance"):
            Ensemble({"members": "length"}).fit(train, equal, made_run())
    one = [example("1", "prompt", ["a", "b b"], [1.0, 0.0])]
    with pytest.raises(InputError, match="cannot be divided into 2 folds"):
        Ensemble({"members": "cosine", **QUICK}).fit(one, [], made_run())


def test_few_contexts_and_no_dev_are_enough() -> None:
    splits = made_splits(train=4, dev=0, test=5, odd=False)
    ensemble = fitted(Ensemble, splits, made_run(), {"members": "length,bm25", "folds": 20})
    assert len(scores_of(ensemble, splits.test)) == 5


def test_of_many_contexts_some_are_combined_on() -> None:
    splits = made_splits(odd=False)
    settings = {"members": "length,bm25", "contexts": 20, **QUICK}
    few = fitted(Ensemble, splits, made_run(), settings)
    many = fitted(Ensemble, splits, made_run(), settings | {"contexts": 1000})
    assert few.report()["quality"] != many.report()["quality"]
    again = fitted(Ensemble, splits._replace(train=splits.train), made_run(), settings)
    assert few.report() == again.report()


def test_a_context_of_thousands_of_candidates_is_scored_and_does_not_stop_the_fit() -> None:
    splits = made_splits(odd=False, train=20, dev=5, test=5)
    texts = [f"word{number % 50} word{number % 7}" for number in range(10_050)]
    large = example("large", "word3", texts, [float(number == 3) + 1 for number in range(10_050)])
    splits = splits._replace(train=[*splits.train, large], test=[*splits.test, large])
    ensemble = fitted(
        Ensemble, splits, made_run(), {"members": "length,bm25", "features": "no", "combine": "lambdamart-scores"}
    )
    assert scores_of(ensemble, splits.test)[-1].shape == (10_050,)


def test_damaged_descriptions_are_refused(tmp_path: Path) -> None:
    splits = made_splits(train=12, dev=4, test=4, odd=False)
    ensemble = fitted(Ensemble, splits, made_run(), {"members": "length", **QUICK})
    (tmp_path / "model").mkdir()
    ensemble.save(tmp_path / "model")
    file = tmp_path / "model" / "ranker.json"
    whole = read_json(file)
    for members in (
        None,
        {},
        [],
        {"length": None},
        {"length": {"center": 0.0}},
        {"length": {"center": 0.0, "scale": 0.0}},
        {"length": {"center": "0", "scale": 1.0}},
        {"../length": {"center": 0.0, "scale": 1.0}},
        {"ensemble": {"center": 0.0, "scale": 1.0}},
        {"bm25": {"center": 0.0, "scale": 1.0}},
    ):
        write_json(file, whole | {"more": whole["more"] | {"members": members}})
        with pytest.raises((ArtefactError, InputError)) as raised:
            Ensemble.load(tmp_path / "model")
        assert "\n" not in str(raised.value)
    write_json(file, whole)
    assert scores_of(Ensemble.load(tmp_path / "model"), splits.test)
