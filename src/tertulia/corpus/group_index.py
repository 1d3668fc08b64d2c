"""Which row group holds a key, and the footer of that row group alone: how one record is found in a table of thousands of groups.

The footer of a Parquet file describes every row group, and Arrow parses all of it before it reads any: tens of milliseconds for
the megabytes of a large file. The index keeps the last key of each group and the place of its description within the footer, so
that a footer of one group can be put together: the schema before the descriptions, one description, what comes after them. The
offsets in it are absolute, so Arrow reads that group from the file itself.

A footer is a Thrift structure in the compact protocol (parquet.thrift, ``FileMetaData``: field 4 is the list of row groups).
"""

from __future__ import annotations

import io
import json
import os
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

__all__ = ["INDEX_FILE", "GroupIndex", "footer_of", "index_digest", "index_of", "read_index"]

INDEX_FILE = "groups.json"
_MAGIC = b"PAR1"
_TAIL = 8
_ROW_GROUPS = 4
_BINARY, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_TRUE, _FALSE, _BYTE, _DOUBLE = 1, 2, 3, 7


class GroupIndex:
    """The row groups of one table: the last key of each, and where the footer describes it."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.last: list[str] = value["last"]
        # Places in the file: where the footer begins, its list of groups, each group's description (and the end), the footer's end.
        self._footer, self._list, self._end = (int(value[name]) for name in ("footer", "list", "end"))
        self._groups: list[int] = value["groups"]
        if len(self._groups) != len(self.last) + 1 or not self._footer < self._list < self._end:
            raise ValueError("the index of row groups does not hold together")
        self._encoded = [key.encode() for key in self.last]

    def group_of(self, key: bytes) -> int | None:
        """The row group that can hold a key, ``None`` where the keys end before it."""
        group = bisect_left(self._encoded, key)
        return group if group < len(self._encoded) else None

    def metadata(self, path: Path, group: int) -> pq.FileMetaData:
        """The metadata of a file that has this row group alone, as its group 0."""
        low, high = self._groups[group], self._groups[group + 1]
        with path.open("rb") as file:
            before = _range(file, self._footer, self._list)
            description = _range(file, low, high)
            after = _range(file, self._groups[-1], self._end)
        footer = before + bytes([(1 << 4) | _STRUCT]) + description + after
        return pq.read_metadata(io.BytesIO(_MAGIC + footer + len(footer).to_bytes(4, "little") + _MAGIC))


def _range(file: Any, low: int, high: int) -> bytes:
    file.seek(low)
    data: bytes = file.read(high - low)
    if len(data) != high - low:
        raise ValueError("the file ends within its footer")
    return data


def footer_of(path: Path) -> tuple[int, bytes]:
    """Where the footer of a Parquet file begins, and its bytes to the file's end: its length and four letters stand behind it.

    Of a file too short for the length that it names, all there is.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL))
        length = int.from_bytes(file.read(4), "little")
        begin = file.seek(max(0, size - _TAIL - length))
        return begin, file.read()


def index_of(path: Path, last_keys: Sequence[str]) -> dict[str, Any]:
    """The index of a table, to be kept as JSON; ``last_keys`` are the last keys of its row groups."""
    begin, data = footer_of(path)
    place, starts = _row_groups(data)
    if len(starts) != len(last_keys) + 1:
        raise ValueError(f"the footer describes {len(starts) - 1} row groups; there are {len(last_keys)}")
    return {
        "footer": begin,
        "list": begin + place,
        "groups": [begin + start for start in starts],
        "end": begin + len(data) - _TAIL,
        "last": list(last_keys),
    }


def read_index(directory: Path, digest: object) -> dict[str, GroupIndex]:
    """The indexes of the tables of a collection, whose ``index_digest`` must be this one.

    Raises
    ------
    OSError, ValueError, KeyError, TypeError
        It is not there, is another, or does not hold together.
    """
    data = (directory / INDEX_FILE).read_bytes()
    if index_digest(data) != digest:
        raise ValueError("its digest is not the one in the manifest")
    return {table: GroupIndex(entry) for table, entry in json.loads(data).items()}


def index_digest(data: bytes) -> str:
    """The CRC-32 (hexadecimal) of the index: whatever opens a collection reads it, so it is checked at once."""
    return f"{zlib.crc32(data):08x}"


def _row_groups(data: bytes) -> tuple[int, list[int]]:
    """Where the list of row groups begins in a footer, and where each of them does, with the end of the last."""
    at, field = 0, 0
    while data[at]:
        header = data[at]
        at += 1
        step = header >> 4
        if step:
            field += step
        else:
            number, at = _varint(data, at)
            field = (number >> 1) ^ -(number & 1)
        if field == _ROW_GROUPS and header & 15 == _LIST:
            place = at
            count, _, at = _list_header(data, at)
            starts = [at]
            for _ in range(count):
                at = _skip_struct(data, at)
                starts.append(at)
            return place, starts
        at = _skip(data, at, header & 15)
    raise ValueError("the footer has no list of row groups")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _list_header(data: bytes, at: int) -> tuple[int, int, int]:
    header = data[at]
    count, kind = header >> 4, header & 15
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    return count, kind, at


def _skip_struct(data: bytes, at: int) -> int:
    while header := data[at]:
        at += 1
        if not header >> 4:
            _, at = _varint(data, at)
        kind = header & 15
        if kind > _FALSE:
            at = _skip(data, at, kind)
    return at + 1


def _skip(data: bytes, at: int, kind: int) -> int:
    """The place after a value of this type. A truth value of a field has no bytes: its type says it."""
    if kind in (_TRUE, _FALSE):
        return at
    if kind in _SKIPS:
        return _SKIPS[kind](data, at)
    # Whole numbers of 16, 32 and 64 bits.
    while data[at] > 127:
        at += 1
    return at + 1


def _skip_binary(data: bytes, at: int) -> int:
    length, at = _varint(data, at)
    return at + length


def _skip_list(data: bytes, at: int) -> int:
    count, kind, at = _list_header(data, at)
    for _ in range(count):
        # In a list a truth value is a byte.
        at = at + 1 if kind in (_TRUE, _FALSE) else _skip(data, at, kind)
    return at


def _skip_map(data: bytes, at: int) -> int:
    count, at = _varint(data, at)
    if count:
        kinds = data[at]
        at += 1
        for _ in range(count):
            at = _skip(data, _skip(data, at, kinds >> 4), kinds & 15)
    return at


_SKIPS: dict[int, Callable[[bytes, int], int]] = {
    _BYTE: lambda _data, at: at + 1,
    _DOUBLE: lambda _data, at: at + 8,
    _BINARY: _skip_binary,
    _LIST: _skip_list,
    _SET: _skip_list,
    _MAP: _skip_map,
    _STRUCT: _skip_struct,
}
