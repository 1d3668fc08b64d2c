"""Groups of items that share a key, directly or through others, beside a plain definition."""

from hypothesis import given
from hypothesis import strategies as st

from tertulia.ranking.grouping import folded_turns, group_numbers, question_of


def plain(keys: list[list[int]]) -> list[int]:
    """Whoever can be reached by shared keys has the place of the first of them."""
    found = []
    for start in range(len(keys)):
        reached, waiting = {start}, [start]
        while waiting:
            own = set(keys[waiting.pop()])
            near = {other for other, theirs in enumerate(keys) if own & set(theirs)} - reached
            reached |= near
            waiting += near
        found.append(min(reached))
    return found


@given(st.lists(st.lists(st.integers(0, 12), max_size=3), max_size=14))
def test_as_the_plain_definition(keys: list[list[int]]) -> None:
    assert group_numbers(keys) == plain(keys)


def test_turns_are_compared_without_case_and_white_space() -> None:
    assert folded_turns(["Does  it\nRain?", ""]) == ("does it rain?", "")


def test_a_greeting_is_no_question() -> None:
    assert question_of(folded_turns(["Hello there", "How does one keep yeast?"])) is None
    assert question_of(()) is None
    long = "How does one keep yeast alive through a cold winter?"
    assert question_of(folded_turns([long])) == long.lower()
