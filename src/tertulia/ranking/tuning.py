"""Tuning on dev: which combinations of settings are tried, and which of them is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tertulia.ranking.negatives import permutation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun, Setting

__all__ = ["Tuned", "best_on_dev", "combinations"]

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning chose: the settings, their quality on dev, and of all that was tried (settings, quality), in order."""

    settings: dict[str, Any]
    quality: float
    tried: tuple[tuple[dict[str, Any], float], ...]

    def to_json(self) -> dict[str, Any]:
        """For a report: how many were tried, the quality on dev of what was chosen, and of what was first: the values given."""
        return {"tried": len(self.tried), "quality": self.quality, "quality_of_first": self.tried[0][1]}


def combinations(
    known: Mapping[str, Setting],
    trials: int,
    seed: int,
    *,
    start: Mapping[str, Any] | None = None,
    fixed: Collection[str] = (),
) -> list[dict[str, Any]]:
    """At most ``trials`` combinations of settings, no two equal: ``start`` first, then a seeded draw from the grid.

    The grid is all combinations of what the settings say is to be tried, with the value of ``start``; a setting in ``fixed``
    keeps the value of ``start``, as do those of which nothing is to be tried. A grid that is small enough is tried whole.

    Parameters
    ----------
    start:
        Values of all settings; the defaults unless given.
    fixed:
        The names of settings that a user has chosen.
    """
    begin = {name: setting.default for name, setting in known.items()} | dict(start or {})
    free = [name for name, setting in known.items() if setting.tried and name not in fixed]
    axes = [_distinct([begin[name], *known[name].tried]) for name in free]
    size = math.prod(len(axis) for axis in axes)
    found = [begin]
    # Number 0 of the grid is ``start`` itself: every axis begins with it. A grid of billions is drawn from at its beginning.
    for number in permutation(min(size, _MOST), seed & (2**64 - 1)):
        if len(found) >= max(trials, 1):
            break
        if number:
            found.append(begin | dict(zip(free, _place(axes, number), strict=True)))
    return found


def _place(axes: Sequence[Sequence[Any]], number: int) -> list[Any]:
    """The ``number``-th combination, the first axis fastest."""
    values = []
    for axis in axes:
        number, index = divmod(number, len(axis))
        values.append(axis[index])
    return values


def _distinct(values: Iterable[Any]) -> list[Any]:
    """The values, each once, in order; ``True`` and ``1`` are two."""
    kept: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) and value == other for other in kept):
            kept.append(value)
    return kept


def best_on_dev(
    tried: Iterable[Mapping[str, Any]],
    score: Callable[[Mapping[str, Any]], Iterable[NDArray[np.float64]]],
    dev: Sequence[Example],
    run: FitRun,
) -> Tuned:
    """The combination whose scores of dev are best by ``run.quality``; of equal ones the first.

    ``score`` gives the scores of the dev examples under a combination, of which there is at least one. A quality that is no
    number counts as 0, the worst.
    """
    results: list[tuple[dict[str, Any], float]] = []
    options = [dict(each) for each in tried]
    for settings in options:
        quality = run.quality(dev, score(settings))
        results.append((settings, float(quality) if math.isfinite(quality) else 0.0))
        run.progress("tuning", 1, len(options))
    settings, quality = max(results, key=lambda result: result[1])
    return Tuned(settings, quality, tuple(results))
