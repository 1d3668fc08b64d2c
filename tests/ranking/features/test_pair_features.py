"""Features that are functions of a conversation and a response, beside plain definitions of the harder ones."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.ranking.features import describe
from tertulia.ranking.features.lexicon import Lexicon
from tertulia.ranking.features.overlap import K1, B, longest_common_run, longest_common_subsequence
from tertulia.ranking.features.table import PAIR_FEATURES
from tertulia.ranking.features.texts import Reader
from tertulia.ranking.wording import Wording

from ..rankers.made import example

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)
TRAIN = [
    example("1", ["do you brew at home", "yes i brew ale"], ["ale is good", "what is ale ?", "no"]),
    example("2", ["is it cold"], ["it is cold and dark", "I like dark ale"]),
]


def reader(language: str = "en", decay: float = 0.5) -> Reader:
    return Reader(Lexicon.of(TRAIN, Wording(language, decay=decay)))


def value(name: str, turns: list[str] | str, response: str, decay: float = 0.5) -> float:
    read = reader(decay=decay)
    return PAIR_FEATURES[name](read.conversation(example("x", turns, [response])), read.text(response))


def plain_subsequence(one: list[str], other: list[str]) -> int:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            table[i + 1][j + 1] = table[i][j] + 1 if left == right else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def plain_run(one: list[str], other: list[str]) -> int:
    runs = {tuple(one[i:j]) for i in range(len(one)) for j in range(i + 1, len(one) + 1)}
    return max(
        (j - i for i in range(len(other)) for j in range(i + 1, len(other) + 1) if tuple(other[i:j]) in runs), default=0
    )


@settings(max_examples=150, deadline=None)
@given(WORDS, WORDS)
def test_common_subsequence_and_run_as_defined(one: list[str], other: list[str]) -> None:
    assert longest_common_subsequence(one, other) == plain_subsequence(one, other)
    assert longest_common_run(one, other) == plain_run(one, other)


def test_bm25_as_defined() -> None:
    # Eight distinct texts of 5, 4, 3, 3, 1, 3, 5 and 4 words.
    lexicon = Lexicon.of(TRAIN, Wording("en"))
    assert (lexicon.documents, lexicon.mean_words) == (8, 28 / 8)
    idf = {"dark": math.log(9 / 2.5), "ale": math.log(9 / 4.5)}
    assert lexicon.idf("dark") == pytest.approx(idf["dark"])
    assert lexicon.idf("dark", 1) == pytest.approx(math.log(9 / 1.5))
    assert lexicon.idf("unheard") == pytest.approx(math.log(9 / 0.5))
    spread = K1 * (1 - B + B * 4 / 3.5)
    expected = idf["dark"] * 2 / (2 + spread) + 2 * idf["ale"] * 1 / (1 + spread)
    assert value("bm25", "ale dark ale", "dark dark ale here") == pytest.approx(expected)
    older = 0.5 * idf["dark"] * 2 / (2 + spread)
    assert value("context_bm25", ["dark", "nothing"], "dark dark ale here") == pytest.approx(older)


def test_cosine_as_defined() -> None:
    lexicon = Lexicon.of(TRAIN, Wording("en"))
    one = {"dark": lexicon.idf("dark"), "ale": (1 + math.log(2)) * lexicon.idf("ale")}
    other = {"ale": lexicon.idf("ale"), "cold": lexicon.idf("cold")}
    norms = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    assert value("cosine", "dark ale ale", "ale cold") == pytest.approx(one["ale"] * other["ale"] / norms)
    assert value("cosine", "ale", "ALE!") == pytest.approx(1.0)
    assert value("dialogue_cosine", ["ale", "cold"], "ale cold") == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "turns", "response", "expected"),
    [
        ("response_words", "a", "one two three", math.log(4)),
        ("length_ratio", "one", "one two three", math.log(2)),
        ("turns", ["a", "b", "c"], "x", math.log(4)),
        ("sentences", "a", "No. I do not. Really!", 2.0),
        ("sentences", "a", "…", 0.0),
        ("asks", "a", "what? why？？？", 3.0),
        ("prompt_asks", "what ?", "x", 1.0),
        ("exclaims", "a", "oh！", 1.0),
        ("digits", "a", "a1b2", 0.5),
        ("punctuation", "a", "a_?!", 0.75),
        ("capitals", "a", "aBCd", 0.5),
        ("word_length", "a", "ab abcd", 3.0),
        ("variety", "a", "no no no yes", 0.5),
        ("variety", "a", "", 1.0),
        ("character_variety", "a", "dddd", 0.5),
        ("shared_words", "to be or not to be", "not to", 2.0),
        ("overlap", "a b", "b c", 1 / 3),
        ("echo", "ale", "ale ale water", 2 / 3),
        ("common_run", "my dark ale is cold", "dark ale for me", 0.5),
        ("common_subsequence", "a b c d", "a x d", 2 / 3),
        ("same_opening", "do you", "do we", 1.0),
        ("same_opening", "", "", 0.0),
        ("repeats", ["Hello there", "b"], "hello  THERE", 1.0),
        ("repeats", ["hello", "b"], "hello you", 0.0),
        ("before_cosine", ["ale", "water"], "ale", 1.0),
        ("before_cosine", "water", "ale", 0.0),
        ("dialogue_covered", ["ale", "water"], "ale water", 1.0),
        ("response_covered", "ale", "", 0.0),
    ],
)
def test_values(name: str, turns: str | list[str], response: str, expected: float) -> None:
    assert value(name, turns, response) == pytest.approx(expected)


@pytest.mark.parametrize("language", ["en", "zh", "segmented"])
@settings(max_examples=40, deadline=None)
@given(turns=st.lists(st.text(max_size=20), max_size=3), response=st.text(max_size=30))
def test_every_value_is_finite_whatever_the_text(language: str, turns: list[str], response: str) -> None:
    read = reader(language)
    conversation = read.conversation(example("x", turns, [response]))
    for name, feature in PAIR_FEATURES.items():
        assert math.isfinite(feature(conversation, read.text(response))), name


def test_only_turns_that_count_are_read() -> None:
    read = Reader(Lexicon.of(TRAIN, Wording("en", turns=1)))
    conversation = read.conversation(example("x", ["ale", "cold"], []))
    assert [turn.raw for turn, _weight in conversation.turns] == ["cold"]
    assert conversation.count == 2
    empty = read.conversation(example("x", [], []))
    assert empty.prompt.raw == empty.before.raw == ""


def test_every_feature_says_what_it_is() -> None:
    told = {one["name"]: one for one in describe([])}
    assert list(told) == list(PAIR_FEATURES)
    assert all(len(one["what"]) > 15 and "Source" not in one["what"] for one in told.values())
    assert told["cosine"]["source"] == "Wang et al. 2013"
    assert told["dialogue_cosine"]["source"] is None


def test_a_lexicon_is_read_as_it_was_written() -> None:
    lexicon = Lexicon.of(
        [*TRAIN, example("3", "half \ud83d", ["\udc00 \udc00\udc00\udc00\udc00", "\udc00\udc00\udc00\udc00"])],
        Wording("en"),
    )
    again = Lexicon.from_json(lexicon.to_json())
    assert again.to_json() == lexicon.to_json()
    assert again.numbers == lexicon.numbers
    assert again.gram_weights(["dark", "ale "], 1) == lexicon.gram_weights(["dark", "ale "], 1)
    assert lexicon.numbers_of("What is ale?").tolist() == sorted(lexicon.numbers[word] for word in ("?", "is", "ale"))
