"""How to crawl: who asks, how fast, how much, for how long."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tertulia import __version__
from tertulia.errors import ConfigurationError

__all__ = ["DEFAULT_AGENT", "CrawlOptions", "Lookup"]

Lookup = Callable[[str], Awaitable[list[str]]]
"""The addresses of a host's name; raises ``OSError`` where it has none."""
DEFAULT_AGENT = f"tertulia/{__version__}"
"""Who asks where nothing else is said."""
_PRINTABLE = re.compile(r"[ -~]+")
_PRODUCT = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """How to crawl. Times are in seconds, sizes in bytes.

    ``delay_s`` lies between two requests to a host, or what its ``robots.txt`` asks for, up to ``max_delay_s``; ``concurrency``
    is how many hosts are asked at a time. ``page_time_s`` bounds a page with its redirects, ``total_time_s`` the whole crawl
    (none: no bound). ``max_bytes`` bounds a page, packed and unpacked. ``tries`` counts all, with growing waits from
    ``back_off_s`` on; a server may ask for up to ``max_retry_after_s``. ``depth`` is how many times addresses found in pages are
    followed, ``max_pages`` how many addresses are asked for in all (none: no bound). ``warc_bytes`` is about the size of an
    archive file. ``text`` says whether the main text of pages is taken out.

    ``allow_loopback`` is for tests: it lets through the addresses 127.0.0.1 and ::1, and any port. ``lookup`` is another way to
    look hosts up, for tests too; what it answers is checked all the same.
    """

    user_agent: str = DEFAULT_AGENT
    contact: str | None = None
    concurrency: int = 32
    delay_s: float = 1.0
    max_delay_s: float = 30.0
    page_time_s: float = 60.0
    total_time_s: float | None = None
    max_bytes: int = 5_000_000
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})
    tries: int = 3
    back_off_s: float = 2.0
    max_retry_after_s: float = 120.0
    depth: int = 10
    max_pages: int | None = None
    warc_bytes: int = 500_000_000
    text: bool = True
    allow_loopback: bool = False
    lookup: Lookup | None = None

    def __post_init__(self) -> None:
        """Hold every value to what makes sense.

        Raises
        ------
        ConfigurationError
            One does not hold.
        """
        if not _PRINTABLE.fullmatch(self.agent) or not _PRODUCT.match(self.user_agent):
            raise ConfigurationError(
                f"the user agent is {self.agent[:60]!r}; expected a name and printable ASCII, such as mybot/1.0"
            )
        for name, least in (("delay_s", 0.0), ("max_delay_s", 0.0), ("back_off_s", 0.0), ("max_retry_after_s", 0.0)):
            self._check(name, getattr(self, name), least)
        for name in ("concurrency", "max_bytes", "tries", "warc_bytes", "page_time_s"):
            self._check(name, getattr(self, name), 1 if name != "page_time_s" else 0.01)
        for name in ("max_redirects", "depth"):
            self._check(name, getattr(self, name), 0)
        for name in ("total_time_s", "max_pages"):
            if getattr(self, name) is not None:
                self._check(name, getattr(self, name), 0)
        if not self.ports or not all(0 < port < 65536 for port in self.ports):
            raise ConfigurationError("the ports have one that is none; expected numbers from 1 to 65535")

    @staticmethod
    def _check(name: str, value: float, least: float) -> None:
        if not math.isfinite(value) or value < least:
            raise ConfigurationError(f"{name} is {value}; expected {least} or more")

    @property
    def agent(self) -> str:
        """What stands in the header ``User-Agent``."""
        return self.user_agent if self.contact is None else f"{self.user_agent} (+{self.contact})"

    @property
    def product(self) -> str:
        """The name under which a ``robots.txt`` speaks to us."""
        found = _PRODUCT.match(self.user_agent)
        return found[0] if found else ""
