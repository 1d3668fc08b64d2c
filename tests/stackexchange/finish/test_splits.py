"""Splits by time: the plain definition beside what is used, and its bounds."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.parts.splitting import targets
from tertulia.stackexchange.finish.splits import splits_of

FRACTIONS = {"train": 0.7, "dev": 0.15, "test": 0.15}


def plainly(threads: list[str], created: list[int], fractions: dict[str, float]) -> list[str]:
    """Dialogues in order of time, one place after the other; a thread goes where its first one falls."""
    wanted = targets(len(threads), fractions=fractions, counts=None)
    places = [name for name, count in wanted.items() for _ in range(count)]
    split_of: dict[str, str] = {}
    for place, (_, thread) in enumerate(sorted(zip(created, threads, strict=True))):
        split_of.setdefault(thread, places[place])
    return [split_of[thread] for thread in threads]


@given(st.lists(st.integers(0, 12), max_size=40), st.lists(st.integers(0, 5), min_size=13, max_size=13))
@settings(deadline=None, max_examples=200)
def test_equals_the_plain_definition(numbers: list[int], times: list[int]) -> None:
    threads = [f"beer-{number}" for number in numbers]
    created = [times[number] for number in numbers]
    names, chosen = splits_of(pa.array(threads, pa.string()), pa.array(created, pa.int64()), FRACTIONS)
    assert [names[number] for number in chosen] == plainly(threads, created, FRACTIONS)


def test_the_order_of_dialogues_does_not_matter() -> None:
    threads = [f"s-{n}" for n in range(20)] * 2
    created = list(range(20)) * 2
    names, chosen = splits_of(pa.array(threads), pa.array(created), FRACTIONS)
    _, turned = splits_of(pa.array(threads[::-1]), pa.array(created[::-1]), FRACTIONS)
    assert names == ["train", "dev", "test"]
    assert chosen.tolist() == turned.tolist()[::-1]
    assert [chosen.tolist().count(number) for number in range(3)] == [28, 6, 6]


def test_nothing_to_split() -> None:
    names, chosen = splits_of(pa.array([], pa.string()), pa.array([], pa.int64()), FRACTIONS)
    assert (names, len(chosen)) == (["train", "dev", "test"], 0)
