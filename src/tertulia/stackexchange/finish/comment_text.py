"""A comment's text, which is plain with a little markdown, in the three forms that a corpus can have."""

from __future__ import annotations

import re
from html import escape
from typing import Literal

from tertulia.stackexchange.finish.links import MARKDOWN_LINK, shows_address

__all__ = ["CONTROL", "TextStyle", "comment_text"]

TextStyle = Literal["plain", "html", "markdown"]
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters but tab and line breaks."""


def comment_text(text: str, style: TextStyle) -> str:
    """The text of a comment: ``plain`` on one line, ``markdown`` as it stands, or ``html``."""
    if style == "markdown":
        return text.strip()
    if style == "html":
        return _as_html(text)
    if "](" in text:
        text = MARKDOWN_LINK.sub(_plain_link, text)
    return " ".join(CONTROL.sub("", text).split())


def _plain_link(match: re.Match[str]) -> str:
    text, address = match[1].strip(), match[2]
    if not text or shows_address(text, address):
        return address
    return f"{text} ({address})"


def _as_html(text: str) -> str:
    parts = []
    done = 0
    for match in MARKDOWN_LINK.finditer(text):
        parts.append(escape(text[done : match.start()], quote=False))
        parts.append(f'<a href="{escape(match[2])}">{escape(match[1], quote=False)}</a>')
        done = match.end()
    parts.append(escape(text[done:], quote=False))
    return "".join(parts)
