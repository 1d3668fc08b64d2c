"""A real web server on this machine that a test tells byte by byte what to answer, and that notes when it was asked for what."""

import asyncio
import gzip
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Answer = Callable[["Request"], Awaitable[None]]


@dataclass
class Request:
    """One request; ``send`` writes raw bytes, ``gone`` is whether the client has left."""

    path: str
    headers: dict[str, str]
    time: float
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@dataclass
class Web:
    """What the server does: a path's answers one after the other, the last again and again."""

    port: int = 0
    host: str = "127.0.0.1"
    scheme: str = "http"
    plan: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    open: set[int] = field(default_factory=set)
    most_open: int = 0

    def clear(self) -> None:
        """Forget everything; what is still being answered is not counted any more."""
        self.plan.clear()
        self.requests.clear()
        self.open.clear()
        self.most_open = 0

    def put(self, path: str, *answers: Answer) -> str:
        self.plan[path] = list(answers)
        return self.address + path

    @property
    def address(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    def asked(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                path = lines[0].split()[1]
                request = Request(
                    path, {name.lower(): value for name, value in headers.items()}, time.monotonic(), writer
                )
                self.requests.append(request)
                self.open.add(id(request))
                self.most_open = max(self.most_open, len(self.open))
                try:
                    answers = self.plan.get(path) or [status(404)]
                    await (answers.pop(0) if len(answers) > 1 else answers[0])(request)
                finally:
                    self.open.discard(id(request))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


@contextmanager
def serving(host: str = "127.0.0.1", port: int = 0, security: ssl.SSLContext | None = None) -> Iterator[Web]:
    """A server in a thread while the block lasts, at any port unless one is named; encrypted where there is a context for it."""
    web = Web(host=host, scheme="http" if security is None else "https")
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def run() -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with_task = asyncio.current_task()
            assert with_task is not None
            tasks.add(with_task)
            try:
                await web.serve(reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
            finally:
                tasks.discard(with_task)

        server = await asyncio.start_server(connected, host, port, ssl=security)
        web.port = server.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    tasks: set[asyncio.Task[None]] = set()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert started.wait(10)
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def head(code: int = 200, **headers: object) -> bytes:
    lines = [f"HTTP/1.1 {code} Because", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def page(text: str, title: str = "A page") -> bytes:
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title><script>alert('no')</script></head><body>"
        f"<nav><ul><li><a href='/'>Home</a></li><li><a href='/about'>About us</a></li></ul></nav><main><article><h1>{title}</h1>"
        f"<p>{text}</p></article></main><footer>All rights reserved, cookie settings</footer></body></html>"
    ).encode()


def serve(body: bytes, content_type: str | None = "text/html; charset=utf-8", **headers: object) -> Answer:
    """A whole answer."""

    async def answer(request: Request) -> None:
        kind = {} if content_type is None else {"Content-Type": content_type}
        await request.send(head(200, **{**kind, "Content-Length": len(body), **headers}) + body)

    return answer


def packed(body: bytes, coding: str = "gzip") -> Answer:
    return serve(gzip.compress(body) if coding == "gzip" else body, Content_Encoding=coding)


def status(code: int, **headers: object) -> Answer:
    """An answer without a body."""

    async def answer(request: Request) -> None:
        await request.send(head(code, **{"Content-Length": 0, **headers}))

    return answer


def redirect(target: str, code: int = 302) -> Answer:
    return status(code, Location=target)


def raw(data: bytes, *, hang_up: bool = True) -> Answer:
    """These bytes and no others; then the connection ends."""

    async def answer(request: Request) -> None:
        await request.send(data)
        if hang_up:
            request.writer.close()

    return answer


def endless(start: bytes, piece: bytes, pause: float = 0.0) -> Answer:
    """A beginning, then a piece again and again until the client leaves."""

    async def answer(request: Request) -> None:
        await request.send(start)
        while True:
            await request.send(piece)
            await asyncio.sleep(pause)

    return answer


def silence(seconds: float) -> Answer:
    async def answer(request: Request) -> None:
        await asyncio.sleep(seconds)
        request.writer.close()

    return answer


async def reset(request: Request) -> None:
    """The connection breaks without a word."""
    request.writer.transport.abort()
