"""The pairwise machine: the contract, the pairs it learns from, and the weights it finds."""

import numpy as np
import pytest

from tertulia.errors import InputError, MissingExtraError
from tertulia.ranking.rankers.svmrank import SvmRank, drawn_pairs, fitted_weights

from .contract import check_contract, fitted
from .made import example, made_run, made_splits


def test_it_keeps_the_contract(tmp_path) -> None:
    check_contract(SvmRank, tmp_path, {"shuffles": 1})


def test_pairs_are_those_of_a_better_and_a_worse_candidate_of_one_context() -> None:
    examples = [
        example("1", "p", ["a", "b", "c"], [3, 1, 3]),
        example("2", "p", ["d"], [5]),
        example("3", "p", ["e", "f"], [1, 5]),
    ]
    pairs = drawn_pairs(examples, 100, 0)
    assert list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == [(0, 1), (2, 1), (5, 4)]
    assert pairs.gap == pytest.approx(np.array([2, 2, 4]) / (8 / 3))


def test_pairs_are_bounded_and_seeded() -> None:
    random = np.random.default_rng(0)
    examples = [example(str(n), "p", ["t"] * 20, random.random(20).tolist()) for n in range(50)]
    values = np.concatenate([one.relevance for one in examples])
    some = drawn_pairs(examples, 500, 0)
    assert 350 < len(some.gap) < 650
    assert (values[some.better] > values[some.worse]).all()
    assert (some.better // 20 == some.worse // 20).all()
    assert drawn_pairs(examples, 500, 0).better.tolist() == some.better.tolist()
    assert drawn_pairs(examples, 500, 1).better.tolist() != some.better.tolist()
    large = [example("l", "p", ["t"] * 3_000, random.integers(1, 3, 3_000).astype(float).tolist())]
    few = drawn_pairs(large, 1_000, 0)
    assert 900 <= len(few.gap) <= 1_000
    assert (large[0].relevance[few.better] > large[0].relevance[few.worse]).all()
    with pytest.raises(InputError, match="a better and a worse"):
        drawn_pairs([example("1", "p", ["a", "b"], [1, 1])], 10, 0)


def test_weights_find_the_direction_that_orders() -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(600, 4)).astype(np.float32)
    matrix[:, 3] = 7
    worth = 2 * matrix[:, 0] - matrix[:, 1]
    examples = [example(str(n), "p", ["t"] * 6, worth[6 * n : 6 * n + 6].tolist()) for n in range(100)]
    linear = fitted_weights(matrix, drawn_pairs(examples, 10_000, 0), 0.01, 0)
    assert linear.weights[0] > 0 > linear.weights[1]
    assert linear.weights[0] / -linear.weights[1] == pytest.approx(2, rel=0.25)
    assert abs(linear.weights[2]) < 0.1 * linear.weights[0]
    # What is the same everywhere has no say, whatever it is in a new text.
    assert linear.weights[3] == 0
    assert np.corrcoef(linear.predict(matrix), worth)[0, 1] > 0.98


def test_one_pair_is_enough() -> None:
    splits = made_splits(odd=False)
    one = [example("1", "hello there", ["hi", "no"], [5, 1])]
    ranker = SvmRank()
    ranker.fit(one, splits.dev, made_run())
    assert len(list(ranker.score(splits.test))) == len(splits.test)


def test_c_is_tuned_on_dev() -> None:
    splits = made_splits(train=40, odd=False)
    ranker = fitted(SvmRank, splits, made_run(trials=4), {"shuffles": 0})
    report = ranker.report()
    assert report["tuning"]["tried"] == 4
    assert report["tuning"]["quality"] >= report["tuning"]["quality_of_first"]
    assert report["importance"] == []
    assert len(report["weights"]) == 2 * report["features"]


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.svm", None)
    splits = made_splits(train=5, dev=2)
    with pytest.raises(MissingExtraError, match=r"needs the package 'scikit-learn'.*tertulia\[full\]"):
        SvmRank().fit(splits.train, splits.dev, made_run())
