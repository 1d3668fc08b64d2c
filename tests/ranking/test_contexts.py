"""Which prefixes of a dialogue are contexts, and what their true responses are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.corpus.model import Dialogue, Turn, Utterance
from tertulia.ranking.contexts import UnfitDialogueError, contexts_of, said_in

from .corpora import dialogue


def positions(roles: str) -> list[int]:
    said = said_in(dialogue("d", [f"text {i}" for i in range(len(roles))], roles))
    return [context.position for context in contexts_of(said)]


def test_three_turns_each_make_two_contexts() -> None:
    made = list(contexts_of(said_in(dialogue("d", ["q1", "a1", "q2", "a2", "q3", "a3"]))))
    assert [(context.position, context.response) for context in made] == [(3, "a2"), (5, "a3")]
    assert made[0].turns == [Turn("user", "q1"), Turn("agent", "a1"), Turn("user", "q2")]
    assert [turn.text for turn in made[1].turns] == ["q1", "a1", "q2", "a2", "q3"]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("", []),
        ("u", []),
        ("ua", []),
        ("uau", []),
        ("uaua", [3]),
        ("auau", []),
        ("auaua", [4]),
        ("uuaa", [3]),
        ("uaaua", [4]),
    ],
)
def test_a_context_needs_two_utterances_of_each(roles: str, expected: list[int]) -> None:
    assert positions(roles) == expected


@settings(max_examples=100, deadline=None)
@given(st.text("ua", max_size=12), st.one_of(st.none(), st.integers(1, 5)))
def test_every_context_is_a_prefix_that_ends_before_an_answer(roles: str, last: int | None) -> None:
    said = said_in(dialogue("d", [f"text {i}" for i in range(len(roles))], roles))
    made = {context.position: context for context in contexts_of(said, last=last)}
    for index, role in enumerate(roles):
        until = roles[: index + 1]
        assert (index in made) == (role == "a" and until.count("u") >= 2 and until.count("a") >= 2)
        if index in made:
            whole = [turn.text for turn in made[index].turns]
            assert whole == [f"text {i}" for i in range(index)][0 if last is None else -last :]


def test_without_roles_the_first_speaker_asks() -> None:
    self_dialogue = Dialogue("s", [Utterance(i, i, "BA"[i % 2], f"text {i}") for i in range(5)])
    [context] = contexts_of(said_in(self_dialogue))
    assert context.position == 3
    assert [turn.role for turn in context.turns] == ["user", "agent", "user"]


def test_an_utterance_without_text_is_none() -> None:
    empty = dialogue("d", ["q1", "a1", " \n", "a2", "q3", "a3"])
    assert [context.position for context in contexts_of(said_in(empty))] == [5]
    assert [turn.text for turn in next(contexts_of(said_in(empty))).turns] == ["q1", "a1", "a2", "q3"]


def test_who_asks_must_be_known() -> None:
    three = Dialogue("d", [Utterance(i, i, "abc"[i % 3], "text", "user") for i in range(6)])
    with pytest.raises(UnfitDialogueError, match="more than two speakers"):
        said_in(three)
    partly = dialogue("d", ["q", "a", "q"])
    partly.utterances[1].role = None
    with pytest.raises(UnfitDialogueError, match="others none"):
        said_in(partly)
