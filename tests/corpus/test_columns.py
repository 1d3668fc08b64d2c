"""Columns as Python values: what ``to_pylist`` gives, faster."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.columns import values_of
from tertulia.corpus.ranking_tables import RANKING_SCHEMAS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.timedeltas(timedelta(days=-719_000), timedelta(days=2_900_000)).map(lambda since: EPOCH + since)
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXT),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.timestamp("us", tz="UTC"), TIMES),
]
TURNS = st.lists(st.fixed_dictionaries({"role": st.none() | TEXT, "text": TEXT}), max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_values_are_those_of_the_plain_way(data: st.DataObject) -> None:
    kind, values = data.draw(st.sampled_from(KINDS))
    chunks = data.draw(st.lists(st.lists(st.none() | values, max_size=8), max_size=3))
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    low = data.draw(st.integers(0, 3))
    column = column.slice(low)
    found = values_of(column)
    assert found == column.to_pylist()
    assert [type(value) for value in found] == [type(value) for value in column.to_pylist()]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.none() | TURNS, max_size=6), st.integers(0, 3))
def test_lists_of_structs_become_lists_of_tuples(values: list[Any], low: int) -> None:
    kind = RANKING_SCHEMAS["contexts"].field("turns").type
    column = pa.chunked_array([pa.array(values, kind)]).slice(low)
    plain = [None if row is None else [tuple(turn.values()) for turn in row] for row in column.to_pylist()]
    assert values_of(column) == plain


def test_a_time_of_no_year_is_refused() -> None:
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    with pytest.raises(ValueError, match="no year"):
        values_of(far)
