"""Permutation importance: how much worse a ranking gets when what a feature says is dealt out anew among all candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["divided", "permutation_importance"]


def divided(values: NDArray[np.float64], examples: Sequence[Example]) -> list[NDArray[np.float64]]:
    """Values of all candidates (shape: candidates of all examples) by example."""
    sizes = np.cumsum([len(example) for example in examples])
    return np.split(np.asarray(values, dtype=np.float64), sizes[:-1]) if len(sizes) else []


def permutation_importance(
    predict: Callable[[NDArray[np.float32]], NDArray[np.float64]],
    matrix: NDArray[np.float32],
    examples: Sequence[Example],
    columns: Mapping[str, Sequence[int]],
    quality: Callable[[Sequence[Example], Iterable[NDArray[np.float64]]], float],
    *,
    seed: int = 0,
    shuffles: int = 5,
) -> list[dict[str, Any]]:
    """What each feature is worth to a fitted ranker. Source: Breiman 2001; Fisher, Rudin and Dominici 2019.

    The columns of a feature are shuffled together among the candidates of all examples, ``shuffles`` times, and ``quality``
    is measured again.

    Parameters
    ----------
    predict:
        From a matrix (candidates, features) to scores (candidates).
    matrix:
        The features of all candidates of ``examples``, in order.
    columns:
        The columns of each feature, by its name.

    Returns
    -------
    Of each feature ``feature``, ``importance`` (the mean loss of quality; below 0 where it does better without) and ``spread`` (the
    standard deviation over shuffles); the most important first.
    """
    whole = quality(examples, divided(predict(matrix), examples))
    found = []
    work = matrix.copy()
    for name, places in columns.items():
        # Seeded by itself, so that a feature's importance does not depend on which others there are.
        random = np.random.default_rng([seed, *name.encode("utf-8", "replace")])
        losses = []
        for _ in range(shuffles):
            order = random.permutation(len(matrix))
            for place in places:
                work[:, place] = matrix[order, place]
            losses.append(whole - quality(examples, divided(predict(work), examples)))
        for place in places:
            work[:, place] = matrix[:, place]
        importance, spread = float(np.mean(losses)), float(np.std(losses))
        found.append({"feature": name, "importance": round(importance, 6), "spread": round(spread, 6)})
    return sorted(found, key=lambda one: (-one["importance"], one["feature"]))
