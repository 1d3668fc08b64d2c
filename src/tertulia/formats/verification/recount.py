"""What can be counted of a corpus to hold it against its publication: one table of measures, each a streaming counter.

A counter sees the records of its scope once, in order of id, and keeps numbers only (or a set of the distinct values that it
counts, up to ``MOST_DISTINCT``). A measure that is not defined for what was seen, such as a mean of nothing, is ``None``.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tertulia.corpus.model import Annotation, Candidate, RankingRecord, Record
from tertulia.errors import ConfigurationError
from tertulia.measures.agreement import AgreementCounter

__all__ = ["CORPUS_MEASURES", "MOST_DISTINCT", "RANKING_MEASURES", "Counting", "Scope", "counter_of"]

_LINK = re.compile(r"https?://|www\.", re.IGNORECASE)

MOST_DISTINCT = 1_000_000
"""Distinct values are counted up to here, far beyond what any publication states; where there are more, nothing is said."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a corpus a figure is about; ``None`` is no restriction.

    ``domain`` and ``splits`` restrict the dialogues or contexts, ``layer``, ``label`` and ``attributes`` the annotations,
    ``low`` and ``high`` (both included; ``below`` excluded) the relevance of candidates.
    """

    domain: str | None = None
    splits: tuple[str, ...] = ()
    layer: str | None = None
    label: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    low: float = -math.inf
    high: float = math.inf
    below: float = math.inf

    def annotations(self, record: Record) -> list[Annotation]:
        """The annotations of a record that are in scope."""
        notes = record.annotations
        if self.layer is not None:
            notes = [note for note in notes if note.layer == self.layer]
        if self.label is not None:
            notes = [note for note in notes if note.label == self.label]
        for name, value in self.attributes:
            notes = [note for note in notes if note.attributes.get(name) == value]
        return notes


class Counting(Protocol):
    """A counter over a stream of records."""

    def add(self, record: Any) -> None:
        """Take one record of the scope."""
        ...

    def result(self) -> float | None:
        """What was counted so far; ``None`` where it is not defined."""
        ...


class _Sum:
    def __init__(self, scope: Scope, number: Callable[[Any, Scope], int]) -> None:
        self._scope, self._number, self._total = scope, number, 0

    def add(self, record: Any) -> None:
        self._total += self._number(record, self._scope)

    def result(self) -> float | None:
        return self._total


class _Ratio:
    """The sum of parts over the sum of wholes: a share or a mean."""

    def __init__(self, scope: Scope, parts: Callable[[Any, Scope], tuple[int, int]]) -> None:
        self._scope, self._parts, self._part, self._whole = scope, parts, 0, 0

    def add(self, record: Any) -> None:
        part, whole = self._parts(record, self._scope)
        self._part += part
        self._whole += whole

    def result(self) -> float | None:
        return self._part / self._whole if self._whole else None


class _Distinct:
    """How many different values there are; texts stand for themselves by 128 bits, so that long ones take no memory."""

    def __init__(self, scope: Scope, values: Callable[[Any, Scope], Iterable[str | float]]) -> None:
        self._scope, self._values = scope, values
        self._seen: set[bytes | float] = set()

    def add(self, record: Any) -> None:
        if len(self._seen) > MOST_DISTINCT:
            return
        for value in self._values(record, self._scope):
            self._seen.add(_digest([value]) if isinstance(value, str) else value)

    def result(self) -> float | None:
        return len(self._seen) if len(self._seen) <= MOST_DISTINCT else None


class _DistinctContexts(_Distinct):
    """How many contexts have different texts."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope, lambda _record, _scope: ())

    def add(self, record: RankingRecord) -> None:
        if len(self._seen) <= MOST_DISTINCT:
            self._seen.add(_digest(record.context.texts))


def _digest(texts: Iterable[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.digest()


class _Extreme:
    def __init__(self, scope: Scope, number: Callable[[Any, Scope], int | None], choose: Callable[..., int]) -> None:
        self._scope, self._number, self._choose = scope, number, choose
        self._found: int | None = None

    def add(self, record: Any) -> None:
        number = self._number(record, self._scope)
        if number is not None:
            self._found = number if self._found is None else self._choose(self._found, number)

    def result(self) -> float | None:
        return self._found


class _LabelAlpha:
    """Krippendorff's nominal α of the sets of labels that annotators give one utterance (or the whole dialogue)."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._counter = scope, AgreementCounter("nominal")

    def add(self, record: Record) -> None:
        places: dict[int | None, dict[str, set[str]]] = {}
        for note in self._scope.annotations(record):
            if note.label is not None:
                places.setdefault(note.position, {}).setdefault(note.annotator, set()).add(note.label)
        for annotators in places.values():
            self._counter.add(tuple(sorted(labels)) for labels in annotators.values())

    def result(self) -> float | None:
        alpha = self._counter.alpha()
        return None if math.isnan(alpha) else alpha


_Maker = Callable[[Scope], Counting]


def _sum(number: Callable[[Any, Scope], int]) -> _Maker:
    return lambda scope: _Sum(scope, number)


def _ratio(parts: Callable[[Any, Scope], tuple[int, int]]) -> _Maker:
    return lambda scope: _Ratio(scope, parts)


def _distinct(values: Callable[[Any, Scope], Iterable[str | float]]) -> _Maker:
    return lambda scope: _Distinct(scope, values)


def _least(number: Callable[[Any, Scope], int | None]) -> _Maker:
    return lambda scope: _Extreme(scope, number, min)


def _most(number: Callable[[Any, Scope], int | None]) -> _Maker:
    return lambda scope: _Extreme(scope, number, max)


# -- corpora ----------------------------------------------------------------------------------------------------------


def _one(_record: Any, _scope: Scope) -> int:
    return 1


def _utterances(record: Record, _scope: Scope) -> int:
    return len(record.dialogue.utterances)


def _words(record: Record, _scope: Scope) -> int:
    return sum(len(utterance.text.split()) for utterance in record.dialogue.utterances)


def _people(record: Record, _scope: Scope) -> list[str]:
    attributes = record.dialogue.attributes
    return [str(attributes["worker"])] if "worker" in attributes else []


def _domains(record: Record, _scope: Scope) -> list[str]:
    return [record.dialogue.domain] if record.dialogue.domain is not None else []


def _annotations(record: Record, scope: Scope) -> int:
    return len(scope.annotations(record))


def _labels(record: Record, scope: Scope) -> set[str]:
    return {note.label for note in scope.annotations(record) if note.label is not None}


def _entity_types(record: Record, scope: Scope) -> set[str]:
    return {str(n.attributes["entity_type"]) for n in scope.annotations(record) if "entity_type" in n.attributes}


def _values(record: Record, scope: Scope) -> set[float]:
    return {note.value for note in scope.annotations(record) if note.value is not None}


def _annotators(record: Record, scope: Scope) -> int | None:
    return len({note.annotator for note in scope.annotations(record)}) or None


def _annotated_dialogues(record: Record, scope: Scope) -> int:
    return int(bool(scope.annotations(record)))


def _annotated_places(record: Record, scope: Scope) -> dict[int, set[str | None]]:
    places: dict[int, set[str | None]] = {}
    for note in scope.annotations(record):
        if note.position is not None:
            places.setdefault(note.position, set()).add(note.label)
    return places


def _annotated_utterances(record: Record, scope: Scope) -> int:
    return len(_annotated_places(record, scope))


def _several_labels(record: Record, scope: Scope) -> tuple[int, int]:
    places = _annotated_places(record, scope)
    return sum(len(labels) > 1 for labels in places.values()), len(places)


def _share_of_label(record: Record, scope: Scope) -> tuple[int, int]:
    places = _annotated_places(record, Scope(layer=scope.layer))
    return sum(scope.label in labels for labels in places.values()), len(places)


def _annotators_without_label(record: Record, scope: Scope) -> tuple[int, int]:
    annotators = {note.annotator for note in record.annotations if note.layer == scope.layer}
    return len(annotators - {note.annotator for note in scope.annotations(record)}), len(annotators)


def _roles(record: Record) -> dict[str | None, int]:
    counts: dict[str | None, int] = {"user": 0, "agent": 0}
    for utterance in record.dialogue.utterances:
        counts[utterance.role] = counts.get(utterance.role, 0) + 1
    return counts


def _short_of_two_each(record: Record, _scope: Scope) -> int:
    return int(min(_roles(record)[role] for role in ("user", "agent")) < 2)


def _without_link(record: Record, _scope: Scope) -> int:
    return int(not any(u.role == "agent" and _LINK.search(u.text) for u in record.dialogue.utterances))


def _speakers_but_two(record: Record, _scope: Scope) -> int:
    return int(len({utterance.speaker for utterance in record.dialogue.utterances}) != 2)


# -- ranking sets -----------------------------------------------------------------------------------------------------


def _candidates(record: RankingRecord, _scope: Scope) -> int:
    return len(record.candidates)


def _context_length(record: RankingRecord, _scope: Scope) -> tuple[int, int]:
    return sum(len(turn.text.split()) for turn in record.context.turns), 1


def _candidate_length(record: RankingRecord, _scope: Scope) -> tuple[int, int]:
    return sum(len(candidate.text.split()) for candidate in record.candidates), len(record.candidates)


def _vocabulary(record: RankingRecord, _scope: Scope) -> set[str]:
    texts = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
    return {word for text in texts for word in text.split()}


def _relevance_share(record: RankingRecord, scope: Scope) -> tuple[int, int]:
    rated: list[Candidate] = [candidate for candidate in record.candidates if candidate.relevance is not None]
    inside = sum(scope.low <= (c.relevance or 0) <= scope.high and (c.relevance or 0) < scope.below for c in rated)
    return inside, len(rated)


CORPUS_MEASURES: Mapping[str, _Maker] = {
    "conversations": _sum(_one),
    "dialogues": _sum(_one),
    "turns": _sum(_utterances),
    "utterances": _sum(_utterances),
    "words": _sum(_words),
    "people": _distinct(_people),
    "domains": _distinct(_domains),
    "annotations": _sum(_annotations),
    "labels": _distinct(_labels),
    "entity types": _distinct(_entity_types),
    "values": _distinct(_values),
    "fewest annotators": _least(_annotators),
    "most annotators": _most(_annotators),
    "annotated dialogues": _sum(_annotated_dialogues),
    "annotated utterances": _sum(_annotated_utterances),
    "share with several labels": _ratio(_several_labels),
    "share of utterances": _ratio(_share_of_label),
    "annotators without it": _ratio(_annotators_without_label),
    "Krippendorff's alpha": _LabelAlpha,
    "without two utterances each": _sum(_short_of_two_each),
    "without two speakers": _sum(_speakers_but_two),
    "without a link by the agent": _sum(_without_link),
}
RANKING_MEASURES: Mapping[str, _Maker] = {
    "prompts": _sum(_one),
    "distinct prompts": _DistinctContexts,
    "responses": _sum(_candidates),
    "fewest responses": _least(_candidates),
    "most responses": _most(_candidates),
    "words a prompt": _ratio(_context_length),
    "words a response": _ratio(_candidate_length),
    "vocabulary": _distinct(_vocabulary),
    "share of responses": _ratio(_relevance_share),
}


def counter_of(measure: str, scope: Scope, measures: Mapping[str, _Maker]) -> Counting:
    """A new counter of this measure.

    Raises
    ------
    ConfigurationError
        There is no such measure.
    """
    if measure not in measures:
        raise ConfigurationError(f"the measure {measure!r}; expected one of: {', '.join(measures)}")
    return measures[measure](scope)
