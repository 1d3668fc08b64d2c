"""What train shows of who says what to whom: a turn and what was said next, or a prompt and a response that people liked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tertulia.ranking.features.grades import grades

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.ranking.examples import Example

__all__ = ["Exchanges", "exchanges"]


class Exchanges(NamedTuple):
    """Pairs of texts, no two equal: something said, and what was said ``distance`` turns later; how much each counts (pairs)."""

    said: list[str]
    answered: list[str]
    weights: NDArray[np.float64]


def exchanges(examples: Sequence[Example], distance: int = 1) -> Exchanges:
    """All exchanges of examples, in order of appearance.

    Two turns of a context count 1, a turn and a candidate as much as the candidate's relevance is worth, from 0 for the smallest in
    the set to 1 for the largest; what is worth nothing is left out. Of equal pairs the largest weight counts, once: contexts of one
    dialogue have most turns in common.
    """
    found: dict[tuple[str, str], float] = {}
    graded = grades(examples)
    worth = graded.gains[graded.labels].tolist() if len(graded.labels) else []
    start = 0
    for example in examples:
        turns = [turn.text for turn in example.turns]
        for pair in zip(turns, turns[distance:], strict=False):
            found[pair] = 1.0
        if len(turns) >= distance:
            for text, weight in zip(example.texts, worth[start : start + len(example)], strict=True):
                if weight > 0:
                    pair = turns[-distance], text
                    found[pair] = max(weight, found.get(pair, 0.0))
        start += len(example)
    return Exchanges(
        [said for said, _answered in found],
        [answered for _said, answered in found],
        np.fromiter(found.values(), np.float64, len(found)),
    )
