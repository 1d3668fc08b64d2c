"""Distinct counts beside sets of Python, in memory and on disk; tallies beside the statistics module."""

import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.statistics.distinct import Distinct, DistinctGroup, Recent, hashes_of, unique
from tertulia.corpus.statistics.tally import Tally

TEXTS = st.lists(st.text(alphabet="ab\x00é好", max_size=90), max_size=30)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_texts_have_equal_hashes_exactly_where_they_are_equal(texts: list[str]) -> None:
    hashes = hashes_of(pa.array(["before", *texts, "after"], type=pa.string()).slice(1, len(texts))).tolist()
    assert len(hashes) == len(texts)
    assert len(set(zip(texts, hashes, strict=True))) == len(set(texts)) == len(set(hashes))
    assert hashes == [int(hashes_of(pa.array([text]))[0]) for text in texts], "neighbours do not matter"


def test_hashes_are_the_same_on_every_machine() -> None:
    values = hashes_of(pa.array(["", "a", "whale", "eightchr", "nine char", "x" * 64, "x" * 65, "好"]))
    assert [f"{value:016x}" for value in values.tolist()] == [
        "519665bf91416c4d",
        "aff048cbc3390d30",
        "4623f6efa7621702",
        "8956f72c97ca6988",
        "8d347d506fdd8e34",
        "4645b9ce716b49b4",
        "36c9c5df1f7285c0",
        "23763d235855202a",
    ]


def test_many_similar_words_share_no_hash() -> None:
    numbers = np.arange(300_000)
    assert len(np.unique(hashes_of(pa.array([f"{n}" for n in numbers.tolist()])))) == len(numbers)
    assert len(np.unique(hashes_of(pa.array([f"some prefix {n}" for n in numbers.tolist()])))) == len(numbers)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 400), max_size=60), max_size=20), st.integers(1, 50))
def test_distinct_counts_are_those_of_a_set_wherever_they_lie(parts: list[list[int]], in_memory: int) -> None:
    group = DistinctGroup(in_memory)
    seen: dict[int, set[int]] = {0: set(), 1: set()}
    for number, part in enumerate(parts):
        group.add(number % 2, np.array(part, dtype=np.uint64))
        seen[number % 2].update(part)
    assert [group.count(0), group.count(1)] == [len(seen[0]), len(seen[1])]
    assert group.count("never met") == 0


def test_runs_on_disk_are_merged_in_slices() -> None:
    random = np.random.default_rng(1)
    distinct = Distinct()
    everything = []
    for _ in range(4):
        part = random.integers(0, 1 << 63, 600_000).astype(np.uint64) * np.uint64(2)
        everything += [part, part[:1000] + np.uint64(1)]
        distinct.add(part)
        distinct.add(part[:1000] + np.uint64(1))
        distinct.add(everything[0])
        distinct.to_disk()
        assert distinct.held == 0
    assert distinct.count() == len(unique(everything))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1 << 17), max_size=50), max_size=10))
def test_what_was_just_seen_is_kept_back_and_nothing_new_ever_is(parts: list[list[int]]) -> None:
    recent = Recent()
    passed: set[int] = set()
    for part in parts:
        passed.update(recent.new(np.array(part, dtype=np.uint64)).tolist())
    for value in passed:
        again = np.array([value], dtype=np.uint64)
        passed_again = set(recent.new(again).tolist())
        assert passed_again <= {value}
        assert len(recent.new(again)) == 0
    assert passed == {value for part in parts for value in part}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=30), min_size=1, max_size=5))
def test_a_tally_says_what_the_statistics_module_says(parts: list[list[int]]) -> None:
    tally = Tally()
    numbers = sorted(n for part in parts for n in part)
    for part in parts:
        tally.add(np.array(part))
    found = tally.summary()
    assert tally.number == len(numbers)
    assert tally.total == sum(numbers)
    assert found["mean"] == pytest.approx(statistics.fmean(numbers))
    assert found["median"] == statistics.median(numbers)
    assert found["standard_deviation"] == pytest.approx(statistics.pstdev(numbers), abs=1e-9)
    assert (found["min"], found["max"]) == (numbers[0], numbers[-1])
    assert sum(n <= found["p95"] for n in numbers) / len(numbers) >= 0.95
    assert sum(n < found["p95"] for n in numbers) / len(numbers) < 0.95
    assert sum(found["histogram"].values()) == len(numbers)


def test_the_bars_of_a_histogram() -> None:
    tally = Tally()
    tally.add(np.array([0, 0, 7, 99, 100, 109, 110, 999, 1_000, 1_099, 1_100, 12_800]))
    assert tally.summary()["histogram"] == {
        "0": 2, "7": 1, "99": 1, "100-109": 2, "110-119": 1, "990-999": 1, "1000-1099": 2, "1100-1199": 1, "12000-12999": 1,
    }  # fmt: skip


def test_a_tally_of_nothing() -> None:
    found = Tally().summary()
    assert found.pop("histogram") == {}
    assert set(found.values()) == {None}
    assert sorted(found) == ["max", "mean", "median", "min", "p95", "standard_deviation"]
