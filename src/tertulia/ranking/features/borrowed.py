"""What of other examples must not be learned from when a fold is held out: responses that were borrowed as negatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["is_binary", "levels", "without_borrowed"]


def levels(examples: Sequence[Example]) -> NDArray[np.float64]:
    """All relevances, NaN (nobody has said) as the smallest there is: shape (candidates of all)."""
    values = np.concatenate([np.zeros(0), *(example.relevance for example in examples)])
    known = values[~np.isnan(values)]
    return np.where(np.isnan(values), known.min() if len(known) else 0.0, values)


def is_binary(examples: Sequence[Example]) -> bool:
    """Whether a candidate is either relevant or not."""
    return bool(np.isin(levels(examples), (0.0, 1.0)).all())


def without_borrowed(others: Sequence[Example], held_out: Sequence[Example]) -> list[Example]:
    """``others``, in a binary set without those of their candidates that stand in ``held_out`` too.

    In such a set negatives are the true responses of other contexts. A negative of a held-out context has then been seen as
    somebody's true response, and its true response never: what is learned from that is the opposite of what holds for new
    texts. Where people rated each candidate there is no such thing, and a reply that many gave is known for what it is.
    """
    if not is_binary(others):
        return list(others)
    texts = {text for example in held_out for text in example.texts}
    return [_but(example, texts) for example in others]


def _but(example: Example, texts: set[str]) -> Example:
    kept = [at for at, text in enumerate(example.texts) if text not in texts]
    if len(kept) == len(example):
        return example
    return replace(
        example,
        texts=tuple(example.texts[at] for at in kept),
        relevance=example.relevance[kept],
        deviation=example.deviation[kept],
    )
