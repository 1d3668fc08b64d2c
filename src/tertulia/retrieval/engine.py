"""Chooses what computes the scores of an open index: the compiled kernel where there is one, NumPy otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError, ConfigurationError
from tertulia.retrieval import exhaustive
from tertulia.retrieval.query import Match, Query, distinct_words
from tertulia.retrieval.tokenizer import EnglishTokenizer
from tertulia.retrieval.weights import powers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.retrieval._kernel import Searcher
    from tertulia.retrieval.query import Options
    from tertulia.retrieval.segment import Segment
    from tertulia.retrieval.tokenizer import Tokenizer

__all__ = ["KERNEL_VARIABLE", "Engine", "chosen_kernel", "compiled_variants"]

KERNEL_VARIABLE = "TERTULIA_KERNEL"


def compiled_variants() -> tuple[str, ...]:
    """The variants of the compiled kernel that this processor can run, the fastest first; none without a kernel."""
    try:
        from tertulia.retrieval import _kernel
    except ImportError:
        return ()
    variants: tuple[str, ...] = _kernel.variants()
    return variants


def chosen_kernel() -> str:
    """``numpy`` or the name of a compiled variant: what the variable ``TERTULIA_KERNEL`` names, else the fastest.

    Raises
    ------
    ConfigurationError
        The variable names what there is not.
    """
    available = (*compiled_variants(), "numpy")
    wanted = os.environ.get(KERNEL_VARIABLE) or available[0]
    if wanted not in available:
        raise ConfigurationError(f"is {wanted!r}; expected one of {', '.join(available)}", where=KERNEL_VARIABLE)
    return wanted


class Engine:
    """Searches the segments of one commit."""

    def __init__(self, tokenizer: Tokenizer, scale: float, segments: Sequence[Segment]) -> None:
        self.kernel = chosen_kernel()
        self._tokenizer = tokenizer
        self._segments = tuple(segments)
        # A word that no utterance of the bank has weighs as the rarest, ``s``.
        self._unknown = float(powers(np.array([scale])).sixth[0])
        self._searcher = None if self.kernel == "numpy" else self._compiled_searcher()
        # The compiled tokenizer is the English one; words of other languages come from Python.
        self._takes_text = isinstance(tokenizer, EnglishTokenizer)
        self._topic_rows: dict[str, NDArray[np.uint32]] = {}

    def _compiled_searcher(self) -> Searcher:
        from tertulia.retrieval._kernel import Searcher

        parts = tuple(_parts_of(segment) for segment in self._segments)
        try:
            return Searcher(self.kernel, self._unknown, Match, parts)
        except ValueError as error:
            raise self._damage(error) from None

    def search(self, text: str, previous: str, options: Options) -> list[Match]:
        """The best responses, exactly.

        Raises
        ------
        ArtefactError
            A file of the index is damaged.
        """
        if self._searcher is None:
            return exhaustive.search(self._segments, self._query(text, previous), options, self._unknown)
        rows = None if options.topic is None else self._rows_of(options.topic)
        further = (options.k, rows, options.bonus, options.lam)
        try:
            if self._takes_text:
                found = self._searcher.search(text, previous, *further)
                if found is not None:
                    return found
            query = self._query(text, previous)
            found = self._searcher.search_words(query.words, query.previous, *further)
        except ValueError as error:
            raise self._damage(error) from None
        if found is not None:
            return found
        return exhaustive.search(self._segments, query, options, self._unknown)

    def _query(self, text: str, previous: str) -> Query:
        words = self._tokenizer.words
        return Query(distinct_words(words(text)), distinct_words(words(previous)))

    def _rows_of(self, topic: str) -> NDArray[np.uint32]:
        """The first row of a topic and the one after its last, for each segment."""
        rows = self._topic_rows.get(topic)
        if rows is None:
            ranges = [segment.topic_rows(topic) for segment in self._segments]
            rows = np.array([[each.start, each.stop] for each in ranges], dtype=np.uint32)
            if rows.any():  # what the bank does have is kept; callers may ask for any other name
                self._topic_rows[topic] = rows
        return rows

    def _damage(self, error: ValueError) -> ArtefactError:
        where = self._segments[0].path.parent if self._segments else None
        return ArtefactError(
            f"a file of the index is damaged: {error}", where=where, hint="tertulia inspect names it; make it again"
        )


def _parts_of(segment: Segment) -> tuple[NDArray[Any] | bool, ...]:
    """The arrays of a segment in the order of ``Part`` in kernel/module.cpp, and whether its terms are 32-bit."""
    removal = segment.removal
    nothing = np.zeros(0, dtype=np.uint32)
    return (
        segment.row,
        segment.signature,
        segment.terms,
        segment.context_norm,
        segment.context.first,
        segment.context.row,
        segment.context.block,
        segment.context.least,
        segment.context_most,
        segment.response.first,
        segment.response.row,
        segment.response.block,
        segment.response.least,
        segment.weights,
        segment.word_bit,
        segment.word_offset,
        segment.word_bytes,
        segment.word_slot,
        segment.dialogue_row,
        segment.dialogue_number,
        nothing if removal is None else removal.absent_words,
        nothing if removal is None else removal.dialogues,
        segment.terms.dtype.itemsize == 4,
    )
