"""Permutation importance: what is used is important, what is not is not."""

import numpy as np

from tertulia.ranking.importance import divided, permutation_importance
from tertulia.ranking.quality import map_at

from .rankers.made import example


def made(count: int = 60):
    random = np.random.default_rng(0)
    examples = [example(str(n), "p", ["t"] * 5, random.permutation([1, 0, 0, 0, 0]).tolist()) for n in range(count)]
    truth = np.concatenate([one.relevance for one in examples])
    matrix = np.stack([truth, random.random(len(truth)), truth * 0.5 + random.random(len(truth))], axis=1)
    return examples, matrix.astype(np.float32)


def test_what_the_ranker_looks_at_is_important() -> None:
    examples, matrix = made()
    columns = {"truth": [0], "noise": [1], "half": [2]}
    before = matrix.copy()
    found = permutation_importance(
        lambda rows: (rows[:, 0] + 0.01 * rows[:, 1]).astype(np.float64), matrix, examples, columns, map_at(1.0)
    )
    np.testing.assert_array_equal(matrix, before)
    assert found[0]["feature"] == "truth"
    told = {one["feature"]: one for one in found}
    assert told["truth"]["importance"] > 0.4
    assert abs(told["noise"]["importance"]) < 0.01
    assert told["half"] == {"feature": "half", "importance": 0.0, "spread": 0.0}


def test_columns_of_a_feature_are_shuffled_together_and_seeded() -> None:
    examples, matrix = made()
    seen: list[np.ndarray] = []

    def predict(rows: np.ndarray) -> np.ndarray:
        seen.append(rows[:, [0, 2]].copy())
        return rows[:, 0].astype(np.float64)

    first = permutation_importance(predict, matrix, examples, {"both": [0, 2]}, map_at(1.0), shuffles=2)
    shuffled = seen[1]
    assert sorted(map(tuple, shuffled.tolist())) == sorted(map(tuple, matrix[:, [0, 2]].tolist()))
    assert not np.array_equal(shuffled, matrix[:, [0, 2]])
    assert first == permutation_importance(predict, matrix, examples, {"both": [0, 2]}, map_at(1.0), shuffles=2)
    other = permutation_importance(predict, matrix, examples, {"both": [0, 2]}, map_at(1.0), shuffles=2, seed=1)
    assert first != other


def test_values_by_example() -> None:
    examples = [example("1", "p", ["a", "b"]), example("2", "p", []), example("3", "p", ["c"])]
    assert [each.tolist() for each in divided(np.array([1.0, 2.0, 3.0]), examples)] == [[1, 2], [], [3]]
    assert divided(np.zeros(0), []) == []
