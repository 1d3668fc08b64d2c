"""The one way to the network: sessions that connect to public addresses only, and to the very address that was checked.

A host's name is looked up once for a connection, what is found is checked, and the connection is made to what was checked: an
answer that changes between a check and a connection (DNS rebinding) changes nothing. The last gate is where the socket is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tertulia.crawl.networks import forbidden, is_literal
from tertulia.crawl.options import CrawlOptions
from tertulia.errors import MissingExtraError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["ForbiddenAddressError", "LookupFailedError", "Network", "check_host", "network"]

_HEADERS_BYTES = 32_768


class ForbiddenAddressError(Exception):
    """An address that a crawler must not talk to; the message says which and why. No OSError, so that nobody tries another way."""


class LookupFailedError(Exception):
    """A host's name that has no address."""


def check_host(host: str, options: CrawlOptions) -> None:
    """Hold a host that is written as an address to what may be talked to; names are looked up later.

    Raises
    ------
    ForbiddenAddressError
        It may not.
    """
    if is_literal(host):
        _check(host, options)


def _check(address: str, options: CrawlOptions) -> None:
    reason = forbidden(address, allow_loopback=options.allow_loopback)
    if reason is not None:
        raise ForbiddenAddressError(f"{address} is {reason}")


class _Resolver:
    """Looks names up for aiohttp's connector, and gives public addresses only. What is given is connected to as it is."""

    def __init__(self, options: CrawlOptions) -> None:
        self._options = options
        self._threads = ThreadPoolExecutor(options.concurrency, "lookup") if options.lookup is None else None
        self._lookup: Callable[[str], Awaitable[list[str]]] = options.lookup or self._system

    async def _system(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        )
        return [str(address[0]) for *_, address in found]

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        """The addresses of a host, of this family or (0) of any, as aiohttp's ``AbstractResolver`` gives them."""
        try:
            found = list(dict.fromkeys(await self._lookup(host)))
        except (OSError, UnicodeError) as error:
            said = getattr(error, "strerror", None) or error
            raise LookupFailedError(f"the name {host} cannot be looked up: {said}") from None
        if not found:
            raise LookupFailedError(f"the name {host} has no address")
        reasons = {address: forbidden(address, allow_loopback=self._options.allow_loopback) for address in found}
        good = [address for address, reason in reasons.items() if reason is None]
        if not good:
            raise ForbiddenAddressError(f"{host} is {found[0]}, {reasons[found[0]]}")
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        of_family = [(address, socket.AF_INET6 if ":" in address else socket.AF_INET) for address in good]
        return [
            {"hostname": host, "host": address, "port": port, "family": own, "proto": 0, "flags": flags}
            for address, own in of_family
            if family in (0, own)
        ]

    async def knows(self, host: str) -> bool:
        """Whether a host's name has an address just now."""
        try:
            return bool(await self._lookup(host))
        except (OSError, UnicodeError):
            return False

    async def close(self) -> None:
        """Let the threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Network:
    """A session for requests, and whether a host's name has an address just now."""

    session: aiohttp.ClientSession
    knows: Callable[[str], Awaitable[bool]]


@contextlib.asynccontextmanager
async def network(options: CrawlOptions) -> AsyncIterator[Network]:
    """A session with its own guarded connections, while the block lasts.

    It keeps no cookies, follows no redirects by itself, takes neither proxy nor password from the environment, and checks
    certificates.

    Raises
    ------
    MissingExtraError
        aiohttp is not installed.
    """
    try:
        import aiohttp
    except ImportError:
        raise MissingExtraError("crawling", package="aiohttp", extra="full") from None

    def guarded_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        reason = forbidden(str(address[0]), allow_loopback=options.allow_loopback)
        if reason is not None:
            # Nothing comes here that was not checked before; if it did, no connection would be made.
            raise PermissionError(errno.EACCES, f"{address[0]} is {reason}")
        return socket.socket(family=family, type=kind, proto=protocol)

    resolver = _Resolver(options)
    connector = aiohttp.TCPConnector(
        limit=options.concurrency,
        limit_per_host=1,
        use_dns_cache=False,
        resolver=resolver,  # type: ignore[arg-type]
        socket_factory=guarded_socket,
    )
    headers = {
        "User-Agent": options.agent,
        "Accept": "text/html,application/xhtml+xml",
        "Accept-Encoding": "gzip, deflate",
    }
    if options.contact is not None and "@" in options.contact and "/" not in options.contact:
        headers["From"] = options.contact
    try:
        async with aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=None),
            auto_decompress=False,
            trust_env=False,
            max_field_size=_HEADERS_BYTES,
            max_line_size=_HEADERS_BYTES,
        ) as opened:
            yield Network(opened, resolver.knows)
    finally:
        await resolver.close()
