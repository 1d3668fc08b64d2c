"""``rules``: what a person has written for the bot to say, in RiveScript."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

from tertulia.bot.config import BotConfig, OptionReader
from tertulia.bot.rivescript_check import Trigger, read_rules
from tertulia.bot.rivescript_engine import Answer, RuleEngine
from tertulia.bot.state import fold
from tertulia.bot.turn import Candidate, LineEvidence, Proposal, TurnInput
from tertulia.errors import ConfigurationError

__all__ = ["OFFENSIVE_TRIGGER", "Rules"]

OFFENSIVE_TRIGGER = "tertulia offensive input"
"""What is said to the rules in place of a message that the filter objects to."""

# Variables of a reply that speak to this component: <set talk=films>, <set urgent=yes>.
_TALK, _URGENT = "talk", "urgent"
# A pattern with several wildcards takes time that grows with a power of the length: longer messages are read by sentence.
_LONGEST = 400
_MOST_SENTENCES = 400
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
_VARIANTS = 6


class Rules:
    """Answers with confidence 1 where a rule matches the whole message.

    A helpline must come first: a rule whose reply sets ``urgent`` answers an offensive message too, is found in any sentence of a
    long one, and may repeat itself.
    """

    kind: ClassVar[str] = "rules"

    def __init__(self, directory: Path, shown: str = "rules") -> None:
        triggers = read_rules(directory)
        try:
            self._engine = RuleEngine(directory)
        except ConfigurationError as error:
            raise _located(error, directory, triggers) from None
        self._shown = shown
        self._places: dict[str, list[Trigger]] = {}
        for trigger in triggers:
            self._places.setdefault(trigger.text, []).append(trigger)
        self._has_offensive = OFFENSIVE_TRIGGER in self._places
        self._check_redirects(directory, triggers)

    @classmethod
    def load(cls, config: BotConfig, options: OptionReader) -> Rules:
        """From the folder ``path`` of ``*.rive`` files."""
        path = options.path("path", "rules")
        return cls(path, path.relative_to(config.directory).as_posix())

    def propose(self, turn: TurnInput) -> Proposal:
        """The reply of the rule that matches, or none."""
        if len(turn.text) > _LONGEST:
            return self._long(turn)
        answer = self._fresh(turn, turn.text)
        if turn.offensive and not (answer is not None and _URGENT in answer.variables):
            if not self._has_offensive:
                return Proposal(reason="the message is offensive, and no rule is written for that")
            answer = self._fresh(turn, OFFENSIVE_TRIGGER)
            if answer is not None:
                return self._proposal(answer, turn, repeatable=True)
        if answer is None:
            return Proposal(reason="no rule matches")
        return self._proposal(answer, turn)

    def _long(self, turn: TurnInput) -> Proposal:
        for sentence in _SENTENCE.split(turn.text)[:_MOST_SENTENCES]:
            answer = self._fresh(turn, sentence) if len(sentence) <= _LONGEST else None
            if answer is not None and _URGENT in answer.variables:
                return self._proposal(answer, turn)
        if turn.offensive and self._has_offensive:
            answer = self._fresh(turn, OFFENSIVE_TRIGGER)
            if answer is not None:
                return self._proposal(answer, turn, repeatable=True)
        return Proposal(reason=f"the message is longer than {_LONGEST} characters")

    def _fresh(self, turn: TurnInput, text: str) -> Answer | None:
        """An answer that was not given before in this conversation where the rule has one, else one that was."""
        variables: dict[str, Any] = turn.state.variables.get(self.kind, {})
        history = [(exchange.text, exchange.reply) for exchange in turn.state.exchanges]
        said = turn.state.said()
        first: Answer | None = None
        for variant in range(_VARIANTS):
            answer = self._engine.answer(text, variables, history, turn.seed + variant)
            if answer is None:
                return first
            if fold(answer.text) not in said:
                return answer
            first = first or answer
        return first

    def _proposal(self, answer: Answer, turn: TurnInput, *, repeatable: bool = False) -> Proposal:
        variables = dict(answer.variables)
        topic = variables.pop(_TALK, None)
        urgent = variables.pop(_URGENT, None) is not None
        place = self._place(answer, turn)
        evidence = LineEvidence(f"{self._shown}/{place.file}", place.line, answer.trigger)
        candidate = Candidate(answer.text, 1.0, evidence, repeatable=repeatable or urgent)
        return Proposal([candidate], topic=topic, variables=variables)

    def _place(self, answer: Answer, turn: TurnInput) -> Trigger:
        """Where the trigger stands; of several with the same text, the one whose topic and ``%Previous`` fit."""
        places = self._places[answer.trigger]
        fitting = [place for place in places if place.topic == answer.topic] or places
        for place in fitting:
            if place.previous is not None and self._engine.matches(place.previous, turn.state.previous):
                return place
        return next((place for place in fitting if place.previous is None), fitting[0])

    def _check_redirects(self, directory: Path, triggers: list[Trigger]) -> None:
        """A redirect to plain words must lead to a trigger."""
        patterns = {trigger.text for trigger in triggers if trigger.previous is None}
        topics = {trigger.topic for trigger in triggers}
        for trigger in triggers:
            target = trigger.redirect
            if target is None or target in patterns or any(character in target for character in "<{*#@[("):
                continue
            if not self._engine.leads_somewhere(target, topics):
                raise ConfigurationError(
                    f"the trigger {trigger.text!r} redirects to {target!r}, which no trigger matches",
                    where=f"{directory / trigger.file}:{trigger.line}",
                )


def _located(error: ConfigurationError, directory: Path, triggers: list[Trigger]) -> ConfigurationError:
    """The error with file and line also where RiveScript does not tell them: a trigger that makes no pattern."""
    for trigger in triggers if error.where == str(directory) else ():
        problem = RuleEngine.problem(trigger.text)
        if problem is not None:
            where = f"{directory / trigger.file}:{trigger.line}"
            return ConfigurationError(f"the trigger {trigger.text!r} makes no pattern: {problem}", where=where)
    return error
