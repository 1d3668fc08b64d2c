"""Chooses what computes the scores of an open index: the compiled kernel where there is one, NumPy otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import ConfigurationError
from tertulia.retrieval import exhaustive
from tertulia.retrieval.query import Query, distinct_words
from tertulia.retrieval.weights import powers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tertulia.retrieval.query import Match, Options
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

    def search(self, text: str, previous: str, options: Options) -> list[Match]:
        """The best responses, exactly."""
        query = Query(distinct_words(self._tokenizer.words(text)), distinct_words(self._tokenizer.words(previous)))
        return exhaustive.search(self._segments, query, options, self._unknown)
