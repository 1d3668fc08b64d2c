"""The funnel: how many questions, answers and candidates there were, and how many each criterion removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tertulia.stackexchange.criteria import POSITIVE_ENDING, bit_of
from tertulia.stackexchange.narrow import Narrowed

__all__ = ["funnel_of"]


def funnel_of(counted: Narrowed, positives: Mapping[int, int], criteria: Sequence[str]) -> list[dict[str, Any]]:
    """The steps in order: each with how many it ``kept`` and ``removed``.

    A criterion says in ``alone`` how many of all candidates it would remove on its own.

    Parameters
    ----------
    counted:
        The counts of narrowing.
    positives:
        Mask of the criteria that the tables tell → how many candidates with that mask, whose seeker has the last word, end well.
    criteria:
        The criteria that are asked for, in order.
    """
    masks = _whole_masks(counted.masks, positives)
    steps = [
        _step("questions", counted.questions, 0),
        _step("answers", counted.answers, counted.orphans),
        _step("candidates", counted.candidates, counted.own),
    ]
    left, wanted = counted.candidates, 0
    for criterion in criteria:
        bit = bit_of(criterion)
        wanted |= bit
        kept = sum(count for mask, count in masks.items() if mask & wanted == wanted)
        alone = sum(count for mask, count in masks.items() if not mask & bit)
        steps.append({**_step(criterion, kept, left - kept), "alone": alone})
        left = kept
    steps.append(_step("dialogues", left, 0))
    return steps


def _step(name: str, kept: int, removed: int) -> dict[str, Any]:
    return {"step": name, "kept": kept, "removed": removed}


def _whole_masks(masks: Mapping[tuple[int, bool], int], positives: Mapping[int, int]) -> Counter[int]:
    """Candidates by mask, the positive ending among its bits; who has no last word to judge passes it."""
    positive = bit_of(POSITIVE_ENDING)
    whole: Counter[int] = Counter()
    for (mask, seeker_last), count in masks.items():
        ending_well = positives.get(mask, 0) if seeker_last else count
        whole[mask | positive] += ending_well
        whole[mask] += count - ending_well
    return whole
