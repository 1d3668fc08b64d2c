"""Manners: one request to a host at a time, so many seconds between two, and what its ``robots.txt`` says."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from tertulia.crawl.addresses import Address
from tertulia.crawl.robots import Rules

__all__ = ["Host", "Hosts"]

_MOST = 10_000
# A robots.txt is read anew after a day (RFC 9309, 2.4).
_RULES_S = 86_400.0


@dataclass(slots=True)
class _Origin:
    """What is known of the ``robots.txt`` of one origin."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: Rules | None = None
    loaded: float = 0.0


@dataclass(slots=True)
class Host:
    """One host: when it may be asked next (in the time of the event loop), and how often in a row it has failed."""

    delay_s: float
    next_time: float = 0.0
    failures: int = 0
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    origins: dict[str, _Origin] = field(default_factory=dict)

    def wait(self, seconds: float) -> None:
        """Let it be for so long."""
        self.next_time = max(self.next_time, asyncio.get_running_loop().time() + seconds)


class Hosts:
    """The hosts that were asked lately. Some ten thousand are remembered; those left alone longest are forgotten first."""

    def __init__(self, delay_s: float, max_delay_s: float) -> None:
        self._delay_s = delay_s
        self._max_delay_s = max_delay_s
        self._hosts: OrderedDict[str, Host] = OrderedDict()

    def get(self, name: str) -> Host:
        """The host of this name."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(self._delay_s)
            self._forget()
        self._hosts.move_to_end(name)
        return host

    def _forget(self) -> None:
        if len(self._hosts) <= _MOST:
            return
        now = asyncio.get_running_loop().time()
        # A host that may not be asked yet must not be forgotten, or it would be asked too soon.
        old = [name for name, host in self._hosts.items() if not host.users and host.next_time <= now][: _MOST // 10]
        for name in old:
            del self._hosts[name]

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[Host]:
        """Wait until a host may be asked, and keep all others from asking it while the block lasts."""
        host = self.get(name)
        host.users += 1
        try:
            async with host.lock:
                loop = asyncio.get_running_loop()
                while (left := host.next_time - loop.time()) > 0:
                    await asyncio.sleep(left)
                try:
                    yield host
                finally:
                    host.wait(host.delay_s)
        finally:
            host.users -= 1

    async def rules(self, address: Address, load: Callable[[Address], Awaitable[Rules]]) -> Rules:
        """What the ``robots.txt`` for an address says; ``load`` is asked once a day and origin, unless it fails."""
        host = self.get(address.host)
        host.users += 1
        try:
            origin = host.origins.setdefault(address.origin, _Origin())
            async with origin.lock:
                now = asyncio.get_running_loop().time()
                if origin.rules is None or now - origin.loaded > _RULES_S:
                    origin.rules, origin.loaded = await load(address), now
                    if origin.rules.delay_s is not None:
                        host.delay_s = min(
                            max(host.delay_s, origin.rules.delay_s), max(self._max_delay_s, self._delay_s)
                        )
                        host.wait(host.delay_s)
                return origin.rules
        finally:
            host.users -= 1
