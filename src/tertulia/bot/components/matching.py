"""``matching``: the banked response whose context is most like what the user said."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tertulia.bot.config import BotConfig, OptionReader
from tertulia.bot.preprocess import without_controls
from tertulia.bot.reranking import Reranking
from tertulia.bot.state import fold
from tertulia.bot.turn import Candidate, DialogueEvidence, Proposal, TurnInput
from tertulia.errors import ArtefactError
from tertulia.retrieval.matching import MatchingIndex
from tertulia.retrieval.query import Match

__all__ = ["Matching"]


class Matching:
    """Proposes the responses of the bank with the best matching score.

    Among those within ``tolerance`` of the best score the one with the largest norm, which says most, comes first. Until it is
    calibrated the confidence is min(1, S), which is low for short messages of common words ("not really") however well they
    match; where ``exact_confidence`` is given, a response to the very same message has at least that confidence, and comes
    before the others. A ``reranking`` puts them into another order; their confidences stay.
    """

    kind: ClassVar[str] = "matching"

    def __init__(
        self,
        index: MatchingIndex,
        *,
        candidates: int,
        tolerance: float,
        topic_bonus: float,
        exact_confidence: float = 0.0,
        reranking: Reranking | None = None,
    ) -> None:
        self.index = index
        self._reranking = reranking
        self._candidates = candidates
        self._tolerance = tolerance
        self._bonus = topic_bonus
        self._exact = exact_confidence

    @classmethod
    def load(cls, config: BotConfig, options: OptionReader) -> Matching:
        """From the index ``bank``, with ``candidates``, ``tolerance``, ``topic_bonus``, ``exact_confidence`` and ``rerank``."""
        path = options.path("bank", "bank")
        index = MatchingIndex.open(path)
        if index.language != config.language:
            raise ArtefactError(
                f"is a bank in the language {index.language!r}; the bot's is {config.language!r}", where=path
            )
        named = options.text("rerank", "")
        rerank_deadline_ms = options.number("rerank_deadline_ms", 500.0, 1.0, 600_000.0)
        reranking = None
        if named:
            reranker = config.open_reranker(options.path("rerank", named), config.language)
            reranking = Reranking(reranker, rerank_deadline_ms)
        return cls(
            index,
            candidates=options.integer("candidates", 10, 1, 100),
            tolerance=options.number("tolerance", 0.01, 0.0, 1.0),
            topic_bonus=options.number("topic_bonus", 0.02, 0.0, 1.0),
            exact_confidence=options.number("exact_confidence", 0.0, 0.0, 1.0),
            reranking=reranking,
        )

    @property
    def topics(self) -> list[str]:
        """The topics of the bank."""
        return self.index.topics

    def propose(self, turn: TurnInput) -> Proposal:
        """The best responses of the bank."""
        # A bot may ask for matches twice, at a high threshold and later at a low one: the answer is the same.
        key = f"matching:{self.index.path}:{self._candidates}:{self._tolerance}:{self._bonus}"
        if self._reranking is not None:
            key += f":{self._reranking.key}"
        if key not in turn.shared:
            turn.shared[key] = self._search(turn)
        proposal: Proposal = turn.shared[key]
        return self._with_exact(proposal, turn.text) if self._exact else proposal

    def _search(self, turn: TurnInput) -> Proposal:
        state = turn.state
        matches = self.index.search(turn.text, state.previous, k=self._candidates, topic=state.topic, bonus=self._bonus)
        if not matches:
            return Proposal(reason="no conversation of the bank shares a word with the message")
        found = [self._candidate(match) for match in self._order(matches)]
        candidates, note = [candidate for candidate in found if candidate.text], ""
        if self._reranking is not None:
            candidates, note = self._reranking.order(turn, candidates)
        return Proposal(candidates, note=note)

    def close(self) -> None:
        """Let go of the threads of the re-ranking; the bank is the pipeline's to close."""
        if self._reranking is not None:
            self._reranking.close()

    def _with_exact(self, proposal: Proposal, text: str) -> Proposal:
        message = fold(text)
        exact, other = [], []
        for candidate in proposal.candidates:
            evidence = candidate.evidence
            if isinstance(evidence, DialogueEvidence) and fold(evidence.context) == message:
                exact.append(replace(candidate, confidence=max(candidate.confidence, self._exact)))
            else:
                other.append(candidate)
        return replace(proposal, candidates=exact + other)

    def _order(self, matches: list[Match]) -> list[Match]:
        """Those within the tolerance of the best score by norm, largest first, then the others as they come."""
        floor = matches[0].score - self._tolerance
        near = sorted((match for match in matches if match.score >= floor), key=lambda match: -match.norm)
        return near + [match for match in matches if match.score < floor]

    def _candidate(self, match: Match) -> Candidate:
        source = self.index.source(match.number)
        # What is said and logged is clean, whatever the corpus held: no database takes a NUL.
        context, text = without_controls(source.context), without_controls(source.text).strip()
        evidence = DialogueEvidence(source.dialogue_id, source.position, source.topic, context)
        return Candidate(text, min(1.0, match.score), evidence, match.score)
