"""What a context ranks: its own candidates, or all distinct responses of its split; and what is kept of the scores.

A protocol knows the test examples. It gives rankers what they are to score, with relevance hidden; gathers what is needed of
their scores, streaming; and computes measures and first choices from what was gathered.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tertulia.errors import ArtefactError, ConfigurationError, InputError
from tertulia.measures.ranking import rank_order
from tertulia.measures.ranking_names import Measure, values
from tertulia.ranking.docnos import tie_keys
from tertulia.ranking.examples import Example

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CandidatesProtocol", "FullProtocol", "Gatherer", "RankingProtocol", "normal", "protocol_of"]

Arrays = Mapping[str, "NDArray[Any]"]


class Gatherer(Protocol):
    """Takes the scores of one test example after the other."""

    def take(self, example: Example, scores: NDArray[np.float64]) -> int:
        """Take scores; how many they are.

        Raises
        ------
        InputError
            They are not as many as the candidates.
        """
        ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is kept."""
        ...


class RankingProtocol(Protocol):
    """See the module."""

    name: str
    examples: Sequence[Example]
    relevances: list[NDArray[np.float64]]
    """Of each example the relevance of what may be relevant; measures take arrays like these."""
    deviations: list[NDArray[np.float64]]

    def describe(self) -> dict[str, Any]:
        """What is ranked, in numbers: ``contexts``, ``candidates``."""
        ...

    def hidden(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The examples as a ranker is to score them: nobody has said anything of relevance."""
        ...

    def gatherer(self) -> Gatherer:
        """A fresh gatherer."""
        ...

    def check(self, kept: Arrays) -> None:
        """Refuse arrays that are not of these examples.

        Raises
        ------
        ArtefactError
            They are not.
        """
        ...

    def measured(
        self, measures: Sequence[Measure], kept: Arrays, relevances: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Shape (measures, contexts); NaN where a context is left out."""
        ...

    def choices(self, kept: Arrays) -> list[tuple[str, float] | None]:
        """Of each example the text that was put first and its relevance; ``None`` where nothing was ranked."""
        ...


def protocol_of(name: str, examples: Sequence[Example], *, pool: int | None, seed: int) -> RankingProtocol:
    """The protocol of a name, for the examples of a split."""
    if name == CandidatesProtocol.name:
        return CandidatesProtocol(examples)
    if name == FullProtocol.name:
        return FullProtocol(examples, pool=pool, seed=seed)
    raise ConfigurationError(f"there is no protocol {name!r}; expected candidates or full")


def normal(text: str) -> str:
    """A text without what makes no other response of it: case, white space, compatibility forms of characters."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _blank(example: Example, texts: tuple[str, ...]) -> Example:
    nothing = np.full(len(texts), np.nan)
    return replace(example, texts=texts, relevance=nothing, deviation=np.zeros(len(texts)))


class CandidatesProtocol:
    """A context ranks its own candidates; all scores are kept."""

    name = "candidates"

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples
        self.relevances = [example.relevance for example in examples]
        self.deviations = [example.deviation for example in examples]

    @cached_property
    def ties(self) -> list[NDArray[np.uint64]]:
        """The keys by which candidates of equal scores are ordered."""
        return [tie_keys(example.id, len(example)) for example in self.examples]

    def describe(self) -> dict[str, Any]:
        """What is ranked, in numbers."""
        return {"contexts": len(self.examples), "candidates": sum(len(example) for example in self.examples)}

    def hidden(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The examples without their relevance."""
        return (_blank(example, example.texts) for example in examples)

    def gatherer(self) -> Gatherer:
        """A gatherer of all scores."""
        return _AllScores()

    def kept(self, scores: Iterable[NDArray[np.float64] | None]) -> dict[str, NDArray[Any]]:
        """Scores that were not gathered here (NaN or ``None``: missing) in the form of those that were."""
        pairs = zip(self.examples, scores, strict=True)
        rows = [np.full(len(example), np.nan) if given is None else given for example, given in pairs]
        return {"scores": np.concatenate([np.zeros(0), *rows])}

    def check(self, kept: Arrays) -> None:
        """Refuse scores of another number of candidates."""
        total = sum(len(example) for example in self.examples)
        found = kept.get("scores")
        if found is None or found.shape != (total,) or found.dtype != np.float64:
            raise ArtefactError(f"the scores that were kept are not of {total} candidates", hint="name another --cache")

    def scores(self, kept: Arrays) -> list[NDArray[np.float64]]:
        """The scores of each example."""
        ends = np.cumsum([len(example) for example in self.examples])
        return np.split(kept["scores"], ends[:-1])

    def measured(
        self, measures: Sequence[Measure], kept: Arrays, relevances: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Shape (measures, contexts)."""
        return values(measures, relevances, self.scores(kept), self.ties)

    def choices(self, kept: Arrays) -> list[tuple[str, float] | None]:
        """What each context has first."""
        found: list[tuple[str, float] | None] = []
        for example, scores, ties in zip(self.examples, self.scores(kept), self.ties, strict=True):
            order = rank_order(scores, ties)
            first = int(order[0]) if len(order) else None
            found.append(None if first is None else (example.texts[first], float(example.relevance[first])))
        return found


class _AllScores:
    def __init__(self) -> None:
        self._rows: list[NDArray[np.float64]] = []

    def take(self, example: Example, scores: NDArray[np.float64]) -> int:
        if len(scores) != len(example):
            raise InputError(f"{len(scores)} scores of the context {example.id!r}, which has {len(example)} candidates")
        self._rows.append(scores)
        return len(scores)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"scores": np.concatenate([np.zeros(0), *self._rows])}


class FullProtocol:
    """A context ranks all distinct responses of its split, or its own and a seeded sample of the others.

    Responses are distinct where they differ in more than case, white space and compatibility forms; the first of a kind stands
    for it. They are numbered in order of appearance, and the key of a tie is that of the number. A context's own candidates keep
    their relevance (the highest where two are one response), and the others count as not relevant. Kept are the ranks of a
    context's own responses, from which every measure follows, and the number of the one that was put first.
    """

    name = "full"

    def __init__(self, examples: Sequence[Example], *, pool: int | None = None, seed: int = 0) -> None:
        self.examples = examples
        numbers: dict[str, int] = {}
        texts: list[str] = []
        known: dict[str, int] = {}
        self.own: list[NDArray[np.int64]] = []
        self.relevances = []
        self.deviations = []
        for example in examples:
            best: dict[int, tuple[float, float]] = {}
            for text, relevance, deviation in zip(
                example.texts, example.relevance.tolist(), example.deviation.tolist(), strict=True
            ):
                if text not in known:
                    known[text] = numbers.setdefault(normal(text), len(numbers))
                    if known[text] == len(texts):
                        texts.append(text)
                there = best.get(known[text])
                if there is None or np.isnan(there[0]) or relevance > there[0]:
                    best[known[text]] = (relevance, deviation)
            self.own.append(np.array(sorted(best), dtype=np.int64))
            self.relevances.append(np.array([best[number][0] for number in sorted(best)], dtype=np.float64))
            self.deviations.append(np.array([best[number][1] for number in sorted(best)], dtype=np.float64))
        self.texts = tuple(texts)
        self._places = {example.id: place for place, example in enumerate(examples)}
        self._sample: NDArray[np.int64] | None = None
        if pool is not None and pool < len(texts):
            drawn = np.random.default_rng(seed).choice(len(texts), size=pool, replace=False)
            self._sample = np.sort(drawn).astype(np.int64)

    def _numbers(self, place: int) -> NDArray[np.int64]:
        """The numbers of the responses that a context ranks, ascending."""
        if self._sample is None:
            return np.arange(len(self.texts))
        return np.union1d(self._sample, self.own[place])

    def describe(self) -> dict[str, Any]:
        """What is ranked, in numbers."""
        candidates = sum(len(self._numbers(place)) for place in range(len(self.examples)))
        return {"contexts": len(self.examples), "candidates": candidates, "responses": len(self.texts)}

    def hidden(self, examples: Iterable[Example]) -> Iterator[Example]:
        """The examples with all responses, without relevance; the texts are one object where all rank the same."""
        for example in examples:
            texts = self.texts
            if self._sample is not None:
                texts = tuple(self.texts[number] for number in self._numbers(self._places[example.id]).tolist())
            yield _blank(example, texts)

    def gatherer(self) -> Gatherer:
        """A gatherer of ranks."""
        return _Ranks(self)

    def ranks(self, example: Example, scores: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """The ranks (from 0) of a context's own responses, and the number of the response that is first."""
        place = self._places[example.id]
        numbers = self._numbers(place)
        if len(scores) != len(numbers):
            raise InputError(
                f"{len(scores)} scores of the context {example.id!r}, which ranks {len(numbers)} responses"
            )
        order = rank_order(scores, tie_keys(example.id, len(self.texts))[numbers])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank[np.searchsorted(numbers, self.own[place])], int(numbers[order[0]]) if len(order) else -1

    def check(self, kept: Arrays) -> None:
        """Refuse ranks of another number of responses."""
        total = sum(len(own) for own in self.own)
        ranks, first = kept.get("ranks"), kept.get("first")
        if ranks is None or first is None or ranks.shape != (total,) or first.shape != (len(self.examples),):
            raise ArtefactError(f"the ranks that were kept are not of {total} responses", hint="name another --cache")

    def _ranks(self, kept: Arrays) -> list[NDArray[np.int64]]:
        ends = np.cumsum([len(own) for own in self.own])
        return np.split(kept["ranks"], ends[:-1])

    def measured(
        self, measures: Sequence[Measure], kept: Arrays, relevances: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Shape (measures, contexts): of rankings in which all that is not a context's own is not relevant."""
        # As long as the last of a context's own responses stands; what comes after changes no measure.
        lengths = [int(ranks.max()) + 1 if len(ranks) else 0 for ranks in self._ranks(kept)]

        def full() -> Iterator[NDArray[np.float64]]:
            for length, ranks, relevance in zip(lengths, self._ranks(kept), relevances, strict=True):
                row = np.full(length, np.nan)
                row[ranks] = relevance
                yield row

        descending = (-np.arange(length, dtype=np.float64) for length in lengths)
        return values(measures, full(), descending, (np.arange(length, dtype=np.uint64) for length in lengths))

    def choices(self, kept: Arrays) -> list[tuple[str, float] | None]:
        """What each context has first."""
        found: list[tuple[str, float] | None] = []
        for place, number in enumerate(kept["first"].tolist()):
            if number < 0:
                found.append(None)
                continue
            own = np.flatnonzero(self.own[place] == number)
            relevance = float(self.relevances[place][own[0]]) if len(own) else 0.0
            found.append((self.texts[number], relevance))
        return found


class _Ranks:
    def __init__(self, protocol: FullProtocol) -> None:
        self._protocol = protocol
        self._ranks: list[NDArray[np.int64]] = []
        self._first: list[int] = []

    def take(self, example: Example, scores: NDArray[np.float64]) -> int:
        ranks, first = self._protocol.ranks(example, scores)
        self._ranks.append(ranks)
        self._first.append(first)
        return len(scores)

    def arrays(self) -> dict[str, NDArray[Any]]:
        ranks = np.concatenate([np.zeros(0, dtype=np.int64), *self._ranks])
        return {"ranks": ranks, "first": np.array(self._first, dtype=np.int64)}
