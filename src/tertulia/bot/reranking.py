"""Candidates of one component in a better order: what a bot asks of a ranker, and what happens when it is late or fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tertulia.bot.deadline import BusyError, DeadlineRunner, LateError
from tertulia.bot.turn import Candidate, TurnInput
from tertulia.errors import ConfigurationError

__all__ = ["OpenReranker", "Reranker", "Reranking", "no_rerankers", "unused_rerankers"]

# No ranker looks further back than this many exchanges, however long the conversation.
_EXCHANGES = 10
# What the rest of the component needs of its deadline.
_RESERVE_S = 0.02
_MOST_STUCK = 4


class Reranker(Protocol):
    """A ranker, open; one serves all conversations, in several threads."""

    name: str

    def rerank(self, turns: Sequence[tuple[str, str]], texts: Sequence[str]) -> Sequence[float]:
        """A score for each of ``texts`` as the next thing to say, higher is better.

        ``turns`` are those so far, the user's message last: pairs of role (``user`` or ``agent``) and text.
        """
        ...


OpenReranker = Callable[[Path, str], Reranker]
"""Opens the ranker at a path for a bot of a language; raises a ``TertuliaError`` where it cannot serve."""


def no_rerankers(path: Path, _language: str) -> Reranker:
    """What opens rankers where nobody has said how: an error.

    Raises
    ------
    ConfigurationError
        Always.
    """
    raise ConfigurationError(
        "re-ranks its candidates, and this program opens bots without rankers",
        where=path,
        hint="pass open_reranker to Bot",
    )


def unused_rerankers(_path: Path, _language: str) -> Reranker:
    """For a bot that is opened to be looked into, not to be talked with: nothing is loaded."""
    return _Unused()


class _Unused:
    name = "unused"

    def rerank(self, _turns: Sequence[tuple[str, str]], _texts: Sequence[str]) -> Sequence[float]:
        raise RuntimeError("this bot was opened without its rankers")


class Reranking:
    """Puts candidates into the order of a ranker's scores, within a deadline.

    ``deadline_ms`` is for the ranker alone; less where the component's own deadline comes earlier.
    """

    def __init__(self, reranker: Reranker, deadline_ms: float) -> None:
        self._reranker = reranker
        self._deadline_ms = deadline_ms
        # Two components with one ranker and one deadline get the same answer.
        self.key = f"{id(reranker)}:{deadline_ms:g}"
        self._runner = DeadlineRunner(f"rerank-{reranker.name}", most=_MOST_STUCK)

    def order(self, turn: TurnInput, candidates: list[Candidate]) -> tuple[list[Candidate], str]:
        """The candidates by the ranker's scores, which they keep, and a remark for the trace.

        Candidates of equal scores stay as they stand; so do all of them where the ranker is late or fails.
        """
        name = self._reranker.name
        if len(candidates) < 2:
            return candidates, ""
        left_ms = (turn.ends - time.perf_counter() - _RESERVE_S) * 1000
        deadline_ms = min(self._deadline_ms, left_ms)
        if deadline_ms <= 0:
            return candidates, f"not re-ranked by {name}: no time was left"
        turns, texts = _turns(turn), [candidate.text for candidate in candidates]
        try:
            given = self._runner.call(lambda: self._reranker.rerank(turns, texts), deadline_ms)
            scores = [float(score) for score in given]
        except LateError:
            return candidates, f"not re-ranked by {name}: it took longer than {deadline_ms:.0f} ms"
        except BusyError as error:
            return candidates, f"not re-ranked by {name}: {error}"
        except Exception as error:
            return candidates, f"not re-ranked by {name}: {type(error).__name__}: {error}"
        if len(scores) != len(candidates) or not all(map(math.isfinite, scores)):
            return candidates, f"not re-ranked by {name}: it gave no finite score for each candidate"
        scored = [replace(candidate, rerank_score=score) for candidate, score in zip(candidates, scores, strict=True)]
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [scored[place] for place in order], f"re-ranked by {name}"

    def close(self) -> None:
        """Let idle threads end."""
        self._runner.close()


def _turns(turn: TurnInput) -> list[tuple[str, str]]:
    said = [
        (role, text)
        for exchange in turn.state.exchanges[-_EXCHANGES:]
        for role, text in (("user", exchange.text), ("agent", exchange.reply))
    ]
    return [*said, ("user", turn.text)]
