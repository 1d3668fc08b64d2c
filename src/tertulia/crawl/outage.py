"""Whether it is the network and not the hosts: many names in a row that have no address, and one that had one before has none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tertulia.crawl.networks import is_literal

__all__ = ["OfflineError", "Outage"]

_MANY = 20
# So many hosts that cannot be found are an outage where none was ever found.
_FEW = 5


class OfflineError(Exception):
    """This machine cannot look names up any more."""


class Outage:
    """Watches names that have no address. ``knows`` looks a name up."""

    def __init__(self, knows: Callable[[str], Awaitable[bool]]) -> None:
        self._knows = knows
        self._lost: set[str] = set()
        self._met: str | None = None
        self._answered = False

    def met(self, host: str) -> None:
        """A host has answered, whatever it said."""
        self._answered = True
        self._lost.clear()
        # A host that is named by its number says nothing of looking names up.
        if not is_literal(host):
            self._met = host

    async def lost(self, host: str, *, last: bool) -> None:
        """A host's name has no address; ``last`` is whether it was the last host that was left.

        Raises
        ------
        OfflineError
            It is one of many in a row, and a host that has answered before has no address either, or none ever had.
        """
        self._lost.add(host)
        if len(self._lost) < (_FEW if last and not self._answered else _MANY):
            return
        if self._met is None or not await self._knows(self._met):
            raise OfflineError
        self._lost.clear()
