"""What waits on disk: rows by key, and texts that keep what came first."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.artefact import canonical_json
from tertulia.formats.files.spill import SpilledRows, SpilledTexts

from ..corpus.test_tables import JSON


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), JSON), max_size=12))
def test_rows_come_back_by_key_in_order_of_arrival(given: list[tuple[str, Any]]) -> None:
    with SpilledRows() as rows:
        for key, row in given:
            rows.add(key, row)
        found = [(key, [canonical_json(row) for row in group]) for key, group in rows.groups()]
    keys = sorted({key for key, _ in given})
    assert found == [(key, [canonical_json(row) for k, row in given if k == key]) for key in keys]


def test_groups_may_be_left_untaken() -> None:
    with SpilledRows() as rows:
        for number in range(6):
            rows.add("ab"[number % 2], number)
        assert [(key, next(group)) for key, group in rows.groups()] == [("a", 0), ("b", 1)]


def test_texts_keep_what_came_first() -> None:
    with SpilledTexts() as texts:
        assert texts.add("b", "1")
        assert texts.add("a", "2")
        assert not texts.add("b", "3")
        assert (texts.get("b"), texts.get("c")) == ("1", None)
        assert list(texts.items()) == [("a", "2"), ("b", "1")]
