"""What each input of a combiner contributes: how much worse the order gets when the input is shuffled among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tertulia.ranking.combining.choice import Combiner
    from tertulia.ranking.combining.inputs import Inputs
    from tertulia.ranking.examples import Example
    from tertulia.ranking.ranker import FitRun

__all__ = ["input_importance"]

_SHUFFLES = 3
_CONTEXTS = 200


def input_importance(
    combiner: Combiner, inputs: Inputs, examples: Sequence[Example], run: FitRun
) -> list[dict[str, float | str]]:
    """Of each member and feature the loss of quality: ``name``, ``mean`` and ``deviation`` over shuffles, the largest first.

    Permutation importance after Breiman (2001), *Random Forests*: the values of one input change places among all candidates of
    (at most 200) contexts, seeded. Ranks and standardised scores of a member follow its shuffled scores.
    """
    places = np.flatnonzero([len(np.unique(example.relevance)) > 1 for example in examples])[:_CONTEXTS]
    if not len(places):
        return []
    part, kept = inputs.take(places), [examples[place] for place in places.tolist()]
    whole = run.quality(kept, part.split(combiner.combine(part)))
    random = np.random.default_rng(run.seed)
    found: list[dict[str, float | str]] = []
    for which, names in (("scores", part.members), ("features", part.names)):
        for column, name in enumerate(names):
            losses = []
            for _ in range(_SHUFFLES):
                values = getattr(part, which).copy()
                values[:, column] = random.permutation(values[:, column])
                shuffled = replace(part, **{which: values})
                losses.append(whole - run.quality(kept, shuffled.split(combiner.combine(shuffled))))
            found.append({"name": name, "mean": float(np.mean(losses)), "deviation": float(np.std(losses))})
    return sorted(found, key=lambda each: -float(each["mean"]))
