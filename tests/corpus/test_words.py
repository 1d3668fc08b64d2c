"""Words beside their plain definitions: str.split, rjieba text by text, a set of words."""

import sys

import numpy as np
import pyarrow as pa
import pytest
import rjieba
from hypothesis import given, settings
from hypothesis import strategies as st

import tertulia.corpus.statistics.words as words_module
from tertulia.corpus.statistics.words import METHODS, WordMethod, choose_method, is_chinese, split_texts, words_of
from tertulia.errors import ConfigurationError

WHITE = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
ENGLISH = ["The whale is white.", "Which one?", "the white one with a bad temper"]
CHINESE = ["今天天气真好", "我们去公园散步吧", "好的,我喜欢散步"]
SEGMENTED = ["今天 天气 真 好", "我们 去 公园 散步 吧", "好 的 , 我 喜欢 散步"]
JAPANESE = ["今日はとてもいい天気ですね", "公園を散歩しましょう"]

# Words and white space of every kind, also at the ends and between scripts.
PIECES = st.lists(
    st.one_of(
        st.sampled_from(WHITE),
        st.sampled_from(["a", "Ab", "don't", "é", "好", "天气", "の", "🎉", "\u200b", "\ufeff", "\x00", "x" * 70]),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)
TEXTS = st.lists(PIECES.map(lambda text: text.encode("utf-8", "ignore").decode()), max_size=8)


def taken_apart(texts: list[str], method: WordMethod) -> tuple[list[int], list[int]]:
    """The number of words of each text, and a number for each word: the same for the same word."""
    counts = [0] * len(texts)
    hashes: dict[int, list[int]] = {}
    for part in split_texts(pa.array(texts, type=pa.string()), method):
        ends = np.cumsum(part.counts)
        assert int(part.counts.sum()) == len(part.hashes)
        for row, end, count in zip(part.rows.tolist(), ends.tolist(), part.counts.tolist(), strict=True):
            counts[row] = count
            hashes[row] = part.hashes[end - count : end].tolist()
    assert sorted(hashes) == list(range(len(texts)))
    return counts, [value for row in range(len(texts)) for value in hashes[row]]


def same_partition(words: list[str], numbers: list[int]) -> bool:
    """Whether two words have the same number exactly where they are the same word."""
    return len(words) == len(numbers) and len(set(zip(words, numbers, strict=True))) == len(set(words)) == len(
        set(numbers)
    )


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from([3, 17, 1 << 18]))
def test_the_words_of_white_space_are_those_of_split(texts: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words_module, "_BLOCK", block)
        counts, numbers = taken_apart(texts, WordMethod("spaces", "spaces"))
    assert counts == [len(text.split()) for text in texts]
    assert same_partition([word for text in texts for word in text.split()], numbers)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sampled_from(["chinese", "by script"]))
def test_whole_arrays_and_single_texts_have_the_same_words(texts: list[str], name: str) -> None:
    method = WordMethod(name, "auto")
    counts, numbers = taken_apart(texts, method)
    plain = [words_of(text, method) for text in texts]
    assert counts == [len(words) for words in plain]
    assert same_partition([word for words in plain for word in words], numbers)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="今天气真好我们,。 aA1\n\r%-", max_size=60))
def test_a_text_in_pieces_has_the_words_of_the_whole(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words_module, "_PIECE", 5)
        patch.setattr(words_module, "_WAITING", 3)
        assert "".join(words_module._pieces(text)) == text
        counts, numbers = taken_apart([text, "x"], WordMethod("chinese", "chinese"))
    words = [word for word in rjieba.cut(text) if not word.isspace()]
    assert counts == [len(words), 1]
    assert same_partition([*words, "x"], numbers)


def test_every_white_space_of_unicode_parts_words_and_nothing_else_does() -> None:
    texts = [f"a{chr(code)}b" for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    [part] = split_texts(pa.array(texts), WordMethod("spaces", "spaces"))
    assert part.counts.tolist() == [len(text.split()) for text in texts]


def test_a_slice_of_an_array_is_taken_apart_like_an_array_of_its_own() -> None:
    array = pa.array(["left out", "one two", "", " three ", "left out too"]).slice(1, 3)
    [part] = split_texts(array, WordMethod("spaces", "spaces"))
    assert part.counts.tolist() == [2, 0, 1]
    [whole] = split_texts(pa.array(["one two", "", " three "]), WordMethod("spaces", "spaces"))
    assert part.hashes.tolist() == whole.hashes.tolist()
    assert split_texts(pa.array([], type=pa.string()), WordMethod("spaces", "spaces"))[0].counts.tolist() == []


def test_chinese_words_are_those_of_rjieba() -> None:
    method = choose_method("auto", CHINESE)
    assert method == WordMethod("by script", "auto", None)
    assert words_of(CHINESE[0], method) == rjieba.cut(CHINESE[0]) == ["今天天气", "真", "好"]
    assert words_of("我 爱 iPhone", method) == ["我", "爱", "iPhone"], "a space is no word"


def test_segmented_chinese_is_taken_by_its_spaces() -> None:
    method = choose_method("auto", SEGMENTED)
    assert method.name == "spaces"
    assert method.remark is not None
    assert "segmented already" in method.remark
    assert words_of(SEGMENTED[2], method) == ["好", "的", ",", "我", "喜欢", "散步"]


def test_a_mixed_corpus_is_decided_text_by_text() -> None:
    method = choose_method("auto", ENGLISH + CHINESE)
    assert method.name == "by script"
    assert words_of("Which one?", method) == ["Which", "one?"]
    assert words_of("我们去公园散步吧", method) == rjieba.cut("我们去公园散步吧")
    parts = split_texts(pa.array([*ENGLISH, *CHINESE]), method)
    assert [(part.by_rjieba, part.rows.tolist()) for part in parts] == [(False, [0, 1, 2]), (True, [3, 4, 5])]


def test_japanese_is_not_taken_for_chinese_and_the_user_is_told() -> None:
    method = choose_method("auto", JAPANESE)
    assert not any(is_chinese(text) for text in JAPANESE)
    assert method.remark is not None
    assert "no tokenizer" in method.remark
    assert choose_method("auto", ["สวัสดีครับ"]).remark == method.remark
    assert choose_method("auto", ENGLISH).remark is None
    assert choose_method("auto", []).remark is None


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("今天天气真好", True),
        ("我爱你 <3", True),
        ("", False),
        ("hello", False),
        ("the word 好 means good", False),
        ("iPhone 真 好 用", True),
        ("好の", False),
        ("𠀀𠀁", True),
    ],
)
def test_a_text_is_chinese_by_its_script(text: str, chinese: bool) -> None:
    assert is_chinese(text) is chinese


def test_the_user_has_the_last_word() -> None:
    assert choose_method("spaces", CHINESE).name == "spaces"
    assert choose_method("chinese", SEGMENTED).name == "chinese"
    with pytest.raises(
        ConfigurationError, match="no way 'letters' to count words; expected one of auto, spaces, chinese"
    ):
        choose_method("letters", [])
    assert set(METHODS) == {"auto", "spaces", "chinese"}


def test_the_rated_corpus_is_recognised_as_segmented(data) -> None:
    lines = (data / "rated_responses" / "tencent" / "rated_subset_408.tsv").read_text(encoding="utf-8-sig").splitlines()
    assert choose_method("auto", [cell for line in lines for cell in line.split("\t")[:2]]).name == "spaces"
