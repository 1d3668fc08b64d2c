"""Ratings of several people made one relevance: candidates on which they differ too much are dropped, the rest get the mean.

What a rated corpus goes through before rankers learn from it: each response is rated by two people (or more) on their own; where
the ratings are far apart, nobody knows how good it is, and it is dropped; of the others the mean is the relevance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.corpus.model import Candidate, RankingRecord
from tertulia.corpus.parts.derived import derived_manifest, refuse_same
from tertulia.corpus.ranking_set import RankingSet, write_ranking_set
from tertulia.errors import ConfigurationError, InputError
from tertulia.measures.raters import RaterCounter

__all__ = ["RatingOptions", "RatingsFilter", "rate_ranking_set"]

# Ratings such as 3.3 and 1.3 are 2 apart, though not as floating-point numbers.
_ROUNDING = 1e-9
_MOST_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class RatingOptions:
    """How ratings become relevance.

    A candidate is dropped where its highest and lowest rating are ``gap`` or more apart; infinity drops none. ``scale`` has all
    grades in order, which κ weights by place; without it the grades that occur are the scale. ``skip_bad`` leaves out and counts
    candidates whose ratings do not hold.

    Raises
    ------
    ConfigurationError
        The gap is not above 0, or the scale is not two grades or more in ascending order.
    """

    gap: float = 2.0
    scale: tuple[float, ...] | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if not self.gap > 0:
            raise ConfigurationError(f"the gap is {self.gap:g}; expected a number above 0, or inf to drop nothing")
        scale = self.scale
        if scale is not None and (
            len(scale) < 2
            or not all(math.isfinite(grade) for grade in scale)
            or any(low >= high for low, high in pairwise(scale))
        ):
            shown = ",".join(f"{grade:g}" for grade in scale)
            raise ConfigurationError(
                f"the scale is {shown!r:.60}; expected two grades or more in ascending order: 1,2,3,4,5"
            )


class RatingsFilter:
    """Takes contexts one by one, and counts how far the raters of their candidates agree before and after the filter.

    Memory is that of the combinations of grades.
    """

    def __init__(self, options: RatingOptions, report: Report) -> None:
        self._options = options
        self._report = report
        self._before, self._after = (RaterCounter(options.scale, ("ordinal", "interval")) for _ in range(2))
        self._scale = None if options.scale is None else frozenset(options.scale)
        self._reading = ReadOptions(skip_bad=options.skip_bad)
        self._names: set[str] = set()
        self._most = 0
        self.contexts_dropped = 0
        """Contexts that had candidates, and of which the filter left none."""
        self.candidates = {"read": 0, "kept": 0, "dropped": 0, "without_ratings": 0, "of_one_rater": 0}
        """How many candidates were read, kept, dropped for the gap; and of those kept, how many had fewer than two ratings."""

    def take(self, record: RankingRecord, where: str) -> RankingRecord | None:
        """A context with the mean of its candidates' ratings as their relevance, without those that are dropped.

        ``where`` names the set in errors. ``None`` where no candidate is left, or there was none. Of a candidate that nobody
        rated the relevance stays as it is.

        Raises
        ------
        InputError
            A rating is no finite number or not on the scale, or one person rated a candidate twice; unless they are to be skipped.
        """
        identifier = record.context.id
        if not record.candidates:
            self._report.skip("contexts without candidates", identifier)
            return None
        kept: list[Candidate] = []
        for candidate in record.candidates:
            shown = f"context {identifier}, candidate {candidate.position}"
            values: list[float] | None = None
            with self._report.catching(self._reading, Place(f"{where}: {shown}", shown)):
                values = self._values(candidate)
            self.candidates["read"] += 1
            if values is not None and self._keeps(values, shown):
                relevance = sum(values) / len(values) if values else candidate.relevance
                position = len(kept)
                kept.append(
                    Candidate(
                        position, candidate.text, relevance, candidate.ratings, candidate.source, candidate.attributes
                    )
                )
        self.candidates["kept"] += len(kept)
        if kept:
            return RankingRecord(record.context, kept)
        self.contexts_dropped += 1
        self._report.skip("contexts of which no candidate is left", identifier)
        return None

    def _values(self, candidate: Candidate) -> list[float]:
        """The ratings of a candidate in order of the raters' names, checked."""
        ratings = sorted(candidate.ratings, key=lambda rating: rating.annotator)
        for rating, following in pairwise(ratings):
            if rating.annotator == following.annotator:
                raise InputError(f"is rated twice by {rating.annotator!r:.60}; expected one rating of each person")
        for rating in ratings:
            if not math.isfinite(rating.value):
                raise InputError(f"has the rating {rating.value}; expected a finite number")
            if self._scale is not None and rating.value not in self._scale:
                grades = ", ".join(f"{grade:g}" for grade in self._options.scale or ())
                raise InputError(
                    f"has the rating {rating.value:g}, which is not on the scale; expected one of {grades}"
                )
            if len(self._names) < _MOST_NAMES:
                self._names.add(rating.annotator)
        return [rating.value for rating in ratings]

    def _keeps(self, values: list[float], shown: str) -> bool:
        if len(values) < 2:
            what = "of_one_rater" if values else "without_ratings"
            self.candidates[what] += 1
            self._report.note(
                "candidates that one person rated: nothing to compare"
                if values
                else "candidates that nobody rated: their relevance is as it was",
                shown,
            )
            return True
        self._most = max(self._most, len(values))
        self._before.add(values)
        if max(values) - min(values) >= self._options.gap - _ROUNDING:
            self.candidates["dropped"] += 1
            return False
        self._after.add(values)
        return True

    def agreement(self) -> dict[str, Any]:
        """The agreement of the raters as JSON: before and after the filter."""
        gap = self._options.gap
        return {
            "scale": None if self._options.scale is None else list(self._options.scale),
            "gap": gap if math.isfinite(gap) else None,
            "raters": len(self._names),
            "most_ratings": self._most,
            "dropped": self.candidates["dropped"],
            "before": self._before.to_json(),
            "after": self._after.to_json(),
        }


def rate_ranking_set(
    source: str | Path,
    output: str | Path,
    options: RatingOptions,
    report: Report,
    *,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] = lambda _n, _total: None,
) -> dict[str, Any]:
    """Write, of a ranking set with ratings of several people, the set in which their mean is the relevance; streaming.

    Returns
    -------
    ``{"counts", "agreement", "candidates", "contexts_dropped"}``; the agreement is in the manifest's details as well.

    Raises
    ------
    InputError
        No candidate has ratings of two people, or some do not hold and are not to be skipped.
    ArtefactError
        ``output`` cannot be written.
    """
    path, target = Path(source), Path(output)
    with RankingSet(path, check_digests=True) as opened:
        refuse_same(target, [opened])
        given: dict[str, Any] = {
            "gap": options.gap if math.isfinite(options.gap) else None,
            "scale": None if options.scale is None else list(options.scale),
            "skip_bad": options.skip_bad,
        }
        manifest = derived_manifest(["tertulia", "ranking", "ratings"], [opened], given)
        raters = RatingsFilter(options, report)
        total = len(opened)

        def kept() -> Iterator[RankingRecord]:
            for record in opened.records():
                found = raters.take(record, str(path))
                if found is not None:
                    yield found
                progress(1, total)
            agreement = raters.agreement()
            if not agreement["before"]["pairs"]:
                raise InputError(
                    "has no candidate with the ratings of two people",
                    where=path,
                    hint="corpus import rated-tsv reads lines of prompt, response and two or more ratings",
                )
            manifest.details["agreement"] = agreement
            manifest.report = report.to_json()

        with write_ranking_set(target, kept(), manifest, overwrite=overwrite) as made:
            counts = dict(made.manifest.counts)
    return {
        "counts": counts,
        "agreement": manifest.details["agreement"],
        "candidates": raters.candidates,
        "contexts_dropped": raters.contexts_dropped,
    }
