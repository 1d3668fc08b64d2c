"""A measure of rankings apart from its computation: one name (``P@1(rel>=4)``) is what is typed, printed and compared.

The idea is that of ``ir_measures`` (MacAvaney, Macdonald and Ounis 2022). A candidate is relevant where its relevance reaches
the cut; one of which nobody has said anything is not. A candidate without a score (a missing answer) was not retrieved: it never
helps, and it is never passed over. A context in which no candidate reaches the cut says nothing of a ranker: its value is NaN,
"left out".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import InputError
from tertulia.measures.ranking import average_precision, ndcg, precision_at, rank_order, recall_at, reciprocal_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Measure", "cut_name", "parse_cut", "parse_measure", "parse_measures", "values"]

KINDS: dict[str, str] = {
    "P": "P@k: the share of the first k that are relevant",
    "R": "R@k: the share of the relevant that are among the first k",
    "MAP": "MAP: mean average precision",
    "MRR": "MRR: one by the rank of the first relevant",
    "nDCG": "nDCG or nDCG@k: normalised discounted cumulative gain, by graded relevance",
}
"""The kinds of measures, each with a line that says how it is written and what it is."""

_AT_K = ("P", "R")
_GRADED = "nDCG"
_DEFAULT_CUT = 1.0
_NAME = re.compile(r"\s*([A-Za-z]+)\s*(?:@\s*(\d{1,9})\s*)?(?:\(\s*rel\s*>=\s*([^()\s]+)\s*\)\s*)?", re.ASCII)
_FORMS = "P@1(rel>=4), R@1(rel>=1), MAP(rel>=3), MRR(rel>=1), nDCG or nDCG@10"
# A run is computed so many candidates at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True, order=True, slots=True)
class Measure:
    """A measure: its kind, how many places count (``P``, ``R`` and ``nDCG``), and from which relevance a candidate is relevant.

    Without a cut ``nDCG`` takes relevance as it is, and the others 1; with one, relevance below it gains nothing in ``nDCG``.
    ``str`` gives the one name of a measure, which ``parse_measure`` reads.

    Raises
    ------
    InputError
        There is no such kind, or the number of places or the cut does not suit it.
    """

    kind: str
    k: int | None = None
    cut: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"there is no measure {self.kind!r}; there are {', '.join(KINDS)}", hint=f"such as {_FORMS}"
            )
        if self.kind in _AT_K and self.k is None:
            raise InputError(f"the measure {self.kind} does not say of how many places; expected {self.kind}@1")
        if self.kind not in (*_AT_K, _GRADED) and self.k is not None:
            raise InputError(f"the measure {self.kind}@{self.k}; {self.kind} is of all places: expected {self.kind}")
        if self.k is not None and self.k < 1:
            raise InputError(f"the measure {self.kind}@{self.k}; expected at least one place")
        if self.cut is None and self.kind != _GRADED:
            object.__setattr__(self, "cut", _DEFAULT_CUT)
        if self.cut is not None:
            if not math.isfinite(self.cut):
                raise InputError(f"the measure {self.kind} at a relevance of {self.cut}; expected a finite number")
            if self.kind == _GRADED and self.cut <= 0:
                raise InputError(f"the measure {self.kind} at a relevance of {self.cut:g}; expected a number above 0")
            # One value, one name: an integer or -0.0 must not make another measure of it.
            object.__setattr__(self, "cut", float(self.cut) + 0.0)

    def __str__(self) -> str:
        at = "" if self.k is None else f"@{self.k}"
        cut = "" if self.cut is None else f"(rel>={cut_name(self.cut)})"
        return f"{self.kind}{at}{cut}"

    @property
    def short(self) -> str:
        """The name without the cut, such as ``P@1``: the head of a column where tables are by cut."""
        return self.kind if self.k is None else f"{self.kind}@{self.k}"

    @property
    def is_graded(self) -> bool:
        """Whether it tells apart how relevant a candidate is, not only whether."""
        return self.kind == _GRADED

    def at(self, cut: float | None) -> Measure:
        """The same measure at another cut."""
        return replace(self, cut=cut)

    def value(self, relevance: NDArray[np.float64], scores: NDArray[np.float64], ties: NDArray[np.uint64]) -> float:
        """The measure of one context; arrays have the shape (candidates,).

        Parameters
        ----------
        relevance:
            NaN where nobody has said: not relevant.
        scores:
            Higher is better; NaN for a missing answer, which was not retrieved.
        ties:
            Of equal scores the candidate with the larger of these comes first; no two are equal.

        Returns
        -------
        From 0 to 1; NaN where no candidate is relevant, so that the context is to be left out.
        """
        gains = _gains(relevance, self.cut)
        relevant = int(np.count_nonzero(gains > 0))
        if not relevant:
            return math.nan
        order = rank_order(scores, ties)
        hits = gains[order] > 0
        if self.kind == "P":
            return precision_at(hits, self.k or 1)
        if self.kind == "R":
            return recall_at(hits, relevant, self.k or 1)
        if self.kind == "MAP":
            return average_precision(hits, relevant)
        if self.kind == "MRR":
            return reciprocal_rank(hits)
        return ndcg(gains[order], gains, self.k)


def _gains(relevance: NDArray[np.float64], cut: float | None) -> NDArray[np.float64]:
    """What each candidate is worth: its relevance where that reaches the cut and is above 0; where the cut is not, 1."""
    if cut is None:
        return np.where(relevance > 0, relevance, 0.0)
    # A cut of 0 or below makes candidates relevant that are worth nothing: they count as hits all the same.
    worth = relevance if cut > 0 else 1.0
    return np.where(relevance >= cut, worth, 0.0)


def parse_measure(name: str) -> Measure:
    """The measure of a name such as ``P@1(rel>=4)``, ``MAP``, ``nDCG@10``; capitals do not matter, nor do spaces.

    Raises
    ------
    InputError
        It is no name of a measure.
    """
    return _parsed(name)[0]


def parse_measures(names: Iterable[str], cuts: Sequence[float]) -> list[Measure]:
    """The measures of names; one that names no cut is taken at each of ``cuts``, but ``nDCG`` as it is. None stands twice.

    They are ordered by cut, those without one last, within a cut as named.

    Raises
    ------
    InputError
        One is no name of a measure.
    """
    found: dict[Measure, None] = {}
    for name in names:
        measure, has_cut = _parsed(name)
        for cut in [measure.cut] if has_cut or measure.is_graded else cuts:
            found[measure.at(cut)] = None
    return sorted(found, key=lambda measure: math.inf if measure.cut is None else measure.cut)


def _parsed(name: str) -> tuple[Measure, bool]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(f"{name!r:.80} is no measure; expected a name such as {_FORMS}")
    written, k, cut = match.groups()
    kinds = {kind.lower(): kind for kind in KINDS}
    kind = kinds.get(written.lower(), written)
    return Measure(kind, None if k is None else int(k), None if cut is None else parse_cut(cut)), cut is not None


def parse_cut(text: str) -> float:
    """The relevance that a text such as ``4``, ``0.5`` or ``2/3`` names.

    Raises
    ------
    InputError
        It is no finite number.
    """
    try:
        over, line, under = text.partition("/")
        value = float(over) / float(under) if line else float(text)
        if math.isfinite(value):
            return value
    except (ValueError, ZeroDivisionError):
        pass
    raise InputError(f"{text!r:.40} is no relevance; expected a number such as 4, 0.5 or 2/3")


def cut_name(cut: float) -> str:
    """A cut as text that ``parse_cut`` reads back to the last bit: ``4``, ``0.75``, ``2/3``."""
    short = f"{cut:g}"
    if float(short) == cut:
        return short
    near = Fraction(cut).limit_denominator(100)
    return str(near) if near.numerator / near.denominator == cut else repr(float(cut))


def values(
    measures: Sequence[Measure],
    relevances: Iterable[NDArray[np.float64]],
    scores: Iterable[NDArray[np.float64] | None],
    ties: Iterable[NDArray[np.uint64]],
) -> NDArray[np.float64]:
    """Measures of many contexts at once, computed a block of contexts at a time: the iterables may be generators.

    Parameters
    ----------
    relevances, scores, ties:
        Of each context what ``Measure.value`` takes; scores are ``None`` for a context that a system has not answered.

    Returns
    -------
    Shape (measures, contexts); NaN where a context is left out. What a context gets does not depend on the others.

    Raises
    ------
    InputError
        The iterables differ in length, or the arrays of a context do.
    """
    blocks = [_block_values(measures, *block) for block in _blocks(relevances, scores, ties)]
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(measures), 0))


_Block = tuple[list["NDArray[np.float64]"], list["NDArray[np.float64]"], list["NDArray[np.uint64]"]]


def _blocks(
    relevances: Iterable[NDArray[np.float64]],
    scores: Iterable[NDArray[np.float64] | None],
    ties: Iterable[NDArray[np.uint64]],
) -> Iterator[_Block]:
    block: _Block = ([], [], [])
    candidates = 0
    number = 0
    rows = zip(relevances, scores, ties, strict=True)
    while True:
        try:
            relevance, given, keys = next(rows)
        except StopIteration:
            break
        except ValueError as error:
            if "zip()" not in str(error):
                raise
            raise InputError(f"relevance, scores and ties of different numbers of contexts, from {number} on") from None
        found = np.full(len(relevance), np.nan) if given is None else given
        if not len(relevance) == len(found) == len(keys):
            raise InputError(
                f"context {number} has {len(relevance)} candidates, {len(found)} scores and {len(keys)} keys for ties"
            )
        block[0].append(relevance)
        block[1].append(found)
        block[2].append(keys)
        candidates += len(relevance)
        number += 1
        if candidates >= _BLOCK:
            yield block
            block, candidates = ([], [], []), 0
    if block[0]:
        yield block


class _Ranked:
    """The candidates of a block of contexts in one row: contexts one after the other, each in ranked order, missing ones last."""

    def __init__(
        self, relevance: list[NDArray[np.float64]], scores: list[NDArray[np.float64]], ties: list[NDArray[np.uint64]]
    ) -> None:
        sizes = np.array([len(each) for each in relevance])
        self.contexts = len(sizes)
        self.context = np.repeat(np.arange(self.contexts), sizes)
        begins = np.cumsum(sizes) - sizes
        flat = np.concatenate(scores) if scores else np.zeros(0)
        order = np.lexsort((~np.concatenate(ties), -flat, self.context))
        self.relevance = np.concatenate(relevance)[order]
        self.retrieved = ~np.isnan(flat[order])
        self.begin = begins[self.context]
        self.rank = np.arange(len(flat)) - self.begin + 1

    def sums(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sums of each context."""
        return _added(self.context, amounts, self.contexts)

    def ideal(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gains in the best order there is of each context."""
        return gains[np.lexsort((-gains, self.context))]


def _block_values(
    measures: Sequence[Measure],
    relevance: list[NDArray[np.float64]],
    scores: list[NDArray[np.float64]],
    ties: list[NDArray[np.uint64]],
) -> NDArray[np.float64]:
    ranked = _Ranked(relevance, scores, ties)
    found = np.empty((len(measures), ranked.contexts))
    for cut in dict.fromkeys(measure.cut for measure in measures):
        gains = _gains(ranked.relevance, cut)
        relevant = ranked.sums((gains > 0).astype(float))
        hits = (gains > 0) & ranked.retrieved
        for row, measure in enumerate(measures):
            if measure.cut == cut:
                found[row] = np.where(relevant > 0, _of_block(measure, ranked, gains, hits, relevant), np.nan)
    return found


def _of_block(
    measure: Measure,
    ranked: _Ranked,
    gains: NDArray[np.float64],
    hits: NDArray[np.bool_],
    relevant: NDArray[np.float64],
) -> NDArray[np.float64]:
    """A measure of each context of a block; anything where nothing is relevant."""
    some = np.maximum(relevant, 1)
    if measure.kind == _GRADED:
        counted = slice(None) if measure.k is None else ranked.rank <= measure.k
        discounts = np.zeros(len(gains))
        discounts[counted] = 1 / np.log2(ranked.rank[counted] + 1)
        reached = ranked.sums(np.where(ranked.retrieved, gains, 0.0) * discounts)
        best = ranked.sums(ranked.ideal(gains) * discounts)
        return reached / np.where(best > 0, best, 1)
    if measure.kind in _AT_K:
        among = ranked.sums((hits & (ranked.rank <= (measure.k or 1))).astype(float))
        return among / some if measure.kind == "R" else among / (measure.k or 1)
    places = np.flatnonzero(hits)
    context = ranked.context[places]
    ranks = ranked.rank[places]
    # How many hits of the same context stand there or before.
    so_far = np.arange(len(places)) - np.searchsorted(context, context) + 1
    if measure.kind == "MRR":
        first = so_far == 1
        return _added(context[first], 1 / ranks[first], ranked.contexts)
    return _added(context, so_far / ranks, ranked.contexts) / some


def _added(context: NDArray[np.intp], amounts: NDArray[np.float64], contexts: int) -> NDArray[np.float64]:
    """The sums of the amounts of each context; added one after the other, so that no context changes the sum of another."""
    return np.bincount(context, amounts, contexts).astype(np.float64, copy=False)
