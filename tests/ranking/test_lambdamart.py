"""LambdaMART: trees as arrays give what LightGBM gives, and nothing that is no tree is followed."""

import numpy as np
import pytest

from tertulia.errors import InputError
from tertulia.ranking.importance import divided
from tertulia.ranking.lambdamart import LambdaMart, Trees
from tertulia.ranking.quality import map_at

from .rankers.made import example


def made(count: int, seed: int, size: int = 6):
    random = np.random.default_rng(seed)
    examples, rows = [], []
    for n in range(count):
        features = random.normal(size=(size, 4)).astype(np.float32)
        relevance = np.clip(np.round(3 + features[:, 0] * features[:, 1] + random.normal(0, 0.3, size)), 1, 5)
        examples.append(example(str(n), "p", ["t"] * size, relevance.tolist()))
        rows.append(features)
    return examples, np.vstack(rows)


def test_it_learns_and_predicts_as_lightgbm_does(monkeypatch: pytest.MonkeyPatch) -> None:
    import lightgbm

    boosters = []
    make = lightgbm.Booster

    def kept(*arguments, **options):
        boosters.append(make(*arguments, **options))
        return boosters[-1]

    monkeypatch.setattr(lightgbm, "Booster", kept)
    train, matrix = made(150, 0)
    dev, dev_matrix = made(50, 1)
    quality = map_at(4.0)
    model = LambdaMart.fit(matrix, train, dev_matrix, dev, quality, rounds=120, patience=40)
    test, test_matrix = made(100, 2)
    scores = model.predict(test_matrix)
    assert scores == pytest.approx(boosters[0].predict(test_matrix, num_iteration=model.rounds), rel=1e-12, abs=1e-12)
    assert quality(test, divided(scores, test)) > 0.85
    assert model.quality is not None
    assert 0 < model.rounds <= 120
    alone = np.concatenate([model.predict(test_matrix[at : at + 1]) for at in range(len(test_matrix))])
    np.testing.assert_array_equal(alone, scores)
    again = LambdaMart.fit(matrix, train, dev_matrix, dev, quality, rounds=120, patience=40)
    np.testing.assert_array_equal(again.predict(test_matrix), scores)


def test_without_dev_rounds_are_as_given_if_few() -> None:
    train, matrix = made(20, 0)
    model = LambdaMart.fit(matrix, train, matrix[:0], [], map_at(4.0), rounds=7)
    assert (model.rounds, model.quality) == (7, None)


def test_a_context_that_says_nothing_is_left_out() -> None:
    train, matrix = made(30, 0)
    dull = example("dull", "p", ["t"] * 6, [3.0] * 6)
    doubled = [one for example in train for one in (example, dull)]
    wide = np.concatenate([np.vstack([matrix[at : at + 6], matrix[:6] * 50]) for at in range(0, len(matrix), 6)])
    one = LambdaMart.fit(matrix, train, matrix[:0], [], map_at(4.0), rounds=5)
    other = LambdaMart.fit(wide, doubled, matrix[:0], [], map_at(4.0), rounds=5)
    np.testing.assert_array_equal(one.predict(matrix), other.predict(matrix))
    with pytest.raises(InputError, match="a better and a worse candidate"):
        LambdaMart.fit(matrix[:6], [dull], matrix[:0], [], map_at(4.0))


def test_more_candidates_than_lightgbm_takes_at_a_time() -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(10_500, 2)).astype(np.float32)
    huge = example("huge", "p", ["t"] * len(matrix), (matrix[:, 0] > 1).astype(float).tolist())
    model = LambdaMart.fit(matrix, [huge], matrix[:0], [], map_at(1.0), rounds=20)
    # By chance it would be 0.16, the share of positives.
    assert map_at(1.0)([huge], [model.predict(matrix)]) > 0.7


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", 0),
        ("right", 10**9),
        ("right", -1),
        ("feature", 99),
        ("feature", -2),
        ("roots", -1),
        ("roots", 10**9),
        ("value", np.nan),
        ("value", 1e300),
        ("threshold", np.inf),
    ],
)
def test_trees_that_lead_nowhere_are_refused(name: str, value: float) -> None:
    train, matrix = made(30, 0)
    arrays = LambdaMart.fit(matrix, train, matrix[:0], [], map_at(4.0), rounds=3).trees.to_arrays()
    assert Trees.from_arrays(arrays, 4).predict(matrix).shape == (len(matrix),)
    changed = arrays[name].copy()
    changed[0] = value
    with pytest.raises(ValueError, match=r"nowhere|kind of numbers"):
        Trees.from_arrays({**arrays, name: changed}, 4)
    with pytest.raises(KeyError):
        Trees.from_arrays({key: array for key, array in arrays.items() if key != name}, 4)
    if name != "roots":
        with pytest.raises(ValueError, match="unequal"):
            Trees.from_arrays({**arrays, name: arrays[name][:-1]}, 4)


def test_no_tree_at_all() -> None:
    trees = Trees.of([])
    assert trees.predict(np.ones((3, 2), dtype=np.float32)).tolist() == [0, 0, 0]
    assert Trees.from_arrays(trees.to_arrays(), 2).predict(np.ones((0, 2), dtype=np.float32)).shape == (0,)


def test_where_dev_says_nothing_sixty_rounds_are_grown() -> None:
    train, matrix = made(30, 0)
    dull = [example("dull", "p", ["t"] * 6, [3.0] * 6)]
    model = LambdaMart.fit(matrix, train, matrix[:6], dull, map_at(4.0), rounds=200)
    assert (model.rounds, model.quality) == (60, None)
    assert LambdaMart.fit(matrix, train, matrix[:6], dull, map_at(4.0), rounds=20).rounds == 20
    assert LambdaMart.fit(matrix, train, matrix[:0], [], map_at(4.0), rounds=200).rounds == 60
