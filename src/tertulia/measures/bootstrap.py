"""Bootstrap intervals: how far a measure would move had other units been drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tertulia.errors import InputError

__all__ = ["Interval", "bootstrap_interval", "check_bootstrap", "percentile_interval"]


class Interval(NamedTuple):
    """The two ends of a confidence interval; both NaN where the measure is not defined."""

    low: float
    high: float


def bootstrap_interval(
    measure: Callable[..., float],
    *arrays: ArrayLike,
    axis: int = 0,
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of a measure over units (Efron 1979).

    Parameters
    ----------
    measure:
        Takes arrays like ``arrays`` and returns a number; NaN where it is not defined.
    arrays:
        They have one length along ``axis``; a unit keeps its place in all of them.
    confidence:
        Between 0 and 1, both excluded.

    Raises
    ------
    InputError
        The arrays differ in length along ``axis``, or confidence or replicates are out of range.
    """
    check_bootstrap(confidence, replicates)
    whole = [np.asarray(array) for array in arrays]
    lengths = {array.shape[axis] for array in whole}
    if len(lengths) != 1:
        raise InputError(f"arrays of {sorted(lengths)} units; expected one number of units")
    [units] = lengths
    if units == 0 or math.isnan(measure(*whole)):
        return Interval(math.nan, math.nan)
    random = np.random.default_rng(seed)
    drawn = (random.integers(0, units, units) for _ in range(replicates))
    values = [measure(*(array.take(rows, axis) for array in whole)) for rows in drawn]
    return percentile_interval(np.array(values), confidence)


def percentile_interval(values: NDArray[np.float64], confidence: float) -> Interval:
    """The middle ``confidence`` of the values of replicates (shape: replicates).

    A replicate in which the measure is not defined (by chance it drew one category only) is left out; where half of them or
    more are, there is no interval.
    """
    defined = values[~np.isnan(values)]
    if len(defined) * 2 <= len(values):
        return Interval(math.nan, math.nan)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def check_bootstrap(confidence: float, replicates: int) -> None:
    """Refuse a confidence or a number of replicates that has no meaning.

    Raises
    ------
    InputError
        Confidence is not between 0 and 1, or there is no replicate.
    """
    if not 0 < confidence < 1:
        raise InputError(f"a confidence of {confidence}; expected a number between 0 and 1")
    if replicates < 1:
        raise InputError(f"{replicates} replicates; expected at least one")
