"""What stands in one cell of a tab-separated line, and how a file without ids numbers and splits."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.formats.files.cells import escape, number, spelled, unescape
from tertulia.formats.files.context_ids import ContextIds, split_of

from .ranking import texts


@settings(max_examples=500, deadline=None)
@given(text=st.one_of(texts, st.text()))
def test_any_text_comes_back_from_its_cell(text: str) -> None:
    cell = escape(text)
    assert unescape(cell) == text
    assert not set(cell) & {"\t", "\n", "\r"}


@settings(max_examples=200, deadline=None)
@given(text=st.text().filter(lambda text: not set(text) & set("\t\n\r␉␊␍␛")))
def test_a_text_without_the_symbols_stands_as_it_is(text: str) -> None:
    assert escape(text) == text == unescape(text)


def test_tabs_and_breaks_become_their_symbols() -> None:
    assert escape("a\tb\nc\r\n") == "a␉b␊c␍␊"
    assert escape("the symbol ␉") == "the symbol ␛␉"
    assert escape(r"C:\new\table") == r"C:\new\table"
    assert escape("\x0b\x0c\x85\u2028") == "\x0b\x0c\x85\u2028"
    assert unescape("an ␛ alone ␛") == "an ␛ alone ␛"


def test_numbers() -> None:
    assert [number(cell, "rating") for cell in ("3", "3.0", " 3.5 ", "-1", "+.5", "1e-3", "5.")] == [
        3.0,
        3.0,
        3.5,
        -1.0,
        0.5,
        0.001,
        5.0,
    ]
    for cell in ("", "nan", "inf", "1_000", "٣", "3,5", "1e999", "0x1", "three", "9" * 400, "1 2"):
        with pytest.raises(InputError, match=r"the rating holds .*; expected a number"):
            number(cell, "rating")


@settings(max_examples=300, deadline=None)
@given(value=st.floats(-1e100, 1e100))
def test_a_number_comes_back_from_its_spelling(value: float) -> None:
    assert number(spelled(value), "label") == value
    assert math.isfinite(value)


def test_short_spellings() -> None:
    assert [spelled(value) for value in (1.0, 0.0, -2.0, 0.5, 1e22)] == ["1", "0", "-2", "0.5", "1e+22"]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train.tsv", "train"),
        ("data_train_easy.tsv", "train"),
        ("a/test/valid.tsv", "dev"),
        ("datasets_dev_1600.jsonl", "dev"),
        ("TEST.tsv", "test"),
        ("data.tsv", None),
        ("contest.tsv", None),
        ("train/data.tsv", None),
        ("train_vs_test.tsv", None),
    ],
)
def test_a_name_tells_the_split(name: str, split: str | None) -> None:
    assert split_of(name) == split


def test_contexts_are_numbered_within_their_split() -> None:
    ids = ContextIds()
    assert [ids.next(split) for split in ("train", None, "train", None)] == [
        "train-00000001",
        "00000001",
        "train-00000002",
        "00000002",
    ]
