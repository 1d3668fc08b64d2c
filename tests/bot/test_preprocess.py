import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tertulia.bot.preprocess import LONGEST_MESSAGE, clean
from tertulia.errors import InputError


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  hello \n", "hello"),
        ("a\x00b\x1b[31mc", "ab[31mc"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("cafe\u0301", "caf\u00e9"),
        ("half \ud83d a pair", "half  a pair"),
        ("abc\u202edef\u200b", "abcdef"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
    ],
)
def test_a_message_is_cleaned(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\u200b", "\ud800"])
def test_an_empty_message_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        clean(text)


def test_a_message_of_a_megabyte_is_refused_and_the_longest_is_not() -> None:
    with pytest.raises(InputError, match="has 1,048,576 characters; the limit is 4,000"):
        clean("x" * 2**20)
    assert len(clean("x" * LONGEST_MESSAGE)) == LONGEST_MESSAGE


@given(st.text(max_size=200))
def test_what_comes_out_is_clean_and_stays_so(text: str) -> None:
    try:
        cleaned = clean(text)
    except InputError:
        return
    assert clean(cleaned) == cleaned
    cleaned.encode("utf-8")
    assert all(c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"} for c in cleaned)
