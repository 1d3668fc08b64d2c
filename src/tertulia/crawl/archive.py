"""The archive of a crawl: WARC files with the request and the answer of every page that was kept, and of the redirects to it."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from tertulia import __version__
from tertulia.errors import MissingExtraError

__all__ = ["Archive", "Exchange"]

_HOP_BY_HOP = {"transfer-encoding", "content-length"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer as they went over the wire, but for the chunks; headers in order, the names as sent."""

    url: str
    target: str
    request_headers: Sequence[tuple[str, str]]
    status: int
    reason: str
    response_headers: Sequence[tuple[str, str]]
    body: bytes
    time: datetime


class Archive:
    """Writes WARC files ``crawl-00000.warc.gz`` and on in a folder, a new one when the last is full.

    Parameters
    ----------
    folder:
        Where the files lie.
    sizes:
        The files that are there with their sizes; the last of them is gone on with.
    full:
        About so many bytes go into a file.
    agent:
        Who asked, for the record that each file begins with.
    """

    def __init__(self, folder: Path, sizes: dict[str, int], full: int, agent: str) -> None:
        try:
            from warcio.warcwriter import WARCWriter
        except ImportError:
            raise MissingExtraError("keeping pages", package="warcio", extra="full") from None
        self._writer_class = WARCWriter
        self._folder = folder
        self._full = full
        self._agent = agent
        self._number = max((int(name[6:11]) for name in sizes), default=-1)
        self._file: BinaryIO | None = None
        self._writer: Any = None
        self.name = ""
        if self._number >= 0:
            self._open()

    def write(self, exchanges: Sequence[Exchange]) -> tuple[str, int, int]:
        """Write exchanges one after the other; gives the file, where the last answer begins in it, and the file's new size."""
        file = self._file
        if file is None or file.tell() >= self._full:
            self.close()
            self._number += 1
            file = self._open()
        offset = 0
        for exchange in exchanges:
            offset = file.tell()
            self._write(exchange)
        file.flush()
        return self.name, offset, file.tell()

    def close(self) -> None:
        """Close the file, its bytes on the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        self.name = f"crawl-{self._number:05d}.warc.gz"
        self._file = file = (self._folder / self.name).open("ab")
        self._writer = self._writer_class(file, gzip=True, warc_version="1.1")
        if file.tell() == 0:
            about = {
                "software": f"tertulia {__version__}",
                "format": "WARC File Format 1.1",
                "http-header-user-agent": self._agent,
            }
            self._writer.write_record(self._writer.create_warcinfo_record(self.name, about))
        return file

    def _write(self, exchange: Exchange) -> None:
        from warcio.statusandheaders import StatusAndHeaders

        writer = self._writer
        date = {"WARC-Date": exchange.time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        # The body is kept as it was sent, but for its chunks: so says its length, and the header of the chunks takes another name.
        headers = [
            (f"X-Crawler-{name}" if name.lower() in _HOP_BY_HOP else name, value)
            for name, value in exchange.response_headers
        ]
        headers.append(("Content-Length", str(len(exchange.body))))
        answer = writer.create_warc_record(
            exchange.url,
            "response",
            payload=io.BytesIO(exchange.body),
            length=len(exchange.body),
            warc_headers_dict=dict(date),
            http_headers=StatusAndHeaders(f"{exchange.status} {exchange.reason}".strip(), headers, protocol="HTTP/1.1"),
        )
        question = writer.create_warc_record(
            exchange.url,
            "request",
            warc_headers_dict=dict(date),
            http_headers=StatusAndHeaders(
                f"{exchange.target} HTTP/1.1", list(exchange.request_headers), protocol="GET", is_http_request=True
            ),
        )
        writer.write_request_response_pair(question, answer)
