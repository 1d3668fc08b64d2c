"""What a corpus holds, counted in one streaming pass over its tables: no Python object an utterance, memory bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tertulia.corpus.statistics.layers import LayerStatistics
from tertulia.corpus.statistics.owners import Owners
from tertulia.corpus.statistics.tally import Tally
from tertulia.corpus.statistics.text_counts import CellCounts, Progress, TextCounts, ratio, sample_of
from tertulia.corpus.statistics.vocabulary import Groups, Vocabularies
from tertulia.corpus.statistics.words import choose_method
from tertulia.corpus.store import Corpus

__all__ = ["corpus_statistics"]

Integers = npt.NDArray[np.int64]


def corpus_statistics(corpus: Corpus, progress: Progress | None = None, *, words: str = "auto") -> dict[str, Any]:
    """Everything that ``tertulia corpus stats --json`` prints of a corpus; docs/statistics.md defines each figure.

    Parameters
    ----------
    progress:
        Told the dialogues counted since its last call, and their total.
    words:
        How texts are taken apart: ``"auto"``, ``"spaces"`` or ``"chinese"`` (``choose_method`` of ``words.py``).

    Raises
    ------
    ConfigurationError
        There is no such way to count words.
    ArtefactError
        The tables are damaged or do not belong together.
    """
    sample = sample_of(corpus, "utterances", "text", lambda column: column) if words == "auto" else []
    method = choose_method(words, sample)
    texts = TextCounts(method, Vocabularies(Groups()))
    counted = _Counted(texts)
    first = corpus.batches("dialogues", ["domain", "split", "utterances"])
    owners = Owners(corpus, first, "utterances", "utterances", counted.groups)
    total = len(corpus)
    for table in corpus.batches("utterances", ["position", "turn", "speaker", "text"]):
        cells, sizes = owners.take(table)
        counted.add(table, cells, sizes)
        if progress is not None:
            progress(len(sizes), total)
    for cells in owners.rest():
        nothing = np.zeros(len(cells), dtype=np.int64)
        counted.add_dialogues(cells, nothing, nothing)
        if progress is not None:
            progress(len(cells), total)
    layers = LayerStatistics()
    columns = ["dialogue_id", "position", "start", "end", "layer", "annotator", "label", "value"]
    for table in corpus.batches("annotations", columns):
        layers.add(table)
    return {"kind": "corpus", **counted.to_json(), **layers.to_json(), "tokenizer": texts.tokenizer()}


class _Counted:
    """All counts over dialogues and utterances."""

    def __init__(self, texts: TextCounts) -> None:
        self.groups = texts.vocabularies.groups
        self._texts = texts
        self._words = Tally()
        self._utterances = Tally()
        self._turns = Tally()
        self._cells = {name: CellCounts(self.groups) for name in ("dialogues", "utterances", "turns", "words")}

    def add(self, table: pa.Table, cells: Integers, sizes: Integers) -> None:
        """Count the utterances of a row group, whose dialogues lie in these cells and have so many utterances."""
        turn = table.column("turn").to_numpy()
        begins = np.append(True, turn[1:] != turn[:-1])[: len(turn)] | (table.column("position").to_numpy() == 0)
        turns_until = np.append(0, np.cumsum(begins))
        ends = np.cumsum(sizes)
        self.add_dialogues(cells, sizes, turns_until[ends] - turns_until[ends - sizes])
        self._texts.vocabularies.add_speakers(table.column("speaker").combine_chunks())
        of_utterances = np.repeat(cells, sizes)
        words = self._texts.add(table.column("text").combine_chunks(), of_utterances)
        self._words.add(words)
        self._cells["words"].add(of_utterances, words)

    def add_dialogues(self, cells: Integers, sizes: Integers, turns: Integers) -> None:
        """Count dialogues by their cell, number of utterances and number of turns."""
        self._utterances.add(sizes)
        self._turns.add(turns)
        self._cells["dialogues"].add(cells, np.ones(len(cells), dtype=np.int64))
        self._cells["utterances"].add(cells, sizes)
        self._cells["turns"].add(cells, turns)

    def to_json(self) -> dict[str, Any]:
        """The figures so far."""
        vocabularies = self._texts.vocabularies
        return {
            "dialogues": self._utterances.number,
            "utterances": self._words.number,
            "turns": self._turns.total,
            "words": self._words.total,
            "vocabulary": vocabularies.all(),
            "speakers": vocabularies.speakers(),
            "domains": self._cells["dialogues"].sums("domain"),
            "splits": self._cells["dialogues"].sums("split"),
            "utterances_per_dialogue": self._utterances.summary(),
            "turns_per_dialogue": self._turns.summary(),
            "words_per_utterance": self._words.summary(),
            "by_domain": self._by("domain"),
            "by_split": self._by("split"),
        }

    def _by(self, side: str) -> dict[str, dict[str, Any]]:
        sums = {what: counts.sums(side) for what, counts in self._cells.items()}
        blocks = {}
        for name, dialogues in sums["dialogues"].items():
            utterances, turns, words = (sums[what].get(name, 0) for what in ("utterances", "turns", "words"))
            blocks[name] = {
                "dialogues": dialogues,
                "utterances": utterances,
                "turns": turns,
                "words": words,
                "vocabulary": self._texts.vocabularies.of(side, name),
                "utterances_per_dialogue": ratio(utterances, dialogues),
                "turns_per_dialogue": ratio(turns, dialogues),
                "words_per_utterance": ratio(words, utterances),
            }
        return blocks
