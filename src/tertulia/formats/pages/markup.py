"""HTML as a tree to select from, and what an element says as plain text.

The parser is Lexbor's, through selectolax. It takes time that grows with the square of how deep elements nest, so a page that
nests deeper than any real one is refused before it is parsed.
"""

from __future__ import annotations

import re
from typing import Any

from tertulia.errors import InputError, MissingExtraError

__all__ = ["MOST_CHARACTERS", "first", "is_selector", "parse", "remove", "select", "text_of"]

MOST_CHARACTERS = 20_000_000
_DEEPEST = 4_000
# So few elements are parsed in a moment, however they nest.
_FEW = 10_000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)")
_NO_MARKUP = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style|textarea|title|iframe|xmp)\b.*?</\1", re.DOTALL | re.IGNORECASE
)
# An end tag within one of these does not end an element around it.
_BOUNDS = frozenset({"table", "caption", "object", "template", "marquee", "applet", "svg", "math"})
# Void elements, those whose end is implied by the next of their kind, and those of which HTML opens at most three again.
_FLAT_NAMES = (
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option optgroup "
    "rb rt rp colgroup html head body a b big code em font i nobr s small strike strong tt u"
)
_SILENT = frozenset({"script", "style", "template", "noscript", "textarea", "select", "svg", "head", "title"})
# Set apart by a blank line; below: by a line break.
_BLOCK_NAMES = (
    "address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr main nav "
    "ol p pre section summary table ul"
)
_FLAT, _BLOCKS = frozenset(_FLAT_NAMES.split()), frozenset(_BLOCK_NAMES.split())
_LINES = frozenset({"caption", "dd", "dt", "li", "tr"})
_TELLING = _BLOCKS | _LINES | {"br", "img", "td", "th"}
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_MANY_BREAKS = re.compile(r"\n{3,}")
_ODD = re.compile(r"[\x00-\x1f\x7f\xa0]|  ")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _parser() -> Any:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise MissingExtraError("reading web pages", package="selectolax", extra="full") from None
    return LexborHTMLParser


def parse(html: str) -> Any:
    """The tree of a page.

    Raises
    ------
    InputError
        It is longer than 20,000,000 characters, or its elements nest deeper than 4,000.
    MissingExtraError
        selectolax is not installed.
    """
    if len(html) > MOST_CHARACTERS:
        raise InputError(f"the page is longer than {MOST_CHARACTERS:,} characters")
    if _depth(html) > _DEEPEST:
        raise InputError(f"the page's elements nest deeper than {_DEEPEST:,}")
    return _parser()(html)


def _depth(html: str) -> int:
    """About how deep elements nest; 0 where there are too few of them to matter."""
    if html.count("<") <= _FEW:
        return 0
    opened: list[str] = []
    deepest = 0
    for match in _TAG.finditer(_NO_MARKUP.sub("", html)):
        name = match[2].lower()
        if name in _FLAT:
            continue
        if not match[1]:
            opened.append(name)
            deepest = max(deepest, len(opened))
            continue
        # The element that ends is seldom far down; those above it have no end tags of their own.
        for back in range(1, min(50, len(opened)) + 1):
            if opened[-back] == name:
                del opened[-back:]
                break
            if opened[-back] in _BOUNDS:
                break
    return deepest


def is_selector(css: str) -> bool:
    """Whether this is a CSS selector that can be used here."""
    parser = _parser()
    from selectolax.lexbor import SelectolaxError

    try:
        parser("<p></p>").css(css)
    except (SelectolaxError, UnicodeEncodeError):
        return False
    return True


def select(within: Any, css: str) -> list[Any]:
    """The elements in a tree or in an element (itself not among them) that a selector names, in the order of the page."""
    own = getattr(within, "mem_id", None)
    found = {node.mem_id: node for node in within.css(css)}
    found.pop(own, None)
    return list(found.values())


def first(within: Any, css: str) -> Any | None:
    """The first of what ``select`` gives."""
    found = select(within, css)
    return found[0] if found else None


def remove(tree: Any, css: str) -> None:
    """Take the elements that a selector names out of a tree."""
    # From the last on: an element inside another is gone before the other is, and never asked for afterwards.
    for node in reversed(select(tree, css)):
        node.decompose()


def text_of(element: Any) -> str:
    """What an element says: blocks apart by a blank line, list items, rows and ``br`` by a line break, ``pre`` as it stands.

    Scripts, styles, form fields and comments say nothing; an image says its ``alt``, as pictures of emoji do.
    """
    writer = _Text()
    root = element.mem_id
    # Not by recursion, for what nests deeper than Python's stack.
    node = element
    while True:
        tag = node.tag
        if tag == "-text":
            writer.add(node.text_content or "")
        else:
            if tag in _TELLING:
                writer.begin(tag, node)
            child = None if tag in _SILENT and node.mem_id != root else node.child
            if child is not None:
                node = child
                continue
        # On to what comes next, out of all that ends here.
        while True:
            if node.tag in _TELLING:
                writer.end(node.tag)
            if node.mem_id == root:
                return writer.text()
            following = node.next
            if following is not None:
                node = following
                break
            node = node.parent


class _Text:
    """Text as it is put together: pieces, and how many line breaks are due before the next."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._due = 0
        self._verbatim = 0
        # Whether what stands before is white space, so that none is to follow.
        self._is_apart = True

    def begin(self, tag: str, node: Any) -> None:
        """An element begins that is more than its text."""
        if tag == "br":
            self._due = min(2, self._due + 1)
        elif tag == "img":
            self.add(node.attributes.get("alt") or "")
        else:
            self._break(tag)
            self._verbatim += tag == "pre"

    def end(self, tag: str) -> None:
        """The element has ended."""
        self._verbatim -= tag == "pre"
        if tag in ("td", "th"):
            self.add(" ")
        elif tag not in ("br", "img"):
            self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._due = 2
        elif tag in _LINES:
            self._due = max(self._due, 1)

    def add(self, text: str) -> None:
        """Take text in as it stands in the source."""
        if _ODD.search(text):
            text = _CONTROLS.sub("", text.replace("\r\n", "\n"))
            text = text.replace("\xa0", " ") if self._verbatim else _SPACE.sub(" ", text)
        if (self._due or self._is_apart) and not self._verbatim:
            text = text.removeprefix(" ")
        if not text:
            return
        if self._due:
            if self._pieces:
                self._pieces.append("\n" * self._due)
            self._due = 0
        self._pieces.append(text)
        self._is_apart = text[-1] in " \n"

    def text(self) -> str:
        """The whole, without empty lines around it and without spaces where lines end."""
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip("\n")
