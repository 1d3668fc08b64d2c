"""Agreement of annotators beyond chance: Cohen's κ, Fleiss' κ and Krippendorff's α, of arrays and of streams.

Everywhere a measure that is not defined is NaN: there is nothing to compare (no unit has two values), or chance alone would
agree always (all values are one category).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tertulia.errors import InputError
from tertulia.measures.bootstrap import Interval, check_bootstrap, percentile_interval

__all__ = ["AgreementCounter", "CohenCounter", "Level", "Weights", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"] | None
_Floats = NDArray[np.float64]


def cohen_kappa(
    first: Iterable[Hashable],
    second: Iterable[Hashable],
    *,
    weights: Weights = None,
    categories: Sequence[Hashable] | None = None,
) -> float:
    """Cohen's κ of two annotators over the same units, plain (Cohen 1960) or weighted (Cohen 1968).

    Parameters
    ----------
    first, second:
        A label or number for each unit, in the same order (shape: units). A unit where either is ``None`` or NaN is left out.
    weights:
        How disagreement grows with the distance of two categories in the order of ``categories``.
    categories:
        All categories in order. By default those that occur, in ascending order: give them where one may not occur, as the
        distance of its neighbours depends on it.

    Raises
    ------
    InputError
        The two differ in length, or a value is not among the categories, or weights are asked of labels without an order.
    """
    counter = CohenCounter(categories)
    try:
        for one, other in zip(first, second, strict=True):
            counter.add(one, other)
    except ValueError:
        raise InputError(
            "two annotators with different numbers of units; expected one value each for each unit"
        ) from None
    return counter.kappa(weights)


def fleiss_kappa(counts: ArrayLike) -> float:
    """Fleiss' κ (Fleiss 1971) of how many annotators put each unit into each category.

    Parameters
    ----------
    counts:
        Shape (units, categories); every row sums to the number of annotators, at least two.

    Raises
    ------
    InputError
        The counts are not a table of whole numbers, or the rows differ in their sums. (Krippendorff's α knows no such bound.)
    """
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2 or not np.all(np.isfinite(table)) or np.any(table < 0) or np.any(table != np.floor(table)):
        raise InputError("counts that are not a table (units, categories) of whole numbers from 0")
    if table.size == 0:
        return math.nan
    annotators = table[0].sum()
    if np.any(table.sum(axis=1) != annotators):
        raise InputError("units with different numbers of annotators; expected one number for all")
    if annotators < 2:
        return math.nan
    observed = float(np.mean(((table**2).sum(axis=1) - annotators) / (annotators * (annotators - 1))))
    marginals = table.sum(axis=0)
    if np.count_nonzero(marginals) < 2:
        return math.nan
    expected = float(((marginals / table.sum()) ** 2).sum())
    return (observed - expected) / (1 - expected)


def krippendorff_alpha(values: ArrayLike, *, level: Level = "nominal") -> float:
    """Krippendorff's α (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Parameters
    ----------
    values:
        Shape (annotators, units); ``None`` or NaN where an annotator has no value. Labels may be of any kind at the level
        ``nominal``; the other levels take finite numbers.

    Raises
    ------
    InputError
        The values are not two-dimensional, or not numbers where the level needs them.
    """
    table = np.asarray(values)
    if table.ndim != 2:
        raise InputError(f"values of {table.ndim} dimensions; expected two: annotators and units")
    counter = AgreementCounter(level)
    for unit in table.T.tolist():
        counter.add(unit)
    return counter.alpha()


class AgreementCounter:
    """Krippendorff's α of a stream of units, whoever annotated them, with a bootstrap interval.

    Units with the same values (in any order) are counted together, so that memory grows with the combinations of values that
    occur, not with the units: 15 of them for two annotators on five grades.
    """

    def __init__(self, level: Level = "nominal") -> None:
        if level not in ("nominal", "ordinal", "interval"):
            raise InputError(f"the level {level!r}; expected nominal, ordinal or interval")
        self.level: Level = level
        self.units = 0
        """How many units were added."""
        self._codes: dict[Any, int] = {}
        self._patterns: Counter[tuple[int, ...]] = Counter()

    def add(self, values: Iterable[Any]) -> None:
        """Take the values of one unit: one from each annotator who has one; ``None`` and NaN are no values.

        Raises
        ------
        InputError
            A value is no finite number and the level is not nominal.
        """
        codes = self._codes
        pattern = []
        for value in values:
            code = codes.get(value)
            if code is None:
                if value is None or value != value:
                    continue
                code = self._new(value)
            pattern.append(code)
        self.units += 1
        if len(pattern) > 1:
            pattern.sort()
            self._patterns[tuple(pattern)] += 1

    def _new(self, value: Any) -> int:
        if self.level != "nominal" and not _is_finite_number(value):
            raise InputError(f"the value {value!r:.60}; agreement at the level {self.level} needs finite numbers")
        return self._codes.setdefault(value, len(self._codes))

    @property
    def pairable(self) -> int:
        """How many units have two values or more: the others cannot agree or disagree."""
        return self._patterns.total()

    def percent_agreement(self) -> float:
        """The mean over the pairable units of the share of their pairs of values that are equal, from 0 to 1."""
        if not self._patterns:
            return math.nan
        total = 0.0
        for pattern, units in self._patterns.items():
            size = len(pattern)
            same = sum(n * (n - 1) for n in Counter(pattern).values())
            total += units * same / (size * (size - 1))
        return total / self.pairable

    def alpha(self) -> float:
        """Krippendorff's α of what was added so far."""
        tallies = _Tallies(self)
        return tallies.alpha(tallies.units)

    def interval(self, confidence: float = 0.95, replicates: int = 1_000, seed: int = 0) -> Interval:
        """The percentile bootstrap interval of α over the pairable units.

        Raises
        ------
        InputError
            ``confidence`` is not between 0 and 1, or ``replicates`` is not positive.
        """
        check_bootstrap(confidence, replicates)
        if math.isnan(self.alpha()):
            return Interval(math.nan, math.nan)
        tallies = _Tallies(self)
        drawn = _resampled(tallies.units, replicates, seed)
        return percentile_interval(np.array([tallies.alpha(units) for units in drawn]), confidence)


def _is_finite_number(value: Any) -> bool:
    try:
        return isinstance(value, (int, float, np.number)) and math.isfinite(value)
    except OverflowError:
        return False


class _Tallies:
    """The combinations of values as arrays, and α of them under any number of units for each."""

    def __init__(self, counter: AgreementCounter) -> None:
        # Numbers in ascending order, so that ranks are cumulative sums; labels in any fixed order.
        values = list(counter._codes)
        order = sorted(range(len(values)), key=lambda i: repr(values[i]) if counter.level == "nominal" else values[i])
        place = {code: index for index, code in enumerate(order)}
        # Counted combinations come in a fixed order, whatever the order of the units, so that a seed gives one interval.
        patterns = sorted(
            (sorted(Counter(place[code] for code in pattern).items()), units)
            for pattern, units in counter._patterns.items()
        )
        self.level = counter.level
        self.units: _Floats = np.array([units for _, units in patterns], dtype=float)
        cells = [(row, column, n) for row, (pattern, _) in enumerate(patterns) for column, n in pattern]
        self._row = np.array([cell[0] for cell in cells], dtype=np.intp)
        self._column = np.array([cell[1] for cell in cells], dtype=np.intp)
        self._number: _Floats = np.array([cell[2] for cell in cells], dtype=float)
        self._size: _Floats = np.bincount(self._row, self._number, len(patterns)).astype(float)
        self._categories = len(values)
        self._scale: _Floats = np.zeros(len(values))
        if self.level == "interval" and values:
            numbers = np.array(sorted(values), dtype=float)
            # Shifted to their middle and scaled, which changes no α and keeps sums of squares exact and finite.
            middle = numbers.min() / 2 + numbers.max() / 2
            spread = max(float(np.abs(numbers / 2 - middle / 2).max()) * 2, np.finfo(float).tiny)
            self._scale = (numbers - middle) / spread
        self._disagreement = self._disagreements(self._scale)

    def _disagreements(self, scale: _Floats) -> _Floats:
        """For each combination the sum over its ordered pairs of δ², over its size less one."""
        if self.level == "nominal":
            same = np.bincount(self._row, self._number**2, len(self._size))
            pairs: _Floats = self._size**2 - same
        else:
            sums = np.bincount(self._row, self._number * scale[self._column], len(self._size))
            squares = np.bincount(self._row, self._number * scale[self._column] ** 2, len(self._size))
            pairs = np.maximum(2 * (self._size * squares - sums**2), 0)
        return pairs / (self._size - 1)

    def alpha(self, units: _Floats) -> float:
        """α where combination i stands ``units[i]`` times: 1 − observed / expected disagreement."""
        marginals: _Floats = np.bincount(self._column, self._number * units[self._row], self._categories).astype(float)
        if np.count_nonzero(marginals) < 2:
            return math.nan
        total = marginals.sum()
        disagreement = self._disagreement
        if self.level == "nominal":
            expected = total**2 - (marginals**2).sum()
        else:
            scale = self._scale
            if self.level == "ordinal":
                # Krippendorff's ordinal δ is the distance of mid-ranks.
                scale = (np.cumsum(marginals) - marginals / 2) / total - 0.5
                disagreement = self._disagreements(scale)
            expected = 2 * (total * (marginals @ scale**2) - (marginals @ scale) ** 2)
        if expected <= 0:
            return math.nan
        return float(1 - (total - 1) * (units @ disagreement) / expected)


class CohenCounter:
    """Cohen's κ of a stream of units that the same two annotators judged; memory: one number for each pair of categories.

    ``categories`` fixes which there are and their order, as for :func:`cohen_kappa`.
    """

    def __init__(self, categories: Sequence[Hashable] | None = None) -> None:
        self._given = None if categories is None else list(categories)
        if self._given is not None and len(set(self._given)) != len(self._given):
            raise InputError("categories that stand twice; expected each once")
        self._known = None if self._given is None else set(self._given)
        self._pairs: Counter[tuple[Any, Any]] = Counter()

    def add(self, first: Any, second: Any) -> None:
        """Take what the two annotators say of one unit; nothing where either is ``None`` or NaN.

        Raises
        ------
        InputError
            A value is not among the given categories.
        """
        if first is None or second is None or first != first or second != second:
            return
        if self._known is not None:
            for value in (first, second):
                if value not in self._known:
                    raise InputError(f"the value {value!r} is not among the categories {self._given!r}")
        self._pairs[first, second] += 1

    @property
    def units(self) -> int:
        """How many units have a value from both."""
        return self._pairs.total()

    def percent_agreement(self) -> float:
        """The share of units on which the two agree, from 0 to 1."""
        if not self._pairs:
            return math.nan
        return sum(n for (one, other), n in self._pairs.items() if one == other) / self.units

    def kappa(self, weights: Weights = None) -> float:
        """Cohen's κ of what was added so far.

        Raises
        ------
        InputError
            Weights are asked of labels that have no order.
        """
        first, second, units, distance = self._table(weights)
        return _kappa(first, second, units, distance)

    def interval(
        self, weights: Weights = None, *, confidence: float = 0.95, replicates: int = 1_000, seed: int = 0
    ) -> Interval:
        """The percentile bootstrap interval of κ over units.

        Raises
        ------
        InputError
            As for :meth:`kappa`; or ``confidence`` or ``replicates`` are out of range.
        """
        check_bootstrap(confidence, replicates)
        first, second, units, distance = self._table(weights)
        if math.isnan(_kappa(first, second, units, distance)):
            return Interval(math.nan, math.nan)
        drawn = _resampled(units, replicates, seed)
        return percentile_interval(np.array([_kappa(first, second, row, distance) for row in drawn]), confidence)

    def _table(self, weights: Weights) -> tuple[NDArray[np.intp], NDArray[np.intp], _Floats, _Floats]:
        """The pairs that occur: the first's and the second's category, units; and the disagreement of any two categories."""
        if weights not in (None, "linear", "quadratic"):
            raise InputError(f"the weights {weights!r}; expected linear, quadratic or none")
        categories = self._given
        if categories is None:
            categories = list({value: None for pair in self._pairs for value in pair})
            try:
                categories = sorted(categories)  # type: ignore[type-var]
            except TypeError:
                if weights is not None:
                    raise InputError(
                        "labels without an order cannot be weighted: give the categories in order"
                    ) from None
                categories.sort(key=repr)
        code = {category: index for index, category in enumerate(categories)}
        cells = sorted((code[one], code[other], n) for (one, other), n in self._pairs.items())
        index = np.arange(len(categories), dtype=float)
        distance = np.abs(index[:, None] - index[None, :])
        if weights is None:
            distance = (distance > 0).astype(float)
        elif weights == "quadratic":
            distance = distance**2
        return (
            np.array([cell[0] for cell in cells], dtype=np.intp),
            np.array([cell[1] for cell in cells], dtype=np.intp),
            np.array([cell[2] for cell in cells], dtype=float),
            distance,
        )


def _kappa(first: NDArray[np.intp], second: NDArray[np.intp], units: _Floats, distance: _Floats) -> float:
    """1 − observed / expected disagreement, where the pair i of categories stands ``units[i]`` times."""
    total = units.sum()
    if total == 0:
        return math.nan
    rows = np.bincount(first, units, len(distance))
    columns = np.bincount(second, units, len(distance))
    expected = rows @ distance @ columns
    if expected == 0:
        return math.nan
    return float(1 - total * (units @ distance[first, second]) / expected)


def _resampled(units: _Floats, replicates: int, seed: int) -> Iterable[_Floats]:
    """How often each kind of unit stands in a sample, with replacement, of as many units as there are; one sample at a time."""
    random = np.random.default_rng(seed)
    total = round(units.sum())
    shares = units / units.sum()
    for _ in range(replicates):
        yield random.multinomial(total, shares).astype(float)
