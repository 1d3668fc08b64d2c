"""What several commands take alike: ``--json``, ``--overwrite``, and texts of the form NAME=VALUE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from tertulia.errors import UsageError

__all__ = ["Json", "Overwrite", "pairs"]

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is at the output path.")]


def pairs(given: Iterable[str], flag: str, *, form: str = "NAME=VALUE", noun: str | None = None) -> dict[str, str]:
    """``NAME=VALUE`` texts as a mapping, in their order; ``noun`` says in an error what a name is the name of.

    Raises
    ------
    UsageError
        One is not of this form, or a name stands twice.
    """
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not name or not sign:
            raise UsageError(f"{flag} has {text!r}; expected {form}")
        if name in found:
            twice = f"{name!r} twice" if noun is None else f"a {noun} twice: {name!r}"
            raise UsageError(f"{flag} names {twice}")
        found[name] = value
    return found
