"""Every error that a user can meet.

Each message says where, what was found, what was expected and, where it helps, what to do. The command line prints
the message on one line and exits with ``exit_code``; it never shows a traceback unless ``--debug`` is given.
"""

from __future__ import annotations

__all__ = [
    "ArtefactError",
    "ConfigurationError",
    "InputError",
    "MissingExtraError",
    "NotFoundError",
    "StaleError",
    "StoreError",
    "TertuliaError",
    "UsageError",
]


class TertuliaError(Exception):
    """The base of every error that a message can explain.

    Parameters
    ----------
    message:
        What was found and what was expected, one sentence.
    where:
        The file (with line or record), the artefact, the address; put before the message.
    hint:
        What to do about it; put after the message.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: object | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = None if where is None else str(where)
        self.hint = hint
        super().__init__(self.one_line())

    def one_line(self) -> str:
        """The whole error on one line: ``where: message (hint)``."""
        text = self.message if self.where is None else f"{self.where}: {self.message}"
        if self.hint:
            text = f"{text} ({self.hint})"
        return " ".join(text.split())


class InputError(TertuliaError):
    """A source that cannot be read: missing, malformed, or not in the format that was named."""


class NotFoundError(InputError):
    """There is no conversation, turn, dialogue or bot of that name."""


class StaleError(TertuliaError):
    """The conversation went on since the sender last looked, so the message was not said."""


class ArtefactError(TertuliaError):
    """A directory that is not the artefact it should be: no manifest, another kind, a digest that differs."""


class ConfigurationError(TertuliaError):
    """A configuration, rule file or option value that does not hold."""


class StoreError(TertuliaError):
    """A database that cannot be reached, opened or understood."""


class MissingExtraError(TertuliaError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed",
            hint=f'install it with: pip install "tertulia[{extra}]"',
        )


class UsageError(TertuliaError):
    """The command line was used wrongly."""

    exit_code = 2
