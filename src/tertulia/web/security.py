"""What stands between the network and the routes: hosts, origins, sizes, content types, and the headers of answers.

One pure ASGI middleware, outermost but for Starlette's own, so that every answer carries the headers, refusals and
failures among them, and no route ever sees a body that is too large, not UTF-8, or sent by another site's page.
"""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BODY_LIMIT", "Guard", "is_allowed_host", "is_same_origin"]

BODY_LIMIT = 64 * 1024
"""The most bytes of a request body, and of one WebSocket message."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
# The value goes into a header of the answer, so nothing but a name or an address with a port may pass.
_HOST = re.compile(r"(?P<name>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?P<port>:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}

_logger = logging.getLogger(__name__)


def is_allowed_host(host: str, allowed: Sequence[str]) -> bool:
    """Whether a Host header names one of the hosts this server answers for; ``*`` stands for any, ports do not count."""
    match = _HOST.fullmatch(host.lower())
    if match is None:
        return False
    name = match["name"].strip("[]")
    return any(entry == "*" or entry.lower().strip("[]") == name for entry in allowed)


def is_same_origin(origin: str, host: str) -> bool:
    """Whether an Origin header is of the host that was asked, port included.

    The scheme is left out: behind a proxy that ends TLS the server cannot know it.
    """
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return False
    default = _DEFAULT_PORTS.get(parts.scheme)
    if default is None or not parts.hostname:
        return False
    wanted = _HOST.fullmatch(host.lower())
    if wanted is None:
        return False
    wanted_port = int(wanted["port"][1:]) if wanted["port"] else default
    return parts.hostname == wanted["name"].strip("[]") and (port or default) == wanted_port


class Guard:
    """ASGI middleware: refuses what should not come in, and puts the security headers on what goes out.

    Parameters
    ----------
    app:
        The application behind it.
    allowed_hosts:
        Names and addresses the server answers for, without ports: a page elsewhere whose name was pointed at this
        machine (DNS rebinding) is refused.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Sequence[str]) -> None:
        self._app = app
        self._allowed = tuple(allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection; a refused WebSocket is closed before it is accepted."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008, "reason": refusal[1]})
            return
        host = headers.get("host", "")
        answer = _Answer(scope, host if is_allowed_host(host, self._allowed) else None, send)
        if refusal is not None:
            await answer.refuse(*refusal)
            return
        if scope["method"] not in _READING:
            body = await _read_body(receive, headers)
            if body is None:
                await answer.refuse(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {BODY_LIMIT} bytes; expected less"
                )
                return
            if not _is_utf8(body):
                await answer.refuse(HTTPStatus.BAD_REQUEST, "the body is not valid UTF-8; expected JSON in UTF-8")
                return
            receive = _replay(body, receive)
        try:
            await self._app(scope, receive, answer.send)
        except Exception:
            _logger.exception("%s %s failed", scope["method"], scope["path"])
            if not answer.started:
                await answer.refuse(
                    HTTPStatus.INTERNAL_SERVER_ERROR, "something went wrong in the server; its log says what"
                )

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[HTTPStatus, str] | None:
        host = headers.get("host", "")
        if not is_allowed_host(host, self._allowed):
            return HTTPStatus.BAD_REQUEST, "this server does not answer for the host that the request names"
        if scope["type"] == "http" and scope["method"] in _READING:
            return None
        origin = headers.get("origin")
        if origin is not None and not is_same_origin(origin, host):
            return HTTPStatus.FORBIDDEN, "the request comes from a page of another site; only this server's own may"
        if scope["type"] == "http":
            media_type = headers.get("content-type", "").split(";")[0].strip().lower()
            if media_type != "application/json":
                return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected the content type application/json"
        return None


class _Answer:
    """The sending half of one HTTP exchange: it adds the headers, and knows whether anything was sent."""

    def __init__(self, scope: Scope, host: str | None, send: Send) -> None:
        self._scope = scope
        self._host = host
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._add_headers(MutableHeaders(scope=message))
        await self._send(message)

    async def refuse(self, status: HTTPStatus, problem: str) -> None:
        response = JSONResponse({"error": problem}, status_code=status, headers={"Connection": "close"})
        await response(self._scope, _nothing, self.send)

    def _add_headers(self, headers: MutableHeaders) -> None:
        # Old browsers do not count ws: as 'self'. A host that is not allowed is not echoed.
        sockets = "" if self._host is None else f" ws://{self._host} wss://{self._host}"
        headers["Content-Security-Policy"] = (
            f"default-src 'self'; connect-src 'self'{sockets}; object-src 'none'; base-uri 'none'; "
            "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        )
        headers["X-Content-Type-Options"] = "nosniff"
        headers["X-Frame-Options"] = "DENY"
        headers["Referrer-Policy"] = "no-referrer"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Cross-Origin-Resource-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        # Conversations are nobody else's; static files are asked for again with their ETag, so that an upgrade shows.
        headers.setdefault("Cache-Control", "no-cache" if self._scope["path"].startswith("/static/") else "no-store")


async def _read_body(receive: Receive, headers: Headers) -> bytes | None:
    """The whole body, or ``None`` where it is larger than the limit; what is over the limit is not kept."""
    stated = headers.get("content-length", "")
    if stated.isdecimal() and int(stated[:20]) > BODY_LIMIT:
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > BODY_LIMIT:
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive that gives the body that was read already, and then what else the connection has to say."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
