"""The compact letter display: against its definition, and as a reader takes it."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.measures.letters import compact_letters
from tertulia.measures.significance import tukey_hsd


@st.composite
def compared(draw: st.DrawFn) -> tuple[list[float], np.ndarray]:
    count = draw(st.integers(1, 8))
    means = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, math.nan]), min_size=count, max_size=count))
    p = np.ones((count, count))
    for one, other in combinations(range(count), 2):
        p[one, other] = p[other, one] = draw(st.sampled_from([0.001, 0.05, 0.06, 1.0, math.nan]))
    return means, p


def largest_groups(p: np.ndarray) -> set[frozenset[int]]:
    """All sets of systems without a significant difference that no system can be added to: every subset is tried."""
    count = len(p)
    alike = [
        frozenset(group)
        for size in range(1, count + 1)
        for group in combinations(range(count), size)
        if not any(p[one, other] <= 0.05 for one, other in combinations(group, 2))
    ]
    return {group for group in alike if not any(group < larger for larger in alike)}


def groups_of(letters: list[str]) -> set[frozenset[int]]:
    names = set("".join(letters))
    return {frozenset(place for place, each in enumerate(letters) if name in each) for name in names}


@settings(max_examples=150, deadline=None)
@given(compared())
def test_two_systems_share_a_letter_exactly_where_their_difference_is_not_significant(
    case: tuple[list[float], np.ndarray],
) -> None:
    means, p = case
    letters = compact_letters(means, p)
    for one, other in combinations(range(len(means)), 2):
        assert bool(set(letters[one]) & set(letters[other])) == (not p[one, other] <= 0.05)
    assert groups_of(letters) == largest_groups(p)
    assert all(letters)
    assert all(list(each) == sorted(each) for each in letters)
    best = max(range(len(means)), key=lambda place: -math.inf if math.isnan(means[place]) else means[place])
    assert "a" in letters[best]


def test_letters_go_down_with_the_means() -> None:
    p = np.full((3, 3), 0.001)
    assert compact_letters([0.2, 0.9, 0.5], p) == ["c", "a", "b"]
    p[0, 2] = p[2, 0] = 0.4
    assert compact_letters([0.2, 0.9, 0.5], p) == ["b", "a", "b"]
    p[1, 2] = p[2, 1] = 0.4
    assert compact_letters([0.2, 0.9, 0.5], p) == ["b", "a", "ab"]
    assert compact_letters([0.5, 0.5], np.ones((2, 2))) == ["a", "a"]
    assert compact_letters([], np.zeros((0, 0))) == []


def test_the_level_is_what_is_still_significant() -> None:
    p = np.array([[1, 0.04], [0.04, 1]])
    assert compact_letters([1, 0], p) == ["a", "b"]
    assert compact_letters([1, 0], p, level=0.01) == ["a", "a"]
    assert compact_letters([1, 0], p, level=0.04) == ["a", "b"]


def test_more_systems_than_letters() -> None:
    p = np.zeros((60, 60))
    letters = compact_letters(list(range(60, 0, -1)), p)
    assert letters[25:27] == ["z", "A"]
    assert letters[51:54] == ["Z", ".a", ".b"]
    assert len(set(letters)) == 60


def test_of_tukey_there_is_never_more_than_one_group_a_system() -> None:
    random = np.random.default_rng(1)
    values = random.random((80, 14)) + np.linspace(0, 0.6, 14)
    letters = compact_letters(values.mean(axis=0).tolist(), tukey_hsd(values, replicates=500))
    assert 2 < len(set("".join(letters))) <= 14
    assert "a" in letters[-1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="for 3 systems"):
        compact_letters([1, 2, 3], np.ones((2, 2)))
    with pytest.raises(InputError, match="symmetric"):
        compact_letters([1, 2], [[1, 0.1], [0.2, 1]])
    for level in (0, 1, math.nan, 5):
        with pytest.raises(InputError, match="between 0 and 1"):
            compact_letters([1, 2], np.ones((2, 2)), level=level)
