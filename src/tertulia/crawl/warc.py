"""Reading WARC files (ISO 28500), of this crawler and of others, compressed or not: the pages in them, as a stream.

The reading is our own, and not a library's, for its bounds: no line, head or body of a damaged or hostile file takes more memory
than it may, and whatever is wrong ends in one error that says where. The files are written by warcio, and in the tests its
reader gives the same pages.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from tertulia.crawl.coding import CodingError, TooLargeError, decoded, unchunked
from tertulia.crawl.page import Page, media_type
from tertulia.errors import InputError

__all__ = ["MOST_BYTES", "read_page", "read_warc"]

MOST_BYTES = 20_000_000
_PIECE = 1 << 16
# The most bytes of a line, and of the lines of a head together.
_LINE = 1 << 16
_HEAD = 1 << 18
_USED = {"response", "resource"}
Skip = Callable[[str], None]


def read_warc(
    path: str | Path,
    *,
    max_bytes: int = MOST_BYTES,
    skipped: Callable[[str, str], None] = lambda _reason, _where: None,
) -> Iterator[Page]:
    """The answers to HTTP requests that a WARC file holds, in its order, whatever their status and type.

    ``url`` and ``final_url`` of a page are the same: a redirect is a page of its own, with a status of 300 and more. Records of
    other kinds are passed over; ``skipped`` is told, with the place, of those that cannot be used: a body of more than
    ``max_bytes``, one in a coding that is not known, one that holds no HTTP answer. One page is held in memory at a time.

    Raises
    ------
    InputError
        There is no such file, it is no WARC file, or it ends within a record; naming the file and where in it.
    """
    file = Path(path)
    with _opened(file) as raw:
        stream = _Stream(raw)
        while True:
            with _damage_named(file, stream):
                if not stream.to_record():
                    return
                where = f"{file} at byte {stream.offset:,}"
                page = _record(stream, max_bytes, lambda reason, at=where: skipped(reason, at))  # type: ignore[misc]
            if page is not None:
                yield page


def read_page(path: Path, offset: int, max_bytes: int = MOST_BYTES) -> Page | None:
    """The page of the record that begins at this byte of a WARC file; ``None`` where the record is no page.

    Raises
    ------
    InputError
        No record begins there, or it is damaged.
    """
    with _opened(path) as raw:
        raw.seek(offset)
        stream = _Stream(raw)
        with _damage_named(path, stream):
            if not stream.to_record():
                raise _DamageError("no record begins there")
            return _record(stream, max_bytes, lambda _reason: None)


class _DamageError(Exception):
    """Bytes that are not those of a WARC file."""


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    try:
        with file.open("rb") as stream:
            start = stream.read(5)
            stream.seek(0)
            if not start.startswith((b"\x1f\x8b", b"WARC/")):
                found = f"begins with {start!r}" if start else "is empty"
                raise InputError(f"{found}; expected a WARC file, as it is or compressed by gzip", where=file)
            yield stream
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=file) from None


@contextlib.contextmanager
def _damage_named(file: Path, stream: _Stream) -> Iterator[None]:
    try:
        yield
    except (_DamageError, zlib.error) as error:
        said = "its bytes do not unpack" if isinstance(error, zlib.error) else error
        hint = "the file is damaged or cut off"
        raise InputError(
            f"holds no whole WARC record: {said}", where=f"{file} at byte {stream.offset:,}", hint=hint
        ) from None


class _Stream:
    """The bytes of a WARC file, unpacked; ``offset`` is where in the file the record begins that is being read.

    Usually each record is a member of its own of a gzip file; where many are in one member, all of them begin where it does.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._at = raw.tell()
        self._packed = b""
        self._buffer = b""
        self._unpack = zlib.decompressobj(31) if raw.read(2) == b"\x1f\x8b" else None
        raw.seek(self._at)
        self.offset = self._at
        self._member = self._at

    def _fill(self) -> bool:
        """Put more behind the buffer; whether there was more."""
        if self._unpack is None:
            piece = self._raw.read(_PIECE)
            self._at += len(piece)
            self._buffer += piece
            return bool(piece)
        while True:
            if not self._packed:
                self._packed = self._raw.read(_PIECE)
                self._at += len(self._packed)
                if not self._packed:
                    return self._end()
            if self._unpack.eof:
                # Some writers fill up the end of a file with zeros.
                self._packed = self._packed.lstrip(b"\0")
                if not self._packed:
                    continue
                self._unpack = zlib.decompressobj(31)
                self._member = self._at - len(self._packed)
            piece = self._unpack.decompress(self._packed, _PIECE)
            self._packed = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if piece:
                self._buffer += piece
                return True

    def _end(self) -> bool:
        if self._unpack is not None and not self._unpack.eof:
            raise _DamageError("the file ends within it")
        return False

    def to_record(self) -> bool:
        """Go to the next line that is not empty; whether there is one."""
        while True:
            if not self._buffer:
                if not self._fill():
                    return False
                self.offset = self._member
            kept = self._buffer.lstrip(b"\r\n")
            if self._unpack is None:
                self.offset = self._at - len(kept)
            self._buffer = kept
            if kept:
                return True

    def line(self) -> bytes:
        """The next line without its end."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LINE:
                raise _DamageError(f"a line of its head has more than {_LINE:,} bytes")
            if not self._fill():
                raise _DamageError("the file ends within its head")
        found, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return found.rstrip(b"\r")

    def read(self, count: int) -> bytes:
        """So many bytes."""
        pieces = []
        while count:
            if not self._buffer and not self._fill():
                raise _DamageError(f"the file ends {count:,} bytes before its end")
            piece, self._buffer = self._buffer[:count], self._buffer[count:]
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        while count:
            count -= len(self.read(min(count, _PIECE)))


def _record(stream: _Stream, max_bytes: int, skip: Skip) -> Page | None:
    version = stream.line()
    if not version.startswith(b"WARC/"):
        raise _DamageError(f"it begins with {version[:40]!r}; expected WARC/1.0 or WARC/1.1")
    lines, size = [], 0
    while line := stream.line():
        size += len(line)
        if size > _HEAD:
            raise _DamageError(f"its head has more than {_HEAD:,} bytes")
        lines.append(line)
    head = _headers(lines)
    length = head.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) <= 15):
        raise _DamageError(f"its Content-Length is {length[:40]!r}; expected a number of bytes")
    url = head.get("warc-target-uri", "").strip("<>")
    kind = head.get("warc-type", "").lower()
    if kind not in _USED or not url.lower().startswith(("http://", "https://")):
        stream.skip(int(length))
        return None
    if int(length) > max_bytes + _HEAD:
        stream.skip(int(length))
        skip(f"bodies of more than {max_bytes:,} bytes")
        return None
    block = stream.read(int(length))
    time = _time(head.get("warc-date"))
    if kind == "resource":
        media, charset = media_type(head.get("content-type"))
        return Page(url, url, 200, media, charset, block, time)
    return _answer(url, block, time, max_bytes, skip)


def _answer(url: str, block: bytes, time: datetime | None, max_bytes: int, skip: Skip) -> Page | None:
    """The page of a block with an HTTP answer."""
    ends = [(at, len(mark)) for mark in (b"\r\n\r\n", b"\n\n") if (at := block.find(mark, 0, _HEAD)) >= 0]
    end, width = min(ends, default=(len(block), 0))
    lines = block[:end].split(b"\n")
    words = lines[0].split()
    status = words[1] if len(words) > 1 and words[0].startswith(b"HTTP/") else b""
    if not (status.isdigit() and len(status) == 3):
        skip("responses without an HTTP head")
        return None
    headers = _headers(lines[1:])
    body = block[end + width :]
    if headers.get("transfer-encoding", "").strip().lower().endswith("chunked"):
        body = unchunked(body)
    try:
        body = _unpacked(body, headers.get("content-encoding"), max_bytes)
    except CodingError as error:
        skip(f"a body that {error}")
        return None
    except TooLargeError:
        skip(f"bodies of more than {max_bytes:,} bytes")
        return None
    media, charset = media_type(headers.get("content-type"))
    return Page(url, url, int(status), media, charset, body, time)


def _unpacked(body: bytes, coding: str | None, max_bytes: int) -> bytes:
    """A body without its coding. Some crawlers store the bytes unpacked and leave the header as it was."""
    packed = body[:2] == b"\x1f\x8b" or (coding or "").strip().lower() != "gzip"
    if coding and not packed:
        coding = None
    if coding and coding.strip().lower() in {"br", "zstd"} and body.lstrip()[:1] == b"<":
        coding = None
    return decoded(body, coding, max_bytes)


def _headers(lines: list[bytes]) -> dict[str, str]:
    """Header lines by name in lower case; of a name that stands twice the first; a line that begins with a space goes on."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.rstrip(b"\r").decode("utf-8", "replace")
        if text[:1] in {" ", "\t"}:
            if name:
                found[name] += " " + text.strip()
            continue
        label, sign, value = text.partition(":")
        name = label.strip().lower() if sign and label.strip().lower() not in found else ""
        if name:
            found[name] = value.strip()
    return found


def _time(text: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(text or "")
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
