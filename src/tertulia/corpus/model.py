"""The one shape: a conversation is a table of utterances, and what anyone says about it is an annotation beside it.

A ranking set has the other shape that there is: contexts, each with the candidates that could answer it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

__all__ = [
    "Annotation",
    "Candidate",
    "Context",
    "Dialogue",
    "RankingRecord",
    "Rating",
    "Record",
    "Role",
    "Turn",
    "Utterance",
    "number_turns",
]

Role = Literal["user", "agent"]


@dataclass(slots=True)
class Utterance:
    """One message of a dialogue.

    ``position`` counts utterances from 0; ``turn`` counts from 0 the runs of utterances of one speaker. ``role`` is
    ``"user"`` or ``"agent"``, and ``None`` where the sides are equal, as in a self-dialogue. ``sent_at`` is in UTC.
    """

    position: int
    turn: int
    speaker: str
    text: str
    role: Role | None = None
    sent_at: datetime | None = None
    id: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Dialogue:
    """A conversation: its utterances in order, and what is known of the whole."""

    id: str
    utterances: list[Utterance]
    domain: str | None = None
    split: str | None = None
    title: str | None = None
    started_at: datetime | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The texts of the utterances, in order."""
        return [utterance.text for utterance in self.utterances]


@dataclass(slots=True)
class Annotation:
    """What one annotator says of a dialogue, of an utterance, or of a span of an utterance.

    ``position`` is ``None`` for the whole dialogue; ``start`` and ``end`` are ``None`` for the whole utterance, else Unicode
    code points with the end exclusive. ``layer`` names the question (``nugget``, ``quality.A``, ``rating``), ``label`` and
    ``value`` hold the answer.
    """

    dialogue_id: str
    layer: str
    annotator: str
    position: int | None = None
    start: int | None = None
    end: int | None = None
    label: str | None = None
    value: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Record:
    """A dialogue together with its annotations: what readers give and writers take."""

    dialogue: Dialogue
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """One turn of a context; ``role`` as in ``Utterance``."""

    role: Role | None
    text: str


@dataclass(slots=True)
class Rating:
    """What one annotator gave a candidate."""

    annotator: str
    value: float


@dataclass(slots=True)
class Candidate:
    """A text that could answer a context.

    ``position`` counts the candidates of a context from 0. ``relevance`` is binary or graded, ``None`` where nobody has said;
    ``ratings`` are those of the annotators, where there are any; ``source`` says where the text came from.
    """

    position: int
    text: str
    relevance: float | None = None
    ratings: list[Rating] = field(default_factory=list)
    source: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Context:
    """The turns so far (of a single-turn set: the prompt), and from where they are."""

    id: str
    turns: list[Turn]
    dialogue_id: str | None = None
    domain: str | None = None
    split: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """The texts of the turns, in order."""
        return [turn.text for turn in self.turns]


@dataclass(slots=True)
class RankingRecord:
    """A context together with its candidates, in order of position."""

    context: Context
    candidates: list[Candidate] = field(default_factory=list)


def number_turns(speakers: list[str]) -> list[int]:
    """The turn of each utterance, from 0: a new turn begins where the speaker changes."""
    turns: list[int] = []
    for index, speaker in enumerate(speakers):
        if index == 0:
            turns.append(0)
        else:
            turns.append(turns[-1] + (speaker != speakers[index - 1]))
    return turns
