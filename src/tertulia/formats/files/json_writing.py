"""JSON files of many records: written as a stream, in the order that the records had in their source, with the fields that
only the source knows kept as attributes on the way in and written again on the way out."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Set
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from tertulia.corpus.model import Utterance
from tertulia.formats.files.fields import attributes as checked

__all__ = ["NUMBER", "RecordFile", "is_named", "kept_fields", "place_in_source", "written_fields"]

NUMBER = "number"
"""The attribute that keeps the place of a dialogue in its source, from 0."""
_EXTRA = "extra"
_ROLE_NAMES = {"user": {"user"}, "agent": {"agent", "assistant"}}
_MOST = 2**53
_DEEPER = 50
# Values of these kinds a corpus can keep, whatever they are.
_PLAIN = frozenset({int, bool, type(None)})


class RecordFile:
    """One JSON array of records, or one object of records by their name, a record a line.

    Records come in any order. Those with a ``number`` stand in order of it, after those without, which stay in the order in
    which they came; what has come in order is never copied. Memory holds three numbers a record.
    """

    def __init__(self, path: Path, *, named: bool) -> None:
        self.path = path
        self._named = named
        self._stream: BinaryIO | None = None
        # Of every record its number (-1 without), and the byte at which it ends.
        self._numbers = array("q")
        self._ends = array("q")
        self._end = 0
        self._in_order = True

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.pause()

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, value: Any, *, number: int | None = None, name: str | None = None) -> None:
        """Append one record; ``name`` where the file is an object."""
        line = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if self._named:
            line = f"{json.dumps(name, ensure_ascii=False)}: {line}"
        rank = -1 if number is None else number
        if self._numbers and rank < self._numbers[-1]:
            self._in_order = False
        data = line.encode()
        if self._ends:
            self._write(b",\n" + data)
            self._end += 2
        else:
            self._write((b"{\n" if self._named else b"[\n") + data)
            self._end += 2
        self._end += len(data)
        self._numbers.append(rank)
        self._ends.append(self._end)

    def _write(self, data: bytes) -> None:
        if self._stream is None:
            self._stream = self.path.open("ab")
        self._stream.write(data)

    def pause(self) -> None:
        """Close the file for now, so that many can be written side by side."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def close(self) -> None:
        """End the file, and put the records in order where they have not come so."""
        opening, closing = (b"{", b"\n}\n") if self._named else (b"[", b"\n]\n")
        self._write(closing if self._ends else opening + closing)
        self.pause()
        if not self._in_order:
            self._sort(opening, closing)

    def _sort(self, opening: bytes, closing: bytes) -> None:
        draft = self.path.with_name(self.path.name + ".unsorted")
        self.path.rename(draft)
        with draft.open("rb") as source, self.path.open("wb") as target:
            target.write(opening)
            for index, which in enumerate(sorted(range(len(self._ends)), key=self._numbers.__getitem__)):
                # Two bytes stand before every record: the bracket or comma, and the line break.
                start = (self._ends[which - 1] if which else 0) + 2
                source.seek(start)
                target.write(b",\n" if index else b"\n")
                target.write(source.read(self._ends[which] - start))
            target.write(closing)
        draft.unlink()


def place_in_source(attributes: Mapping[str, Any]) -> int | None:
    """The number of a dialogue in its source as its attributes keep it, ``None`` where there is none."""
    value = attributes.get(NUMBER)
    return value if type(value) is int and 0 <= value < _MOST else None


def is_named(utterance: Utterance) -> bool:
    """Whether the speaker of a role is called by more than the role, which a format that has only roles loses."""
    return utterance.role is not None and utterance.speaker.casefold() not in _ROLE_NAMES[utterance.role]


def kept_fields(item: Mapping[str, Any], taken: Set[str], reserved: Set[str]) -> dict[str, Any]:
    """The fields of a JSON object that the format does not know (not ``taken``), as attributes.

    A field that has the name of an attribute with a meaning of its own (``reserved``) stands under ``extra``.

    Raises
    ------
    InputError
        A value is not one that a corpus can keep.
    """
    kept = {name: value for name, value in item.items() if name not in taken}
    if not kept:
        return kept
    if _EXTRA in kept or (reserved and not kept.keys().isdisjoint(reserved)):
        kept[_EXTRA] = {name: kept.pop(name) for name in sorted(kept) if name in reserved or name == _EXTRA}
    for name, value in kept.items():
        kind = type(value)
        if not name.isascii() or not (kind in _PLAIN or (kind is str and value.isascii())):
            # Nested deeper than it will ever be kept or written, for what is just not too deep here could be so there.
            checked(
                {"the other fields": reduce(lambda inner, _: {"": inner}, range(_DEEPER), kept)}, "the other fields"
            )
            break
    return kept


def written_fields(attributes: Mapping[str, Any], taken: Set[str], reserved: Set[str]) -> tuple[dict[str, Any], int]:
    """What ``kept_fields`` has kept, to be written again, and how many other attributes have the name of a field."""
    if not attributes:
        return {}, 0
    fields = {name: attributes[name] for name in sorted(attributes.keys() - reserved) if name != _EXTRA}
    extra = attributes.get(_EXTRA)
    if isinstance(extra, dict):
        fields.update((name, value) for name, value in extra.items() if name in reserved or name == _EXTRA)
    elif extra is not None:
        fields[_EXTRA] = extra
    lost = fields.keys() & taken
    for name in lost:
        del fields[name]
    return fields, len(lost)
