"""The main text of pages, taken out in processes of their own: a page that is made to be slow costs its text, not the crawl.

``python -m tertulia.crawl.extracting`` is such a process: it reads pages on stdin and writes what it found on stdout, until its
input ends. A page of a hundred thousand nested elements keeps a parser busy for hours; the process ends itself when a page takes
too long, whatever has become of the crawler, and another one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import struct
import sys
from typing import BinaryIO, NamedTuple

__all__ = ["Extracted", "ExtractionError", "Extractor"]

_LENGTHS = struct.Struct(">II")
_LENGTH = struct.Struct(">I")
_LIMIT_S = 10


class ExtractionError(Exception):
    """A page whose text could not be taken out; the message says why."""


class Extracted(NamedTuple):
    """The title, the main text and the encoding of a page."""

    title: str | None
    text: str
    charset: str


class Extractor:
    """Takes the text out of pages, ``processes`` at a time. Its processes start with the first page.

    A page may take ``limit_s`` seconds.
    """

    def __init__(self, processes: int = 2, limit_s: int = _LIMIT_S) -> None:
        self._limit_s = limit_s
        self._free: asyncio.Queue[asyncio.subprocess.Process | None] = asyncio.Queue()
        for _ in range(processes):
            self._free.put_nowait(None)
        self._all: set[asyncio.subprocess.Process] = set()

    async def extract(self, body: bytes, charset: str | None) -> Extracted:
        """The text of one page.

        Raises
        ------
        ExtractionError
            It takes too long, or ends the process.
        """
        process = await self._free.get()
        again = None
        try:
            if process is None:
                process = await self._start()
            async with asyncio.timeout(self._limit_s + 5):
                found = await self._ask(process, body, charset)
            again = process
            return found
        except TimeoutError:
            raise ExtractionError(self._too_long()) from None
        except (OSError, asyncio.IncompleteReadError, ValueError):
            code = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2):
                    code = None if process is None else await process.wait()
            late = code is not None and code == -getattr(signal, "SIGALRM", 0)
            raise ExtractionError(self._too_long() if late else "its main text could not be taken out") from None
        finally:
            if again is None and process is not None:
                await self._end(process)
            self._free.put_nowait(again)

    def _too_long(self) -> str:
        return f"its main text takes more than {self._limit_s} s to take out"

    async def close(self) -> None:
        """End the processes."""
        for process in list(self._all):
            await self._end(process)

    async def _start(self) -> asyncio.subprocess.Process:
        # -P: nothing in the working directory may stand in for a module.
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            __spec__.name,
            str(self._limit_s),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        self._all.add(process)
        return process

    async def _ask(self, process: asyncio.subprocess.Process, body: bytes, charset: str | None) -> Extracted:
        if process.stdin is None or process.stdout is None:
            raise ValueError("a process without pipes")
        name = (charset or "").encode()
        process.stdin.write(_LENGTHS.pack(len(name), len(body)) + name)
        process.stdin.write(body)
        await process.stdin.drain()
        (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
        title, text, encoding = json.loads(await process.stdout.readexactly(length))
        return Extracted(title, text, encoding)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._all.discard(process)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


def _serve(source: BinaryIO, target: BinaryIO, limit_s: int) -> None:
    from tertulia.crawl.main_text import main_text

    # Ctrl-C is for the crawler, which closes our input when it is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    alarm = getattr(signal, "alarm", lambda _seconds: None)
    while len(lengths := source.read(_LENGTHS.size)) == _LENGTHS.size:
        count, size = _LENGTHS.unpack(lengths)
        charset = source.read(count).decode()
        body = source.read(size)
        if len(body) < size:
            return
        # Without a handler the alarm ends the process, in the midst of whatever it does.
        alarm(limit_s)
        answer = json.dumps(main_text(body, charset or None)).encode()
        alarm(0)
        target.write(_LENGTH.pack(len(answer)) + answer)
        target.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]))
