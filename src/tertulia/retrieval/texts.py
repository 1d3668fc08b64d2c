"""The texts of a segment's utterances and the ids of its dialogues, read from a mapped file one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tertulia.errors import ArtefactError
from tertulia.retrieval.container import Container, read_container, write_container

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["TextStore", "encode", "offsets_of", "write_texts"]

# A text that came from a broken source can hold lone surrogates, which plain UTF-8 has no bytes for.
_ERRORS = "surrogatepass"


def encode(text: str) -> bytes:
    """The text as UTF-8, lone surrogates included."""
    return text.encode("utf-8", _ERRORS)


def offsets_of(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each piece begins when pieces of these lengths stand one after the other, and where the last ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.asarray(lengths, dtype=np.int64), out=offsets[1:])
    return offsets


def write_texts(path: Path, texts: Sequence[bytes], dialogue_ids: Sequence[bytes]) -> None:
    """Write the store of a segment: one text a row, one id a dialogue, both as :func:`encode` gives them."""
    id_order = sorted(range(len(dialogue_ids)), key=dialogue_ids.__getitem__)
    write_container(
        path,
        {"rows": len(texts), "dialogues": len(dialogue_ids)},
        {
            "text_offset": offsets_of([len(text) for text in texts]),
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "id_offset": offsets_of([len(dialogue_id) for dialogue_id in dialogue_ids]),
            "id": np.frombuffer(b"".join(dialogue_ids), dtype=np.uint8),
            "id_order": np.array(id_order, dtype="<u4"),
        },
    )


class TextStore:
    """The open text store of one segment.

    Raises
    ------
    ArtefactError
        The file is damaged; also from the methods, where the damage is met later.
    """

    def __init__(self, path: Path) -> None:
        container = read_container(path)
        self.path = path
        self._text_offset = container.array("text_offset", "<i8")
        self._text = container.array("text", np.uint8)
        self._id_offset = container.array("id_offset", "<i8")
        self._id = container.array("id", np.uint8)
        self._id_order = container.array("id_order", "<u4")
        self.rows = len(self._text_offset) - 1
        self.dialogues = len(self._id_order)
        self._check(container)

    def _check(self, container: Container) -> None:
        counts = (container.meta.get("rows"), container.meta.get("dialogues"), len(self._id_offset) - 1)
        if counts != (self.rows, self.dialogues, self.dialogues):
            raise self._damage("its arrays do not fit each other")

    def _damage(self, what: str) -> ArtefactError:
        return ArtefactError(what, where=self.path, hint="the file is damaged; make the index again")

    def _piece(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], index: int) -> bytes:
        start, end = int(offsets[index]), int(offsets[index + 1])
        if not 0 <= start <= end <= len(data):
            raise self._damage(f"piece {index} lies at {start} to {end} of {len(data)} bytes")
        return data[start:end].tobytes()

    def raw_text(self, row: int) -> bytes:
        """The encoded text of a row."""
        return self._piece(self._text, self._text_offset, row)

    def text(self, row: int) -> str:
        """The text of a row."""
        try:
            return self.raw_text(row).decode("utf-8", _ERRORS)
        except UnicodeDecodeError as error:
            raise self._damage(f"the text of row {row} is not UTF-8: {error.reason}") from None

    def raw_dialogue_id(self, dialogue: int) -> bytes:
        """The encoded id of a dialogue."""
        return self._piece(self._id, self._id_offset, dialogue)

    def dialogue_id(self, dialogue: int) -> str:
        """The id of a dialogue."""
        try:
            return self.raw_dialogue_id(dialogue).decode("utf-8", _ERRORS)
        except UnicodeDecodeError as error:
            raise self._damage(f"the id of dialogue {dialogue} is not UTF-8: {error.reason}") from None

    def find_dialogue(self, dialogue_id: str) -> int | None:
        """The dialogue of this id, or none: a search by halves in the ids' order."""
        wanted = encode(dialogue_id)
        low, high = 0, self.dialogues
        while low < high:
            middle = (low + high) // 2
            dialogue = int(self._id_order[middle])
            if dialogue >= self.dialogues:
                raise self._damage(f"it names dialogue {dialogue} of {self.dialogues}")
            found = self.raw_dialogue_id(dialogue)
            if found == wanted:
                return dialogue
            low, high = (middle + 1, high) if found < wanted else (low, middle)
        return None
