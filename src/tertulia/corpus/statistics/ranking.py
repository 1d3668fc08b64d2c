"""What a ranking set holds, counted in one streaming pass over each of its tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.statistics.agreement import NumberAgreement
from tertulia.corpus.statistics.layers import MOST_ANNOTATORS, Answers, counted
from tertulia.corpus.statistics.owners import Owners
from tertulia.corpus.statistics.tally import Tally
from tertulia.corpus.statistics.text_counts import CellCounts, Progress, TextCounts, ratio, sample_of
from tertulia.corpus.statistics.vocabulary import Groups, Vocabularies
from tertulia.corpus.statistics.words import choose_method
from tertulia.measures.agreement import CohenCounter

__all__ = ["ranking_statistics"]

Integers = npt.NDArray[np.int64]


def ranking_statistics(ranking: RankingSet, progress: Progress | None = None, *, words: str = "auto") -> dict[str, Any]:
    """Everything that ``tertulia corpus stats --json`` prints of a ranking set; docs/statistics.md defines each figure.

    Parameters and errors are those of ``corpus_statistics``, of contexts in place of dialogues.
    """
    sample = []
    if words == "auto":
        sample = sample_of(ranking, "candidates", "text", lambda column: column)
        sample += sample_of(ranking, "contexts", "turns", lambda column: _texts(column.combine_chunks()))
    method = choose_method(words, sample)
    texts = TextCounts(method, Vocabularies(Groups()))
    counts = _Counted(texts)
    for table in ranking.batches("contexts", ["domain", "split", "turns"]):
        counts.add_contexts(table)
    first = ranking.batches("contexts", ["domain", "split", "candidates"])
    owners = Owners(ranking, first, "candidates", "candidates", counts.groups)
    ratings = _Ratings()
    for table in ranking.batches("candidates", ["position", "text", "relevance", "ratings", "source"]):
        cells, sizes = owners.take(table)
        counts.add_candidates(table, cells, sizes)
        ratings.add(table)
        if progress is not None:
            progress(len(sizes), len(ranking))
    for cells in owners.rest():
        counts.add_sizes(cells, np.zeros(len(cells), dtype=np.int64))
    return {"kind": "ranking-set", **counts.to_json(), **ratings.to_json(), "tokenizer": texts.tokenizer()}


def _texts(turns: pa.Array) -> pa.Array:
    """The texts of a column of turns, all in a row."""
    return pc.struct_field(turns.flatten(), "text")


class _Counted:
    """All counts over contexts and the texts of candidates."""

    def __init__(self, texts: TextCounts) -> None:
        self.groups = texts.vocabularies.groups
        self._texts = texts
        self._turns = Tally()
        self._context_words = Tally()
        self._candidates = Tally()
        self._candidate_words = Tally()
        self._cells = {
            name: CellCounts(self.groups)
            for name in ("contexts", "candidates", "words_in_contexts", "words_in_candidates")
        }

    def add_contexts(self, table: pa.Table) -> None:
        """Count contexts and their turns."""
        cells = self.groups.cells(table.column("domain"), table.column("split"))
        turns = table.column("turns").combine_chunks()
        sizes = pc.list_value_length(turns).to_numpy(zero_copy_only=False).astype(np.int64)
        words_until = np.append(0, np.cumsum(self._texts.add(_texts(turns), np.repeat(cells, sizes))))
        ends = np.cumsum(sizes)
        words = words_until[ends] - words_until[ends - sizes]
        self._turns.add(sizes)
        self._context_words.add(words)
        self._cells["contexts"].add(cells, np.ones(len(cells), dtype=np.int64))
        self._cells["words_in_contexts"].add(cells, words)

    def add_candidates(self, table: pa.Table, cells: Integers, sizes: Integers) -> None:
        """Count the candidates of a row group, whose contexts lie in these cells and have so many candidates."""
        self.add_sizes(cells, sizes)
        of_candidates = np.repeat(cells, sizes)
        words = self._texts.add(table.column("text").combine_chunks(), of_candidates)
        self._candidate_words.add(words)
        self._cells["words_in_candidates"].add(of_candidates, words)

    def add_sizes(self, cells: Integers, sizes: Integers) -> None:
        """Count how many candidates contexts have."""
        self._candidates.add(sizes)
        self._cells["candidates"].add(cells, sizes)

    def to_json(self) -> dict[str, Any]:
        """The figures so far."""
        vocabularies = self._texts.vocabularies
        return {
            "contexts": self._candidates.number,
            "candidates": self._candidates.total,
            "turns": self._turns.total,
            "words": self._context_words.total + self._candidate_words.total,
            "words_in_contexts": self._context_words.total,
            "words_in_candidates": self._candidate_words.total,
            "vocabulary": vocabularies.all(),
            "domains": self._cells["contexts"].sums("domain"),
            "splits": self._cells["contexts"].sums("split"),
            "candidates_per_context": self._candidates.summary(),
            "turns_per_context": self._turns.summary(),
            "words_per_context": self._context_words.summary(),
            "words_per_candidate": self._candidate_words.summary(),
            "by_domain": self._by("domain"),
            "by_split": self._by("split"),
        }

    def _by(self, side: str) -> dict[str, dict[str, Any]]:
        sums = {what: counts.sums(side) for what, counts in self._cells.items()}
        blocks = {}
        for name, contexts in sums["contexts"].items():
            block: dict[str, Any] = {what: sums[what].get(name, 0) for what in sums}
            block["vocabulary"] = self._texts.vocabularies.of(side, name)
            block["candidates_per_context"] = ratio(block["candidates"], contexts)
            block["words_per_context"] = ratio(block["words_in_contexts"], contexts)
            block["words_per_candidate"] = ratio(block["words_in_candidates"], block["candidates"])
            blocks[name] = block
        return blocks


class _Ratings:
    """Relevance, the annotators' ratings and their agreement, and where candidates come from."""

    def __init__(self) -> None:
        self._relevance = Answers()
        self._sources = Answers()
        self._ratings = Answers()
        self._by_annotator: dict[str, Answers] = {}
        self._agreement = NumberAgreement()
        self._pairs = CohenCounter()

    def add(self, table: pa.Table) -> None:
        """Count the candidates of a row group."""
        for column, answers in (("relevance", self._relevance), ("source", self._sources)):
            for answer, number in counted(table.filter(pc.is_valid(table.column(column))), column):
                answers.add(answer, number)
        ratings = table.column("ratings").combine_chunks()
        flat = ratings.flatten()
        if not len(flat):
            return
        said = pa.table({name: pc.struct_field(flat, name) for name in ("annotator", "value")})
        for annotator, value, number in counted(said, "annotator", "value"):
            self._ratings.add(value, number)
            self._by_annotator.setdefault(annotator, Answers()).add(value, number)
        several = ratings.filter(pc.greater(pc.list_value_length(ratings), 1)).to_pylist()
        for unit in several:
            by_annotator = {r["annotator"]: r["value"] for r in unit if math.isfinite(r["value"])}
            if len(by_annotator) > 1:
                self._agreement.add(list(by_annotator.values()))
            if len(by_annotator) == 2 and len(self._by_annotator) == 2:
                self._pairs.add(*(by_annotator[name] for name in sorted(by_annotator)))

    def to_json(self) -> dict[str, Any]:
        """``relevance``, ``ratings``, ``agreement`` and ``sources``."""
        annotators = sorted(self._by_annotator.items())
        return {
            "relevance": _values_json(self._relevance),
            "ratings": {
                **_values_json(self._ratings),
                "annotators": len(annotators),
                "by_annotator": {name: _values_json(answers) for name, answers in annotators}
                if len(annotators) <= MOST_ANNOTATORS
                else None,
            },
            "agreement": self._agreement_json(),
            "sources": self._sources.listed(),
        }

    def _agreement_json(self) -> dict[str, Any] | None:
        if not self._agreement.units:
            return None
        # Cohen's κ is of two annotators who rated everything that was rated twice.
        two = len(self._by_annotator) == 2
        return {
            **self._agreement.to_json(self._ratings.distinct),
            "cohen_kappa": _defined(self._pairs.kappa()) if two else None,
            "cohen_kappa_quadratic": _defined(self._pairs.kappa("quadratic")) if two else None,
        }


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _values_json(answers: Answers) -> dict[str, Any]:
    return {"number": answers.number, "values": answers.listed(), **answers.summary()}
