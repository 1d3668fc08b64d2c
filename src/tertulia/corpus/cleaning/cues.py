"""One regular expression for many literal cues, built as a tree of their letters so that most texts are passed quickly."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["any_of"]


def any_of(cues: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds one of the cues where a text has any; which one, where several begin alike, is not defined."""
    root: dict[str, Any] = {}
    for cue in cues:
        node = root
        for character in cue:
            node = node.setdefault(character, {})
        # Whatever is longer is there only where this one is.
        node.clear()
        node[""] = {}
    return re.compile(_expression(root))


def _expression(node: dict[str, Any]) -> str:
    if "" in node:
        return ""
    branches = [re.escape(character) + _expression(below) for character, below in node.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
