"""Counts of whole numbers: an exact histogram, and what is read off it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Tally"]

# Numbers below this have a bar of their own in the printed histogram; above it a bar is all that begin with the same two digits.
_SINGLE = 100


class Tally:
    """How often each whole number from 0 was met; memory grows with the distinct numbers only."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Count an array of whole numbers from 0 on."""
        values, counts = np.unique(numbers, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._counts[value] += count

    @property
    def number(self) -> int:
        """How many numbers were counted."""
        return sum(self._counts.values())

    @property
    def total(self) -> int:
        """Their sum."""
        return sum(value * count for value, count in self._counts.items())

    @property
    def mean(self) -> float | None:
        """Their mean; none of nothing."""
        number = self.number
        return self.total / number if number else None

    def _at(self, rank: int) -> int:
        """The number with that rank, from 0, in ascending order."""
        seen = 0
        for value, count in sorted(self._counts.items()):
            seen += count
            if seen > rank:
                return value
        raise IndexError(rank)

    def summary(self) -> dict[str, Any]:
        """``mean``, ``median``, ``min``, ``max``, ``p95``, ``standard_deviation`` and ``histogram``.

        The median of an even count is the mean of the two in the middle. ``p95`` is the smallest number that at least 95 % of
        the numbers do not exceed. The standard deviation is that of the whole (divided by n, not n - 1). All are ``None``
        where nothing was counted. The histogram maps numbers to counts: each number up to 99, then by two
        digits, as ``"100-109"`` and ``"1200-1299"``; what did not occur is left out.
        """
        number, mean = self.number, self.mean
        if mean is None:
            nothing = dict.fromkeys(("mean", "median", "min", "max", "p95", "standard_deviation"))
            return {**nothing, "histogram": {}}
        variance = sum((value - mean) ** 2 * count for value, count in self._counts.items()) / number
        return {
            "mean": mean,
            "median": (self._at((number - 1) // 2) + self._at(number // 2)) / 2,
            "min": min(self._counts),
            "max": max(self._counts),
            "p95": self._at(-(-number * 95 // 100) - 1),
            "standard_deviation": math.sqrt(variance),
            "histogram": self._histogram(),
        }

    def _histogram(self) -> dict[str, int]:
        bars: dict[str, int] = {}
        for value, count in sorted(self._counts.items()):
            name = str(value)
            if value >= _SINGLE:
                width = 10 ** (len(name) - 2)
                low = value // width * width
                name = f"{low}-{low + width - 1}"
            bars[name] = bars.get(name, 0) + count
        return bars
