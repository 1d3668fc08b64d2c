"""Likes and dislikes as graded relevance: an estimate, with what is not known of it.

Of a response that a share r of people would like, so many likes of so many votes are binomial. With nothing known before (every r
as likely), r has the Beta distribution of a = likes + 1 and b = dislikes + 1: its mean is the relevance (Laplace's rule of
succession), and a response with few votes lies near 1/2 and is uncertain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["VoteRelevance", "draw_relevance", "redrawn", "vote_relevance"]


class VoteRelevance(NamedTuple):
    """Relevance as votes tell it, from 0 to 1, and the standard deviation of that estimate."""

    mean: float
    deviation: float


def vote_relevance(likes: int, dislikes: int) -> VoteRelevance:
    """(likes + 1) / (likes + dislikes + 2), and the deviation of the Beta distribution whose mean that is.

    Raises
    ------
    InputError
        A number of votes is negative.
    """
    if likes < 0 or dislikes < 0:
        raise InputError(f"{likes} likes and {dislikes} dislikes; expected whole numbers from 0")
    a, b = likes + 1, dislikes + 1
    mean = a / (a + b)
    return VoteRelevance(mean, math.sqrt(mean * (b / (a + b)) / (a + b + 1)))


def draw_relevance(example: Example, random: np.random.Generator) -> NDArray[np.float64]:
    """One draw of the relevance of an example's candidates (shape: candidates) as their votes leave it open.

    What is no estimate (a deviation of 0) stays as it is. Measures of many draws show how far they depend on who happened to vote.
    """
    return redrawn(example.relevance, example.deviation, random)


def redrawn(
    relevance: NDArray[np.float64], deviation: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """One draw from the Beta distributions of these means and deviations (shape: candidates).

    Mean m and variance v tell the votes: a + b = m (1 - m) / v - 1, a = m (a + b). What no Beta distribution has (a mean that is
    NaN or not between 0 and 1, a deviation of 0 or too large for the mean) stays as it is.
    """
    found = np.array(relevance, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        votes = found * (1 - found) / np.square(deviation) - 1
        open_ = (found > 0) & (found < 1) & (votes > 0) & np.isfinite(votes)
    if open_.any():
        mean, total = found[open_], votes[open_]
        found[open_] = random.beta(mean * total, (1 - mean) * total)
    return found
