"""What a word weighs in a document: the formula of BM25, as whole numbers.

With N documents, of which n have the word, f the times that this document has it, l its words and L their mean number:

    idf    = ln(1 + (N - n + 0.5) / (n + 0.5))
    weight = idf · f / (f + k1 · (1 - b + b · l / L))

Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), with the idf that is never negative and
without the constant factor k1 + 1, as Lucene has them (`BM25Similarity`); it is ``method="lucene"`` of bm25s too. A score is the
sum over the words of the query, each as often as the query has it.

A weight is rounded to a multiple of 1 / SCALE, and scores are sums of whole numbers: no order of summation, processor or number
of threads changes them, so that every engine gives the same documents in the same order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_B", "DEFAULT_K1", "SCALE", "check_parameters", "idf", "weights"]

SCALE = 1 << 15
"""Weights are multiples of 1 / SCALE: 0.00003, beside scores of some tens."""
DEFAULT_K1 = 1.2
DEFAULT_B = 0.75


def check_parameters(k1: float, b: float) -> None:
    """Refuse parameters for which the formula has no meaning.

    Raises
    ------
    ConfigurationError
        ``k1`` is negative or not finite, or ``b`` is not within 0 and 1.
    """
    if not (math.isfinite(k1) and k1 >= 0):
        raise ConfigurationError(f"k1 of BM25 is {k1}; expected a finite number from 0")
    if not 0 <= b <= 1:
        raise ConfigurationError(f"b of BM25 is {b}; expected a number from 0 to 1")


def idf(documents: int, having: NDArray[np.int64]) -> NDArray[np.float64]:
    """The idf of words that so many of the documents have: array of the shape of ``having``.

    Logarithms are taken one by one by the C library, for NumPy's own differ between processors in the last bit.
    """
    distinct, where = np.unique(having, return_inverse=True)
    logs = [math.log(1 + (documents - n + 0.5) / (n + 0.5)) for n in distinct.tolist()]
    return np.array(logs, dtype=np.float64)[where]


def weights(
    idfs: NDArray[np.float64], counts: NDArray[np.uint32], saturations: NDArray[np.float64]
) -> NDArray[np.uint32]:
    """The weights of words in units of 1 / SCALE, from their idf, their count in the document, and its saturation.

    ``saturations`` are ``k1 · (1 - b + b · l / L)`` of the documents; all arrays have one shape.
    """
    occurrences = counts.astype(np.float64)
    return np.rint(idfs * occurrences / (occurrences + saturations) * SCALE).astype(np.uint32)
