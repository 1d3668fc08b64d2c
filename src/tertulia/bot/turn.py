"""What passes between the pipeline and its components, and what a turn leaves behind.

A component is asked for proposals and answers with candidates, best first, or with the reason why it has none. The
pipeline decides; the trace keeps everything that was considered.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from tertulia.bot.state import State

__all__ = [
    "Candidate",
    "Component",
    "DialogueEvidence",
    "Evidence",
    "LineEvidence",
    "Outcome",
    "Proposal",
    "Step",
    "Turn",
    "TurnInput",
    "Verdict",
    "turn_line",
]


@dataclass(frozen=True, slots=True)
class DialogueEvidence:
    """A banked response: utterance ``position`` of a dialogue, found because the utterance before it matched."""

    dialogue_id: str
    position: int
    topic: str | None
    context: str
    type: Literal["dialogue"] = "dialogue"


@dataclass(frozen=True, slots=True)
class LineEvidence:
    """A line that a person wrote for the bot: ``file`` is relative to the bot's directory, ``line`` counts from 1."""

    file: str
    line: int
    trigger: str | None = None
    type: Literal["rule", "line"] = "rule"


Evidence = DialogueEvidence | LineEvidence


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible reply. ``confidence`` is in 0 to 1; ``score`` is the component's own measure, where it has one.

    ``rerank_score`` is that of the ranker which has put the candidates into this order, where one has; it has no scale. A
    ``repeatable`` one may be said again in a conversation: a helpline, a refusal.
    """

    text: str
    confidence: float
    evidence: Evidence
    score: float | None = None
    repeatable: bool = False
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a component answers: candidates, best first, or none and the reason.

    ``topic`` is a topic that the user is taken to wish for; ``variables`` replace the component's own memory in the
    state, and only when one of its candidates is said. ``note`` is what the trace should say besides.
    """

    candidates: list[Candidate] = field(default_factory=list)
    reason: str = ""
    topic: str | None = None
    variables: dict[str, Any] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class TurnInput:
    """What a component may know of a turn.

    ``text`` is the user's message, cleaned; ``previous`` what the bot said before it, empty at the start; ``offensive`` whether
    the filter objects to the message; ``seed`` a number for choices by chance, the same in a replay. ``shared`` holds work that
    components of one turn need not do twice; a component writes under its own key. ``ends`` is when the component that is asked
    must have answered, by ``time.perf_counter``.
    """

    text: str
    previous: str
    state: State
    offensive: bool
    seed: int
    shared: dict[str, Any] = field(default_factory=dict)
    ends: float = math.inf


class Component(Protocol):
    """A part of the agent that can propose replies. One instance serves all conversations, in several threads."""

    kind: ClassVar[str]

    def propose(self, turn: TurnInput) -> Proposal:
        """Candidates for this turn, best first, or none and the reason."""
        ...


Outcome = Literal["replied", "abstained", "below threshold", "rejected", "late", "failed", "not consulted"]
Verdict = Literal["said", "below threshold", "offensive", "repeated", "not needed"]


@dataclass(slots=True)
class Step:
    """What one component did in a turn: ``candidates`` pairs each with the pipeline's verdict on it."""

    component: str
    kind: str
    threshold: float
    outcome: Outcome
    reason: str
    candidates: list[tuple[Candidate, Verdict]] = field(default_factory=list)
    elapsed_ms: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The step as plain JSON values."""
        return {
            "component": self.component,
            "kind": self.kind,
            "threshold": self.threshold,
            "outcome": self.outcome,
            "reason": self.reason,
            "elapsed_ms": round(self.elapsed_ms, 3),
            "candidates": [
                {
                    "text": candidate.text,
                    "confidence": candidate.confidence,
                    "score": candidate.score,
                    "rerank_score": candidate.rerank_score,
                    "evidence": asdict(candidate.evidence),
                    "verdict": verdict,
                }
                for candidate, verdict in self.candidates
            ],
        }


@dataclass(slots=True)
class Turn:
    """One exchange: what the user wrote, what the bot said, and why. ``number`` counts from 1, ``component`` is a kind."""

    number: int
    text: str
    reply: str
    component: str
    confidence: float
    evidence: Evidence
    topic: str | None
    steps: list[Step]
    elapsed_ms: float
    offensive_input: bool = False

    def to_json(self) -> dict[str, Any]:
        """The turn as the documented JSON line: see docs/bot.md."""
        return turn_line(self, asdict(self.evidence), [step.to_json() for step in self.steps])

    def trace(self) -> dict[str, Any]:
        """Everything that was considered, for the log and the page: see docs/bot.md."""
        return {
            "offensive_input": self.offensive_input,
            "topic": self.topic,
            "elapsed_ms": round(self.elapsed_ms, 3),
            "steps": [step.to_json() for step in self.steps],
        }


class _Said(Protocol):
    """What a turn that was just said and one from the log have in common."""

    @property
    def number(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def reply(self) -> str: ...
    @property
    def component(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def elapsed_ms(self) -> float: ...


def turn_line(turn: _Said, evidence: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The documented line of a turn as plain JSON values; ``steps`` as :meth:`Step.to_json` gives them."""
    return {
        "turn": turn.number,
        "text": turn.text,
        "reply": turn.reply,
        "component": turn.component,
        "confidence": turn.confidence,
        "evidence": evidence,
        "topic": turn.topic,
        "candidates": [
            {"component": step["component"], **candidate} for step in steps for candidate in step["candidates"]
        ],
        "elapsed_ms": round(turn.elapsed_ms, 3),
    }
