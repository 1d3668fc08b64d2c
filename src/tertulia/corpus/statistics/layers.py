"""What annotators say in each layer: how often each label and value, by whom, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.statistics.agreement import LayerAgreement

__all__ = ["MOST_ANNOTATORS", "Answers", "LayerStatistics", "answers_json", "counted"]

# More distinct answers than this are not listed, more annotators not listed one by one.
MOST_ANSWERS = 1_000
MOST_ANNOTATORS = 1_000


class Answers:
    """How often each answer was given: labels or numbers. Beyond ``MOST_ANSWERS`` distinct ones they are only summed up."""

    def __init__(self) -> None:
        self._counts: Counter[Any] | None = Counter()
        self.number = 0
        self._sum = 0.0
        self._squares = 0.0
        self._low = math.inf
        self._high = -math.inf

    def add(self, answer: str | float, count: int) -> None:
        """Count an answer. A value that is no finite number is none."""
        if not isinstance(answer, str):
            if not math.isfinite(answer):
                return
            self._sum += answer * count
            self._squares += answer * answer * count
            self._low, self._high = min(self._low, answer), max(self._high, answer)
        self.number += count
        if self._counts is not None:
            self._counts[answer] += count
            if len(self._counts) > MOST_ANSWERS:
                self._counts = None

    @property
    def distinct(self) -> list[Any] | None:
        """The distinct answers; ``None`` where there are too many to list."""
        return None if self._counts is None else list(self._counts)

    def listed(self) -> dict[str, int] | None:
        """Answer → how often: labels by falling frequency, numbers by size; ``None`` where there are too many."""
        if self._counts is None:
            return None
        by_name = sorted(self._counts.items())
        if by_name and isinstance(by_name[0][0], str):
            by_name.sort(key=lambda item: -item[1])
        return {_name(answer): count for answer, count in by_name}

    def summary(self) -> dict[str, float | None]:
        """``mean``, ``standard_deviation`` (of the whole), ``min`` and ``max`` of the numbers."""
        if not self.number:
            return dict.fromkeys(("mean", "standard_deviation", "min", "max"))
        if self._counts is not None:
            mean = math.fsum(value * count for value, count in self._counts.items()) / self.number
            variance = math.fsum((value - mean) ** 2 * count for value, count in self._counts.items()) / self.number
        else:
            mean = self._sum / self.number
            variance = max(self._squares / self.number - mean * mean, 0.0)
        return {"mean": mean, "standard_deviation": math.sqrt(variance), "min": self._low, "max": self._high}


def _name(answer: str | float) -> str:
    """A label as it is, a number without needless zeros."""
    return answer if isinstance(answer, str) else repr(answer).removesuffix(".0")


class _Layer:
    """The counts of one layer."""

    def __init__(self) -> None:
        self.annotations = 0
        self.places = 0
        self.answered = 0
        self.several = 0
        self.labels = Answers()
        self.values = Answers()
        self.annotators: set[str] = set()
        self.by_annotator: dict[str, tuple[Answers, Answers]] | None = {}
        self.agreement = LayerAgreement()

    def count(self, annotator: str, answer: str | float, count: int) -> None:
        """Count an answer of an annotator."""
        index = 0 if isinstance(answer, str) else 1
        (self.labels, self.values)[index].add(answer, count)
        if self.by_annotator is not None:
            self.by_annotator.setdefault(annotator, (Answers(), Answers()))[index].add(answer, count)

    def meet(self, annotator: str) -> None:
        """Remember an annotator."""
        self.annotators.add(annotator)
        if len(self.annotators) > MOST_ANNOTATORS:
            self.by_annotator = None

    def to_json(self) -> dict[str, Any]:
        """The block of the layer under ``labels``."""
        block: dict[str, Any] = {
            "annotations": self.annotations,
            "places": self.places,
            "answers": self.answered,
            "answers_of_several": self.several,
            "annotators": len(self.annotators),
            **answers_json(self.labels, self.values),
        }
        block["by_annotator"] = self.by_annotator and {
            annotator: answers_json(*both) for annotator, both in sorted(self.by_annotator.items())
        }
        return block


def answers_json(labels: Answers, values: Answers) -> dict[str, Any]:
    """Labels and values with their counts, and the values' summary."""
    return {"labels": labels.listed(), "values": values.listed(), **values.summary()}


class LayerStatistics:
    """Takes the table of annotations row group by row group; a dialogue's annotations are never in two of them."""

    def __init__(self) -> None:
        self._layers: dict[str, _Layer] = {}

    def add(self, table: pa.Table) -> None:
        """Count a row group with all columns but ``attributes``, in the table's order."""
        if not table.num_rows:
            return
        self._count_places(table)
        for name, annotator, number in counted(table, "layer", "annotator"):
            layer = self._layers.setdefault(name, _Layer())
            layer.annotations += number
            layer.meet(annotator)
        for column in ("label", "value"):
            given = table.filter(pc.is_valid(table.column(column)))
            for name, annotator, answer, number in counted(given, "layer", "annotator", column):
                self._layers[name].count(annotator, answer, number)
        self._add_agreement(table)

    def _count_places(self, table: pa.Table) -> None:
        """Places are what was annotated, answers what one annotator says of one place: with several labels it is one answer."""
        place = _changes(table, "dialogue_id", "position", "layer", "start", "end")
        answer = place | _changes(table, "annotator")
        # The answers that hold a second annotation, at that one.
        second = ~answer & np.append(False, answer[:-1])
        marked = pa.table({"layer": table.column("layer"), "place": place, "answer": answer, "second": second})
        sums = marked.group_by("layer", use_threads=False).aggregate(
            [("place", "sum"), ("answer", "sum"), ("second", "sum")]
        )
        for row in sums.to_pylist():
            layer = self._layers.setdefault(row["layer"], _Layer())
            layer.places += row["place_sum"]
            layer.answered += row["answer_sum"]
            layer.several += row["second_sum"]

    def _add_agreement(self, table: pa.Table) -> None:
        pairs = table.select(["layer", "annotator"]).group_by(["layer", "annotator"], use_threads=False).aggregate([])
        annotators = Counter(pairs.column("layer").to_pylist())
        # Of a layer with one annotator nothing is compared, which spares most corpora the loop over annotations.
        shared = [layer for layer, number in annotators.items() if number > 1]
        if not shared:
            return
        rows = table.filter(pc.is_in(table.column("layer"), value_set=pa.array(shared, type=pa.string())))
        columns = ("dialogue_id", "layer", "position", "start", "end", "annotator", "label", "value")
        values = zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
        for _, dialogue in groupby(values, key=itemgetter(0)):
            by_layer: dict[str, list[tuple[Any, ...]]] = {}
            for row in dialogue:
                by_layer.setdefault(row[1], []).append(row[2:])
            for name, notes in by_layer.items():
                self._layers[name].agreement.add(notes)

    def to_json(self) -> dict[str, Any]:
        """``layers``, ``labels`` and ``agreement``, each by layer in alphabetical order."""
        layers = sorted(self._layers.items())
        return {
            "layers": {name: layer.annotations for name, layer in layers},
            "labels": {name: layer.to_json() for name, layer in layers},
            "agreement": {
                name: layer.agreement.to_json(layer.labels.distinct, layer.values.distinct)
                for name, layer in layers
                if len(layer.annotators) > 1
            },
        }


def counted(table: pa.Table, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Each combination of values in some columns with the number of its rows."""
    counts = table.select(list(columns)).group_by(list(columns), use_threads=False).aggregate([([], "count_all")])
    yield from zip(*(counts.column(name).to_pylist() for name in (*columns, "count_all")), strict=True)


def _changes(table: pa.Table, *columns: str) -> npt.NDArray[np.bool_]:
    """For each row whether it differs from the row before in one of these columns; the first one does."""
    changes = np.zeros(table.num_rows, dtype=np.bool_)
    changes[:1] = True
    for name in columns:
        encoded = pc.dictionary_encode(table.column(name).combine_chunks(), null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        changes[1:] |= codes[1:] != codes[:-1]
    return changes
