"""Arrow columns as lists of Python values, and texts as Arrow arrays, by their buffers.

It is several times as fast as ``to_pylist``, which makes a scalar object of each value first. And it is quicker to start: where
pandas is installed, Arrow imports it (hundreds of milliseconds, a hundred megabytes) as soon as an array is made of Python values,
or given to NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["text_array", "values_of"]

_NUMBERS: dict[Any, str] = {pa.int32(): "<i4", pa.int64(): "<i8", pa.float64(): "<f8"}
Integers = np.ndarray[Any, np.dtype[np.integer[Any]]]


def text_array(texts: Sequence[str]) -> pa.Array:
    """Texts as an Arrow array of strings.

    Raises
    ------
    UnicodeEncodeError
        A text has half of a surrogate pair.
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] >= 2**31:
        return pa.array(list(texts), pa.string())
    data = pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends.astype("<i4").tobytes()), data)


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values of a column of texts, numbers, times or lists of structs.

    ``None`` stands for null, times are in UTC, a list of structs is a list of tuples.

    Raises
    ------
    ValueError
        A text is not UTF-8, or a time is of no year that Python knows.
    """
    if column.null_count == len(column):
        # A column without any value costs nothing.
        return [None] * len(column)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return _values(chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks))


def _values(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_list(kind):
        found = _lists(array)
    elif pa.types.is_string(kind):
        found = _texts(array)
    elif pa.types.is_timestamp(kind):
        found = _times(array)
    elif kind in _NUMBERS:
        found = _numbers(array, _NUMBERS[kind]).tolist()
    else:
        found = array.to_pylist()
    if array.null_count:
        return [value if there else None for value, there in zip(found, _valid(array), strict=True)]
    return found


def _valid(array: pa.Array) -> list[bool]:
    """Which values are there, by the bitmap of an array that has nulls."""
    bits = np.frombuffer(array.buffers()[0], dtype=np.uint8)
    found = np.unpackbits(bits, bitorder="little")[array.offset : array.offset + len(array)]
    values: list[bool] = found.astype(bool).tolist()
    return values


def _numbers(array: pa.Array, kind: str) -> Integers:
    return np.frombuffer(array.buffers()[1], dtype=kind)[array.offset : array.offset + len(array)]


def _offsets(array: pa.Array) -> list[int]:
    offsets = np.frombuffer(array.buffers()[1], dtype="<i4")[array.offset : array.offset + len(array) + 1]
    values: list[int] = offsets.tolist()
    return values


def _texts(array: pa.Array) -> list[Any]:
    offsets = _offsets(array)
    first = offsets[0]
    data = memoryview(array.buffers()[2] or b"")[first : offsets[-1]]
    whole = str(data, "utf-8")
    if len(whole) == len(data):
        # All is ASCII: bytes and characters are the same places.
        return [whole[low - first : high - first] for low, high in itertools.pairwise(offsets)]
    return [str(data[low - first : high - first], "utf-8") for low, high in itertools.pairwise(offsets)]


def _times(array: pa.Array) -> list[Any]:
    micros = _numbers(array, "<i8")
    if array.null_count:
        # What stands under a null is anything; epoch will do.
        micros = np.where(_valid(array), micros, 0)
    # Beyond Python's years NumPy gives plain numbers.
    found = micros.astype("datetime64[us]").astype(object).tolist()
    if any(isinstance(time, int) for time in found):
        raise ValueError("a time is of no year from 1 to 9999")
    return [None if time is None else time.replace(tzinfo=UTC) for time in found]


def _lists(array: pa.Array) -> list[Any]:
    """Each list as tuples of the fields of its structs."""
    offsets = _offsets(array)
    first = offsets[0]
    inner = array.values.slice(first, offsets[-1] - first)
    fields = [_values_or_none(inner.field(number)) for number in range(inner.type.num_fields)]
    rows = list(zip(*fields, strict=True))
    return [rows[low - first : high - first] for low, high in itertools.pairwise(offsets)]


def _values_or_none(array: pa.Array) -> list[Any]:
    return [None] * len(array) if array.null_count == len(array) else _values(array)
