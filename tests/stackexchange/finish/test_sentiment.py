"""Scores are those of the package ``vaderSentiment``, and a long text does not take for ever."""

import sys
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from tertulia.errors import MissingExtraError
from tertulia.stackexchange.finish.sentiment import compound_scorer

WORDS = [
    *(
        "good",
        "bad",
        "great",
        "terrible",
        "not",
        "never",
        "but",
        "but",
        "kind",
        "of",
        "sort",
        "least",
        "at",
        "very",
        "so",
        "this",
    ),
    *(
        "without",
        "doubt",
        "no",
        "or",
        "nor",
        "the",
        "shit",
        "bomb",
        "yeah",
        "right",
        "hand",
        "to",
        "mouth",
        "badass",
        "GOOD",
        "AWFUL",
    ),
    *(
        "Thanks!",
        ":)",
        ":(",
        "😀",
        "isn't",
        "cannot",
        "only",
        "extremely",
        "barely",
        "ok",
        "hope",
        "love",
        "??",
        "!!!",
        "...",
        "BUT",
    ),
]


@cache
def package() -> SentimentIntensityAnalyzer:
    return SentimentIntensityAnalyzer()


def expected(text: str) -> float:
    return float(package().polarity_scores(text)["compound"])


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
@settings(deadline=None, max_examples=400)
def test_equals_the_package(text: str) -> None:
    assert compound_scorer()(text) == expected(text)


@given(st.text(max_size=80))
@settings(deadline=None, max_examples=100)
def test_equals_the_package_on_any_text(text: str) -> None:
    assert compound_scorer()(text) == expected(text)


def test_the_sentiments_before_and_after_but_are_weighed_as_there() -> None:
    for text in (
        "good good but good good",
        "bad but good but great bad good",
        "but",
        "good but",
        "a b but c good a bad b good",
    ):
        assert compound_scorer()(text) == expected(text)


@pytest.mark.parametrize(
    "text",
    ["good bad " * 120_000, "a " * 300_000 + "but " + "good fine bad " * 60_000, "!" * 1_000_000, "x" * 1_000_000],
)
def test_a_megabyte_is_scored(text: str) -> None:
    assert -1 <= compound_scorer()(text) <= 1


def test_the_package_may_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    compound_scorer.cache_clear()
    monkeypatch.setitem(sys.modules, "vaderSentiment.vaderSentiment", None)
    with pytest.raises(MissingExtraError, match=r"tertulia\[full\]"):
        compound_scorer()
