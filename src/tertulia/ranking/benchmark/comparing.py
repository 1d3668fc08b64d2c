"""What the values of systems say: means, bootstrap intervals, who differs from whom, and how far from the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tertulia.measures.bootstrap import percentile_interval
from tertulia.ranking.evaluate import count_undecided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.measures.ranking_names import Measure

__all__ = ["Comparison", "centred", "compare", "replicate_means"]

# Numbers that one block of replicates may hold.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Comparison:
    """Systems held against each other. Axes: s systems, m measures, c contexts.

    Attributes
    ----------
    values:
        (s, m, c): the mean over seeds of each context; NaN where a context is left out.
    means, low, high:
        (s, m): over contexts, and the ends of the interval; NaN where no context counts.
    spread:
        (s, m): the standard deviation of the mean from seed to seed; NaN of fewer than two seeds.
    p:
        (m, s, s): of the randomised Tukey HSD test.
    letters:
        By measure, then system: two systems that share none differ.
    difference, difference_p:
        (s, m): to the baseline, and p of the paired randomisation test; NaN where there is no baseline, and for itself.
    counted, undecided:
        (m): how many contexts count, and of how many of these all candidates are positive.
    """

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    contexts: tuple[str, ...]
    values: NDArray[np.float64]
    means: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    spread: NDArray[np.float64]
    p: NDArray[np.float64]
    letters: tuple[tuple[str, ...], ...]
    baseline: str | None
    difference: NDArray[np.float64]
    difference_p: NDArray[np.float64]
    counted: NDArray[np.int64]
    undecided: NDArray[np.int64]
    confidence: float
    votes: bool

    @property
    def left_out(self) -> NDArray[np.int64]:
        """Of each measure how many contexts are left out, because no candidate reaches the cut."""
        return len(self.contexts) - self.counted

    def order(self, measure: int) -> list[int]:
        """The systems by a measure, the best first; equal ones in the order of the table."""
        means = np.nan_to_num(self.means[:, measure], nan=-1.0)
        return sorted(range(len(self.systems)), key=lambda system: (-float(means[system]), system))


def compare(
    systems: Sequence[str],
    measures: Sequence[Measure],
    contexts: Sequence[str],
    by_seed: Sequence[NDArray[np.float64]],
    relevances: Sequence[NDArray[np.float64]],
    *,
    baseline: str | None,
    confidence: float,
    replicates: int,
    permutations: int,
    seed: int,
    redrawn: Callable[[int], NDArray[np.float64]] | None = None,
    progress: Callable[[str, int, int | None], None] = lambda _stage, _done, _total: None,
) -> Comparison:
    """Hold systems against each other.

    Parameters
    ----------
    by_seed:
        Of each system its values, of the shape (seeds, measures, contexts); NaN in the same places for all.
    relevances:
        Of each context, of what may be relevant.
    redrawn:
        Where relevance is an estimate from votes: of the number of a system the means of replicates in which both contexts and
        relevance were drawn again, of the shape (replicates, measures). They are centred on the mean that was measured.
    progress:
        Is told a stage, how much of it has been done, and the total.
    """
    from tertulia.measures.letters import compact_letters
    from tertulia.measures.significance import paired_randomisation, tukey_hsd

    values = np.stack([each.mean(axis=0) for each in by_seed])
    shape = values.shape[:2]
    known = ~np.isnan(values[0])
    counted = known.sum(axis=1)
    means = _means(values)
    spread = np.full(shape, np.nan)
    for system, each in enumerate(by_seed):
        if len(each) > 1:
            spread[system] = _means(each).std(axis=0, ddof=1)

    progress("intervals", 0, len(systems))
    low, high = np.full(shape, np.nan), np.full(shape, np.nan)
    if redrawn is None:
        drawn = replicate_means(values, replicates, seed)
    for system in range(len(systems)):
        found = drawn[:, system] if redrawn is None else centred(redrawn(system), means[system])
        progress("intervals", system + 1, len(systems))
        for measure in np.flatnonzero(counted).tolist():
            low[system, measure], high[system, measure] = percentile_interval(found[:, measure], confidence)

    p = np.full((len(measures), len(systems), len(systems)), np.nan)
    letters: list[tuple[str, ...]] = []
    difference, difference_p = np.full(shape, np.nan), np.full(shape, np.nan)
    base = systems.index(baseline) if baseline in systems else None
    for measure in range(len(measures)):
        progress("significance", measure, len(measures))
        matrix = values[:, measure, known[measure]].T
        if not len(matrix):
            letters.append(("",) * len(systems))
            continue
        if len(systems) > 1:
            p[measure] = tukey_hsd(matrix, replicates=permutations, seed=seed)
            found_letters = compact_letters(means[:, measure].tolist(), p[measure], level=round(1 - confidence, 12))
            letters.append(tuple(found_letters))
        else:
            p[measure] = 1.0
            letters.append(("a",))
        if base is None:
            continue
        for system in range(len(systems)):
            if system != base:
                difference[system, measure] = means[system, measure] - means[base, measure]
                difference_p[system, measure] = paired_randomisation(
                    matrix[:, system], matrix[:, base], replicates=permutations, seed=seed
                )
    return Comparison(
        tuple(systems),
        tuple(measures),
        tuple(contexts),
        values,
        means,
        low,
        high,
        spread,
        p,
        tuple(letters),
        None if base is None else systems[base],
        difference,
        difference_p,
        counted.astype(np.int64),
        np.array([count_undecided(measure, relevances) for measure in measures], dtype=np.int64),
        confidence,
        redrawn is not None,
    )


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the last axis of what is not NaN; NaN where all is."""
    counted = (~np.isnan(values)).sum(axis=-1)
    means: NDArray[np.float64] = np.where(counted, np.nansum(values, axis=-1) / np.maximum(counted, 1), np.nan)
    return means


def replicate_means(values: NDArray[np.float64], replicates: int, seed: int | Sequence[int]) -> NDArray[np.float64]:
    """The means of bootstrap replicates, in which contexts are drawn with replacement, the same for all systems.

    Parameters
    ----------
    values:
        Shape (…, contexts), NaN where one is left out.

    Returns
    -------
    Shape (replicates, …); NaN where a replicate drew nothing that counts.
    """
    contexts = values.shape[-1]
    flat = values.reshape(-1, contexts)
    known = (~np.isnan(flat)).astype(np.float64)
    filled = np.nan_to_num(flat)
    found = np.empty((replicates, len(flat)))
    for begin, weights in _weights(contexts, replicates, seed):
        sums, counts = weights @ filled.T, weights @ known.T
        found[begin : begin + len(weights)] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return found.reshape(replicates, *values.shape[:-1])


def _weights(contexts: int, replicates: int, seed: int | Sequence[int]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """How often each context is drawn in each replicate, a block of replicates at a time: its first, and the counts."""
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // max(contexts, 1))
    for begin in range(0, replicates, rows):
        size = min(rows, replicates - begin)
        counts = np.zeros((size, contexts))
        for row in counts:
            row += np.bincount(random.integers(0, contexts, contexts), minlength=contexts)
        yield begin, counts


def centred(replicates: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replicates moved so that their mean is the measured one, within 0 and 1.

    Relevance that is drawn again is noisier than the relevance that was estimated, so that every system seems worse on it: how
    much replicates differ is what an interval is to say, not where they lie.
    """
    counted = (~np.isnan(replicates)).sum(axis=0)
    middle = np.where(counted, np.nansum(replicates, axis=0) / np.maximum(counted, 1), np.nan)
    moved: NDArray[np.float64] = np.clip(replicates - middle + means, 0.0, 1.0)
    return moved
