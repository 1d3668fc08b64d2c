import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.ranking.listwise import shares, teaching
from tests.ranking.rankers.made import example

NAN = float("nan")


@pytest.mark.parametrize(
    ("relevance", "expected"),
    [
        ([1, 0, 0], [1, 0, 0]),
        ([5, 4, 3], [2 / 3, 1 / 3, 0]),
        ([0.75, 0.5, 0.5, 0.25], [0.5, 0.25, 0.25, 0]),
        ([3, NAN, 1], [1, 0, 0]),
        ([1, NAN], [1, 0]),
        ([2, 2], None),
        ([0, NAN], None),
        ([NAN, NAN], None),
        ([5], None),
        ([], None),
    ],
)
def test_shares(relevance: list[float], expected: list[float] | None) -> None:
    found = shares(np.array(relevance, dtype=np.float64))
    assert (found is None) == (expected is None)
    if found is not None:
        np.testing.assert_allclose(found, expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.just(NAN), st.floats(0, 5, width=16)), max_size=6))
def test_shares_follow_relevance(relevance: list[float]) -> None:
    found = shares(np.array(relevance, dtype=np.float64))
    if found is None:
        assert len(set(np.nan_to_num(relevance).tolist())) <= 1 or len({r for r in relevance if r == r}) <= 1
        return
    np.testing.assert_allclose(found.sum(), 1)
    for one, share in zip(relevance, found, strict=True):
        for other, less in zip(relevance, found, strict=True):
            if one > other:
                assert share > less or (share == less == 0)


def test_examples_that_teach_nothing_are_left_out() -> None:
    examples = [example("a", "p", ["x", "y"], [1, 0]), example("b", "p", ["x", "y"], [1, 1]), example("c", "p", [], [])]
    assert [each.id for each, _ in teaching(examples)] == ["a"]
