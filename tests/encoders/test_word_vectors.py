"""Word vectors, beside their definition with a dense matrix and NumPy's singular value decomposition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.encoders.batches import NumberedTexts
from tertulia.encoders.word_vectors import cooccurrences, word_vectors

SIZE = 12
TEXTS = st.lists(st.lists(st.integers(3, SIZE - 1), max_size=8), max_size=8)


def _plain_counts(texts: list[list[int]], window: int) -> np.ndarray:
    counts = np.zeros((SIZE, SIZE))
    for text in texts:
        for place, one in enumerate(text):
            for other_place, other in enumerate(text):
                distance = abs(place - other_place)
                if 0 < distance <= window:
                    counts[one, other] += (window - distance + 1) / window
    return counts


def _plain_information(counts: np.ndarray) -> np.ndarray:
    found = np.zeros_like(counts)
    words, contexts = counts.sum(axis=1), counts.sum(axis=0) ** 0.75
    for one, other in zip(*np.nonzero(counts), strict=True):
        share = counts[one, other] / counts.sum()
        chance = words[one] / counts.sum() * contexts[other] / contexts.sum()
        found[one, other] = max(0.0, math.log(share / chance))
    return found


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(1, 5))
def test_words_near_one_another_are_counted(texts: list[list[int]], window: int) -> None:
    rows, columns, weights = cooccurrences(NumberedTexts(texts), window, SIZE)
    found = np.zeros((SIZE, SIZE))
    found[rows, columns] = weights
    # A text without a word stands as one number of its own, next to nothing.
    np.testing.assert_allclose(found, _plain_counts(texts, window), atol=1e-12)
    assert (np.diff(rows * SIZE + columns) > 0).all()
    assert (weights > 0).all()


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.integers(1, 14))
def test_vectors_are_the_singular_vectors_of_the_information(texts: list[list[int]], dimension: int) -> None:
    found = word_vectors(NumberedTexts(texts), SIZE, dimension, window=2).astype(np.float64)
    assert found.shape == (SIZE, dimension)
    left, values, _ = np.linalg.svd(_plain_information(_plain_counts(texts, 2)))
    # Where two singular values are equal any rotation of their vectors will do: cut between different ones.
    kept = min(dimension, SIZE)
    if kept < SIZE and values[kept - 1] - values[kept] < 1e-6:
        return
    wanted = (left * values) @ left.T if kept == SIZE else (left[:, :kept] * values[:kept]) @ left[:, :kept].T
    length = np.sqrt(np.maximum(np.diag(wanted), 0))
    seen = length > 1e-6
    scale = length[seen].mean() if seen.any() else 1.0
    np.testing.assert_allclose(found @ found.T, wanted / scale**2, atol=1e-4)


def test_words_used_alike_are_alike_and_the_seed_hardly_matters() -> None:
    random = np.random.default_rng(0)
    texts = []
    for _ in range(400):
        topic = int(random.integers(2))
        texts.append([3 + topic * 4 + int(random.integers(4)) for _ in range(6)])
    vectors = word_vectors(NumberedTexts(texts), SIZE, 4)
    unit = vectors[3:11] / np.linalg.norm(vectors[3:11], axis=1, keepdims=True)
    alike = unit @ unit.T
    assert alike[:4, :4].min() > alike[:4, 4:].max()
    np.testing.assert_allclose(word_vectors(NumberedTexts(texts), SIZE, 4, seed=9), vectors, atol=1e-5)
    assert np.array_equal(word_vectors(NumberedTexts(texts), SIZE, 4), vectors)
