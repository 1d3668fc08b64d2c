"""One segment of an index, open: mapped arrays that were checked, its texts, and what was removed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.retrieval.container import Container, read_container, write_container
from tertulia.retrieval.layout import ROW, blocks_of, segment_arrays, segment_meta
from tertulia.retrieval.texts import TextStore, write_texts
from tertulia.retrieval.weights import Powers, powers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tertulia.retrieval.collector import Rows

__all__ = ["Lists", "Removal", "Segment", "SegmentFiles", "write_removal", "write_segment"]


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """The names of a segment's files in the index's directory; ``removal`` is none where nothing was removed."""

    index: str
    texts: str
    removal: str | None = None

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [name for name in (self.index, self.texts, self.removal) if name is not None]


@dataclass(frozen=True, slots=True)
class Lists:
    """Posting lists, one a word: rows ``row[first[w]:first[w + 1]]``, bounds ``least[block[w]:]``, one a block."""

    first: NDArray[np.uint32]
    row: NDArray[np.uint32]
    block: NDArray[np.uint32]
    least: NDArray[np.float32]

    def rows(self, word: int) -> NDArray[np.uint32]:
        """The list of one word."""
        return self.row[self.first[word] : self.first[word + 1]]


@dataclass(frozen=True, slots=True)
class Removal:
    """What was removed of a segment: its dialogues, ascending, and the words that no utterance left has, ascending."""

    dialogues: NDArray[np.uint32]
    absent_words: NDArray[np.uint32]


def write_segment(directory: Path, files: SegmentFiles, rows: Rows) -> None:
    """Write the two files of a new segment."""
    write_container(directory / files.index, segment_meta(rows), segment_arrays(rows))
    write_texts(directory / files.texts, rows.texts, rows.dialogue_ids)


def write_removal(path: Path, removal: Removal) -> None:
    """Write which dialogues of a segment are gone."""
    write_container(
        path,
        {"dialogues": len(removal.dialogues)},
        {"dialogues": removal.dialogues.astype("<u4"), "absent_words": removal.absent_words.astype("<u4")},
    )


class Segment:
    """An open segment. All its arrays are read-only; nothing in it changes once it is open, so threads can share it.

    What opening checks is what makes any search safe, however the file was damaged: sizes, and the arrays that say
    where other pieces begin. Row numbers inside lists are checked where they are used.

    Raises
    ------
    ArtefactError
        A file is missing or damaged.
    """

    def __init__(self, directory: Path, files: SegmentFiles) -> None:
        self.files = files
        container = read_container(directory / files.index)
        self.path = container.path
        self.texts = TextStore(directory / files.texts)

        self.dialogue_row: NDArray[np.uint32] = container.array("dialogue_row", "<u4")
        self.dialogue_number: NDArray[np.int64] = container.array("dialogue_number", "<i8")
        self.number_order: NDArray[np.uint32] = container.array("number_order", "<u4")
        self.topic_dialogue: NDArray[np.uint32] = container.array("topic_dialogue", "<u4")
        self.word_offset: NDArray[np.uint32] = container.array("word_offset", "<u4")
        self.word_bytes: NDArray[np.uint8] = container.array("word_bytes", np.uint8)
        self.word_slot: NDArray[np.uint32] = container.array("word_slot", "<u4")
        self.weights: NDArray[np.float64] = container.array("weight", "<f8")
        self.word_bit: NDArray[np.uint8] = container.array("word_bit", np.uint8)
        self.signature: NDArray[np.uint64] = container.array("signature", "<u8")
        self.row: NDArray[Any] = container.array("row", ROW)
        term_type = "<u2" if container.type_of("term") == np.dtype("<u2") else "<u4"
        self.terms: NDArray[Any] = container.array("term", term_type)
        self.context_norm: NDArray[np.float64] = container.array("context_norm", "<f8")
        self.context = _open_lists(container, "context")
        self.context_most: NDArray[np.float32] = container.array("context_most", "<f4")
        self.response = _open_lists(container, "response")

        self.rows = len(self.context_norm)
        self.dialogues = len(self.dialogue_number)
        self.words = len(self.weights)
        topics = container.meta.get("topics")
        self.topics: list[str] = topics if isinstance(topics, list) else []
        self._topic_code = {topic: code for code, topic in enumerate(self.topics)}
        self._check(container)
        self.powers: Powers = powers(self.weights)
        self.removal = self._open_removal(directory, files.removal)
        self.dead_rows = self._dead_rows()
        self._absent = frozenset() if self.removal is None else frozenset(self.removal.absent_words.tolist())

    @property
    def first(self) -> NDArray[np.uint32]:
        """[rows + 1] where the words of each row begin in ``terms``."""
        first: NDArray[np.uint32] = self.row["first"]
        return first

    # ------------------------------------------------------------------ checks

    def _check(self, container: Container) -> None:
        meta = container.meta
        stated = (meta.get("rows"), meta.get("dialogues"), meta.get("words"))
        self._require(stated == (self.rows, self.dialogues, self.words), "its header states other counts than it holds")
        self._require((self.texts.rows, self.texts.dialogues) == (self.rows, self.dialogues), "its texts are another's")
        self._require(all(isinstance(topic, str) for topic in self.topics), "its topics are not names")
        self._require(len(self._topic_code) == len(self.topics), "a topic stands twice")
        self._require(len(self.row) == self.rows + 1 and len(self.word_bit) == self.words, "its records are cut")
        self._require(self._delimits(self.first, self.rows, len(self.terms)), "the words of its rows overlap")
        self._require(len(self.signature) == self.rows, "its signatures are cut")
        self._require(self._delimits(self.dialogue_row, self.dialogues, self.rows), "its dialogues overlap")
        self._require(
            self._delimits(self.topic_dialogue, len(self.topics) + 1, self.dialogues), "its topics do not fit"
        )
        self._require(self._delimits(self.word_offset, self.words, len(self.word_bytes)), "its words overlap")
        size = len(self.word_slot)
        self._require(size > self.words and size & (size - 1) == 0, "its table of words has a wrong size")
        self._require(int(self.word_slot.max()) <= self.words, "its table of words names more words than there are")
        orders = len(self.number_order) == self.dialogues and (self.number_order < self.dialogues).all()
        self._require(bool(orders), "its order of dialogues names others")
        fine = np.isfinite(self.weights) & (self.weights > 0)
        self._require(bool(fine.all()), "a weight of a word is not a positive number")
        self._require(bool((self.word_bit < 64).all()), "a bit of a word is above 63")
        for name, lists in (("context", self.context), ("response", self.response)):
            self._check_lists(name, lists)
        self._require(len(self.context_most) == len(self.context.least), "its bounds are cut")

    def _check_lists(self, name: str, lists: Lists) -> None:
        self._require(self._delimits(lists.first, self.words, len(lists.row)), f"its {name} lists overlap")
        blocks = blocks_of(lists.first)
        same = len(lists.block) == self.words and np.array_equal(lists.block, blocks[:-1])
        self._require(same and len(lists.least) == int(blocks[-1]), f"the blocks of its {name} lists do not fit")

    @staticmethod
    def _delimits(starts: NDArray[np.uint32], pieces: int, total: int) -> bool:
        if len(starts) != pieces + 1 or int(starts[0]) != 0 or int(starts[-1]) != total:
            return False
        return bool((starts[1:] >= starts[:-1]).all())

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise self.damage(what)

    def damage(self, what: str) -> ArtefactError:
        """The error of a file whose bytes contradict each other."""
        return ArtefactError(what, where=self.path, hint="the file is damaged; make the index again")

    # ------------------------------------------------------------------ removals

    def _open_removal(self, directory: Path, name: str | None) -> Removal | None:
        if name is None:
            return None
        container = read_container(directory / name)
        removal = Removal(container.array("dialogues", "<u4"), container.array("absent_words", "<u4"))
        for numbers, limit in ((removal.dialogues, self.dialogues), (removal.absent_words, self.words)):
            if len(numbers) and int(numbers.max()) >= limit:
                raise ArtefactError("names more than the segment has", where=container.path, hint="it is damaged")
        return removal

    def _dead_rows(self) -> NDArray[np.bool_] | None:
        """A flag a row, set where its dialogue was removed; none where nothing was."""
        if self.removal is None:
            return None
        dead = np.zeros(self.rows, dtype=np.bool_)
        for dialogue in self.removal.dialogues.tolist():
            rows = self.rows_of(dialogue)
            dead[rows.start : rows.stop] = True
        return dead

    def removal_of(self, dialogues: Sequence[int]) -> Removal:
        """The removal of these dialogues on top of those that were removed before."""
        before = [] if self.removal is None else self.removal.dialogues.tolist()
        gone = np.array(sorted({*before, *dialogues}), dtype=np.uint32)
        first = self.first
        counts = np.bincount(self.terms, minlength=self.words)
        for dialogue in gone.tolist():
            rows = self.rows_of(dialogue)
            counts -= np.bincount(self.terms[first[rows.start] : first[rows.stop]], minlength=self.words)
        return Removal(gone, np.flatnonzero(counts == 0).astype(np.uint32))

    def is_live(self, dialogue: int) -> bool:
        """Whether the dialogue was not removed."""
        if self.removal is None:
            return True
        place = int(np.searchsorted(self.removal.dialogues, dialogue))
        return place == len(self.removal.dialogues) or int(self.removal.dialogues[place]) != dialogue

    def live_dialogues(self) -> list[int]:
        """The dialogues that were not removed, ascending."""
        if self.removal is None:
            return list(range(self.dialogues))
        gone = set(self.removal.dialogues.tolist())
        return [dialogue for dialogue in range(self.dialogues) if dialogue not in gone]

    def live_counts(self) -> tuple[int, int]:
        """How many dialogues and utterances were not removed."""
        if self.removal is None or self.dead_rows is None:
            return self.dialogues, self.rows
        return self.dialogues - len(self.removal.dialogues), self.rows - int(self.dead_rows.sum())

    # ------------------------------------------------------------------ words

    def word(self, index: int) -> bytes:
        """A word's bytes."""
        return self.word_bytes[int(self.word_offset[index]) : int(self.word_offset[index + 1])].tobytes()

    def all_words(self) -> list[str]:
        """All words, in order."""
        whole, offsets = self.word_bytes.tobytes(), self.word_offset.tolist()
        try:
            return [whole[start:end].decode() for start, end in pairwise(offsets)]
        except UnicodeDecodeError:
            raise self.damage("a word is not UTF-8") from None

    def find_word(self, word: bytes) -> int | None:
        """The number of a word that an utterance still there has, or none."""
        mask = len(self.word_slot) - 1
        slot = zlib.crc32(word) & mask
        for _ in range(mask + 1):
            entry = int(self.word_slot[slot])
            if entry == 0:
                return None
            if self.word(entry - 1) == word:
                return None if entry - 1 in self._absent else entry - 1
            slot = (slot + 1) & mask
        return None

    # ------------------------------------------------------------------ dialogues

    def rows_of(self, dialogue: int) -> range:
        """The rows of a dialogue."""
        return range(int(self.dialogue_row[dialogue]), int(self.dialogue_row[dialogue + 1]))

    def topic_of(self, dialogue: int) -> str | None:
        """The topic of a dialogue, or none."""
        code = int(np.searchsorted(self.topic_dialogue, dialogue, side="right")) - 1
        return self.topics[code] if code < len(self.topics) else None

    def live_topics(self) -> list[str]:
        """The topics that a dialogue which was not removed has."""
        counts = np.diff(self.topic_dialogue.astype(np.int64))[:-1]
        if self.removal is not None:
            codes = np.searchsorted(self.topic_dialogue, self.removal.dialogues, side="right") - 1
            counts = counts - np.bincount(codes, minlength=len(self.topics) + 1)[: len(self.topics)]
        return [topic for topic, count in zip(self.topics, counts.tolist(), strict=True) if count]

    def topic_rows(self, topic: str) -> range:
        """The rows of a topic's dialogues: they follow each other."""
        code = self._topic_code.get(topic)
        if code is None:
            return range(0)
        dialogues = self.topic_dialogue[code : code + 2]
        return range(int(self.dialogue_row[dialogues[0]]), int(self.dialogue_row[dialogues[1]]))

    def number_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers in the bank of some rows."""
        dialogue = np.searchsorted(self.dialogue_row, rows, side="right") - 1
        return self.dialogue_number[dialogue] + rows - self.dialogue_row[dialogue]

    def find_number(self, number: int) -> tuple[int, int] | None:
        """The dialogue and the position of the utterance of this number, or none; removed ones too."""
        low, high = 0, self.dialogues
        while low < high:
            middle = (low + high) // 2
            if int(self.dialogue_number[self.number_order[middle]]) <= number:
                low = middle + 1
            else:
                high = middle
        # Dialogues without utterances share a number with the next, so the one that holds it is looked for backwards.
        for place in range(low - 1, -1, -1):
            dialogue = int(self.number_order[place])
            position = number - int(self.dialogue_number[dialogue])
            if 0 <= position < len(self.rows_of(dialogue)):
                return dialogue, position
            if len(self.rows_of(dialogue)):
                break
        return None


def _open_lists(container: Container, name: str) -> Lists:
    return Lists(
        first=container.array(f"{name}_first", "<u4"),
        row=container.array(f"{name}_row", "<u4"),
        block=container.array(f"{name}_block", "<u4"),
        least=container.array(f"{name}_least", "<f4"),
    )
