import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tertulia.errors import ArtefactError, ConfigurationError, InputError, MissingExtraError
from tertulia.ranking.rankers.crossencoder import CrossEncoder, _drawn
from tertulia.ranking.rankers.pair_tokens import PairTokens
from tertulia.ranking.wording import Wording
from tests.encoders.sentence_made import write_bert, write_tokenizer
from tests.ranking.rankers.contract import check_contract, fitted
from tests.ranking.rankers.made import example, made_run, made_splits

QUICK = {"epochs": 1, "checks": 1, "max_tokens": 32}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer of random weights that knows the words of the made-up set."""
    splits = made_splits(turns=1, train=200)
    texts = [text for e in [*splits.train, *splits.dev] for text in [*e.texts, e.prompt]]
    words = sorted({word for text in texts for word in text.split() if word.isalpha()})
    return write_bert(tmp_path_factory.mktemp("checkpoints") / "bert", words, hidden=32)


def test_the_contract(checkpoint: Path, tmp_path: Path) -> None:
    settings = {**QUICK, "checkpoint": str(checkpoint)}
    made = made_splits(train=16, dev=6, test=6)
    splits = made._replace(test=[each for each in made.test if len(each)])
    ranker = check_contract(CrossEncoder, tmp_path, settings, splits=splits, close=1e-5)
    assert ranker.report()["steps"] == 3
    one, other = ranker.score([example("a", "x", []), example("b", "x", ["same", "other", "same"])])
    assert one.shape == (0,)
    assert other[0] == other[2]


def test_it_learns(checkpoint: Path) -> None:
    splits = made_splits(turns=1, train=150, dev=40, test=40, graded=False, odd=False)
    run = made_run(1.0)
    settings = {"checkpoint": str(checkpoint), "epochs": 8, "learning_rate": 4e-3, "patience": 9, "max_tokens": 32}
    ranker = fitted(CrossEncoder, splits, run, settings)
    looks = [look["quality"] for look in ranker.report()["looks"]]
    assert run.quality(splits.dev, ranker.score(splits.dev)) == max(looks)
    chance = np.random.default_rng(0)
    floor = run.quality(splits.test, (chance.random(len(e)) for e in splits.test))
    assert run.quality(splits.test, ranker.score(splits.test)) > floor + 0.15


def test_a_batch_in_parts_is_the_batch(checkpoint: Path) -> None:
    splits = made_splits(train=16, dev=4, test=4, odd=False)
    quiet = {"checkpoint": str(checkpoint), **QUICK, "batch": 16, "learning_rate": 1e-3}
    still = write_config(checkpoint, {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    try:
        found = [fitted(CrossEncoder, splits, None, {**quiet, "accumulation": parts}) for parts in (1, 3)]
    finally:
        (checkpoint / "config.json").write_text(still)
    for one, other in zip(*(ranker.score(splits.test) for ranker in found), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def write_config(checkpoint: Path, changes: dict[str, float]) -> str:
    """Change the config of a checkpoint; what it was before."""
    before = (checkpoint / "config.json").read_text()
    (checkpoint / "config.json").write_text(json.dumps(json.loads(before) | changes))
    return before


def test_candidates_are_drawn_with_the_best_among_them() -> None:
    each = example("a", "x", [f"text {number}" for number in range(9)])
    target = np.array([0, 0.1, 0, 0.6, 0, 0.3, 0, 0, 0])
    random = np.random.default_rng(0)
    for _ in range(20):
        texts, _, shares = _drawn(each, target, 3, random)
        assert len(texts) == len(shares) == 3
        assert "text 3" in texts
        np.testing.assert_allclose(shares.sum(), 1)
        weights = [target[int(text[-1])] for text in texts]
        np.testing.assert_allclose(shares, np.array(weights) / sum(weights))


def test_contexts_may_be_fewer(checkpoint: Path) -> None:
    settings = {"checkpoint": str(checkpoint), **QUICK, "contexts": 9, "batch": 4}
    report = fitted(CrossEncoder, made_splits(train=30, dev=4), None, settings).report()
    assert (report["contexts"], report["steps"]) == (9, 3)


@pytest.fixture
def tokens(tmp_path: Path) -> PairTokens:
    write_tokenizer(tmp_path / "tokenizer.json", [*"abcdefghijklmnopqrstuvwxyz"])
    return PairTokens(tmp_path / "tokenizer.json", 11, "a test")


def words_of(pair: tuple[list[int], list[int]]) -> str:
    marks = {1: "?", 2: "[", 3: "|"}
    return "".join(marks.get(number, chr(ord("a") + number - 4)) for number in pair[0])


@pytest.mark.parametrize(
    ("turns", "text", "expected"),
    [
        (["a b"], "c", "[ab|c|"),
        (["a b c d e f g h i j"], "x y", "[efghij|xy|"),
        (["a"], "r s t u v w x y z", "[a|rstuvwx|"),
        (["a b c d e f g h i j"], "r s t u v w x y z", "[ghij|rstu|"),
        (["a b", "c d"], "x", "[ab|cd|x|"),
        (["a b c d", "e f g h"], "x", "[cd|efgh|x|"),
        ([], "x", "[|x|"),
        (["\ud83d"], "", "[?||"),
    ],
)
def test_pairs_of_tokens(tokens: PairTokens, turns: list[str], text: str, expected: str) -> None:
    (pair,) = tokens.pairs(Wording(), example("e", turns, [text]), [text])
    found = words_of(pair)
    assert found == expected
    first = found.rindex("|", 0, -1) + 1
    assert pair[1] == [0] * first + [1] * (len(found) - first)


def test_turns_that_do_not_count_are_not_read(tokens: PairTokens) -> None:
    each = example("e", ["a", "b", "c"], ["x"])
    found = [words_of(tokens.pairs(wording, each, ["x"])[0]) for wording in (Wording(turns=2), Wording(decay=0.0))]
    assert found == ["[b|c|x|", "[c|x|"]


def test_what_is_missing_is_said(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = made_splits(train=5)
    with pytest.raises(ConfigurationError, match=r"setting 'checkpoint' names none.*minilm"):
        fitted(CrossEncoder, splits)
    with pytest.raises(ConfigurationError, match="no checkpoint 'nonesuch'"):
        fitted(CrossEncoder, splits, None, {"checkpoint": "nonesuch"})
    with pytest.raises(ConfigurationError, match="expected at most 64"):
        fitted(CrossEncoder, splits, None, {"checkpoint": str(checkpoint), "max_tokens": 65})
    pickled = shutil.copytree(checkpoint, tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(ArtefactError, match="a pickle"):
        fitted(CrossEncoder, splits, None, {"checkpoint": str(pickled)})
    same = [example("a", "b", ["c", "d"], [1.0, 1.0])]
    with pytest.raises(InputError, match="nothing to learn"):
        CrossEncoder({"checkpoint": str(checkpoint)}).fit(same, splits.dev, made_run())
    with pytest.raises(ConfigurationError, match="not been fitted"):
        next(CrossEncoder().score(splits.dev))
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"transformers.*tertulia\[neural\]"):
        fitted(CrossEncoder, splits, None, {"checkpoint": str(checkpoint)})
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="torch"):
        fitted(CrossEncoder, splits, None, {"checkpoint": str(checkpoint)})
