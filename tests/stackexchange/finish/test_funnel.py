"""The funnel equals what counting candidates one by one gives, for any criteria in any order."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.stackexchange.criteria import CRITERIA, POSITIVE_ENDING, bit_of
from tertulia.stackexchange.finish.funnel import funnel_of
from tertulia.stackexchange.narrow import Narrowed

# A candidate: the mask of what the tables tell, whether the seeker has the last word, whether that is positive.
candidates = st.lists(st.tuples(st.integers(0, 31), st.booleans(), st.booleans()), max_size=40)
orders = st.lists(st.sampled_from(CRITERIA), unique=True)


def one_by_one(found: list[tuple[int, bool, bool]], criteria: list[str]) -> list[dict[str, Any]]:
    def meets(candidate: tuple[int, bool, bool], criterion: str) -> bool:
        mask, seeker_last, positive = candidate
        if criterion == POSITIVE_ENDING:
            return positive or not seeker_last
        return bool(mask & bit_of(criterion))

    steps = []
    left = found
    for criterion in criteria:
        kept = [candidate for candidate in left if meets(candidate, criterion)]
        alone = sum(not meets(candidate, criterion) for candidate in found)
        steps.append({"step": criterion, "kept": len(kept), "removed": len(left) - len(kept), "alone": alone})
        left = kept
    return [*steps, {"step": "dialogues", "kept": len(left), "removed": 0}]


@given(candidates, orders)
@settings(deadline=None, max_examples=300)
def test_any_criteria_in_any_order(found: list[tuple[int, bool, bool]], criteria: list[str]) -> None:
    masks: dict[tuple[int, bool], int] = {}
    positives: dict[int, int] = {}
    for mask, seeker_last, positive in found:
        masks[mask, seeker_last] = masks.get((mask, seeker_last), 0) + 1
        if seeker_last and positive:
            positives[mask] = positives.get(mask, 0) + 1
    narrowed = Narrowed(9, len(found) + 2, 4, len(found), 2, masks, [Path("t")])
    funnel = funnel_of(narrowed, positives if POSITIVE_ENDING in criteria else {}, criteria)
    assert funnel[:3] == [
        {"step": "questions", "kept": 9, "removed": 0},
        {"step": "answers", "kept": len(found) + 2, "removed": 4},
        {"step": "candidates", "kept": len(found), "removed": 2},
    ]
    assert funnel[3:] == one_by_one(found, criteria)
