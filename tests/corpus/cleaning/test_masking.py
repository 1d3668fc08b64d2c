"""Masking: placeholders, and where other spans are afterwards."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.cleaning.masking import Masking, Moved, placeholder

TEXT = "call 555 1234 or 555 9876 now"


def masked() -> Masking:
    return Masking(TEXT, [(17, 25, "[PHONE]"), (5, 13, "[PHONE]")])


def test_a_kind_becomes_a_placeholder() -> None:
    assert placeholder("e-mail") == "[E-MAIL]"


def test_spans_are_replaced_in_any_order() -> None:
    assert masked().text == "call [PHONE] or [PHONE] now"


@pytest.mark.parametrize(
    ("span", "covers", "clipped"),
    [
        ((0, 4), "call", False),
        ((26, 29), "now", False),
        ((14, 16), "or", False),
        ((5, 13), "[PHONE]", False),
        ((0, 29), "call [PHONE] or [PHONE] now", False),
        ((5, 16), "[PHONE] or", False),
        ((6, 8), "[PHONE]", True),
        ((0, 8), "call ", True),
        ((9, 16), " or", True),
        ((9, 20), " or ", True),
        ((9, 29), " or [PHONE] now", True),
        ((0, 0), "", False),
        ((29, 29), "", False),
    ],
)
def test_other_spans_move_along(span: tuple[int, int], covers: str, clipped: bool) -> None:
    moved = masked().move(*span)
    assert masked().text[moved.start : moved.end] == covers
    assert moved.clipped is clipped


def test_of_spans_that_overlap_one_placeholder_stands_for_all() -> None:
    assert Masking("abcdefgh", [(2, 4, "[X]"), (3, 6, "[Y]"), (2, 3, "[Z]")]).text == "ab[X]gh"


def test_between_masked_spans_that_touch_nothing_is_left() -> None:
    masking = Masking("abcdef", [(0, 3, "[X]"), (3, 6, "[Y]")])
    assert masking.text == "[X][Y]"
    assert masking.move(2, 4) == Moved(3, 3, True)


PIECES = st.lists(st.tuples(st.text("abc ", min_size=1, max_size=4), st.booleans()), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(PIECES, st.data())
def test_moved_spans_agree_with_a_plain_definition(pieces: list[tuple[str, bool]], data: st.DataObject) -> None:
    """Each old character stands for the new ones it became; a span covers what its characters became, where all of it is."""
    text, spans, became = "", [], []
    for piece, is_masked in pieces:
        if is_masked:
            spans.append((len(text), len(text) + len(piece), "[M]"))
        became += [(len(text) + place, is_masked) for place in range(len(piece))]
        text += piece
    masking = Masking(text, spans)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    moved = masking.move(start, end)
    assert 0 <= moved.start <= moved.end <= len(masking.text)
    kept = "".join(text[place] for place, is_masked in became[start:end] if not is_masked)
    covered = masking.text[moved.start : moved.end]
    assert covered.replace("[M]", "") == kept
    cut = any(first < start < last or first < end < last for first, last, _ in spans)
    assert moved.clipped is cut


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4))
def test_any_spans_within_the_text_will_do(text: str, spans: list[tuple[int, int]]) -> None:
    inside = [(min(a, b, len(text)), min(max(a, b), len(text)), "[M]") for a, b in spans]
    masking = Masking(text, [span for span in inside if span[0] < span[1]])
    for start in range(len(text) + 1):
        moved = masking.move(start, len(text))
        assert moved.end == len(masking.text)
