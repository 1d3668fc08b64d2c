"""Words of a text: the definition, and the compiled fast path that must agree with it."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.errors import ConfigurationError
from tertulia.retrieval.engine import compiled_variants
from tertulia.retrieval.tokenizer import ChineseTokenizer, EnglishTokenizer, tokenizer_for

from .definition import english_words

odd = st.sampled_from(
    ["\u2018", "\u2019", "\u02bc", "'", "İ", "ß", "é", "e\u0301", "ﬁ", "²", "Ⅷ", "_", "\ud800", "\0", "\x1c", "中"]
)
texts = st.one_of(st.text(), st.lists(st.one_of(odd, st.sampled_from(list(string.printable)))).map("".join))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop!", ["don't", "stop"]),
        ("rock\u2019n\u2019roll in the 90's", ["rock'n'roll", "in", "the", "90's"]),
        ("'quoted' words''", ["quoted", "words"]),
        ("90'2 a'1 snake_case", ["90", "2", "a", "1", "snake", "case"]),
        ("Caf\u00e9 \u00dcBER 10\u00b2", ["caf\u00e9", "\u00fcber", "10\u00b2"]),
        ("", []),
        ("?! \u2026 \ud800", []),
    ],
)
def test_english_words(text, words):
    assert EnglishTokenizer().words(text) == words


@given(texts)
def test_english_words_are_as_defined(text):
    words = EnglishTokenizer().words(text)
    assert words == english_words(text)
    for word in words:
        word.encode("utf-8")


@pytest.mark.skipif(not compiled_variants(), reason="the kernel was not built")
@given(texts)
def test_the_kernel_finds_the_same_words_or_leaves_the_text_to_python(text):
    from tertulia.retrieval._kernel import distinct_ascii_words

    found = distinct_ascii_words(text)
    if text.translate(str.maketrans("", "", "\u2018\u2019\u02bc")).isascii():
        assert found is not None
    if found is not None:
        assert found == sorted(set(EnglishTokenizer().words(text)))


@given(texts)
def test_chinese_words_can_be_encoded(text):
    for word in ChineseTokenizer().words(text):
        assert word
        word.encode("utf-8")


def test_chinese_words():
    assert ChineseTokenizer().words("我喜欢看电影, OK？") == ["我", "喜欢", "看", "电影", "ok"]


def test_an_unknown_language_is_named():
    with pytest.raises(ConfigurationError, match=r"'xx'.*en, zh"):
        tokenizer_for("xx")
