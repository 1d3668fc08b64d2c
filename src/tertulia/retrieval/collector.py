"""Gathers dialogues, from their texts or from segments that are merged, into the rows of one new segment."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tertulia.retrieval.texts import encode, offsets_of
from tertulia.retrieval.weights import idf_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tertulia.corpus.model import Dialogue
    from tertulia.retrieval.segment import Segment
    from tertulia.retrieval.tokenizer import Tokenizer

__all__ = ["Collector", "Rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """A segment before its lists are laid out: ``n`` rows (utterances) of ``D`` dialogues over ``V`` words.

    Dialogues stand grouped by topic, in the order in which they came within a topic, those without a topic last; a row
    is one utterance, and the rows of a dialogue follow each other. ``words`` are sorted by code point.
    """

    words: list[str]
    weights: NDArray[np.float64]  # [V] idf
    first: NDArray[np.int64]  # [n + 1] where the words of each row begin in ``terms``
    terms: NDArray[np.int64]  # ascending word numbers within a row, each once
    dialogue_row: NDArray[np.int64]  # [D + 1] where the rows of each dialogue begin
    dialogue_number: NDArray[np.int64]  # [D] the number of each dialogue's first utterance
    topics: list[str]
    topic_dialogue: NDArray[np.int64]  # [topics + 2] where the dialogues of each topic, and of none, begin
    texts: list[bytes]  # [n]
    dialogue_ids: list[bytes]  # [D]


class Collector:
    """Takes dialogues in any order of topics; :meth:`rows` sorts them."""

    def __init__(self, tokenizer: Tokenizer, language: str, scale: float) -> None:
        self._tokenizer = tokenizer
        self._language = language
        self._scale = scale
        self._word_id: dict[str, int] = {}
        self._known_weights: dict[str, float] = {}
        # Words by arrival, in chunks: what was tokenised since the last chunk is in ``_pending``.
        self._chunks: list[NDArray[np.int64]] = []
        self._pending = array("I")
        self._row_words = array("I")
        self._texts: list[bytes] = []
        self._dialogue_rows = array("I")
        self._dialogue_numbers = array("q")
        self._dialogue_topics: list[str | None] = []
        self._dialogue_ids: list[bytes] = []

    @property
    def dialogues(self) -> int:
        """How many dialogues were added."""
        return len(self._dialogue_ids)

    @property
    def utterances(self) -> int:
        """How many utterances were added."""
        return len(self._texts)

    def add_dialogue(self, dialogue: Dialogue, number: int) -> None:
        """Add a dialogue whose first utterance is ``number`` in the bank."""
        self._add_head(encode(dialogue.id), dialogue.domain, len(dialogue.utterances), number)
        word_id, pending = self._word_id, self._pending
        for text in dialogue.texts:
            words = set(self._tokenizer.words(text))
            pending.extend([word_id.setdefault(word, len(word_id)) for word in words])
            self._row_words.append(len(words))
            self._texts.append(encode(text))

    def add_segment(self, segment: Segment) -> None:
        """Add the dialogues of a segment that were not removed; their numbers and weights stay."""
        words = segment.all_words()
        self._known_weights.update(zip(words, segment.weights.tolist(), strict=True))
        here = np.array([self._word_id.setdefault(word, len(self._word_id)) for word in words], dtype=np.int64)
        self._flush()
        for dialogue in segment.live_dialogues():
            rows = segment.rows_of(dialogue)
            topic = segment.topic_of(dialogue)
            self._add_head(
                segment.texts.raw_dialogue_id(dialogue), topic, len(rows), int(segment.dialogue_number[dialogue])
            )
            first = segment.first[rows.start : rows.stop + 1].astype(np.int64)
            self._chunks.append(here[segment.terms[first[0] : first[-1]]])
            self._row_words.extend(np.diff(first).tolist())
            self._texts.extend(segment.texts.raw_text(row) for row in rows)

    def _add_head(self, dialogue_id: bytes, topic: str | None, utterances: int, number: int) -> None:
        self._dialogue_ids.append(dialogue_id)
        self._dialogue_topics.append(topic)
        self._dialogue_rows.append(utterances)
        self._dialogue_numbers.append(number)

    def _flush(self) -> None:
        self._chunks.append(np.array(self._pending, dtype=np.int64))
        del self._pending[:]

    def rows(self) -> Rows:
        """Everything added, in the order of a segment."""
        self._flush()
        words, terms = self._sorted_words()
        topics = sorted({topic for topic in self._dialogue_topics if topic is not None})
        code = {topic: index for index, topic in enumerate(topics)}
        code_of = [len(topics) if topic is None else code[topic] for topic in self._dialogue_topics]
        codes = np.array(code_of, dtype=np.int64)
        order = np.argsort(codes, kind="stable")

        lengths = np.array(self._dialogue_rows, dtype=np.int64)
        row_order = _gather(offsets_of(lengths), order)
        counts = np.array(self._row_words, dtype=np.int64)
        terms = terms[_gather(offsets_of(counts), row_order)]
        first = offsets_of(counts[row_order])
        return Rows(
            words=words,
            weights=self._weights_of(words),
            first=first,
            terms=_sorted_within_rows(first, terms, len(words)),
            dialogue_row=offsets_of(lengths[order]),
            dialogue_number=np.array(self._dialogue_numbers, dtype=np.int64)[order],
            topics=topics,
            topic_dialogue=offsets_of(np.bincount(codes, minlength=len(topics) + 1)),
            texts=[self._texts[row] for row in row_order.tolist()],
            dialogue_ids=[self._dialogue_ids[dialogue] for dialogue in order.tolist()],
        )

    def _sorted_words(self) -> tuple[list[str], NDArray[np.int64]]:
        """The words that occur, sorted, and the occurrences as numbers in that order."""
        terms = np.concatenate(self._chunks)
        occurs = np.zeros(len(self._word_id), dtype=np.bool_)
        occurs[terms] = True
        kept = sorted(word for word, index in self._word_id.items() if occurs[index])
        rank = np.zeros(len(self._word_id), dtype=np.int64)
        rank[[self._word_id[word] for word in kept]] = np.arange(len(kept))
        return kept, rank[terms]

    def _weights_of(self, words: Sequence[str]) -> NDArray[np.float64]:
        if not self._known_weights:
            return idf_weights(words, self._language, self._scale)
        unknown = [word for word in words if word not in self._known_weights]
        weights = dict(zip(unknown, idf_weights(unknown, self._language, self._scale).tolist(), strict=True))
        weights.update(self._known_weights)
        return np.array([weights[word] for word in words], dtype=np.float64)


def _gather(offsets: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of the pieces that ``offsets`` delimits, piece after piece in the given order."""
    lengths = np.diff(offsets)[order]
    starts = offsets_of(lengths)[:-1]
    return np.repeat(offsets[:-1][order] - starts, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)


def _sorted_within_rows(first: NDArray[np.int64], terms: NDArray[np.int64], words: int) -> NDArray[np.int64]:
    row = np.repeat(np.arange(len(first) - 1, dtype=np.int64), np.diff(first))
    keys = row * max(words, 1) + terms
    keys.sort()
    return keys - row * max(words, 1)
