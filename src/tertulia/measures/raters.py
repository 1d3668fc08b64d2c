"""How far those who rated the same units agree: every measure that there is for them, as JSON with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tertulia.measures.agreement import AgreementCounter, CohenCounter, Level, Weights
from tertulia.measures.bootstrap import Interval

__all__ = ["RaterCounter"]

_WEIGHTS: dict[str, Weights] = {"plain": None, "linear": "linear", "quadratic": "quadratic"}
# More grades than this are no categories: κ of them says nothing, and its table would be large.
_MOST_GRADES = 100


class RaterCounter:
    """Agreement of a stream of units: Cohen's κ as long as no unit has more than two ratings, and Krippendorff's α always.

    Parameters
    ----------
    scale:
        All grades in order, for κ; without it those that occur are taken, and κ is not computed of more than 100.
    levels:
        At which levels α is computed.
    """

    def __init__(self, scale: Sequence[float] | None = None, levels: Sequence[Level] = ("ordinal",)) -> None:
        self._cohen: CohenCounter | None = CohenCounter(scale)
        self._grades: set[float] | None = set() if scale is None else None
        self._alpha = {level: AgreementCounter(level) for level in levels}

    def add(self, ratings: Sequence[float]) -> None:
        """Take the ratings of one unit, of two raters always in the same order; fewer than two have nothing to compare."""
        if len(ratings) < 2:
            return
        if self._grades is not None:
            self._grades.update(ratings)
        if len(ratings) > 2 or (self._grades is not None and len(self._grades) > _MOST_GRADES):
            self._cohen, self._grades = None, None
        if self._cohen is not None:
            self._cohen.add(*ratings)
        for counter in self._alpha.values():
            counter.add(ratings)

    @property
    def units(self) -> int:
        """How many units have two ratings or more."""
        return next(iter(self._alpha.values())).pairable

    def kappa(self, weights: Weights = None) -> float:
        """Cohen's κ; NaN where it is not defined, or some unit has more than two ratings."""
        return math.nan if self._cohen is None else self._cohen.kappa(weights)

    def to_json(self) -> dict[str, Any]:
        """Units, the share of equal ratings, κ and α, each with its 95 % bootstrap interval; ``None`` for what is not defined."""
        alpha = self._alpha
        return {
            "pairs": self.units,
            "equal": _defined(next(iter(alpha.values())).percent_agreement()),
            "kappa": {name: self._kappa(weights) for name, weights in _WEIGHTS.items()},
            "alpha": {level: _estimate(counter.alpha(), counter.interval()) for level, counter in alpha.items()},
        }

    def _kappa(self, weights: Weights) -> dict[str, float | None]:
        if self._cohen is None:
            return _estimate(math.nan, Interval(math.nan, math.nan))
        return _estimate(self._cohen.kappa(weights), self._cohen.interval(weights))


def _estimate(value: float, interval: Interval) -> dict[str, float | None]:
    return {"value": _defined(value), "low": _defined(interval.low), "high": _defined(interval.high)}


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
