"""Measures of one ranking: worked by hand, and against plain definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.measures.ranking import average_precision, ndcg, precision_at, rank_order, recall_at, reciprocal_rank

HITS = np.array([False, True, True, False, True])
SOME_HITS = st.lists(st.booleans(), max_size=12)
GAINS = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 5.0]), max_size=12)


def test_candidates_are_ordered_by_score_then_by_tie_and_missing_ones_are_not_there() -> None:
    scores = np.array([1.0, np.nan, 2.0, 1.0, -math.inf, math.inf, 0.0, -0.0])
    ties = np.array([7, 1, 2, 9, 4, 5, 3, 6], dtype=np.uint64)
    assert rank_order(scores, ties).tolist() == [5, 2, 3, 0, 7, 6, 4]
    nothing = np.zeros(0)
    assert rank_order(nothing, nothing.astype(np.uint64)).tolist() == []
    assert rank_order(np.full(2, np.nan), np.arange(2, dtype=np.uint64)).tolist() == []


def test_the_largest_tie_comes_first_up_to_the_largest_number_there_is() -> None:
    ties = np.array([0, 2**64 - 1, 2**63, 1], dtype=np.uint64)
    assert rank_order(np.zeros(4), ties).tolist() == [1, 2, 3, 0]


def test_measures_worked_by_hand() -> None:
    assert precision_at(HITS, 1) == 0
    assert precision_at(HITS, 3) == 2 / 3
    assert precision_at(HITS, 10) == 0.3
    assert recall_at(HITS, 4, 3) == 0.5
    assert recall_at(HITS, 4, 100) == 0.75
    assert reciprocal_rank(HITS) == 0.5
    assert average_precision(HITS, 4) == pytest.approx((1 / 2 + 2 / 3 + 3 / 5) / 4, abs=1e-15)
    gains = np.array([0.0, 3.0, 1.0])
    best = 3 + 2 / math.log2(3) + 1 / 2
    assert ndcg(gains, np.array([1.0, 3.0, 0.0, 2.0])) == pytest.approx((3 / math.log2(3) + 1 / 2) / best, abs=1e-15)
    assert ndcg(gains, np.array([1.0, 3.0, 0.0, 2.0]), 2) == pytest.approx(
        (3 / math.log2(3)) / (3 + 2 / math.log2(3)), abs=1e-15
    )


def test_nothing_retrieved_is_worth_nothing_and_nothing_relevant_is_not_defined() -> None:
    nothing = np.zeros(0, dtype=bool)
    assert precision_at(nothing, 1) == reciprocal_rank(nothing) == recall_at(nothing, 2, 1) == 0
    assert average_precision(nothing, 2) == ndcg(np.zeros(0), np.ones(1)) == 0
    assert math.isnan(average_precision(HITS, 0))
    assert math.isnan(recall_at(HITS, 0, 1))
    assert math.isnan(ndcg(np.zeros(2), np.zeros(3)))
    assert math.isnan(ndcg(np.zeros(0), np.zeros(0)))


@settings(max_examples=60, deadline=None)
@given(SOME_HITS, st.integers(0, 3), st.integers(1, 15))
def test_binary_measures_are_those_of_their_definitions(hits: list[bool], missing: int, k: int) -> None:
    relevant = sum(hits) + missing
    found = np.array(hits, dtype=bool)
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    assert precision_at(found, k) == len([rank for rank in ranks if rank <= k]) / k
    assert reciprocal_rank(found) == (1 / ranks[0] if ranks else 0)
    if relevant:
        assert recall_at(found, relevant, k) == len([rank for rank in ranks if rank <= k]) / relevant
        precisions = [sum(hits[:rank]) / rank for rank in ranks]
        assert average_precision(found, relevant) == pytest.approx(sum(precisions) / relevant, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(GAINS, GAINS, st.none() | st.integers(1, 15))
def test_ndcg_is_that_of_its_definition_and_best_for_the_best_order(
    gains: list[float], missing: list[float], k: int | None
) -> None:
    everything = gains + missing

    def discounted(values: list[float]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:k], 1))

    best = sorted(everything, reverse=True)
    found = ndcg(np.array(gains), np.array(everything), k)
    if not any(everything):
        assert math.isnan(found)
        return
    assert found == pytest.approx(discounted(gains) / discounted(best), abs=1e-12)
    assert 0 <= found <= 1 + 1e-12
    assert ndcg(np.array(best), np.array(everything), k) == 1
