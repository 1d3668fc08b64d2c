"""How far the annotators of one layer agree: on labels, sets of labels, numbers or spans."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Literal

from tertulia.measures.agreement import AgreementCounter

__all__ = ["LayerAgreement", "NumberAgreement", "agreement_json", "value_level"]

# Numbers of so many distinct values or fewer are a scale of grades.
_MOST_GRADES = 20
# Annotator → the labels and the numbers of a unit.
_Unit = dict[str, tuple[set[str], list[float]]]


def value_level(distinct: Sequence[float] | None) -> Literal["ordinal", "interval"]:
    """The level of numbers: a scale of up to twenty grades is ordinal, more are measured."""
    return "ordinal" if distinct is not None and len(distinct) <= _MOST_GRADES else "interval"


def agreement_json(counter: AgreementCounter) -> dict[str, Any]:
    """Krippendorff's α with its interval; ``None`` where it is not defined.

    ``units`` are those that two or more annotators answered.
    """
    interval = counter.interval()
    return {
        "level": counter.level,
        "units": counter.pairable,
        "alpha": _number(counter.alpha()),
        "interval": None if math.isnan(interval.low) else [interval.low, interval.high],
        "percent_agreement": _number(counter.percent_agreement()),
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


class NumberAgreement:
    """Agreement on numbers whose level shows only at the end, when it is known how many distinct ones there are."""

    def __init__(self) -> None:
        self._ordinal = AgreementCounter("ordinal")
        self._interval = AgreementCounter("interval")

    @property
    def units(self) -> int:
        """The units taken so far."""
        return self._interval.units

    def add(self, numbers: Sequence[float]) -> None:
        """Take the numbers of one unit, one an annotator."""
        self._ordinal.add(numbers)
        self._interval.add(numbers)

    def to_json(self, distinct: Sequence[float] | None) -> dict[str, Any]:
        """α at the level that fits the distinct numbers of the whole layer (``None``: too many to list)."""
        return agreement_json(self._ordinal if value_level(distinct) == "ordinal" else self._interval)


class LayerAgreement:
    """Takes a layer's annotations dialogue by dialogue, each ``(position, start, end, annotator, label, value)``.

    A unit is a place: a dialogue or an utterance. Spans have no units in common that could be counted, as anyone may mark
    anything, so they are compared by F1 (Hripcsak and Rothschild 2005): two annotators of a dialogue, the share of their spans
    that both have, exactly and with the same label.
    """

    def __init__(self) -> None:
        self._several = False
        self._sets = AgreementCounter("nominal")
        self._numbers = NumberAgreement()
        # Answering annotators → units; label → (answering annotators, those who gave it) → units.
        self._answering: Counter[int] = Counter()
        self._presence: dict[str, Counter[tuple[int, int]]] = {}
        self._span_pairs = 0
        self._spans = 0
        self._same_spans = 0

    def add(self, notes: Iterable[tuple[Any, ...]]) -> None:
        """The annotations of one dialogue."""
        units: dict[int | None, _Unit] = {}
        spans: dict[str, set[tuple[Any, ...]]] = {}
        for position, start, end, annotator, label, value in notes:
            if start is not None:
                spans.setdefault(annotator, set()).add((position, start, end, label, value))
                continue
            labels, values = units.setdefault(position, {}).setdefault(annotator, (set(), []))
            if label is not None:
                labels.add(label)
            elif value is not None and math.isfinite(value):
                values.append(value)
        for unit in units.values():
            if len(unit) > 1:
                self._add_unit(unit)
        for one, other in combinations([spans[name] for name in sorted(spans)], 2):
            self._span_pairs += 1
            self._spans += len(one) + len(other)
            self._same_spans += 2 * len(one & other)

    def _add_unit(self, unit: _Unit) -> None:
        sets = [labels for labels, _ in unit.values() if labels]
        if len(sets) > 1:
            self._several = self._several or any(len(labels) > 1 for labels in sets)
            self._sets.add(tuple(sorted(labels)) for labels in sets)
            self._answering[len(sets)] += 1
            for label in set().union(*sets):
                given = sum(label in labels for labels in sets)
                self._presence.setdefault(label, Counter())[len(sets), given] += 1
        # Who gave several numbers for one place stands with their mean.
        numbers = [math.fsum(values) / len(values) for _, values in unit.values() if values]
        if len(numbers) > 1:
            self._numbers.add(numbers)

    def to_json(self, labels: Sequence[str] | None, values: Sequence[float] | None) -> dict[str, Any]:
        """What was found, by kind of answer, given the layer's distinct labels and values (``None``: too many to list).

        ``labels``, ``values`` and ``spans`` are ``None`` where two annotators never had such answers in one place.
        """
        return {
            "labels": self._labels_json(labels) if self._answering else None,
            "values": self._numbers.to_json(values) if self._numbers.units else None,
            "spans": self._spans_json() if self._span_pairs else None,
        }

    def _labels_json(self, labels: Sequence[str] | None) -> dict[str, Any]:
        found = agreement_json(self._sets)
        found["several"] = self._several
        found["by_label"] = found["mean_of_labels"] = None
        if labels is not None and self._several:
            alphas = {label: self._label_alpha(label) for label in sorted(labels)}
            found["by_label"] = {label: _number(alpha) for label, alpha in alphas.items()}
            defined = [alpha for alpha in alphas.values() if not math.isnan(alpha)]
            found["mean_of_labels"] = math.fsum(defined) / len(defined) if defined else None
        return found

    def _label_alpha(self, label: str) -> float:
        """α of whether an annotator gives the label."""
        counter = AgreementCounter("nominal")
        patterns = Counter(self._presence.get(label, Counter()))
        present: Counter[int] = Counter()
        for (answering, _), units in patterns.items():
            present[answering] += units
        for answering, units in (self._answering - present).items():
            patterns[answering, 0] += units
        for (answering, given), units in patterns.items():
            for _ in range(units):
                counter.add([1] * given + [0] * (answering - given))
        return counter.alpha()

    def _spans_json(self) -> dict[str, Any]:
        return {"pairs": self._span_pairs, "spans": self._spans, "f1": self._same_spans / self._spans}
