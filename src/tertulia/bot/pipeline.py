"""The pipeline: components in order, the first acceptable candidate is said, and everything considered is kept."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tertulia.artefact import Manifest, verify
from tertulia.bot.config import BotConfig, ComponentConfig, load_config
from tertulia.bot.deadline import BusyError, DeadlineRunner, LateError
from tertulia.bot.preprocess import clean
from tertulia.bot.registry import COMPONENTS
from tertulia.bot.reranking import OpenReranker, no_rerankers
from tertulia.bot.state import Exchange, State, fold
from tertulia.bot.topics import TopicMap, drift
from tertulia.bot.turn import (
    Candidate,
    Component,
    DialogueEvidence,
    LineEvidence,
    Proposal,
    Step,
    Turn,
    TurnInput,
    Verdict,
)
from tertulia.corpus.offensive import OffensiveFilter
from tertulia.errors import InputError, NotFoundError

__all__ = ["Bot"]

# Said when even the backup has failed: a bot that was asked must answer.
_LAST_RESORT = Candidate("I lost my thread for a moment. Would you say that again?", 0.0, LineEvidence("built in", 0))
_PIPELINE = "pipeline"


@dataclass(slots=True)
class _Part:
    """A component with its configuration and the threads that its calls run in."""

    config: ComponentConfig
    component: Component
    runner: DeadlineRunner


class Bot:
    """An agent, loaded from its directory. It serves many conversations in many threads and remembers none of them.

    Parameters
    ----------
    directory:
        A bot as ``tertulia bot build`` makes it.
    check_digests:
        Whether to hold every file against the manifest first.
    open_reranker:
        Opens the rankers that ``bot.toml`` names; each is opened once.

    Raises
    ------
    ConfigurationError, ArtefactError
        ``bot.toml``, a rule file, the bank or a ranker does not hold.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        check_digests: bool = True,
        open_reranker: OpenReranker = no_rerankers,
    ) -> None:
        self.directory = Path(directory)
        self.manifest: Manifest = verify(self.directory, "bot", digests=check_digests)
        # Two components may name one ranker, which may be large.
        self.config: BotConfig = replace(load_config(self.directory), open_reranker=functools.cache(open_reranker))
        self._parts = [self._load(part) for part in self.config.components]
        # A component that answers from dialogues shows them as its ``index``.
        self._banks = [part.component.index for part in self._parts if hasattr(part.component, "index")]
        self._filter = OffensiveFilter(self.config.language)
        self._topics = TopicMap(
            topic for part in self._parts if hasattr(part.component, "topics") for topic in part.component.topics
        )

    def _load(self, config: ComponentConfig) -> _Part:
        component: Component = COMPONENTS.factory(config.kind).load(self.config, config.options)
        config.options.finish(f"the component {config.kind!r}")
        return _Part(config, component, DeadlineRunner(config.name))

    @property
    def name(self) -> str:
        """The bot's name."""
        return self.config.name

    @property
    def topics(self) -> list[str]:
        """The topics of the bank, in alphabetical order."""
        return self._topics.topics

    def find_topic(self, words: str) -> str | None:
        """The topic of the bank that these words mean, or ``None``."""
        return self._topics.find(words)

    def dialogue(self, dialogue_id: str) -> dict[str, Any]:
        """A dialogue of the bank: ``{"dialogue_id", "topic", "utterances"}``."""
        for bank in self._banks:
            try:
                topic, texts = bank.dialogue(dialogue_id)
            except InputError:
                continue
            return {"dialogue_id": dialogue_id, "topic": topic, "utterances": texts}
        raise NotFoundError(f"the bot {self.name!r} has no dialogue {dialogue_id!r}")

    def respond(self, state: State, text: str, *, on_step: Callable[[Step], None] | None = None) -> tuple[Turn, State]:
        """One turn: the reply with its trace, and the state after it; the state given is left as it was.

        ``on_step`` is called with each component's step as soon as it has been consulted.

        Raises
        ------
        InputError
            The message is empty or too long; nothing else is the user's to mend, so nothing else is raised.
        """
        began = time.perf_counter()
        message = clean(text)
        number = len(state.exchanges) + 1
        offensive = self._filter.objection(message) is not None
        turn_input = TurnInput(message, state.previous, state, offensive, self._seed(state.conversation, number))
        avoid = state.said() | {fold(message)}
        steps: list[Step] = []
        said: tuple[Candidate, _Part, Proposal] | None = None
        for part in self._parts:
            if said is not None:
                reason = f"{said[1].config.name} answered before"
                steps.append(Step(part.config.name, part.config.kind, part.config.threshold, "not consulted", reason))
                continue
            step, proposal = self._consult(part, turn_input)
            chosen = self._choose(step, proposal, avoid)
            steps.append(step)
            if chosen is not None:
                said = (chosen, part, proposal)
            if on_step is not None:
                on_step(step)
        if said is None:
            said = self._last_resort(steps)
        candidate, part, proposal = said
        after = self._after(state, message, candidate, part, proposal)
        elapsed_ms = (time.perf_counter() - began) * 1000
        turn = Turn(
            number,
            message,
            candidate.text,
            part.config.kind,
            candidate.confidence,
            candidate.evidence,
            after.topic,
            steps,
            elapsed_ms,
            offensive,
        )
        return turn, after

    def _seed(self, conversation: str, number: int) -> int:
        key = f"{self.config.seed}\0{conversation}\0{number}".encode(errors="surrogatepass")
        return int.from_bytes(hashlib.blake2b(key, digest_size=7).digest())

    def _consult(self, part: _Part, turn: TurnInput) -> tuple[Step, Proposal]:
        """Ask one component under its deadline. What it does wrong is traced and never leaves here."""
        config = part.config
        step = Step(config.name, config.kind, config.threshold, "abstained", "")
        began = time.perf_counter()
        turn = replace(turn, ends=began + config.deadline_ms / 1000)
        proposal = Proposal()
        try:
            answer: object = part.runner.call(lambda: part.component.propose(turn), config.deadline_ms)
            problem = _problem(answer)
            if problem is None and isinstance(answer, Proposal):
                proposal = answer
            else:
                step.outcome, step.reason = "failed", f"gave what is no proposal: {problem}"
        except LateError:
            step.outcome, step.reason = "late", f"did not answer within {config.deadline_ms:g} ms"
        except BusyError as error:
            step.outcome, step.reason = "late", f"was not asked: {error}"
        except Exception as error:
            step.outcome, step.reason = "failed", f"{type(error).__name__}: {error}"
        step.elapsed_ms = (time.perf_counter() - began) * 1000
        return step, proposal

    def _choose(self, step: Step, proposal: Proposal, avoid: set[str]) -> Candidate | None:
        """The first candidate that passes threshold, filter and repetition guard; the verdict on each is kept."""
        if step.outcome != "abstained":
            return None
        if not proposal.candidates:
            step.reason = proposal.reason or "had nothing to say"
            return None
        chosen: Candidate | None = None
        verdicts: list[Verdict] = []
        for candidate in proposal.candidates:
            verdict: Verdict
            if chosen is not None:
                verdict = "not needed"
            elif candidate.confidence < step.threshold:
                verdict = "below threshold"
            elif self._filter.objection(candidate.text) is not None:
                verdict = "offensive"
            elif fold(candidate.text) in avoid and not candidate.repeatable:
                verdict = "repeated"
            else:
                verdict, chosen = "said", candidate
            verdicts.append(verdict)
            step.candidates.append((candidate, verdict))
        if chosen is not None:
            step.outcome, step.reason = "replied", proposal.note
            return chosen
        best = max(candidate.confidence for candidate in proposal.candidates)
        if all(verdict == "below threshold" for verdict in verdicts):
            step.outcome = "below threshold"
            step.reason = f"the best confidence, {best:.2f}, is below the threshold of {step.threshold:g}"
        else:
            passed = [verdict for verdict in verdicts if verdict != "below threshold"]
            step.outcome = "rejected"
            step.reason = "every candidate above the threshold was " + " or ".join(sorted(set(passed)))
        step.reason += f"; {proposal.note}" if proposal.note else ""
        return None

    def _last_resort(self, steps: list[Step]) -> tuple[Candidate, _Part, Proposal]:
        """What is said when nothing passed: the backup's first harmless line, said before or not, else one built in."""
        backup, step = self._parts[-1], steps[-1]
        for index, (candidate, verdict) in enumerate(step.candidates):
            if verdict == "repeated":
                step.candidates[index] = (candidate, "said")
                step.outcome, step.reason = "replied", "every line has been said; the one longest unsaid comes again"
                return candidate, backup, Proposal()
        step.candidates.append((_LAST_RESORT, "said"))
        return _LAST_RESORT, backup, Proposal()

    def _after(self, state: State, message: str, said: Candidate, part: _Part, proposal: Proposal) -> State:
        """The state after a turn."""
        variables = dict(state.variables)
        if proposal.variables is not None:
            variables[part.config.name] = proposal.variables
        own = dict(variables.get(_PIPELINE, {}))
        topic = state.topic
        wished = None if proposal.topic is None else self._topics.find(proposal.topic)
        if wished is not None:
            topic = wished
        elif isinstance(said.evidence, DialogueEvidence):
            topic = drift(state.topic, own.get("last_topic"), said.evidence.topic)
            own["last_topic"] = said.evidence.topic
        variables[_PIPELINE] = own
        return replace(
            state,
            exchanges=[*state.exchanges, Exchange(message, said.text)],
            topic=topic,
            variables=variables,
        )

    def close(self) -> None:
        """Let go of the threads and files."""
        for part in self._parts:
            part.runner.close()
            if hasattr(part.component, "close"):
                part.component.close()
        for bank in self._banks:
            bank.close()


def _problem(answer: object) -> str | None:
    """What keeps a component's answer from being a proposal that can be said, logged and shown; ``None`` for nothing."""
    if not isinstance(answer, Proposal):
        return f"a {type(answer).__name__}"
    candidates: list[object] = list(answer.candidates)
    for candidate in candidates:
        if not isinstance(candidate, Candidate) or not isinstance(candidate.evidence, DialogueEvidence | LineEvidence):
            return f"a candidate that is a {type(candidate).__name__}"
        if not isinstance(candidate.text, str) or not candidate.text.strip():
            return "a candidate without text"
        if not 0.0 <= candidate.confidence <= 1.0:
            return f"a confidence of {candidate.confidence}"
    return None
