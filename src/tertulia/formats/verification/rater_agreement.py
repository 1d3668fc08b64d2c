"""Agreement of the two raters of each candidate, before and after candidates on which they differ too much are dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tertulia.corpus.model import Candidate, RankingRecord
from tertulia.measures.raters import RaterCounter

__all__ = ["RaterAgreement"]


class RaterAgreement:
    """Counts the candidates that exactly two raters have rated on a scale; memory: the pairs of grades.

    The raters are taken in order of their names, so that ``r1`` and ``r2`` are the first and the second column of a file.
    """

    MEASURES = (
        "pairs before the filter",
        "pairs dropped",
        "Cohen's kappa before the filter",
        "Cohen's kappa after the filter",
    )

    def __init__(self, scale: Sequence[float], gap: float) -> None:
        self._scale = [float(grade) for grade in scale]
        self._gap = gap
        self._before, self._after = RaterCounter(self._scale), RaterCounter(self._scale)
        self._others = 0
        self._outside = 0

    def add(self, record: RankingRecord) -> RankingRecord | None:
        """Take the candidates of one context; returns it without those that the filter drops, ``None`` if it drops all."""
        kept = [candidate for candidate in record.candidates if self._take(candidate)]
        if len(kept) == len(record.candidates):
            return record
        return RankingRecord(record.context, kept) if kept else None

    def _take(self, candidate: Candidate) -> bool:
        """Count a candidate; whether the filter keeps it: it drops only what two raters differ on."""
        if len(candidate.ratings) != 2:
            self._others += bool(candidate.ratings)
            return True
        first, second = (rating.value for rating in sorted(candidate.ratings, key=lambda r: r.annotator))
        if first not in self._scale or second not in self._scale:
            self._outside += 1
            return True
        kept = abs(first - second) < self._gap
        for counter in (self._before, self._after) if kept else (self._before,):
            counter.add((first, second))
        return kept

    @property
    def dropped(self) -> int:
        """How many pairs the filter drops."""
        return self.pairs - self._after.units

    @property
    def pairs(self) -> int:
        """How many candidates have two ratings on the scale."""
        return self._before.units

    def figures(self) -> dict[str, float | None]:
        """The measures that a publication may state; none where no candidate has two ratings.

        Where no pair would be dropped the filter was applied before, and nothing is known of what was there then.
        """
        if not self.pairs:
            return {}
        unfiltered = (self.pairs, self.dropped, _defined(self._before.kappa())) if self.dropped else (None, None, None)
        return dict(zip(self.MEASURES, (*unfiltered, _defined(self._after.kappa())), strict=True))

    def to_json(self) -> dict[str, Any] | None:
        """What was found before and after the filter, with 95 % bootstrap intervals; ``None`` without candidates of two ratings."""
        if not self.pairs:
            return None
        return {
            "scale": self._scale,
            "gap": self._gap,
            "dropped": self.dropped,
            "not_two_ratings": self._others,
            "off_the_scale": self._outside,
            "before": self._before.to_json(),
            "after": self._after.to_json(),
        }


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
