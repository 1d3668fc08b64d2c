"""The contexts of a dialogue: every prefix that ends before an utterance of the provider, which is its true response.

As MANtIS defines it, the prefix *with* the response holds at least two utterances of each side, so that three turns each make
two contexts. The published code cuts contexts to the last 10 utterances; here they are whole unless ``last`` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tertulia.corpus.model import Dialogue, Role, Turn, Utterance
from tertulia.errors import TertuliaError

__all__ = ["ResponseContext", "Said", "UnfitDialogueError", "contexts_of", "said_in"]

_AT_LEAST = 2


class UnfitDialogueError(TertuliaError):
    """A dialogue of which nobody can say who asks and who answers; the message is the reason, as a report counts it."""


class Said(NamedTuple):
    """An utterance with text, and the side that said it: ``user`` asks, ``agent`` answers."""

    utterance: Utterance
    role: Role


class ResponseContext(NamedTuple):
    """The turns before a response, the position of the response in its dialogue, and its text."""

    position: int
    turns: list[Turn]
    response: str


def said_in(dialogue: Dialogue) -> list[Said]:
    """The utterances of a dialogue that have text, with their sides.

    Roles decide. Where no utterance has one, as in self-dialogues, the one who speaks first asks and the other answers.

    Raises
    ------
    UnfitDialogueError
        There are more than two speakers, or some utterances have a role and some have none.
    """
    utterances = dialogue.utterances
    speakers = dict.fromkeys(utterance.speaker for utterance in utterances)
    if len(speakers) > _AT_LEAST:
        raise UnfitDialogueError("dialogues of more than two speakers")
    without = sum(utterance.role is None for utterance in utterances)
    if 0 < without < len(utterances):
        raise UnfitDialogueError("dialogues in which some utterances have a role and others none")
    seeker = next(iter(speakers), None)
    found = []
    for utterance in utterances:
        if utterance.text and not utterance.text.isspace():
            role = utterance.role or ("user" if utterance.speaker == seeker else "agent")
            found.append(Said(utterance, role))
    return found


def contexts_of(said: Sequence[Said], *, last: int | None = None) -> Iterator[ResponseContext]:
    """The contexts of a dialogue, in order; each has all turns before its response, or the ``last`` of them.

    An utterance without text is no turn and no response, and counts for neither side.
    """
    turns = [Turn(role, utterance.text) for utterance, role in said]
    users = agents = 0
    for index, (utterance, role) in enumerate(said):
        users += role == "user"
        agents += role == "agent"
        if role == "agent" and users >= _AT_LEAST and agents >= _AT_LEAST:
            begin = 0 if last is None else max(0, index - last)
            yield ResponseContext(utterance.position, turns[begin:index], utterance.text)
