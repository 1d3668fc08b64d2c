"""Grounding documents: the pages that an utterance links to, as far as somebody has their text."""

from __future__ import annotations

from typing import Protocol

from tertulia.corpus.model import Utterance
from tertulia.crawl.addresses import AddressError, normalised, urls_in

__all__ = ["Documents", "links_of"]


class Documents(Protocol):
    """Where the texts of pages are; ``crawl.pages.Crawl`` is one."""

    def text_of(self, url: str) -> str | None:
        """The text of the page at an address, or ``None`` where there is none."""
        ...


def links_of(utterance: Utterance) -> list[str]:
    """The addresses that an utterance links to, each once, in order, in the form that a table of pages has.

    They are its attribute ``links``, which a corpus of Stack Exchange has; else the addresses in its text.
    """
    links = utterance.attributes.get("links")
    found = links if isinstance(links, list) else urls_in(utterance.text)
    wanted: dict[str, None] = {}
    for url in found:
        if isinstance(url, str):
            try:
                wanted[normalised(url)] = None
            except AddressError:
                continue
    return list(wanted)
