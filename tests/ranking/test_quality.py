"""What is tuned on dev, beside a plain definition; and the cuts of a set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.ranking.docnos import tie_keys
from tertulia.ranking.quality import default_cuts, map_at

from .rankers.made import example

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 1.0, 3.0, 4.0, 5.0, float("nan")]), st.integers(0, 3)), max_size=7)


def plain_map(rows: list[tuple[str, list[tuple[float, int]]]], cut: float) -> float:
    found = []
    for identifier, row in rows:
        keys = tie_keys(identifier, len(row)).tolist()
        ranked = sorted(range(len(row)), key=lambda place: (-row[place][1], -keys[place]))
        hits = [row[place][0] >= cut for place in ranked]
        if any(hits) and not all(hits):
            precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits) if hit]
            found.append(sum(precisions) / len(precisions))
    return sum(found) / len(found) if found else 0.0


@settings(max_examples=80, deadline=None)
@given(st.lists(ROWS, max_size=5), st.sampled_from([1.0, 4.0]))
def test_it_is_the_mean_average_precision_over_contexts_that_say_something(rows, cut) -> None:
    examples = [
        example(str(number), "p", ["t"] * len(row), [value for value, _ in row]) for number, row in enumerate(rows)
    ]
    scores = (np.array([score for _, score in row], dtype=float) for row in rows)
    named = [(each.id, row) for each, row in zip(examples, rows, strict=True)]
    assert map_at(cut)(examples, scores) == pytest.approx(plain_map(named, cut), abs=1e-12)


def test_what_has_no_score_is_not_found() -> None:
    each = example("1", "p", ["a", "b", "c"], [1, 1, 0])
    assert map_at(1)([each], [np.array([2.0, np.nan, 1.0])]) == 0.5
    assert map_at(1)([each], [np.array([2.0, np.nan, 3.0])]) == 0.25


def test_scores_that_are_too_few_are_an_error_and_no_silence() -> None:
    with pytest.raises(ValueError, match="shorter"):
        map_at(1)([example("1", "p", ["a", "b"], [0, 1])], [])


@pytest.mark.parametrize(
    ("relevance", "cuts"),
    [
        ([], (1,)),
        ([float("nan")], (1,)),
        ([0, 1, float("nan")], (1,)),
        ([1, 2.5, 4.5], (3, 4, 5)),
        ([1, 5], (3, 4, 5)),
        ([1, 3], (3, 4, 5)),
        ([0, 1, 2], (1, 2)),
        ([0, 1.5], (1,)),
        ([0, 100], (50, 75, 100)),
        ([0.25, 0.9], (0.5, 2 / 3, 0.75)),
    ],
)
def test_cuts_follow_the_scale(relevance: list[float], cuts: tuple[float, ...]) -> None:
    assert default_cuts([example("1", "p", ["t"] * len(relevance), relevance)]) == cuts


def test_a_set_without_a_context_has_a_cut() -> None:
    assert default_cuts([]) == (1,)
