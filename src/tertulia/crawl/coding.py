"""Content codings of HTTP (gzip, deflate) and chunks undone within a limit: a bomb never becomes larger than that."""

from __future__ import annotations

import zlib

__all__ = ["CodingError", "Decoder", "TooLargeError", "decoded", "unchunked"]

_PIECE = 1 << 16


class CodingError(Exception):
    """Bytes that are not in the coding that their header names, or a coding that is not known."""


class TooLargeError(Exception):
    """More bytes than the limit allows."""


class Decoder:
    """Undoes one ``Content-Encoding`` bit by bit.

    Parameters
    ----------
    coding:
        The value of the header: ``gzip``, ``deflate``, ``identity`` or nothing.
    limit:
        The most bytes that may come out.

    Raises
    ------
    CodingError
        The coding is another one, or several.
    """

    def __init__(self, coding: str | None, limit: int) -> None:
        name = (coding or "identity").strip().lower()
        if name not in {"gzip", "x-gzip", "deflate", "identity", ""}:
            raise CodingError(f"is in the coding {name[:40]!r}; expected gzip, deflate or none")
        self._gzip = name.endswith("gzip")
        self._plain = name in {"identity", ""}
        # What is called deflate has a head of zlib, as the standard says, or none, as some servers send it: the first bytes tell.
        self._unpack = None if self._plain or name == "deflate" else zlib.decompressobj(31)
        self._limit = limit
        self._head = b""
        self._ended = False
        self.size = 0

    def feed(self, data: bytes) -> bytes:
        """What these bytes are.

        Raises
        ------
        CodingError
            They are not in this coding.
        TooLargeError
            They make more than the limit; nothing near as much has been unpacked.
        """
        if self._plain:
            self.size += len(data)
            self._check()
            return data
        if self._unpack is None:
            self._head += data
            if len(self._head) < 2:
                return b""
            data, self._head = self._head, b""
            zlib_head = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._unpack = zlib.decompressobj(15 if zlib_head else -15)
        pieces = []
        while data and not self._ended:
            try:
                piece = self._unpack.decompress(data, _PIECE)
            except zlib.error:
                raise CodingError("is damaged: its bytes do not unpack") from None
            pieces.append(piece)
            self.size += len(piece)
            self._check()
            data = self._unpack.unconsumed_tail
            if self._unpack.eof:
                data = self._unpack.unused_data.lstrip(b"\0")
                # Members of gzip may follow one another; what else follows the end is not looked at, as in browsers.
                if self._gzip and data[:2] == b"\x1f\x8b":
                    self._unpack = zlib.decompressobj(31)
                else:
                    self._ended = True
            elif not data and len(piece) < _PIECE:
                break
        return b"".join(pieces)

    @property
    def complete(self) -> bool:
        """Whether the end of what was packed has come."""
        return self._plain or self._ended

    def _check(self) -> None:
        if self.size > self._limit:
            raise TooLargeError


def decoded(body: bytes, coding: str | None, limit: int) -> bytes:
    """A whole body without its ``Content-Encoding``; one that was cut off is given as far as it goes.

    Raises
    ------
    CodingError
        It is not in this coding, or the coding is not known.
    TooLargeError
        It unpacks to more than ``limit`` bytes.
    """
    return Decoder(coding, limit).feed(body)


def unchunked(body: bytes) -> bytes:
    """A body without its chunks (RFC 9112, 7.1); one that has no chunks, whatever its header says, is given as it is."""
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at, at + 200)
        size = body[at:end].split(b";")[0].strip() if end >= 0 else b""
        try:
            count = int(size, 16) if size.isalnum() else -1
        except ValueError:
            count = -1
        if count < 0:
            return b"".join(pieces) if pieces else body
        if count == 0:
            return b"".join(pieces)
        pieces.append(body[end + 1 : end + 1 + count])
        at = end + 1 + count
        at += 2 if body[at : at + 2] == b"\r\n" else 1
