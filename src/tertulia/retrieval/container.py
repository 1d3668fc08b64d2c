"""Several arrays in one file that is mapped into memory: a checked header, then each array on a 64-byte boundary.

Layout, little-endian: 8 bytes magic, the length of the header and its CRC-32 as two 32-bit numbers, the header (JSON:
``meta``, and for each array its name, type, offset and count), and the arrays. Opening reads the header alone, so it
takes as long for a large file as for a small one. A header that is damaged, or that does not fit the file, is refused;
damage inside an array is found by the digest in the artefact's manifest, and its readers must not trust its values.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tertulia.artefact import canonical_json
from tertulia.errors import ArtefactError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Container", "read_container", "write_container"]

_MAGIC = b"TERTARR1"
_FIXED = struct.Struct("<8sII")
_ALIGNMENT = 64


class Container:
    """An open file: ``meta`` (JSON) and ``arrays`` (read-only views of the file, kept open by them)."""

    def __init__(self, path: Path, meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.path = path
        self.meta = meta
        self._arrays = arrays

    def array(self, name: str, dtype: Any) -> NDArray[Any]:
        """The array ``name``, one-dimensional.

        Raises
        ------
        ArtefactError
            There is none of this name, or it has another type.
        """
        expected = np.dtype(dtype)
        found = self._arrays.get(name)
        if found is None or found.dtype != expected:
            state = "is missing" if found is None else f"has the type {found.dtype}"
            raise ArtefactError(
                f"the array {name!r} {state}; expected {expected}", where=self.path, hint="make the index again"
            )
        return found

    def type_of(self, name: str) -> np.dtype[Any] | None:
        """The type of the array ``name``, or none where there is no such array."""
        found = self._arrays.get(name)
        return None if found is None else found.dtype


def write_container(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write one-dimensional arrays and force them to the disk; equal contents give equal bytes."""
    listing: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        little = array.dtype.newbyteorder("<")
        listing.append({"name": name, "type": _type_name(little), "offset": offset, "count": len(array)})
        offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = canonical_json({"meta": meta, "arrays": listing}).encode("utf-8", "surrogatepass")
    with path.open("wb") as file:
        file.write(_FIXED.pack(_MAGIC, len(header), zlib.crc32(header)))
        file.write(header)
        file.write(bytes(_start_of_data(len(header)) - _FIXED.size - len(header)))
        for array in arrays.values():
            data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            file.write(data.view(np.uint8).data)
            file.write(bytes(-data.nbytes % _ALIGNMENT))
        file.flush()
        os.fsync(file.fileno())


def read_container(path: Path) -> Container:
    """Map a file written by :func:`write_container`.

    Raises
    ------
    ArtefactError
        It is not such a file, or its header is damaged, or the file is shorter than its header says.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    try:
        header, data = _read_header(mapped)
        arrays = {entry["name"]: _view(mapped, data, entry) for entry in header["arrays"]}
        meta = header["meta"]
        if not isinstance(meta, dict):
            raise TypeError("its description is not an object")
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error) as error:
        raise ArtefactError(
            f"is not a whole file of an index: {error}", where=path, hint="it is damaged; make the index again"
        ) from None
    return Container(path, meta, arrays)


def _read_header(mapped: mmap.mmap | bytes) -> tuple[dict[str, Any], int]:
    if len(mapped) < _FIXED.size:
        raise ValueError(f"it has {len(mapped)} bytes")
    magic, length, checksum = _FIXED.unpack_from(mapped, 0)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic!r}; expected {_MAGIC!r}")
    raw = mapped[_FIXED.size : _FIXED.size + length]
    if len(raw) != length or zlib.crc32(raw) != checksum:
        raise ValueError("its header is damaged")
    header: dict[str, Any] = json.loads(raw)
    return header, _start_of_data(length)


def _start_of_data(header_length: int) -> int:
    return -(-(_FIXED.size + header_length) // _ALIGNMENT) * _ALIGNMENT


def _view(mapped: mmap.mmap | bytes, data: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    dtype = np.dtype(_parse_type(entry["type"]))
    offset, count = int(entry["offset"]), int(entry["count"])
    end = data + offset + count * dtype.itemsize
    if offset < 0 or count < 0 or end > len(mapped):
        raise ValueError(f"the array {entry['name']!r} ends at byte {end}; the file has {len(mapped)}")
    return np.frombuffer(mapped, dtype=dtype, count=count, offset=data + offset)


def _type_name(dtype: np.dtype[Any]) -> Any:
    """The type as JSON: a string, or for records a list of pairs of a field's name and type."""
    return dtype.str if dtype.names is None else [[name, dtype[name].str] for name in dtype.names]


def _parse_type(raw: Any) -> Any:
    return raw if isinstance(raw, str) else [(str(name), str(kind)) for name, kind in raw]
