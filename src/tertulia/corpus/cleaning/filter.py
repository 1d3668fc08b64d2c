"""What a cleaning filter is: it says what it finds in a text or in a whole dialogue, and never changes anything itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tertulia.errors import ConfigurationError

__all__ = ["Filter", "FilterBase", "Hit", "Setting"]


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a filter found.

    ``kind`` says what it is. ``start`` and ``end`` are code points of the text, the end exclusive, or ``None`` for the whole of
    what was looked at. ``value`` is a score where the filter has one; ``attributes`` go into the mark.
    """

    kind: str
    start: int | None = None
    end: int | None = None
    value: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a filter: its default, which has the type of its values, what it means, and its bounds."""

    default: Any
    help: str
    least: float | None = None
    most: float | None = None

    def parse(self, name: str, text: str) -> Any:
        """The value that a text gives.

        Raises
        ------
        ConfigurationError
            The text is not of the default's type, or the value is out of bounds.
        """
        kind = type(self.default)
        try:
            value = kind(text)
        except ValueError:
            raise ConfigurationError(f"{name} is {text!r}; expected {_NOUNS[kind]}") from None
        if kind is str:
            return value
        # Written so that NaN, which compares as false with everything, is out of bounds.
        if not ((self.least is None or value >= self.least) and (self.most is None or value <= self.most)):
            between = f"from {self.least} to {self.most}" if self.most is not None else f"of {self.least} or more"
            raise ConfigurationError(f"{name} is {text}; expected {_NOUNS[kind]} {between}")
        return value


_NOUNS = {int: "a whole number", float: "a number", str: "a text"}


class Filter(Protocol):
    """A filter. Its class is called with the language (``en`` or ``zh``) and its settings as keywords.

    ``maskable``: what it finds are spans that can be replaced. ``prompts_only``: it judges what a bot might be asked, so neither
    an agent's utterance nor a candidate. ``looks_ahead``: it must see every record once (``look``) before it can judge one.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    maskable: ClassVar[bool]
    prompts_only: ClassVar[bool]
    looks_ahead: ClassVar[bool]
    settings: ClassVar[Mapping[str, Setting]]

    def in_text(self, text: str) -> Sequence[Hit]:
        """What is found in one text, in order."""
        ...

    def in_dialogue(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:
        """What is found in a dialogue as a whole; ``number`` counts all records from 0, in the order of ``look``."""
        ...

    def in_prompt(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:
        """What is found in a context of a ranking set as a whole."""
        ...

    def open(self, folder: Path | None) -> None:
        """Get ready; what does not fit into memory may wait in ``folder`` (none: the system's place for such files)."""
        ...

    def look(self, texts: Sequence[str]) -> None:
        """See one record ahead of the judging."""
        ...

    def close(self) -> None:
        """Clear away what was kept on disk."""
        ...


class FilterBase:
    """A filter that finds nothing; filters say only what is different."""

    maskable: ClassVar[bool] = False
    prompts_only: ClassVar[bool] = False
    looks_ahead: ClassVar[bool] = False
    settings: ClassVar[Mapping[str, Setting]] = {}

    def in_text(self, text: str) -> Sequence[Hit]:  # noqa: ARG002
        """Nothing in any text."""
        return ()

    def in_dialogue(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:  # noqa: ARG002
        """Nothing in any dialogue."""
        return ()

    def in_prompt(self, number: int, identifier: str, texts: Sequence[str]) -> Sequence[Hit]:  # noqa: ARG002
        """Nothing in any context."""
        return ()

    def open(self, folder: Path | None) -> None:
        """Nothing to get ready."""

    def look(self, texts: Sequence[str]) -> None:
        """Nothing to see ahead."""

    def close(self) -> None:
        """Nothing to clear away."""
