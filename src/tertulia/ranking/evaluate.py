"""What systems are worth on a ranking set: every measure of every context, and the means over the contexts that count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tertulia.measures.ranking_names import Measure, parse_measures, values
from tertulia.ranking.docnos import tie_keys
from tertulia.ranking.quality import default_cuts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example
    from tertulia.ranking.runs import Run

__all__ = ["DEFAULT_MEASURES", "Evaluation", "count_undecided", "default_measures", "evaluate", "measures_of"]

DEFAULT_MEASURES = ("P@1", "MAP", "MRR", "nDCG@10")
"""What is computed unless other measures are named: the first three at each cut, the last on relevance as it is."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The values of systems on the contexts of a set.

    Attributes
    ----------
    systems, measures, contexts:
        What the axes of ``values`` are: names, measures, ids of contexts.
    values:
        Shape (systems, measures, contexts). NaN where no candidate of the context reaches the measure's cut: the context is
        left out of its mean, for every system. A context or candidate that a system has not answered counts as not
        retrieved, so it is 0 or lowers the value.
    undecided:
        Of each measure, how many of the contexts that count have nothing but relevant candidates: these say nothing of an
        order, whatever it is. (A graded measure without a cut: candidates all of one relevance.)
    unanswered:
        Of each system, how many contexts it has said nothing of, and how many candidates it left out in the others.
    """

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    contexts: tuple[str, ...]
    values: NDArray[np.float64]
    undecided: NDArray[np.int64]
    unanswered: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def counted(self) -> NDArray[np.int64]:
        """Of each measure how many contexts count; shape (measures,)."""
        if not self.systems:
            return np.zeros(len(self.measures), dtype=np.int64)
        counted: NDArray[np.int64] = (~np.isnan(self.values[0])).sum(axis=1)
        return counted

    @property
    def left_out(self) -> NDArray[np.int64]:
        """Of each measure how many contexts are left out, because no candidate reaches the cut; shape (measures,)."""
        return len(self.contexts) - self.counted

    def means(self) -> NDArray[np.float64]:
        """The means over the contexts that count; shape (systems, measures), NaN where none does."""
        counted = self.counted
        sums = np.nansum(self.values, axis=2)
        means: NDArray[np.float64] = np.where(counted > 0, sums / np.maximum(counted, 1), np.nan)
        return means

    def matrix(self, measure: Measure) -> NDArray[np.float64]:
        """The values of one measure on the contexts that count; shape (contexts that count, systems)."""
        rows = self.values[:, self.measures.index(measure), :]
        matrix: NDArray[np.float64] = rows[:, ~np.isnan(rows).any(axis=0)].T
        return matrix

    def to_json(self) -> dict[str, dict[str, float | None]]:
        """``{system: {measure: mean}}``; ``None`` where no context counts."""
        return {
            system: {
                str(measure): None if np.isnan(mean) else float(mean)
                for measure, mean in zip(self.measures, row, strict=True)
            }
            for system, row in zip(self.systems, self.means(), strict=True)
        }


def default_measures(cuts: Sequence[float]) -> list[Measure]:
    """P@1, MAP and MRR at each cut, and nDCG@10 on relevance as it is."""
    return parse_measures(DEFAULT_MEASURES, cuts)


def measures_of(
    examples: Iterable[Example], names: Sequence[str] | None = None, cuts: Sequence[float] | None = None
) -> list[Measure]:
    """The measures to compute: those named, else the default ones, at the given cuts, else at those that suit the set.

    Raises
    ------
    InputError
        One is no name of a measure.
    """
    # Names that all say their cut need no look at the set.
    cuts = cuts or default_cuts(examples)
    return parse_measures(names or DEFAULT_MEASURES, cuts)


def evaluate(examples: Iterable[Example], runs: Mapping[str, Run], measures: Sequence[Measure]) -> Evaluation:
    """The measures of runs on examples; nothing but ids and numbers of the examples stays in memory.

    Raises
    ------
    InputError
        A run has a context with another number of candidates than the example.
    """
    found = [(example.id, example.relevance) for example in examples]
    ids, relevances = [each[0] for each in found], [each[1] for each in found]
    shape = (len(runs), len(measures), len(found))
    result = np.empty(shape)
    unanswered = {}
    for row, (system, run) in enumerate(runs.items()):
        result[row] = values(measures, relevances, (run.get(name) for name in ids), _ties(ids, relevances))
        unanswered[system] = _unanswered(run, ids)
    undecided = np.array([count_undecided(measure, relevances) for measure in measures], dtype=np.int64)
    return Evaluation(tuple(runs), tuple(measures), tuple(ids), result, undecided, unanswered)


def _ties(ids: Sequence[str], relevances: Sequence[NDArray[np.float64]]) -> Iterator[NDArray[np.uint64]]:
    return (tie_keys(name, len(relevance)) for name, relevance in zip(ids, relevances, strict=True))


def _unanswered(run: Run, ids: Iterable[str]) -> tuple[int, int]:
    contexts = candidates = 0
    for name in ids:
        scores = run.get(name)
        missing = None if scores is None else int(np.isnan(scores).sum())
        if scores is None or missing == len(scores):
            contexts += 1
        else:
            candidates += missing or 0
    return contexts, candidates


def count_undecided(measure: Measure, relevances: Iterable[NDArray[np.float64]]) -> int:
    """Of how many contexts all candidates are positive (equally relevant, without a cut): they say nothing of an order."""
    count = 0
    for relevance in relevances:
        if measure.cut is None:
            gains = np.nan_to_num(relevance)
            count += bool(len(gains)) and bool(gains.max() > 0) and bool(gains.min() == gains.max())
        else:
            # One of which nobody has said anything does not reach the cut.
            count += bool(len(relevance)) and bool((relevance >= measure.cut).all())
    return count
