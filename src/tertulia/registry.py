"""Registries: parts found by name, from one table of what ships and from the entry points of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from tertulia.errors import ConfigurationError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Maps names to parts without importing any before it is asked for.

    ``shipped`` maps a name to ``"module:attribute"``, the form of an entry point; what ships and what others add go the same way.
    ``T`` is what calling the attribute without arguments gives; use ``factory`` for parts that need arguments.
    """

    def __init__(self, noun: str, *, group: str, shipped: Mapping[str, str]) -> None:
        self.noun = noun
        self.group = group
        self._shipped = dict(shipped)

    def names(self) -> list[str]:
        """The names of all parts, in alphabetical order."""
        return sorted({*self._shipped, *(point.name for point in entry_points(group=self.group))})

    def factory(self, name: str) -> Any:
        """The class or function registered under a name.

        Raises
        ------
        ConfigurationError
            There is no part of that name, or it cannot be imported.
        """
        if name in self._shipped:
            point = EntryPoint(name, self._shipped[name], self.group)
        else:
            points = entry_points(group=self.group, name=name)
            if not points:
                raise ConfigurationError(f"there is no {self.noun} {name!r}; there are: {', '.join(self.names())}")
            point = next(iter(points))
        try:
            return point.load()
        except Exception as error:
            # A part of another package may fail in any way while it is imported.
            raise ConfigurationError(f"the {self.noun} {name!r} cannot be loaded: {error}") from error

    def get(self, name: str) -> T:
        """The part registered under a name, made without arguments."""
        return cast("T", self.factory(name)())
