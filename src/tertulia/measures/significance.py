"""Whether systems differ: randomisation tests, intervals of means and sizes of effects, of per-context values.

Values come as a matrix (contexts, systems). A context that is left out is NaN for all systems, and counts in nothing; one that
is NaN for some of them is an error, for it would compare systems on different contexts: what a system did not answer is worth 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import InputError
from tertulia.measures.bootstrap import check_bootstrap, percentile_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["bootstrap_mean", "effect_size", "effect_sizes", "paired_randomisation", "tukey_hsd"]

# So many numbers of a test are held at once by each worker, and so many draws have one seed.
_CELLS = 1_000_000
_TOGETHER = 500
# Statistics that differ by less than this share of the largest there can be are equal: sums of the same numbers in another order.
_ROUNDING = 1e-12


def paired_randomisation(a: ArrayLike, b: ArrayLike, *, replicates: int = 10_000, seed: int = 0) -> float:
    """The p-value, two-sided, of the difference of two systems' means: Fisher's randomisation test on pairs.

    If the systems do not differ, which of the two values of a context is whose is a matter of chance. All 2^n ways, over the n
    contexts with a difference, are counted where they are not more than ``replicates``, and p is exact. Else so many are drawn,
    and p = (as extreme + 1) / (replicates + 1), which is never 0 (Phipson and Smyth 2010).

    Parameters
    ----------
    a, b:
        The values of the contexts in the same order (shape: contexts).

    Raises
    ------
    InputError
        The shapes differ, a context is NaN in one of them only, or there is no replicate.
    """
    one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if one.ndim != 1 or one.shape != other.shape:
        raise InputError(f"values of the shapes {one.shape} and {other.shape}; expected one number a context of both")
    pairs = _complete(np.stack([one, other], axis=1), replicates)
    differences = pairs[:, 0] - pairs[:, 1]
    differences = differences[differences != 0]
    observed = abs(float(differences.sum())) - _ROUNDING * float(np.abs(differences).sum())
    count = len(differences)
    exact = count < 63 and 2**count <= replicates
    extreme = 0
    for signs in _all_signs(count) if exact else _drawn_signs(count, replicates, seed):
        extreme += int(np.count_nonzero(np.abs(signs @ differences) >= observed))
    return extreme / 2**count if exact else (extreme + 1) / (replicates + 1)


def _all_signs(count: int) -> Iterator[NDArray[np.float64]]:
    """Every way to give each of ``count`` numbers a sign (shape: ways, numbers), a block at a time."""
    step = max(1, _CELLS // max(count, 1))
    for start in range(0, 2**count, step):
        ways = np.arange(start, min(start + step, 2**count), dtype=np.uint64)
        bits = (ways[:, None] >> np.arange(count, dtype=np.uint64)) & np.uint64(1)
        yield bits.astype(np.float64) * 2 - 1


def _drawn_signs(count: int, replicates: int, seed: int) -> Iterator[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    width = -(-count // 8)
    step = max(1, _CELLS // count)
    for start in range(0, replicates, step):
        drawn = random.integers(0, 256, (min(step, replicates - start), width), dtype=np.uint8)
        yield np.unpackbits(drawn, axis=1, count=count).astype(np.float64) * 2 - 1


def tukey_hsd(matrix: ArrayLike, *, replicates: int = 10_000, seed: int = 0, workers: int = 1) -> NDArray[np.float64]:
    """The p-values of the differences of all pairs of systems: randomised Tukey HSD (Carterette 2012; Sakai 2014).

    If no two systems differ, whose is which of the values of a context is a matter of chance: the values of each context are
    permuted, and the range of the means (the largest less the smallest) says how far apart any two of them come by chance. As
    every difference is held against that range, the chance that any pair at all is wrongly found different is at most the level:
    there is nothing left to correct. Exact where all ways to permute are not more than ``replicates``; else so many are drawn,
    and p = (as wide + 1) / (replicates + 1).

    Parameters
    ----------
    matrix:
        Shape (contexts, systems).
    workers:
        Threads; they change nothing but the time that it takes.

    Returns
    -------
    Shape (systems, systems): symmetric, 1 on the diagonal, and everywhere where there is no context.

    Raises
    ------
    InputError
        It is no matrix, a context is NaN for some of the systems, or there is no replicate.
    """
    values = _complete(np.asarray(matrix, dtype=float), replicates)
    # A context on which all systems are equal moves no mean against another, however it is permuted.
    values = values[(values != values[:, :1]).any(axis=1)]
    contexts, systems = values.shape
    if not contexts:
        return np.ones((systems, systems))
    sums = values.sum(axis=0)
    observed = np.abs(sums[:, None] - sums[None, :]) - _ROUNDING * float(np.abs(values).sum())
    # The range stays the same where all contexts are permuted alike, so the first may stay as it is.
    ways = math.factorial(systems) ** (contexts - 1) if contexts * systems < 64 else replicates + 1
    if ways <= replicates:
        ranges, extra = _all_ranges(values), 0
    else:
        ranges, extra = _drawn_ranges(values, replicates, seed, workers), 1
    ranges.sort()
    wide = len(ranges) - np.searchsorted(ranges, observed)
    found: NDArray[np.float64] = (wide + extra) / (len(ranges) + extra)
    np.fill_diagonal(found, 1.0)
    return found


def _all_ranges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The range of the sums of columns for every way to permute the rows but the first."""
    sums = values[:1]
    for row in values[1:]:
        ways = np.array(list(permutations(row.tolist())))
        sums = (sums[:, None, :] + ways[None, :, :]).reshape(-1, values.shape[1])
    return np.asarray(np.ptp(sums, axis=1))


def _drawn_ranges(values: NDArray[np.float64], replicates: int, seed: int, workers: int) -> NDArray[np.float64]:
    """The range of the sums of columns of so many draws, in each of which every row is permuted on its own."""
    sizes = [min(_TOGETHER, replicates - start) for start in range(0, replicates, _TOGETHER)]
    # A seed for each batch of draws: which thread makes it changes nothing.
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    if workers == 1:
        return np.concatenate([_ranges(values, *batch) for batch in zip(sizes, seeds, strict=True)])
    with ThreadPoolExecutor(workers) as threads:
        return np.concatenate(list(threads.map(lambda size, each: _ranges(values, size, each), sizes, seeds)))


def _ranges(values: NDArray[np.float64], draws: int, seed: np.random.SeedSequence) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    rows, columns = values.shape
    step = max(1, min(draws, _CELLS // values.size))
    ranges = np.empty(draws)
    for start in range(0, draws, step):
        some = min(step, draws - start)
        permuted = random.permuted(np.tile(values, (some, 1)), axis=1)
        ranges[start : start + some] = np.ptp(permuted.reshape(some, rows, columns).sum(axis=1), axis=1)
    return ranges


def bootstrap_mean(
    values: ArrayLike | Sequence[NDArray[np.float64]],
    *,
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """The percentile bootstrap intervals of systems' means over contexts; a replicate draws the same contexts for all systems.

    Parameters
    ----------
    values:
        Shape (contexts, systems); or several such matrices (draws, contexts, systems), each computed with another draw of
        what is itself an estimate (relevance from votes): the replicates take them in turn, so that the intervals hold that
        uncertainty too. NaN for a context that is left out, of all systems; in each draw these may be others.

    Returns
    -------
    Shape (systems, 2): the low and the high end; NaN where there is no context.

    Raises
    ------
    InputError
        It is no matrix, a context is NaN for some of the systems, or confidence or replicates are out of range.
    """
    check_bootstrap(confidence, replicates)
    draws = np.asarray(values, dtype=float)
    if draws.ndim == 2:
        draws = draws[None]
    if draws.ndim != 3 or not len(draws):
        raise InputError(
            f"values of the shape {np.shape(values)}; expected contexts and systems, and perhaps draws first"
        )
    for draw in draws:
        _complete(draw, replicates)
    counted = ~np.isnan(draws[:, :, :1]).any(axis=2)
    _, contexts, systems = draws.shape
    if not contexts:
        return np.full((systems, 2), math.nan)
    random = np.random.default_rng(seed)
    means = np.empty((replicates, systems))
    for replicate in range(replicates):
        drawn = np.bincount(random.integers(0, contexts, contexts), minlength=contexts)
        draw = replicate % len(draws)
        weights = drawn[counted[draw]]
        total = weights.sum()
        means[replicate] = weights @ draws[draw][counted[draw]] / total if total else math.nan
    return np.array([percentile_interval(column, confidence) for column in means.T]).reshape(systems, 2)


def effect_size(a: ArrayLike, b: ArrayLike) -> float:
    """How many standard deviations of the contexts' differences the means of two systems are apart (Cohen's d of pairs).

    NaN for fewer than two contexts, or where all differences are the same; 0 where all are 0.

    Raises
    ------
    InputError
        The shapes differ, or a context is NaN in one of them only.
    """
    one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if one.ndim != 1 or one.shape != other.shape:
        raise InputError(f"values of the shapes {one.shape} and {other.shape}; expected one number a context of both")
    pairs = _complete(np.stack([one, other], axis=1))
    differences = pairs[:, 0] - pairs[:, 1]
    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 0.0
    if np.ptp(differences) <= _ROUNDING * np.abs(pairs).max():
        return math.nan
    return float(differences.mean() / differences.std(ddof=1))


def effect_sizes(matrix: ArrayLike) -> NDArray[np.float64]:
    """How far the means of all pairs of systems are apart, in residual standard deviations (Sakai 2018, ES_E2, for Tukey HSD).

    The residual variance is what is left when the means of systems and of contexts are taken out: of an analysis of variance of two
    ways without replication.

    Parameters
    ----------
    matrix:
        Shape (contexts, systems).

    Returns
    -------
    Shape (systems, systems): the row's mean less the column's; NaN where there is no variance, 0 on the diagonal.

    Raises
    ------
    InputError
        It is no matrix, or a context is NaN for some of the systems.
    """
    values = _complete(np.asarray(matrix, dtype=float))
    contexts, systems = values.shape
    freedom = (contexts - 1) * (systems - 1)
    means = values.mean(axis=0) if contexts else np.full(systems, math.nan)
    sizes = np.full((systems, systems), math.nan)
    if freedom > 0:
        residuals = values - means - values.mean(axis=1, keepdims=True) + means.mean()
        deviation = math.sqrt(float((residuals**2).sum()) / freedom)
        if deviation > _ROUNDING * float(np.abs(values).max()):
            sizes = (means[:, None] - means[None, :]) / deviation
    np.fill_diagonal(sizes, 0.0)
    return sizes


def _complete(matrix: NDArray[np.float64], replicates: int = 1) -> NDArray[np.float64]:
    """The rows of a matrix (contexts, systems) without those that are NaN for all systems."""
    if replicates < 1:
        raise InputError(f"{replicates} replicates; expected at least one")
    if matrix.ndim != 2:
        raise InputError(f"values of the shape {matrix.shape}; expected contexts and systems")
    if np.isinf(matrix).any():
        raise InputError("a value that is infinite; expected finite numbers")
    missing = np.isnan(matrix)
    left_out = missing.all(axis=1)
    partly = np.flatnonzero(missing.any(axis=1) & ~left_out)
    if len(partly):
        raise InputError(
            f"context {int(partly[0])} has a value of some systems only; expected one of all, or of none",
            hint="what a system did not answer is worth 0",
        )
    return matrix[~left_out]
