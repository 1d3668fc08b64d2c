"""JSON files of records: the order of the source, and the fields that only the source knows."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.formats.files.json_writing import RecordFile, kept_fields, place_in_source, written_fields

NUMBERS = st.none() | st.integers(0, 5)


@settings(max_examples=60, deadline=None)
@given(numbers=st.lists(NUMBERS, max_size=12), named=st.booleans(), pauses=st.sets(st.integers(0, 12)))
def test_records_stand_in_order_of_number_after_those_without(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int | None], named: bool, pauses: set[int]
) -> None:
    path = tmp_path_factory.mktemp("order") / "file.json"
    with RecordFile(path, named=named) as file:
        for index, number in enumerate(numbers):
            file.add({"é": index, "text": "a\nb\u2028"}, number=number, name=f"n{index}")
            if index in pauses:
                file.pause()
        assert len(file) == len(numbers)
    found = json.loads(path.read_text(encoding="utf-8"))
    expected = sorted(range(len(numbers)), key=lambda index: -1 if numbers[index] is None else numbers[index])  # type: ignore[arg-type,return-value]
    values = list(found.values()) if named else found
    assert [value["é"] for value in values] == expected
    if named:
        assert list(found) == [f"n{index}" for index in expected]
    assert [entry.name for entry in path.parent.iterdir()] == ["file.json"]
    assert len(path.read_bytes().splitlines()) == (2 + len(numbers) if numbers else 2)


def test_a_failed_file_is_closed(tmp_path: Path) -> None:
    def fill() -> None:
        with RecordFile(tmp_path / "f", named=False) as file:
            file.add(1)
            file.add(float("nan"))

    with pytest.raises(ValueError, match="not JSON compliant"):
        fill()
    assert (tmp_path / "f").read_bytes() == b"[\n1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["taken", "own", "other", "extra", "é", ""])


@settings(max_examples=150, deadline=None)
@given(item=st.dictionaries(NAMES, JSON))
def test_what_is_kept_is_written_again(item: dict[str, Any]) -> None:
    kept = kept_fields(item, {"taken"}, {"own"})
    assert not kept.keys() & {"taken", "own"}
    fields, lost = written_fields(kept, {"taken"}, {"own"})
    assert fields == {name: value for name, value in item.items() if name != "taken"}
    assert lost == 0


def test_attributes_of_others_become_fields_where_there_is_room() -> None:
    attributes = {"taken": 1, "own": 2, "votes": 3, "extra": "text"}
    assert written_fields(attributes, {"taken"}, {"own"}) == ({"votes": 3, "extra": "text"}, 1)
    assert written_fields({"extra": {"own": 1, "else": 2}}, {"taken"}, {"own"}) == ({"own": 1}, 0)


@pytest.mark.parametrize(
    "value", ["\ud800", {"a": "\udfff"}, {"\ud800": 1}, float("inf"), float("nan"), [1e999]], ids=repr
)
def test_what_no_corpus_can_keep_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="the other fields"):
        kept_fields({"a": 1, "b": value}, set(), set())
    with pytest.raises(InputError, match="the other fields"):
        kept_fields({"\ud800": value}, set(), set())


def test_what_is_nested_too_deeply_is_refused() -> None:
    value: Any = 1
    for _ in range(3_000):
        value = [value]
    with pytest.raises(InputError, match="the other fields cannot be kept"):
        kept_fields({"a": value}, set(), set())


@pytest.mark.parametrize("value", [-1, True, 1.0, "1", None, 2**53])
def test_only_a_whole_number_is_a_place(value: Any) -> None:
    assert place_in_source({"number": value}) is None
    assert place_in_source({"number": 7}) == 7
