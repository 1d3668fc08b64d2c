"""Draws: every number is as likely, a seed gives one draw, and the pool is what it should be."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.ranking.negatives import draw, draw_negatives, permutation, seed_of

MASK = 2**64 - 1


def plain_draw(size: int, count: int, seed: int) -> list[int]:
    """A shuffle after Fisher and Yates with SplitMix64, on a list."""
    numbers = list(range(size))
    for step in range(min(count, size)):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        mixed = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        mixed ^= mixed >> 31
        at = step + ((mixed >> 32) * (size - step) >> 32)
        numbers[step], numbers[at] = numbers[at], numbers[step]
    return numbers[: min(count, size)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 300), st.integers(0, 320), st.integers(0, MASK))
def test_a_draw_is_a_shuffle(size: int, count: int, seed: int) -> None:
    drawn = draw(size, count, seed)
    assert drawn == plain_draw(size, count, seed)
    assert len(set(drawn)) == min(size, count)
    assert list(permutation(size, seed)) == draw(size, size, seed)


def test_every_number_is_as_likely_at_every_place() -> None:
    seen: Counter[tuple[int, int]] = Counter()
    for number in range(8_000):
        seen.update(enumerate(draw(8, 3, seed_of(1, f"context {number}"))))
    # 1,000 expected in each of 24 cells, with a standard deviation of 30.
    assert len(seen) == 24
    assert all(850 < count < 1_150 for count in seen.values())


def test_seeds_differ_by_the_set_and_by_the_context() -> None:
    seeds = {seed_of(seed, identifier) for seed in range(3) for identifier in ("a-3", "a-5", "b-3", "\udc80")}
    assert len(seeds) == 12


def test_more_numbers_than_there_may_be() -> None:
    with pytest.raises(ValueError, match="expected fewer"):
        draw(2**32, 1, 0)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_negatives_come_from_the_best_that_are_not_excluded(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 40))
    everything = st.permutations(range(size)) if size else st.just([])
    best = data.draw(everything)[: data.draw(st.integers(0, 40))]
    excluded = data.draw(everything)[: data.draw(st.integers(0, 5))]
    pool = data.draw(st.integers(1, 45))
    drawn = draw_negatives(np.array(best, dtype=np.int64), excluded, size, pool, 100, 7)
    ranked = [number for number in best if number not in excluded][:pool]
    assert len(drawn) == len(set(drawn)) == min(pool, size - len(excluded))
    assert not set(drawn) & set(excluded)
    assert set(ranked) <= set(drawn)
    count = data.draw(st.integers(0, 45))
    assert draw_negatives(np.array(best, dtype=np.int64), excluded, size, pool, count, 7) == drawn[:count]


def test_who_takes_more_gets_the_same_first() -> None:
    best, excluded = np.arange(5, 500), [7, 9]
    some = draw_negatives(best, excluded, 2_000, 1_000, 50, 3)
    more = draw_negatives(best, excluded, 2_000, 1_000, 400, 3)
    assert more[:50] == some
    assert any(number < 5 or number >= 500 for number in more)
    assert all(isinstance(number, int) for number in more)
