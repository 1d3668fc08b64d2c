"""The links of a text: what looks like an address in it, and where an address in running text ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MARKDOWN_LINK", "absolute", "bare_urls", "comment_links", "shows_address"]

# Each part of an address can match in one way only, so that no text takes more than time in proportion to its length.
MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\((https?://(?:[^\s()]|\([^\s()]*\))+)\)", re.I | re.A)
"""A link in the small markdown of comments: its text, its address (which may hold pairs of round brackets)."""
_ABSOLUTE = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[0-9A-Za-z\[][^\s]*")
_BARE = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://[0-9A-Za-z\[][^\s<>\"`{}|\\^]*")
# What stands after an address in running text and is none of it.
_TRAILING = ".,;:!?'*_…"
_BRACKETS = {")": "(", "]": "["}


def absolute(address: str) -> str | None:
    """The address without white space around it; ``None`` unless it is a whole one of http or https."""
    stripped = address.strip()
    return stripped if _ABSOLUTE.fullmatch(stripped) else None


def bare_urls(text: str) -> Iterator[str]:
    """The addresses that stand in running text, without the punctuation after them."""
    if "://" not in text:
        return
    for match in _BARE.finditer(text):
        yield _without_trailing(match[0])


def _without_trailing(address: str) -> str:
    end = len(address)
    # Closing brackets without an opening one, counted once and kept up to date, so that a long row of them costs little.
    surplus = {closing: address.count(closing) - address.count(opening) for closing, opening in _BRACKETS.items()}
    while end:
        last = address[end - 1]
        if last in _TRAILING:
            end -= 1
        elif surplus.get(last, 0) > 0:
            surplus[last] -= 1
            end -= 1
        else:
            break
    return address[:end]


def comment_links(text: str) -> Iterator[str]:
    """The addresses in the source of a comment, in order: those of markdown links and bare ones."""
    if "://" not in text:
        return
    done = 0
    for match in MARKDOWN_LINK.finditer(text):
        yield from bare_urls(text[done : match.start()])
        yield match[2]
        done = match.end()
    yield from bare_urls(text[done:])


def shows_address(text: str, address: str) -> bool:
    """Whether the text of a link is nothing but its address, or a shortened form of it."""
    shown, full = _bare_form(text), _bare_form(address)
    if shown == full:
        return True
    for dots in ("...", "…"):
        if shown.endswith(dots):
            start = shown.removesuffix(dots)
            return bool(start) and full.startswith(start)
    return False


def _bare_form(address: str) -> str:
    lowered = address[:8].lower()
    for scheme in ("https://", "http://"):
        if lowered.startswith(scheme):
            address = address[len(scheme) :]
            break
    return address.removesuffix("/")
