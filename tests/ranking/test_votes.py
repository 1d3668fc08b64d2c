"""Votes as graded relevance: the mean of a Beta distribution, how uncertain it is, and draws of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Candidate, Context, RankingRecord, Turn
from tertulia.errors import InputError
from tertulia.ranking.examples import example_of
from tertulia.ranking.votes import draw_relevance, redrawn, vote_relevance

VOTES = st.integers(0, 500)


@settings(max_examples=20, deadline=None)
@given(VOTES, VOTES)
def test_mean_and_deviation_are_those_of_the_distribution(likes: int, dislikes: int) -> None:
    found = vote_relevance(likes, dislikes)
    assert found.mean == pytest.approx((likes + 1) / (likes + dislikes + 2), abs=1e-15)
    # By integrating r^likes (1 - r)^dislikes, in the middles of narrow bars.
    r = (np.arange(40_000) + 0.5) / 40_000
    weight = np.exp(likes * np.log(r) + dislikes * np.log1p(-r))
    weight /= weight.sum()
    mean = float(r @ weight)
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert found.deviation == pytest.approx(math.sqrt(float((r - mean) ** 2 @ weight)), abs=1e-6)


def test_no_vote_says_nothing_and_more_votes_say_more() -> None:
    assert vote_relevance(0, 0) == (0.5, pytest.approx(math.sqrt(1 / 12)))
    assert vote_relevance(8, 2).deviation < vote_relevance(3, 1).deviation
    assert vote_relevance(10**15, 0).mean == pytest.approx(1)
    with pytest.raises(InputError, match="-1 likes and 3 dislikes; expected whole numbers from 0"):
        vote_relevance(-1, 3)


def test_examples_have_the_deviation_of_their_votes() -> None:
    candidates = [
        Candidate(0, "a", 4 / 6, attributes={"likes": 3, "dislikes": 1}),
        Candidate(1, "b", 3.5),
        Candidate(2, "c", None),
    ]
    example = example_of(RankingRecord(Context("1", [Turn("user", "q")]), candidates))
    assert example.deviation.tolist() == [pytest.approx(vote_relevance(3, 1).deviation, abs=1e-15), 0, 0]
    drawn = draw_relevance(example, np.random.default_rng(1))
    assert drawn[0] != example.relevance[0]
    assert drawn[1] == 3.5
    assert math.isnan(drawn[2])
    assert example.relevance[0] == 4 / 6


def test_draws_have_the_mean_and_the_deviation_of_the_votes() -> None:
    votes = [vote_relevance(*each) for each in ((0, 0), (7, 1), (2, 9), (300, 100))]
    relevance = np.array([each.mean for each in votes])
    deviation = np.array([each.deviation for each in votes])
    random = np.random.default_rng(2)
    drawn = np.stack([redrawn(relevance, deviation, random) for _ in range(4_000)])
    assert ((drawn > 0) & (drawn < 1)).all()
    np.testing.assert_allclose(drawn.mean(axis=0), relevance, atol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), deviation, rtol=0.06)
    # The whole distribution: no vote at all is uniform.
    np.testing.assert_allclose(np.quantile(drawn[:, 0], [0.1, 0.25, 0.5, 0.9]), [0.1, 0.25, 0.5, 0.9], atol=0.03)


def test_a_seed_gives_one_draw() -> None:
    relevance, deviation = np.array([0.3, 0.7]), np.array([0.1, 0.2])
    one, same = (redrawn(relevance, deviation, np.random.default_rng(3)) for _ in range(2))
    assert one.tolist() == same.tolist()
    assert redrawn(relevance, deviation, np.random.default_rng(4)).tolist() != one.tolist()


def test_what_no_votes_explain_stays_as_it_is() -> None:
    relevance = np.array([math.nan, 0.0, 1.0, 4.5, -1.0, 0.5, 0.5, 0.5, 0.5])
    deviation = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.9, math.nan, 1e-200])
    drawn = redrawn(relevance, deviation, np.random.default_rng(5))
    np.testing.assert_array_equal(drawn, relevance)
    assert redrawn(np.zeros(0), np.zeros(0), np.random.default_rng(6)).shape == (0,)
