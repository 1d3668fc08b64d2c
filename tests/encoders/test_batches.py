"""Texts end to end, and batches of about equal length."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.encoders.batches import NumberedTexts, batches_by_length
from tertulia.encoders.vocabulary import EMPTY, PADDING


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(3, 99), max_size=7), min_size=1, max_size=9), st.randoms())
def test_padded_texts_are_those_that_were_given(texts: list[list[int]], random: object) -> None:
    held = NumberedTexts(texts)
    wanted = [text or [EMPTY] for text in texts]
    assert len(held) == len(texts)
    assert held.lengths.tolist() == [len(text) for text in wanted]
    which = np.array([len(texts) - 1, 0, 0])
    found, lengths = held.padded(which)
    longest = max(len(wanted[number]) for number in which)
    for row, length, number in zip(found.tolist(), lengths.tolist(), which.tolist(), strict=True):
        assert length == len(wanted[number])
        assert row == wanted[number] + [PADDING] * (longest - length)


def test_no_texts() -> None:
    held = NumberedTexts([])
    assert len(held) == 0
    found, lengths = held.padded(np.zeros(0, dtype=np.int64))
    assert found.shape[0] == lengths.shape[0] == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 12)), max_size=80), st.integers(1, 40), st.integers(0, 9))
def test_everything_is_in_one_batch_and_no_batch_is_too_large(
    sized: list[tuple[int, int]], most: int, seed: int
) -> None:
    lengths = np.array([length for length, _ in sized], dtype=np.int64)
    sizes = np.array([size for _, size in sized], dtype=np.int64)
    batches = [batch.tolist() for batch in batches_by_length(lengths, sizes, most, np.random.default_rng(seed))]
    assert sorted(number for batch in batches for number in batch) == list(range(len(sized)))
    for batch in batches:
        assert len(batch) == 1 or sum(sized[number][1] for number in batch) <= most
    again = batches_by_length(lengths, sizes, most, np.random.default_rng(seed))
    assert [batch.tolist() for batch in again] == batches


def test_texts_in_a_batch_are_of_about_equal_length_and_chance_says_which() -> None:
    random = np.random.default_rng(3)
    lengths = random.integers(1, 50, size=2_000)
    sizes = np.ones(2_000, dtype=np.int64)
    first, second = ([b.tolist() for b in batches_by_length(lengths, sizes, 20, random)] for _ in range(2))
    assert first != second
    assert np.mean([np.ptp(lengths[batch]) for batch in first]) < 4
