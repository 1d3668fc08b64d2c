"""The numbers of candidates in run files, and the order of ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.measures.ranking import rank_order
from tertulia.ranking.docnos import docno, docnos, place_of, tie_keys

IDS = st.text(max_size=12) | st.just("half \ud83d")


@settings(max_examples=60, deadline=None)
@given(IDS, st.integers(0, 60))
def test_numbers_differ_tell_the_place_and_order_as_their_keys(context: str, count: int) -> None:
    keys, numbers = tie_keys(context, count), docnos(context, count)
    assert keys.dtype == np.uint64
    assert numbers == [docno(key) for key in keys.tolist()]
    assert len(set(numbers)) == len(numbers) == count
    assert [place_of(number) for number in numbers] == list(range(count))
    assert sorted(numbers, reverse=True) == [numbers[place] for place in rank_order(np.zeros(count), keys)]
    # A longer list begins with the shorter one: a candidate's number depends on its own place alone.
    assert docnos(context, count + 3)[:count] == numbers


def test_ties_fall_at_random_and_not_by_the_place() -> None:
    first = [int(rank_order(np.zeros(10), tie_keys(f"context {number}", 10))[0]) for number in range(2_000)]
    shares = np.bincount(first, minlength=10) / len(first)
    assert shares.max() < 0.13
    assert shares.min() > 0.07


@pytest.mark.parametrize(
    ("number", "place"),
    [
        ("9f3a02c1-0000000007", 7),
        ("7", 7),
        ("-7", 7),
        ("", None),
        ("9f3a02c1-", None),
        ("9f3a02c1-7.0", None),
        ("9f3a02c1-\u0667", None),
        ("true", None),
        ("1" * 11, None),
    ],
)
def test_a_place_is_read_from_a_number(number: str, place: int | None) -> None:
    assert place_of(number) == place
