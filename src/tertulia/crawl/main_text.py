"""The title and the main text of an HTML page: what its author wrote, less menus, advertisements and footers."""

from __future__ import annotations

import importlib.util
from typing import Any

from tertulia.crawl.encoding import decode_html
from tertulia.errors import MissingExtraError

__all__ = ["check_installed", "main_text"]

_LONGEST_TITLE = 1000
# Resiliparse takes a list (ul) so near to the body for a menu, whatever it holds.
_MENU_DEPTH = 4


def check_installed() -> None:
    """See that the library is there that takes texts out of pages.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    if importlib.util.find_spec("resiliparse") is None:
        raise MissingExtraError("taking the main text out of pages", package="resiliparse", extra="full")


def main_text(body: bytes, charset: str | None = None) -> tuple[str | None, str, str]:
    """``(title, text, encoding)`` of a page; no script of it runs. ``charset`` is the one that the server names.

    Paragraphs, lists and code keep their lines. Where no main part can be told from the rest, the text is that of the whole page;
    a page without words has an empty one.

    Raises
    ------
    MissingExtraError
        The library that does it is not installed.
    """
    check_installed()
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    html, encoding = decode_html(body, charset)
    tree = HTMLTree.parse(html.replace("\0", ""))
    _keep_lists(tree)
    title = " ".join((tree.title or "").split())[:_LONGEST_TITLE] or None
    text = str(extract_plain_text(tree, main_content=True, alt_texts=False)).strip()
    if not text:
        text = str(extract_plain_text(tree, main_content=False, alt_texts=False)).strip()
    return title, text, encoding


def _keep_lists(tree: Any) -> None:
    """Put lists that stand near to the body deeper, so that they are judged by the links they hold and not by where they are."""
    body = tree.body
    for found in list(body.query_selector_all("ul")) if body is not None else ():
        depth, node = 0, found
        while node is not None and node != body and depth <= _MENU_DEPTH:
            node, depth = node.parent, depth + 1
        if depth > _MENU_DEPTH:
            continue
        place = tree.create_element("div")
        found.parent.replace_child(place, found)
        for _ in range(_MENU_DEPTH - depth):
            inner = tree.create_element("div")
            place.append_child(inner)
            place = inner
        place.append_child(found)
