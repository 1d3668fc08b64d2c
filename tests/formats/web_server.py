"""A real HTTP server on this machine that does what servers do, the bad things too, in an order that a test sets."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["_Handler"], None]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: "Site"

    def do_GET(self) -> None:
        self.site.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        steps = self.site.plan.get(self.path)
        if not steps:
            answer(404)(self)
            return
        step = steps.pop(0) if len(steps) > 1 else steps[0]
        try:
            step(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass

    def begin(self, code: int, headers: dict[str, object]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Site:
    """What the server does: a path's steps one after the other, the last of them again and again; and what it was asked."""

    address: str = ""
    plan: dict[str, list[Step]] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def put(self, path: str, *steps: Step) -> str:
        self.plan[path] = list(steps)
        return self.address + path

    def asked(self, header: str) -> list[str | None]:
        return [headers.get(header) for _, headers in self.requests]


@contextmanager
def serving(security: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A site while the block lasts; encrypted where there is a context for it."""
    site = Site()
    handler = type("Handler", (_Handler,), {"site": site})
    server = _Server(("127.0.0.1", 0), handler)
    if security is not None:
        server.socket = security.wrap_socket(server.socket, server_side=True)
    site.address = f"http{'' if security is None else 's'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def serve(
    body: bytes,
    *,
    etag: str | None = '"one"',
    ranges: bool = True,
    cut: int | None = None,
    says: int | None = None,
    kind: str = "application/octet-stream",
    pause: float = 0.0,
    if_range: bool = True,
    modified: str | None = None,
    **headers: str,
) -> Step:
    """Serve a file as RFC 9110 says.

    ``ranges`` false ignores ``Range``; ``cut`` hangs up after so many bytes of the answer; ``says`` is a false Content-Length;
    ``pause`` waits before each tenth of the body; ``if_range`` false ignores ``If-Range``.
    """

    def step(handler: _Handler) -> None:
        start, code = 0, 200
        wanted = handler.headers.get("Range")
        condition = handler.headers.get("If-Range") if if_range else None
        extra: dict[str, object] = {name.replace("_", "-"): value for name, value in headers.items()}
        if ranges and wanted and condition in (None, etag, modified):
            start, code = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(body):
                handler.begin(416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": 0})
                return
            extra["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        rest = body[start:]
        extra |= {"Content-Length": len(rest) if says is None else says, "Content-Type": kind}
        if etag is not None:
            extra["ETag"] = etag
        if modified is not None:
            extra["Last-Modified"] = modified
        handler.begin(code, extra)
        if cut is not None:
            handler.wfile.write(rest[:cut])
            handler.hang_up()
            return
        for tenth in range(10 if pause else 1):
            time.sleep(pause)
            size = len(rest) // 10 + 1
            handler.wfile.write(rest[tenth * size : (tenth + 1) * size] if pause else rest)
            handler.wfile.flush()
        if says is not None:
            handler.hang_up()

    return step


def answer(code: int, **headers: str) -> Step:
    """An answer without a file."""

    def step(handler: _Handler) -> None:
        handler.begin(code, {"Content-Length": 0, **{name.replace("_", "-"): value for name, value in headers.items()}})

    return step


def hang_up(handler: _Handler) -> None:
    """No answer at all."""
    handler.hang_up()


def nonsense(handler: _Handler) -> None:
    """Bytes that are not HTTP."""
    handler.wfile.write(b"\x00\xff how do you do\r\n\r\n")
    handler.hang_up()


def silence(seconds: float) -> Step:
    """No answer for a while, then the connection ends."""

    def step(handler: _Handler) -> None:
        time.sleep(seconds)
        handler.hang_up()

    return step


def chunked(body: bytes, *, cut: int | None = None) -> Step:
    """A file without a length, in chunks; ``cut`` hangs up within."""

    def step(handler: _Handler) -> None:
        handler.begin(200, {"Transfer-Encoding": "chunked", "ETag": '"one"'})
        for start in range(0, len(body) if cut is None else cut, 1000):
            piece = body[start : start + 1000]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if cut is not None:
            handler.hang_up()
            return
        handler.wfile.write(b"0\r\n\r\n")

    return step
