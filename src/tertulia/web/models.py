"""The shapes of the JSON API: what it takes and what it gives, with the descriptions that its reference shows."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tertulia.bot.preprocess import LONGEST_MESSAGE

__all__ = [
    "Bot",
    "Bots",
    "ChatRequest",
    "Conversation",
    "Health",
    "Name",
    "Problem",
    "Rating",
    "RatingRequest",
    "Reply",
    "SourceDialogue",
    "StartRequest",
    "Started",
    "Topic",
    "TracedTurn",
]

_ID = "5f0e8c1d2b7a4f639e10c8d7a6b5e4f3"
_LARGEST = 2**31 - 1


def _storable(text: str) -> str:
    # JSON can spell half a surrogate pair, which no encoding has, and NUL, which PostgreSQL cannot look up.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds a character that no text has")
    return text


Name = Annotated[str, AfterValidator(_storable)]
"""What something is called: text that every database can look up."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ChatRequest(_Request):
    """One message to the agent."""

    text: str = Field(
        description=f"What the user says: 1 to {LONGEST_MESSAGE:,} characters.", examples=["what's your favorite movie"]
    )
    conversation: Name | None = Field(
        None, description="The conversation to go on with; a new one is started where none is named.", examples=[_ID]
    )
    bot: Name | None = Field(
        None,
        description="The bot to start a conversation with (the default: the first). Not together with a conversation.",
        examples=["starter"],
    )
    after: int | None = Field(
        None,
        ge=0,
        le=_LARGEST,
        description=(
            "How many turns of the conversation the sender has seen. Where it has more by now, nothing is said and "
            "the answer is 409: a message that is sent again is never said twice."
        ),
        examples=[3],
    )


class StartRequest(_Request):
    """A wish for a new conversation."""

    bot: Name | None = Field(None, description="The bot to talk with; the first one by default.", examples=["starter"])


class RatingRequest(_Request):
    """A judgement of one reply: a thumb, a grade, or both; what is not named stays as it is, 0 takes it back."""

    thumb: int | None = Field(None, ge=-1, le=1, strict=True, description="1 for up, -1 for down.", examples=[1])
    grade: int | None = Field(
        None,
        ge=0,
        le=5,
        strict=True,
        description=(
            "5: human-like, interesting; 4: human-like, less interesting; 3: addresses part of the context; "
            "2: clearly off; 1: incoherent."
        ),
        examples=[4],
    )


class Topic(_Request):
    """A topic of the talk."""

    topic: Name = Field(
        description="One of the bot's topics (see /api/bots).", min_length=1, max_length=200, examples=["films"]
    )


class Problem(BaseModel):
    """Why a request was not done, in one line."""

    error: str = Field(examples=["there is no conversation of that name"])


class Health(BaseModel):
    """That the server is up, and what it serves."""

    status: Literal["ok"]
    version: str
    bots: list[str]


class Bot(BaseModel):
    """An agent one can talk with."""

    name: str
    language: str = Field(description="The language it speaks, as a BCP 47 tag.", examples=["en"])
    greeting: str
    openers: list[str] = Field(description="Things to say first.")
    topics: list[str] = Field(description="What its conversations are about.")
    counts: dict[str, int] = Field(description="What it is made of.", examples=[{"dialogues": 300, "utterances": 4200}])


class Bots(BaseModel):
    """The agents of this server; the first is the default."""

    bots: list[Bot]


class Started(BaseModel):
    """A conversation that was started. Whoever knows its name can read it and go on with it."""

    conversation: str = Field(examples=[_ID])
    bot: str = Field(examples=["starter"])


class DialogueEvidence(BaseModel):
    """A reply from a banked conversation: it followed an utterance that matched."""

    type: Literal["dialogue"]
    dialogue_id: str
    position: int = Field(description="The place of the reply in its dialogue, from 0; the matched turn is before it.")
    topic: str | None
    context: str = Field(description="The utterance that matched.")


class LineEvidence(BaseModel):
    """A reply that a person wrote for the bot: a rule's, or a line for when nothing else answers."""

    type: Literal["rule", "line"]
    file: str = Field(description="The file, relative to the bot's directory.")
    line: int = Field(description="The line in it, from 1.")
    trigger: str | None


Evidence = Annotated[DialogueEvidence | LineEvidence, Field(discriminator="type")]


class CandidateReply(BaseModel):
    """A reply that was considered."""

    text: str
    confidence: float = Field(description="0 to 1.")
    score: float | None = Field(description="The component's own measure, where it has one.")
    rerank_score: float | None = Field(None, description="That of the ranker which made this order, where one has.")
    evidence: Evidence
    verdict: Literal["said", "below threshold", "offensive", "repeated", "not needed"]


class ComponentCandidate(CandidateReply):
    """A reply that was considered, and the component that proposed it."""

    component: str


class _Turn(BaseModel):
    turn: int = Field(description="The number of the turn in its conversation, from 1.")
    text: str = Field(description="What the user said, as the agent read it.")
    reply: str
    component: str = Field(description="The component that answered.", examples=["matching"])
    confidence: float = Field(description="How sure it was: 0 to 1.")
    evidence: Evidence
    topic: str | None = Field(description="The topic of the talk after this turn.")
    candidates: list[ComponentCandidate]
    elapsed_ms: float = Field(description="Milliseconds from message to reply.")


class Reply(_Turn):
    """One exchange: the message, the reply, and what was considered."""

    conversation: str = Field(examples=[_ID])


class Rating(BaseModel):
    """How a reply is judged now."""

    thumb: Literal[1, -1] | None
    grade: int | None


class LoggedTurn(_Turn):
    """An exchange as the log has it."""

    said_at: datetime = Field(description="When it was said, in UTC.")
    rating: Rating


class Step(BaseModel):
    """What one component did in a turn."""

    component: str
    kind: str
    threshold: float = Field(description="The least confidence with which its replies are said.")
    outcome: Literal["replied", "abstained", "below threshold", "rejected", "late", "failed", "not consulted"]
    reason: str
    elapsed_ms: float
    candidates: list[CandidateReply]


class Trace(BaseModel):
    """Everything that was considered in a turn, in order."""

    offensive_input: bool
    topic: str | None
    elapsed_ms: float
    steps: list[Step]


class TracedTurn(LoggedTurn):
    """An exchange with its trace."""

    trace: Trace


class Conversation(BaseModel):
    """A conversation so far."""

    conversation: str = Field(examples=[_ID])
    bot: str
    channel: str = Field(description="Where it is held, such as page or terminal.")
    started_at: datetime = Field(description="In UTC.")
    topic: str | None
    turns: list[LoggedTurn]


class SourceDialogue(BaseModel):
    """A conversation of the bank."""

    dialogue_id: str
    topic: str | None
    utterances: list[str]
