"""What of other examples must not be learned from when a fold is held out: responses that were borrowed as negatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tertulia.corpus.model import Turn

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
    """``others``, in a binary set without those of their candidates and turns that are candidates in ``held_out`` too.

    In such a set negatives are the true responses of other contexts, and turns of their dialogues. A negative of a held-out context
    has then been seen as something that somebody said, and its true response never: what is learned from that is the opposite of
    what holds for new texts. Where people rated each candidate there is no such thing, and a reply that many gave is known for
    what it is. A turn that is left out becomes an empty one.
    """
    if not is_binary(others):
        return list(others)
    texts = {text for example in held_out for text in example.texts}
    return [_but(example, texts) for example in others]


def _but(example: Example, texts: set[str]) -> Example:
    kept = [at for at, text in enumerate(example.texts) if text not in texts]
    turns = tuple(Turn(turn.role, "") if turn.text in texts else turn for turn in example.turns)
    return replace(
        example,
        turns=turns,
        texts=tuple(example.texts[at] for at in kept),
        relevance=example.relevance[kept],
        deviation=example.deviation[kept],
    )
