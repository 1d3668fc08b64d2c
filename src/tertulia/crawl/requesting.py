"""One request to a web server and its answer, within limits of time and size; every failure has a name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from tertulia.crawl.addresses import Address
from tertulia.crawl.archive import Exchange
from tertulia.crawl.coding import CodingError, Decoder, TooLargeError
from tertulia.crawl.connecting import ForbiddenAddressError, LookupFailedError
from tertulia.crawl.sniffing import ENOUGH

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Answer", "Head", "RefusedError", "TryAgainError", "request", "retry_after"]

_PIECE = 1 << 16
_LONGEST_REASON = 300


class RefusedError(Exception):
    """A page that is not to be had: ``outcome`` names why, ``reason`` says more; ``host`` is who failed, where it was asked."""

    host: str | None = None

    def __init__(self, outcome: str, reason: str, status: int | None = None, content_type: str | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = _plain(reason)
        self.status = status
        self.content_type = content_type


class TryAgainError(RefusedError):
    """A page that may be had later; ``wait_s`` is what the server asks for."""

    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The head of an answer; ``headers`` are in order, the names as sent."""

    status: int
    reason: str
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str | None:
        """The first header of this name (in lower case)."""
        return next((value for label, value in self.headers if label.lower() == name), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its body, and the exchange as the archive keeps it."""

    head: Head
    body: bytes
    exchange: Exchange


async def request(
    session: aiohttp.ClientSession,
    address: Address,
    *,
    time_s: float,
    max_bytes: int,
    wanted: Callable[[Head], bool],
    check: Callable[[bytes], None] | None = None,
) -> Answer:
    """Ask for an address. ``wanted`` says of the head whether the body is to be read, or raises.

    ``check`` is told the first bytes of the body as soon as there are enough of them, and may raise. A body is never read beyond
    ``max_bytes``, packed or unpacked: it is refused, or cut off there where nothing is checked.

    Raises
    ------
    RefusedError
        It cannot be had: not the time, too many bytes, a forbidden address, no HTTP.
    TryAgainError
        The connection failed.
    """
    import aiohttp
    from yarl import URL

    began = datetime.now(UTC)
    try:
        async with (
            asyncio.timeout(time_s),
            session.get(URL(address.url, encoded=True), allow_redirects=False) as response,
        ):
            head = Head(response.status, response.reason or "", _headers(response.raw_headers))
            asked = [(str(name), str(value)) for name, value in response.request_info.headers.items()]
            packed, body = await _read(response, head, max_bytes, check) if wanted(head) else (b"", b"")
    except TimeoutError:
        raise RefusedError("timeout", "took more time than a page may take") from None
    except ForbiddenAddressError as error:
        raise RefusedError("forbidden-address", str(error)) from None
    except LookupFailedError as error:
        raise TryAgainError("dns", str(error)) from None
    except (
        aiohttp.ClientConnectorCertificateError,
        aiohttp.ClientConnectorSSLError,
        aiohttp.ServerFingerprintMismatch,
    ) as error:
        raise RefusedError("tls", str(error)) from None
    except aiohttp.ClientResponseError as error:
        raise RefusedError("bad-answer", f"its answer is not HTTP: {error.message}") from None
    except aiohttp.InvalidURL as error:
        raise RefusedError("bad-address", f"is no address: {error}") from None
    except (aiohttp.ClientError, OSError) as error:
        raise TryAgainError("connection", str(error) or type(error).__name__) from None
    except ValueError as error:
        raise RefusedError("bad-answer", f"its answer is not HTTP: {error}") from None
    exchange = Exchange(
        address.url, address.target, asked, head.status, _plain(head.reason), head.headers, packed, began
    )
    return Answer(head, body, exchange)


async def _read(
    response: aiohttp.ClientResponse, head: Head, max_bytes: int, check: Callable[[bytes], None] | None
) -> tuple[bytes, bytes]:
    """The body as it was sent and unpacked."""
    said = head.header("content-length") or ""
    if check and said.isascii() and said.isdigit() and (len(said) > 18 or int(said) > max_bytes):
        raise RefusedError("too-large", f"has {said[:30]} bytes; the limit is {max_bytes:,}", head.status)
    packed, body = bytearray(), bytearray()
    checked = check is None
    try:
        decoder = Decoder(head.header("content-encoding"), max_bytes)
        async for piece in response.content.iter_chunked(_PIECE):
            packed += piece
            if len(packed) > max_bytes:
                raise TooLargeError
            body += decoder.feed(piece)
            if check and not checked and len(body) >= ENOUGH:
                check(bytes(body[:ENOUGH]))
                checked = True
    except CodingError as error:
        raise RefusedError("bad-answer", f"its body {error}", head.status) from None
    except TooLargeError:
        if check is None:
            return bytes(packed[:max_bytes]), bytes(body or packed[:max_bytes])
        raise RefusedError("too-large", f"has more than {max_bytes:,} bytes", head.status) from None
    if not decoder.complete and packed:
        raise TryAgainError("connection", "its answer was cut off", head.status)
    if check and not checked:
        check(bytes(body))
    return bytes(packed), bytes(body)


def _headers(raw: tuple[tuple[bytes, bytes], ...]) -> list[tuple[str, str]]:
    """Headers as text: UTF-8 where they are, else as Latin-1; without line breaks, which end a header."""
    found = []
    for name, value in raw:
        try:
            text = value.decode()
        except UnicodeError:
            text = value.decode("latin-1")
        found.append((_plain(name.decode("latin-1")), " ".join(text.splitlines())))
    return found


def _plain(text: str) -> str:
    """A text from outside on one line, without control characters, of no great length."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
    return shown if len(shown) <= _LONGEST_REASON else shown[: _LONGEST_REASON - 1] + "…"


def retry_after(value: str | None) -> float | None:
    """Seconds to wait by a ``Retry-After`` header: a number of them or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        then = parsedate_to_datetime(text)
        then = then.replace(tzinfo=UTC) if then.tzinfo is None else then
        return max(0.0, (then - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
