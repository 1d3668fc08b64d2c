"""The compact letter display: systems that share a letter are not significantly different (Piepho 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["compact_letters"]


def compact_letters(means: Sequence[float], p_values: ArrayLike, *, level: float = 0.05) -> list[str]:
    """The letters of each system: two of them share one exactly where their difference is not significant.

    By insertion and absorption. The letters go down with the means: the best system has an ``a``. After ``z`` come ``A`` to ``Z``,
    then ``.a`` and so on. A p-value that is NaN is not significant.

    Parameters
    ----------
    means:
        Shape (systems,); higher is better, NaN last.
    p_values:
        Shape (systems, systems), symmetric.
    level:
        A difference is significant where its p-value is at most this.

    Raises
    ------
    InputError
        The shapes do not fit, the p-values are not symmetric, or the level is not between 0 and 1.
    """
    p = np.asarray(p_values, dtype=float)
    count = len(means)
    if p.shape != (count, count):
        raise InputError(f"p-values of the shape {p.shape} for {count} systems; expected a square of that side")
    if not np.array_equal(p, p.T, equal_nan=True):
        raise InputError("p-values that differ with the order of two systems; expected a symmetric matrix")
    if not 0 < level < 1:
        raise InputError(f"a level of {level}; expected a number between 0 and 1")
    # Systems by place, the best first, so that groups can be compared as tuples.
    order = sorted(range(count), key=lambda system: (np.isnan(means[system]), -means[system]))
    groups = [frozenset(range(count))]
    for one in range(count):
        for other in range(one + 1, count):
            if p[order[one], order[other]] <= level:
                groups = _inserted(groups, one, other)
    letters = [""] * count
    for number, group in enumerate(sorted(groups, key=sorted)):
        for place in group:
            letters[order[place]] += _letter(number)
    return letters


def _inserted(groups: list[frozenset[int]], one: int, other: int) -> list[frozenset[int]]:
    """The groups after a difference has been put in: none holds both, and none lies within another."""
    kept = [group for group in groups if not (one in group and other in group)]
    parted = [group - {gone} for group in groups if one in group and other in group for gone in (one, other)]
    # What did not hold both was maximal and stays so: only the new ones can lie within others.
    for group in sorted(set(parted), key=lambda each: (-len(each), sorted(each))):
        if not any(group <= larger for larger in kept):
            kept.append(group)
    return kept


def _letter(number: int) -> str:
    rounds, place = divmod(number, len(ascii_letters))
    return "." * rounds + ascii_letters[place]
