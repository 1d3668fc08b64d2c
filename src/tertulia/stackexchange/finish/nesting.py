"""Keeps hostile HTML from nesting so deep that its parser, whose time grows with the square of the depth, does not end."""

from __future__ import annotations

import re

__all__ = ["DEEPEST", "flattened"]

DEEPEST = 500
"""The levels of open elements that are kept; no post of a real site comes near."""
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)[^>]*>")
# Elements without content, and those whose end tag is often left out because the next one ends them.
_NEVER_OPEN = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)


def flattened(html: str) -> str:
    """The HTML without the tags that lie deeper than ``DEEPEST`` open elements; their text stays."""
    if html.count("<") <= DEEPEST:
        return html
    depth = 0

    def keep(match: re.Match[str]) -> str:
        nonlocal depth
        if match[2].lower() in _NEVER_OPEN:
            return match[0]
        if match[1]:
            depth = max(0, depth - 1)
            return match[0] if depth < DEEPEST else ""
        depth += 1
        return match[0] if depth <= DEEPEST else ""

    return _TAG.sub(keep, html)
