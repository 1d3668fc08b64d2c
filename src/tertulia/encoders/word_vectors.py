"""Word vectors from the texts at hand: how much more often than by chance words stand near one another, in few dimensions.

Positive pointwise mutual information of words within a window (shifted by nothing, contexts smoothed), factorised by a truncated
singular value decomposition: Levy, Goldberg and Dagan, *Improving Distributional Similarity with Lessons Learned from Word
Embeddings* (TACL 2015), where a vector is a row of ``U S^0.5``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.encoders.batches import NumberedTexts

__all__ = ["cooccurrences", "word_vectors"]

# The contexts' frequencies to this power: rare contexts would otherwise have the greatest information (Levy et al.).
_SMOOTHING = 0.75
_OVERSAMPLED = 20
_ROUNDS = 4
_NOTHING = 1e-6


def cooccurrences(
    texts: NumberedTexts, window: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Which of ``size`` numbers stand within ``window`` words of one another in a text: rows, columns, weights.

    A word next to another weighs 1, one ``d`` words away ``(window - d + 1) / window``; both orders count, so it is symmetric.
    Rows ascend, and columns within them.
    """
    numbers = texts.numbers.astype(np.int64)
    text = np.repeat(np.arange(len(texts)), texts.lengths)
    keys = np.zeros(0, dtype=np.int64)
    weights: NDArray[np.float64] = np.zeros(0)
    for distance in range(1, window + 1):
        together = text[:-distance] == text[distance:]
        left, right = numbers[:-distance][together], numbers[distance:][together]
        found, counts = np.unique(np.concatenate([left * size + right, right * size + left]), return_counts=True)
        keys, inverse = np.unique(np.concatenate([keys, found]), return_inverse=True)
        added = np.concatenate([weights, counts * ((window - distance + 1) / window)])
        weights = np.bincount(inverse, weights=added, minlength=len(keys)).astype(np.float64)
    return keys // size, keys % size, weights


def word_vectors(
    texts: NumberedTexts, size: int, dimension: int, *, window: int = 5, seed: int = 0
) -> NDArray[np.float32]:
    """A vector for each of ``size`` numbers of words: (size, dimension), their mean length 1, zeros for words never seen.

    Where there are fewer than ``dimension`` words the last columns are zeros.
    """
    import torch

    rows, columns, weights = cooccurrences(texts, window, size)
    found = np.zeros((size, dimension), dtype=np.float32)
    if not len(weights):
        return found
    total = weights.sum()
    frequency = np.bincount(rows, weights=weights, minlength=size)
    smoothed = frequency**_SMOOTHING
    smoothed /= smoothed.sum()
    information = np.log(weights / total / (frequency[rows] / total * smoothed[columns]))
    positive = information > 0
    if not positive.any():
        return found
    matrix = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows[positive], columns[positive]])),
        torch.from_numpy(information[positive]),
        (size, size),
        is_coalesced=True,
        check_invariants=False,
    )
    # A randomised range finder with power iterations: Halko, Martinsson and Tropp, SIAM Review 53 (2011), algorithms 4.4 and 5.1.
    transposed = matrix.t().coalesce()
    random = torch.from_numpy(np.random.default_rng(seed).standard_normal((size, min(size, dimension + _OVERSAMPLED))))
    basis = torch.linalg.qr(torch.sparse.mm(matrix, random))[0]
    for _ in range(_ROUNDS):
        basis = torch.linalg.qr(torch.sparse.mm(transposed, basis))[0]
        basis = torch.linalg.qr(torch.sparse.mm(matrix, basis))[0]
    # Of the small matrix the singular vectors, their signs made definite so that they do not hang on the library.
    left, values, _ = torch.linalg.svd(torch.sparse.mm(transposed, basis).t(), full_matrices=False)
    vectors = (basis @ left * values.sqrt())[:, :dimension].numpy()
    greatest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[greatest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    length = np.linalg.norm(vectors, axis=1)
    # What is left of a word that these dimensions do not have is the error of the arithmetic.
    there = length > _NOTHING * length.max()
    found[there, : vectors.shape[1]] = vectors[there] / length[there].mean()
    return found
