"""Agreement of annotators beyond chance: Cohen's κ, Fleiss' κ and Krippendorff's α, of arrays and of streams.

Everywhere a measure that is not defined is NaN: there is nothing to compare (no unit has two values), or chance alone would
agree always (all values are one category).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tertulia.errors import InputError
from tertulia.measures.bootstrap import Interval, check_bootstrap, percentile_interval
from tertulia.measures.units import Level, UnitCombinations, UnitGroups, equal_pairs, resampled

__all__ = ["AgreementCounter", "CohenCounter", "Level", "Weights", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha"]

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
    # Lists stay as they are: an array of labels with NaN among them would hold the text "nan".
    table = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if table.ndim != 2:
        raise InputError(f"values of {table.ndim} dimensions; expected two: annotators and units")
    counter = AgreementCounter(level)
    for unit in table.T.tolist():
        counter.add(unit)
    return counter.alpha()


class AgreementCounter:
    """Krippendorff's α of a stream of units, whoever annotated them, with a bootstrap interval.

    Units with the same values (in any order) are counted together: 15 combinations for two annotators on five grades. Where
    there are more combinations than ``COMBINATIONS``, units are dealt to a fixed number of groups that keep sums only, so memory is
    bounded; α stays exact, and its interval comes from resampling the groups. Then more than ``MOST_CATEGORIES`` of the level
    cannot be kept: ``overflowed`` is true and every α is NaN.
    """

    COMBINATIONS = 50_000
    MOST_CATEGORIES: ClassVar[Mapping[Level, float]] = {"nominal": 2_000, "ordinal": 100, "interval": math.inf}

    def __init__(self, level: Level = "nominal") -> None:
        if level not in ("nominal", "ordinal", "interval"):
            raise InputError(f"the level {level!r}; expected nominal, ordinal or interval")
        self.level: Level = level
        self.units = 0
        """How many units were added."""
        self.overflowed = False
        """Whether there were more categories than can be kept; every α is NaN then."""
        # Labels, each with its number; or numbers that have come before, which need no second check.
        self._known: dict[Any, float] = {}
        self._patterns: Counter[tuple[float, ...]] = Counter()
        self._groups: UnitGroups | None = None
        self._paired = 0
        self._equal = 0.0

    def add(self, values: Iterable[Any]) -> None:
        """Take the values of one unit: one from each annotator who has one; ``None`` and NaN are no values.

        Raises
        ------
        InputError
            A value is no finite number and the level is not nominal.
        """
        known = self._known
        pattern: list[float] = []
        for value in values:
            number = known.get(value)
            if number is None:
                # NaN is the value that is not equal to itself.
                if value is None or value != value:
                    continue
                number = self._number(value)
            pattern.append(number)
        self.units += 1
        if len(pattern) < 2:
            return
        pattern.sort()
        if self.overflowed:
            self._paired += 1
            self._equal += equal_pairs(tuple(pattern))
            self._known.clear()
            return
        self._patterns[tuple(pattern)] += 1
        if len(self._patterns) > self.COMBINATIONS:
            self._fold()

    def _number(self, value: Any) -> float:
        """The number that stands for a value which is not known."""
        if self.level == "nominal":
            return self._known.setdefault(value, float(len(self._known)))
        number = _finite(value, self.level)
        if len(self._known) < self.COMBINATIONS:
            self._known[value] = number
        return number

    def _fold(self) -> None:
        """Deal the units that are counted by combination to the groups."""
        self._paired = self.pairable
        self._equal += sum(units * equal_pairs(pattern) for pattern, units in self._patterns.items())
        if self._groups is None:
            self._groups = UnitGroups(self.level)
        if len({value for pattern in self._patterns for value in pattern}) > self.MOST_CATEGORIES[self.level]:
            self.overflowed = True
        else:
            self._groups.deal(self._patterns)
            self.overflowed = self._groups.categories > self.MOST_CATEGORIES[self.level]
        if self.overflowed:
            self._groups = None
        self._patterns = Counter()

    @property
    def pairable(self) -> int:
        """How many units have two values or more: the others cannot agree or disagree."""
        return self._paired + self._patterns.total()

    def percent_agreement(self) -> float:
        """The mean over the pairable units of the share of their pairs of values that are equal, from 0 to 1."""
        if not self.pairable:
            return math.nan
        equal = sum(units * equal_pairs(pattern) for pattern, units in self._patterns.items())
        return (self._equal + equal) / self.pairable

    def _kept(self) -> UnitCombinations | UnitGroups | None:
        """What α is computed from: the combinations or, once there were too many of them, the groups."""
        if self._groups is not None and self._patterns:
            self._fold()
        if self.overflowed or self._groups is not None:
            return self._groups
        if self.level != "nominal":
            return UnitCombinations(self._patterns, self.level)
        # Which number a label has must not depend on the order of the units: a seed gives one interval.
        places = {self._known[label]: float(place) for place, label in enumerate(sorted(self._known, key=repr))}
        patterns = {tuple(sorted(places[number] for number in p)): n for p, n in self._patterns.items()}
        return UnitCombinations(patterns, self.level)

    def alpha(self) -> float:
        """Krippendorff's α of what was added so far."""
        kept = self._kept()
        return math.nan if kept is None else kept.alpha()

    def interval(self, confidence: float = 0.95, replicates: int = 1_000, seed: int = 0) -> Interval:
        """The percentile bootstrap interval of α over the pairable units.

        Raises
        ------
        InputError
            ``confidence`` is not between 0 and 1, or ``replicates`` is not positive.
        """
        check_bootstrap(confidence, replicates)
        kept = self._kept()
        if kept is None or math.isnan(kept.alpha()):
            return Interval(math.nan, math.nan)
        return percentile_interval(kept.replicates(replicates, seed), confidence)


def _finite(value: Any, level: Level) -> float:
    if isinstance(value, (int, float, np.number)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InputError(f"the value {value!r:.60}; agreement at the level {level} needs finite numbers")


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
        drawn = resampled(units, replicates, seed)
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
