from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tertulia.ranking.combining.inputs import (
    Inputs,
    labels_of,
    offsets_of,
    ranks_within,
    rows_of,
    standardised_within,
)
from tests.ranking.rankers.made import example

SIZES = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def table(
    sizes: list[int], columns: int, seed: int, levels: int | None = 4
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    rows = sum(sizes)
    values = random.normal(size=(rows, columns)) if levels is None else random.integers(0, levels, (rows, columns)) / 2
    return values.astype(np.float64), offsets_of(np.array(sizes, dtype=np.int64))


@settings(max_examples=50, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_standardised_within_a_context_is_mean_0_and_deviation_1_or_0_where_all_are_equal(
    sizes: list[int], seed: int
) -> None:
    values, offsets = table(sizes, 3, seed)
    found = standardised_within(values, offsets)
    for start, end in pairwise(offsets.tolist()):
        for column in range(3):
            part = values[start:end, column]
            if len(set(part.tolist())) < 2:
                assert found[start:end, column].tolist() == [0.0] * len(part)
            else:
                np.testing.assert_allclose(found[start:end, column], (part - part.mean()) / part.std(), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(sizes=SIZES, seed=st.integers(0, 99))
def test_ranks_within_a_context_are_the_share_of_others_that_are_beaten(sizes: list[int], seed: int) -> None:
    values, offsets = table(sizes, 2, seed)
    found = ranks_within(values, offsets)
    for start, end in pairwise(offsets.tolist()):
        for row in range(start, end):
            for column in range(2):
                others = [values[other, column] for other in range(start, end) if other != row]
                beaten = sum(1.0 * (values[row, column] > one) + 0.5 * (values[row, column] == one) for one in others)
                assert found[row, column] == pytest.approx(beaten / len(others) if others else 0.5)


def test_a_context_has_the_same_numbers_alone_and_beside_others() -> None:
    sizes = [3, 7, 1, 40, 0, 7]
    values, offsets = table(sizes, 5, 1, levels=None)
    for whole in (standardised_within(values, offsets), ranks_within(values, offsets)):
        assert np.isfinite(whole).all()
    for place, size in enumerate(sizes):
        rows = slice(offsets[place], offsets[place + 1])
        alone = offsets_of(np.array([size], dtype=np.int64))
        for function in (standardised_within, ranks_within):
            assert function(values[rows], alone).tobytes() == function(values, offsets)[rows].tobytes()


def test_contexts_can_be_taken_in_any_order() -> None:
    values, offsets = table([2, 0, 3], 2, 0, levels=None)
    inputs = Inputs(("a", "b"), ("c", "d"), values, values * 2, offsets)
    taken = inputs.take(np.array([2, 0]))
    assert rows_of(offsets, np.array([2, 0])).tolist() == [2, 3, 4, 0, 1]
    assert taken.offsets.tolist() == [0, 3, 5]
    assert len(taken) == 2
    np.testing.assert_array_equal(taken.scores, values[[2, 3, 4, 0, 1]])
    np.testing.assert_array_equal(taken.features, 2 * values[[2, 3, 4, 0, 1]])
    assert [part.tolist() for part in inputs.split(np.arange(5.0))] == [[0, 1], [], [2, 3, 4]]


def test_labels_are_scaled_by_the_bounds_of_train_and_what_nobody_judged_is_least() -> None:
    train = [example("1", "p", ["a", "b", "c"], [1.0, float("nan"), 5.0], [0.0, 0.0, 0.4])]
    labels, bounds = labels_of(train)
    assert bounds == (1.0, 5.0)
    assert labels.relevance.tolist() == [0.0, 0.0, 1.0]
    assert labels.deviation.tolist() == [0.0, 0.0, 0.1]
    later, _ = labels_of([example("2", "p", ["a", "b", "c"], [0.0, 3.0, 7.0])], bounds)
    assert later.relevance.tolist() == [0.0, 0.5, 1.0]
    unsaid, bounds = labels_of([example("3", "p", ["a"])])
    assert (unsaid.relevance.tolist(), bounds) == ([0.0], (0.0, 0.0))
