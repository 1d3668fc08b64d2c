"""What a reader reads: a file, the files of a folder or the members of a zip archive, gzip and zstd undone on the way.

What is compressed is told by its first bytes, not by its name. Everything streams.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from tertulia.corpus.exchange import Place, ReadOptions
from tertulia.errors import InputError

__all__ = ["SourceFile", "source_files"]

_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
_SUFFIXES = (".gz", ".zst")
_CHUNK = 1 << 18
# What the libraries raise for bytes that are not what they should be.
_DAMAGE = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    pa.ArrowException,
)


class SourceFile:
    """One file of a source, wherever it lies.

    ``name`` is its path within the source with forward slashes, without ``.gz`` or ``.zst``; ``where`` the path that an error
    names; ``size`` the bytes that it takes where it lies, ``total`` those of all files of the source.
    """

    def __init__(self, name: str, where: str, size: int, opener: Callable[[], BinaryIO], stored: int | None) -> None:
        self.name = name
        self.where = where
        self.size = size
        self._opener = opener
        # In an archive a member's stored bytes are fewer than those that its stream gives.
        self._stored = stored
        self.total: int | None = None

    def place(self, at: object) -> Place:
        """The place of a line or record of this file."""
        return Place(f"{self.where}:{at}", f"{self.name}:{at}")

    def open(self, options: ReadOptions) -> BinaryIO:
        """The file's bytes, unpacked, as a buffered stream; ``options.progress`` is told the stored bytes as they are read.

        Raises
        ------
        InputError
            Now or while reading: the file cannot be read, or what packed it is damaged.
        """
        try:
            raw = self._opener()
        except _DAMAGE as error:
            raise InputError(f"cannot be read: {_reason(error)}", where=self.where) from None
        counted = io.BufferedReader(_Stream(raw, self.where, self._counter(options)), _CHUNK)
        try:
            first = counted.peek(4)[:4]
            if first.startswith(_GZIP):
                return _buffered(cast("BinaryIO", gzip.GzipFile(fileobj=counted)), counted, self.where)
            if first == _ZSTD:
                return _buffered(_Zstd(counted), counted, self.where)
        except BaseException:
            counted.close()
            raise
        return cast("BinaryIO", counted)

    def _counter(self, options: ReadOptions) -> Callable[[int], None]:
        total = self.total
        if self._stored is None:
            return lambda count: options.progress(count, total)
        share = self.size / max(1, self._stored)
        done = reported = 0

        def unpacked(count: int) -> None:
            nonlocal done, reported
            done += count
            now = min(self.size, int(done * share))
            options.progress(now - reported, total)
            reported = now

        return unpacked


class _Stream(io.RawIOBase):
    """A stream that tells how much was read, and whose damage is an ``InputError`` with the file's name."""

    def __init__(self, inner: Any, where: str, advance: Callable[[int], None], below: Any = None) -> None:
        self._inner = inner
        self._below = below
        self._where = where
        self._advance = advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except _DAMAGE as error:
            raise InputError(f"cannot be read: {_reason(error)}", where=self._where) from None
        buffer[: len(data)] = data
        self._advance(len(data))
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._inner.close()
            if self._below is not None:
                self._below.close()


class _Zstd:
    """The unpacked bytes of a zstd stream of any number of frames. Arrow's reader, unlike others, misses a lost end."""

    def __init__(self, packed: BinaryIO) -> None:
        self._file = pa.PythonFile(packed, mode="r")
        self._stream = pa.CompressedInputStream(self._file, "zstd")

    def read(self, size: int) -> bytes:
        return cast("bytes", self._stream.read(size))

    def close(self) -> None:
        self._stream.close()
        self._file.close()


def _buffered(inner: Any, below: Any, where: str) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Stream(inner, where, lambda _count: None, below), _CHUNK))


def _reason(error: BaseException) -> str:
    if isinstance(error, IsADirectoryError):
        return "it is a folder; expected a file"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"


def source_files(source: str, *patterns: str, expected: str, options: ReadOptions) -> list[SourceFile]:
    """The files of a source in order of name.

    ``source`` is a file, taken whatever its name is, or a folder or zip archive, of which every file is taken whose name (its
    last part, without ``.gz`` or ``.zst``) matches one of the ``patterns``; an archive of one single file is that file. Hidden
    files and folders are passed over.

    Raises
    ------
    InputError
        There is nothing at this path, or nothing in it that matches; the message says what was ``expected``.
    """
    root = Path(source)
    try:
        if root.is_dir():
            files = _of_folder(root)
        elif root.exists():
            packed = _of_archive(root)
            if packed is None:
                return _totalled([_plain(_stem(root.name), root)])
            if len(packed) == 1:
                return _totalled(packed)
            files = packed
        else:
            raise InputError("there is nothing at this path", where=root)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {_reason(error)}", where=root) from None
    found = [file for file in files if any(fnmatchcase(file.name.rpartition("/")[2], pattern) for pattern in patterns)]
    if not found:
        raise InputError(f"holds no {' or '.join(patterns)} file; expected {expected}", where=root)
    found = _totalled(found)
    options.progress(0, found[0].total)
    return found


def _totalled(files: list[SourceFile]) -> list[SourceFile]:
    total = sum(file.size for file in files)
    for file in files:
        file.total = total or None
    return files


def _plain(name: str, path: Path) -> SourceFile:
    return SourceFile(name, str(path), path.stat().st_size, lambda: path.open("rb", buffering=0), None)


def _of_folder(root: Path) -> list[SourceFile]:
    paths = sorted(path.relative_to(root) for path in _files_under(root))
    return [
        _plain(_stem(_text_of(path.as_posix())), root / path)
        for path in paths
        if not any(part.startswith(".") for part in path.parts)
    ]


def _files_under(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file())


def _of_archive(path: Path) -> list[SourceFile] | None:
    """The members of a zip archive in order of name, ``None`` where the file is no archive."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(4) not in _ZIP:
            return None
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise InputError(f"is not a zip archive that can be read: {_reason(error)}", where=path) from None
    members = [member for member in archive.infolist() if not member.is_dir() and not _is_hidden(member.filename)]
    return [_member(archive, member, path) for member in sorted(members, key=lambda member: member.filename)]


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> SourceFile:
    name = member.filename.encode(errors="replace").decode()
    return SourceFile(
        _stem(name),
        f"{path}/{name}",
        member.compress_size,
        lambda: cast("BinaryIO", archive.open(member)),
        member.file_size,
    )


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _stem(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix) and len(name.rpartition("/")[2]) > len(suffix):
            return name[: -len(suffix)]
    return name


def _text_of(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode(errors="replace")
