"""Components that misbehave on demand: ``behaviour`` is set by the test, the rest is a component like any other."""

import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

from tertulia.bot.config import BotConfig, OptionReader
from tertulia.bot.turn import Candidate, LineEvidence, Proposal, TurnInput

BEHAVIOUR: dict[str, Callable[[TurnInput], Any]] = {}
RELEASE = threading.Event()


def says(*texts: str, confidence: float = 1.0, **more: Any) -> Callable[[TurnInput], Proposal]:
    """A behaviour: these candidates."""
    return lambda _: Proposal([Candidate(text, confidence, LineEvidence("fake", 1)) for text in texts], **more)


def hangs(_turn: TurnInput) -> Proposal:
    """A behaviour: not coming back before the test ends."""
    RELEASE.wait(30)
    return Proposal()


def dawdles(_turn: TurnInput) -> Proposal:
    """A behaviour: a reply after a fifth of a second."""
    time.sleep(0.2)
    return says("late but here")(_turn)


class Fake:
    """Does what ``BEHAVIOUR[name]`` says, with the option ``behaviour`` as the name."""

    kind: ClassVar[str] = "fake"

    def __init__(self, name: str) -> None:
        self._name = name

    @classmethod
    def load(cls, _config: BotConfig, options: OptionReader) -> "Fake":
        """From the option ``behaviour``."""
        return cls(options.text("behaviour"))

    def propose(self, turn: TurnInput) -> Proposal:
        """What the test wants."""
        return BEHAVIOUR[self._name](turn)
