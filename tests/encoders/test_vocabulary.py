"""The numbers of words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.encoders.vocabulary import Vocabulary
from tertulia.errors import ArtefactError


def test_frequent_words_come_first_and_equally_frequent_ones_by_letter() -> None:
    vocabulary = Vocabulary.of([["tea", "milk"], ["tea", "ale"], ["rum"]], buckets=2)
    assert vocabulary.words == ("tea", "ale", "milk", "rum")
    assert len(vocabulary) == 3 + 2 + 4
    assert vocabulary.numbers(["tea", "rum"]) == [5, 8]


def test_rare_words_and_those_beyond_the_most_share_the_numbers_of_unknown_ones() -> None:
    texts = [["tea", "tea", "ale", "ale", "rum"]]
    assert Vocabulary.of(texts, minimum=2).words == ("ale", "tea")
    assert Vocabulary.of(texts, most=1).words == ("ale",)
    small = Vocabulary.of(texts, most=0, buckets=3)
    assert {small.number(word) for word in "abcdefghij"} <= {3, 4, 5}
    assert not small.knows("tea")


def test_no_text_no_words() -> None:
    assert Vocabulary.of([]).words == ()
    assert Vocabulary.of([]).numbers([]) == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.text(max_size=4), max_size=6), max_size=6), st.integers(1, 5), st.text(max_size=4))
def test_every_word_has_a_number_in_range_also_after_json(texts: list[list[str]], buckets: int, other: str) -> None:
    vocabulary = Vocabulary.of(texts, buckets=buckets)
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    for word in [other, *(word for text in texts for word in text)]:
        assert 3 <= vocabulary.number(word) < len(vocabulary)
        assert again.number(word) == vocabulary.number(word)
    distinct = {word for text in texts for word in text}
    assert len({vocabulary.number(word) for word in distinct}) == len(distinct)


def test_a_lone_surrogate_has_a_number() -> None:
    assert Vocabulary([], 7).number("\ud83d") >= 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"buckets": 2},
        {"buckets": "2", "words": []},
        {"buckets": 0, "words": []},
        {"buckets": 2, "words": ["tea", "tea"]},
        {"buckets": 2, "words": ["tea", 1]},
        {"buckets": 2, "words": {"tea": 1}},
    ],
)
def test_what_is_no_vocabulary_is_refused(value: Any) -> None:
    with pytest.raises(ArtefactError, match="vocabulary"):
        Vocabulary.from_json(value)
