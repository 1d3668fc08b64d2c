"""One page: its ``robots.txt``, its redirects hop by hop, its type and size; the manners are those of ``hosts.py``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from tertulia.crawl.addresses import Address, AddressError, address_of
from tertulia.crawl.archive import Exchange
from tertulia.crawl.connecting import ForbiddenAddressError, check_host
from tertulia.crawl.hosts import Hosts
from tertulia.crawl.options import CrawlOptions
from tertulia.crawl.page import HTML_TYPES, Page, media_type
from tertulia.crawl.requesting import Answer, Head, RefusedError, TryAgainError, request, retry_after
from tertulia.crawl.robots import ALLOW_ALL, MOST_BYTES, Rules, parse_robots
from tertulia.crawl.sniffing import not_html

if TYPE_CHECKING:
    import aiohttp

__all__ = ["Fetched", "Fetcher"]

_REDIRECTS = {301, 302, 303, 307, 308}
_LATER = {429, 503}


@dataclass(slots=True)
class Fetched:
    """A page and the exchanges that led to it, the last of which brought it."""

    page: Page
    exchanges: list[Exchange] = field(default_factory=list)


class Fetcher:
    """Fetches pages over one session."""

    def __init__(self, session: aiohttp.ClientSession, options: CrawlOptions, hosts: Hosts) -> None:
        self._session = session
        self._options = options
        self._hosts = hosts

    async def fetch(self, url: str) -> Fetched:
        """The HTML page at an address.

        Raises
        ------
        RefusedError
            It cannot be had, or must not be asked for.
        TryAgainError
            It may be had later.
        """
        exchanges: list[Exchange] = []

        def wanted(head: Head) -> bool:
            _check_head(head, self._options.max_retry_after_s)
            return head.status == 200

        answer, address = await self._follow(
            self._address(url),
            exchanges,
            self._options.page_time_s,
            self._options.max_bytes,
            wanted,
            _check_body,
            robots=True,
        )
        kind, charset = media_type(answer.head.header("content-type"))
        page = Page(url, address.url, answer.head.status, kind, charset, answer.body, answer.exchange.time)
        return Fetched(page, exchanges)

    async def _follow(
        self,
        address: Address,
        exchanges: list[Exchange],
        time_s: float,
        max_bytes: int,
        wanted: Callable[[Head], bool],
        check: Callable[[bytes], None] | None,
        *,
        robots: bool,
    ) -> tuple[Answer, Address]:
        """Ask for an address and for what it redirects to; gives the answer that is no redirect."""
        loop = asyncio.get_running_loop()
        seen = {address.url}
        for _ in range(self._options.max_redirects + 1):
            try:
                if robots and not (await self._hosts.rules(address, self._rules)).allows(address.target):
                    raise RefusedError("robots", f"the robots.txt of {address.origin} does not allow it")
                async with self._hosts.turn(address.host):
                    began = loop.time()
                    answer = await request(
                        self._session, address, time_s=time_s, max_bytes=max_bytes, wanted=wanted, check=check
                    )
                    time_s = max(0.01, time_s - (loop.time() - began))
            except RefusedError as failure:
                failure.host = failure.host or address.host
                raise
            exchanges.append(answer.exchange)
            location = answer.head.header("location")
            if answer.head.status not in _REDIRECTS or location is None:
                return answer, address
            try:
                target = urljoin(address.url, location.strip())
            except ValueError:
                raise RefusedError(
                    "redirects", f"leads to {location[:100]!r}, which is no address", answer.head.status
                ) from None
            address = self._address(target, f"leads to {target[:200]}, which ")
            if address.url in seen:
                raise RefusedError("redirects", "leads in a circle", answer.head.status)
            seen.add(address.url)
        raise RefusedError("redirects", f"leads on more than {self._options.max_redirects} times")

    def _address(self, url: str, said: str = "") -> Address:
        """An address that may be asked for, as far as can be told before its host is looked up."""
        try:
            address = address_of(url)
        except AddressError as error:
            raise RefusedError("bad-address", f"{said}{error}") from None
        if address.port not in self._options.ports and not self._options.allow_loopback:
            raise RefusedError("forbidden-address", f"{said}has the port {address.port}")
        try:
            check_host(address.host, self._options)
        except ForbiddenAddressError as error:
            raise RefusedError("forbidden-address", f"{said}has a host that must not be asked: {error}") from None
        return address

    async def _rules(self, address: Address) -> Rules:
        """What the ``robots.txt`` of an origin says to us (RFC 9309, 2.3.1: 4xx allows all, other failures nothing for now)."""

        def wanted(head: Head) -> bool:
            if head.status == 429 or head.status >= 500:
                failure = TryAgainError("robots-unreachable", f"robots.txt is answered with {head.status}")
                failure.wait_s = _wait(head, self._options.max_retry_after_s)
                raise failure
            return head.status == 200

        start = Address(address.scheme, address.host, address.port, "/robots.txt")
        try:
            answer, _ = await self._follow(
                start, [], self._options.page_time_s, 2 * MOST_BYTES, wanted, None, robots=False
            )
        except TryAgainError:
            raise
        except RefusedError as failure:
            # More redirects than are followed, or to where nothing may be asked: as if there were none (2.3.1.2).
            if failure.outcome in {"redirects", "bad-address"} or (
                failure.outcome == "forbidden-address" and failure.reason.startswith("leads to")
            ):
                return ALLOW_ALL
            if failure.outcome == "bad-answer":
                raise RefusedError("robots-unreachable", f"robots.txt {failure.reason}") from None
            raise
        if answer.head.status != 200:
            return ALLOW_ALL
        return parse_robots(answer.body, self._options.product)


def _wait(head: Head, most_s: float) -> float | None:
    """The seconds that a server asks to wait, if any.

    Raises
    ------
    RefusedError
        More than we are going to.
    """
    wait = retry_after(head.header("retry-after"))
    if wait is not None and wait > most_s:
        raise RefusedError("http-error", f"answered {head.status}, asks to come back in {wait:,.0f} s", head.status)
    return wait


def _check_head(head: Head, most_s: float) -> None:
    """Whether an answer is a page, or leads to one, by its head."""
    kind, _ = media_type(head.header("content-type"))
    if head.status in _LATER:
        failure = TryAgainError("http-error", f"answered {head.status} {head.reason}", head.status, kind)
        failure.wait_s = _wait(head, most_s)
        raise failure
    if head.status in _REDIRECTS and head.header("location") is not None:
        return
    if head.status != 200:
        raise RefusedError("http-error", f"answered {head.status} {head.reason}", head.status, kind)
    if kind is not None and kind not in HTML_TYPES:
        raise RefusedError("not-html", f"is of the type {kind[:80]}", head.status, kind)


def _check_body(head: bytes) -> None:
    """Whether the first bytes are those of a page."""
    found = not_html(head)
    if found is not None:
        raise RefusedError("not-html", f"is {found}, whatever its type says", 200)
