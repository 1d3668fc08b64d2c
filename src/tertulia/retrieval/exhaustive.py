"""The matching score by NumPy: every response that shares a word is scored, one word's list after the other.

It needs no compiler and gives the same bits as the kernel; it also answers what the kernel leaves to it, such as a
query of a hundred thousand words. The order of operations is part of the definition, see docs/matching.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tertulia.retrieval.layout import row_sums
from tertulia.retrieval.query import Match
from tertulia.retrieval.texts import offsets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.retrieval.query import Options, Query
    from tertulia.retrieval.segment import Segment

__all__ = ["search"]


def search(segments: Sequence[Segment], query: Query, options: Options, unknown: float) -> list[Match]:
    """The best ``options.k`` responses of all segments.

    ``unknown`` is the weight to the power 6 of a word that no utterance of the bank has.

    Raises
    ------
    ArtefactError
        A segment's file is damaged.
    """
    words = [[segment.find_word(word) for word in query.words] for segment in segments]
    query_norm = _query_norm(segments, words, unknown)
    found: list[Match] = []
    for segment, known in zip(segments, words, strict=True):
        terms = [term for term in known if term is not None]
        previous = [term for term in map(segment.find_word, query.previous) if term is not None]
        try:
            found += _search_segment(segment, terms, previous, query_norm, options)
        except (IndexError, ValueError) as error:
            # A row or word number that the file's arrays do not have: opening checks sizes, not every list.
            raise segment.damage(f"a list names what the segment has not: {error}") from None
    found.sort(key=lambda match: (-match.score, -match.norm, match.number))
    return found[: options.k]


def _query_norm(segments: Sequence[Segment], words: Sequence[Sequence[int | None]], unknown: float) -> float:
    """‖q³‖, added in term order; a word that no segment has weighs as the rarest."""
    total = 0.0
    for choices in zip(*words, strict=True):
        for segment, term in zip(segments, choices, strict=True):
            if term is not None:
                total += float(segment.powers.sixth[term])
                break
        else:
            total += unknown
    return math.sqrt(total)


def _search_segment(
    segment: Segment, terms: Sequence[int], previous: Sequence[int], query_norm: float, options: Options
) -> list[Match]:
    shared_context = np.zeros(segment.rows)
    shared_response = np.zeros(segment.rows)
    for term in terms:
        shared_context[segment.context.rows(term) + 1] += segment.powers.sixth[term]
        shared_response[segment.response.rows(term)] += segment.powers.eighth[term]
    score = np.zeros(segment.rows)
    some = np.flatnonzero(shared_context)
    context = shared_context[some]
    score[some] = ((context + shared_response[some]) * np.sqrt(context)) / (query_norm * segment.context_norm[some - 1])
    if previous:
        score += options.lam * _shared_wider(segment, previous)
    if segment.dead_rows is not None:
        score[segment.dead_rows] = 0.0
    if options.topic is not None:
        rows = segment.topic_rows(options.topic)
        part = score[rows.start : rows.stop]
        part[part > 0] += options.bonus
    return _best(segment, score, options.k)


def _shared_wider(segment: Segment, previous: Sequence[int]) -> NDArray[np.float64]:
    """S_2cq of each row: the shared idf² of the row two before it, in the same dialogue."""
    shared = np.zeros(segment.rows)
    for term in previous:
        shared[segment.context.rows(term)] += segment.powers.second[term]
    wider = np.zeros(segment.rows)
    wider[2:] = shared[:-2]
    first = segment.dialogue_row[:-1].astype(np.int64)
    for offset in (0, 1):
        opening = first + offset
        wider[opening[opening < segment.rows]] = 0.0
    return wider


def _best(segment: Segment, score: NDArray[np.float64], k: int) -> list[Match]:
    """The best rows: by score and norm descending, then by number ascending."""
    rows = np.flatnonzero(score > 0)
    if len(rows) > k:
        least = np.partition(score[rows], len(rows) - k)[len(rows) - k]
        rows = rows[score[rows] >= least]
    starts, ends = (segment.first[rows + offset].astype(np.int64) for offset in (0, 1))
    first = offsets_of(ends - starts)
    places = np.repeat(starts - first[:-1], np.diff(first)) + np.arange(int(first[-1]))
    norm = np.sqrt(row_sums(first, segment.terms[places], segment.powers.second))
    number = segment.number_of(rows)
    order = np.lexsort((number, -norm, -score[rows]))[:k]
    return [
        Match(*values)
        for values in zip(number[order].tolist(), score[rows[order]].tolist(), norm[order].tolist(), strict=True)
    ]
