"""Annotated units as Krippendorff's α needs them: counted by their combination of values, or dealt to groups that keep sums.

Both know α (Krippendorff 2011) of what they hold, 1 − (n − 1) · Σ_u d_u / Σ_ck n_c n_k δ²_ck, where d_u is the sum of δ² over the
ordered pairs of values of a unit divided by its number of values less one, and n_c how often the category c stands in units of
two values or more; and α of bootstrap replicates of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Level", "Pattern", "UnitCombinations", "UnitGroups", "equal_pairs", "resampled"]

Level = Literal["nominal", "ordinal", "interval"]
Pattern = tuple[float, ...]
"""The values of one unit in ascending order; at the nominal level the numbers of labels."""
_Floats = NDArray[np.float64]
_Places = NDArray[np.intp]
_GROUPS = 200
# Groups are dealt so many numbers at a time.
_CELLS = 1_000_000


def equal_pairs(pattern: Pattern) -> float:
    """The share of the pairs of a unit's values that are equal."""
    size = len(pattern)
    return sum(n * (n - 1) for n in Counter(pattern).values()) / (size * (size - 1))


def resampled(units: _Floats, replicates: int, seed: int) -> Iterator[_Floats]:
    """How often each kind of unit stands in a sample, with replacement, of as many units as there are; one sample at a time."""
    random = np.random.default_rng(seed)
    total = round(units.sum())
    shares = units / units.sum()
    for _ in range(replicates):
        yield random.multinomial(total, shares).astype(float)


class _Cells:
    """Combinations as a sparse table: combination ``row[i]`` holds the category ``column[i]`` ``number[i]`` times."""

    def __init__(self, patterns: list[Pattern], categories: list[float]) -> None:
        place = {value: index for index, value in enumerate(categories)}
        cells = [(row, place[value], n) for row, p in enumerate(patterns) for value, n in Counter(p).items()]
        self.row: _Places = np.array([cell[0] for cell in cells], dtype=np.intp)
        self.column: _Places = np.array([cell[1] for cell in cells], dtype=np.intp)
        self.number: _Floats = np.array([cell[2] for cell in cells], dtype=float)
        self.size: _Floats = np.array([len(p) for p in patterns], dtype=float)

    def by_row(self, numbers: _Floats) -> _Floats:
        """The sums of ``numbers`` (shape: cells) over the cells of each combination."""
        return np.bincount(self.row, numbers, len(self.size)).astype(float)

    def disagreements(self, scale: _Floats | None) -> _Floats:
        """d of each combination: δ is the distance on ``scale`` (shape: categories), or 1 of any two without one."""
        if scale is None:
            pairs = self.size**2 - self.by_row(self.number**2)
        else:
            values = scale[self.column]
            sums, squares = self.by_row(self.number * values), self.by_row(self.number * values**2)
            pairs = np.maximum(2 * (self.size * squares - sums**2), 0)
        return pairs / (self.size - 1)


class UnitCombinations:
    """Units counted by their combination of values: α and its ordinary bootstrap over units, both exact."""

    def __init__(self, patterns: Mapping[Pattern, int], level: Level) -> None:
        self._level = level
        # In a fixed order, whatever the order of the units was, so that a seed gives one interval.
        ordered = sorted(patterns)
        self._units: _Floats = np.array([patterns[pattern] for pattern in ordered], dtype=float)
        categories = sorted({value for pattern in ordered for value in pattern})
        self._categories = len(categories)
        self._cells = _Cells(ordered, categories)
        self._scale = _spread(np.array(categories)) if level == "interval" else None
        self._disagreement = self._cells.disagreements(self._scale)

    def alpha(self) -> float:
        """α of all units; NaN where it is not defined."""
        return self._alpha(self._units)

    def replicates(self, number: int, seed: int) -> _Floats:
        """α of so many bootstrap samples of the units."""
        return np.array([self._alpha(units) for units in resampled(self._units, number, seed)])

    def _alpha(self, units: _Floats) -> float:
        """α where combination i stands ``units[i]`` times."""
        cells, disagreement = self._cells, self._disagreement
        marginals = np.bincount(cells.column, cells.number * units[cells.row], self._categories).astype(float)
        scale = self._scale
        if self._level == "ordinal":
            scale = _middle_ranks(marginals)
            disagreement = cells.disagreements(scale)
        return _alpha(marginals, float(units @ disagreement), scale)


class UnitGroups:
    """Units dealt at random to a fixed number of groups, each kept as sums: bounded memory for any number of combinations.

    α is exact. A bootstrap sample draws groups, which varies as drawing units does, since the groups are random.
    """

    def __init__(self, level: Level) -> None:
        self._level = level
        self._random = np.random.default_rng(0)
        self._places: dict[float, int] = {}
        # Per group: how often each category stands; and d, or at the ordinal level the coincidences that it is a sum over.
        self._marginals: _Floats = np.zeros((_GROUPS, 0))
        self._disagreement: _Floats = np.zeros(_GROUPS)
        self._coincidences: _Floats = np.zeros((_GROUPS, 0, 0))
        # At the interval level instead of categories: how many values, their sum and their sum of squares from an origin.
        self._origin: float | None = None
        self._moments: _Floats = np.zeros((_GROUPS, 3))

    @property
    def categories(self) -> int:
        """How many categories are kept: none at the interval level."""
        return len(self._places)

    def deal(self, patterns: Mapping[Pattern, int]) -> None:
        """Deal units, counted by their combination of values."""
        ordered = sorted(patterns)
        if self._level != "interval":
            for pattern in ordered:
                for value in pattern:
                    self._places.setdefault(value, len(self._places))
            self._widen()
        width = {"nominal": self.categories, "ordinal": self.categories**2, "interval": 3}[self._level]
        step = max(1, _CELLS // max(width, _GROUPS))
        for start in range(0, len(ordered), step):
            some = ordered[start : start + step]
            units = np.array([patterns[pattern] for pattern in some])
            dealt = self._random.multinomial(units, np.full(_GROUPS, 1 / _GROUPS)).astype(float)
            self._take(some, dealt)

    def _widen(self) -> None:
        more = self.categories - self._marginals.shape[1]
        self._marginals = np.pad(self._marginals, ((0, 0), (0, more)))
        if self._level == "ordinal":
            self._coincidences = np.pad(self._coincidences, ((0, 0), (0, more), (0, more)))

    def _take(self, patterns: list[Pattern], dealt: _Floats) -> None:
        """Add combinations of which each group is dealt so many (shape: combinations, groups)."""
        if self._level == "interval":
            if self._origin is None:
                self._origin = patterns[0][0]
            values = sorted({value for pattern in patterns for value in pattern})
            cells, scale = _Cells(patterns, values), np.array(values) - self._origin
            on_cells = cells.number * scale[cells.column]
            moments = [cells.size, cells.by_row(on_cells), cells.by_row(on_cells * scale[cells.column])]
            self._moments += dealt.T @ np.stack(moments, axis=1)
            self._disagreement += dealt.T @ cells.disagreements(scale)
            return
        cells = _Cells(patterns, list(self._places))
        counts = np.zeros((len(patterns), self.categories))
        counts[cells.row, cells.column] = cells.number
        self._marginals += dealt.T @ counts
        if self._level == "nominal":
            self._disagreement += dealt.T @ cells.disagreements(None)
        else:
            pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(self.categories)
            pairs /= (cells.size - 1)[:, None, None]
            self._coincidences += (dealt.T @ pairs.reshape(len(patterns), -1)).reshape(self._coincidences.shape)

    def alpha(self) -> float:
        """α of all units; NaN where it is not defined."""
        return self._alpha(np.ones(_GROUPS))

    def replicates(self, number: int, seed: int) -> _Floats:
        """α of so many bootstrap samples of the groups."""
        return np.array([self._alpha(weights) for weights in resampled(np.ones(_GROUPS), number, seed)])

    def _alpha(self, weights: _Floats) -> float:
        """α where group i stands ``weights[i]`` times."""
        if self._level == "interval":
            number, total, squares = weights @ self._moments
            expected = 2 * (number * squares - total**2)
            return _ratio(number, float(weights @ self._disagreement), expected)
        marginals = weights @ self._marginals
        if self._level == "nominal":
            return _alpha(marginals, float(weights @ self._disagreement), None)
        order = np.argsort(np.array(list(self._places)))
        scale = np.empty(self.categories)
        scale[order] = _middle_ranks(marginals[order])
        pairs = np.tensordot(weights, self._coincidences, axes=1)
        return _alpha(marginals, float((pairs * (scale[:, None] - scale[None, :]) ** 2).sum()), scale)


def _spread(values: _Floats) -> _Floats:
    """Values moved to their middle and scaled to ±1: no α changes, and sums of squares stay exact and finite."""
    if len(values) == 0:
        return values
    middle = values.min() / 2 + values.max() / 2
    half = (values / 2 - middle / 2) / max(np.abs(values / 2 - middle / 2).max(), np.finfo(float).tiny)
    return np.asarray(half)


def _middle_ranks(marginals: _Floats) -> _Floats:
    """The scale of the ordinal level: Krippendorff's δ of two categories is the distance of their middle ranks."""
    ranks: _Floats = (np.cumsum(marginals) - marginals / 2) / max(marginals.sum(), 1) - 0.5
    return ranks


def _alpha(marginals: _Floats, disagreement: float, scale: _Floats | None) -> float:
    """α of how often each category stands and the sum of d; δ as in :meth:`_Cells.disagreements`."""
    if np.count_nonzero(marginals) < 2:
        return math.nan
    total = marginals.sum()
    if scale is None:
        expected = total**2 - (marginals**2).sum()
    else:
        expected = 2 * (total * (marginals @ scale**2) - (marginals @ scale) ** 2)
    return _ratio(total, disagreement, expected)


def _ratio(total: float, disagreement: float, expected: float) -> float:
    return float(1 - (total - 1) * disagreement / expected) if expected > 0 else math.nan
