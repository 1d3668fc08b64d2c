"""What tuning tries, and what it chooses."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.ranking.ranker import Setting
from tertulia.ranking.tuning import best_on_dev, combinations

from .rankers.made import example, made_run

KNOWN = {
    "k1": Setting(1.2, "", tried=(0.5, 1.2, 2.0)),
    "kind": Setting("words", "", tried=("words", "characters")),
    "exact": Setting(1, "", tried=(1, True)),
    "left": Setting(7, ""),
}
GRID = [
    {"k1": k1, "kind": kind, "exact": exact, "left": 7}
    for k1, kind, exact in itertools.product((1.2, 0.5, 2.0), ("words", "characters"), (1, True))
]


def as_keys(found) -> list[str]:
    return [repr(sorted(each.items())) for each in found]


@settings(max_examples=50, deadline=None)
@given(st.integers(-3, 30), st.integers(-(2**70), 2**70))
def test_combinations_begin_with_the_start_and_never_repeat(trials: int, seed: int) -> None:
    found = combinations(KNOWN, trials, seed)
    assert found[0] == {"k1": 1.2, "kind": "words", "exact": 1, "left": 7}
    assert len(found) == min(max(trials, 1), len(GRID))
    assert len(set(as_keys(found))) == len(found)
    assert set(as_keys(found)) <= set(as_keys(GRID))
    assert as_keys(found) == as_keys(combinations(KNOWN, trials, seed))


def test_a_small_grid_is_tried_whole_and_seeds_differ() -> None:
    assert sorted(as_keys(combinations(KNOWN, 100, 0))) == sorted(as_keys(GRID))
    assert len({tuple(as_keys(combinations(KNOWN, 4, seed))) for seed in range(8)}) > 1


def test_what_a_user_has_chosen_stays() -> None:
    start = {"k1": 9.0, "kind": "characters", "exact": 1, "left": 3}
    found = combinations(KNOWN, 100, 0, start=start, fixed={"k1"})
    assert found[0] == start
    assert {each["k1"] for each in found} == {9.0}
    assert {each["left"] for each in found} == {3}
    assert len(found) == 4


def test_a_grid_of_billions_is_drawn_from() -> None:
    known = {f"s{number}": Setting(0, "", tried=tuple(range(10))) for number in range(40)}
    assert len(set(as_keys(combinations(known, 20, 1)))) == 20


def test_the_best_on_dev_is_chosen_and_of_equal_ones_the_first() -> None:
    dev = [example("1", "a", ["x", "y"], [1, 5]), example("2", "a", ["x", "y"], [5, 1])]
    told: list[tuple[str, int, int | None]] = []
    run = made_run(progress=lambda *what: told.append(what))
    scores = {"bad": [[1, 0], [0, 1]], "half": [[1, 0], [1, 0]], "good": [[0, 1], [1, 0]], "too": [[0, 2], [2, 0]]}

    def score(settings):
        return (np.array(each, dtype=float) for each in scores[settings["name"]])

    tuned = best_on_dev([{"name": name} for name in scores], score, dev, run)
    assert tuned.settings == {"name": "good"}
    assert tuned.quality == 1.0
    assert [quality for _, quality in tuned.tried] == [0.5, 0.75, 1.0, 1.0]
    assert tuned.to_json() == {"tried": 4, "quality": 1.0, "quality_of_first": 0.5}
    assert told == [("tuning", 1, 4)] * 4


@pytest.mark.parametrize("quality", [float("nan"), float("inf")])
def test_a_quality_that_is_no_number_is_the_worst(quality: float) -> None:
    run = made_run()
    object.__setattr__(run, "quality", lambda _dev, scores: quality if next(iter(scores))[0] else 0.1)
    tuned = best_on_dev([{"v": 1}, {"v": 0}], lambda each: iter([np.array([each["v"]])]), [], run)
    assert tuned.settings == {"v": 0}
    assert tuned.tried == (({"v": 1}, 0.0), ({"v": 0}, 0.1))
