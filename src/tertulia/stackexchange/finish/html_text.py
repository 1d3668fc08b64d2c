"""The HTML of a post as plain text or as Markdown, with the links in it.

The parser is Lexbor, by selectolax: what a browser makes of the HTML. The tree is walked without recursion, however deep it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

from tertulia.errors import MissingExtraError
from tertulia.stackexchange.finish.comment_text import CONTROL
from tertulia.stackexchange.finish.layout import BREAK, Lines, collapsed
from tertulia.stackexchange.finish.links import absolute, bare_urls, shows_address
from tertulia.stackexchange.finish.nesting import flattened

__all__ = ["Converted", "html_text"]


class Converted(NamedTuple):
    """A text, and the absolute addresses of its source in order, each as often as it stands there."""

    text: str
    links: list[str]


_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset(
    {"p", "div", "blockquote", "pre", "ul", "ol", "li", "dl", "dt", "dd", "hr", "table", "tr", *_HEADINGS}
)
_BLOCKS |= {"section", "article", "details", "summary"}
_SKIPPED = frozenset({"script", "style"})
_CELLS = frozenset({"td", "th"})
_EMPHASIS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_BARE_ITEMS = frozenset({"dt", "dd"})
# Tags that need no more than to be walked through are in none of these.
_OPENED = _SKIPPED | _CELLS | _EMPHASIS.keys() | {"a", "img", "br", "code"}
# Marks of emphasis wait in a run of text as these, so that white space next to them can be moved outside.
_OPEN = {"**": "\x01", "*": "\x02"}
_CLOSE = {"**": "\x03", "*": "\x04"}
_MARKS = re.compile("([\x01-\x04])")
_MARK_OF = {"\x01": "**", "\x02": "*", "\x03": "**", "\x04": "*"}
_BACKTICKS = re.compile("`+")
# The control characters of one byte; those of two begin with C2.
_CONTROL_BYTES = bytes(code for code in range(128) if CONTROL.match(chr(code)))
# White space as Python knows it, and the line break of a run.
_SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_SPACE += "\u2028\u2029\u202f\u205f\u3000" + BREAK


def html_text(html: str, style: Literal["plain", "markdown"] = "plain") -> Converted:
    """The text of the HTML of a post, and its links.

    Raises
    ------
    MissingExtraError
        The package ``selectolax`` is not installed.
    """
    parser = _parser_type()(flattened(html))
    walk = _Walk(style == "markdown", "&#" in html or _may_have_controls(html))
    root = parser.root
    if root is not None:
        walk.run(root)
    return Converted(walk.lines.text(), walk.links)


def _may_have_controls(html: str) -> bool:
    """Whether there may be control characters: quicker than a search, as nearly all posts have none."""
    encoded = html.encode(errors="surrogatepass")
    return b"\xc2" in encoded or len(encoded.translate(None, _CONTROL_BYTES)) != len(encoded)


@cache
def _parser_type() -> Callable[[str], Any]:
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise MissingExtraError("reading the HTML of posts", package="selectolax", extra="full") from None
    found: Callable[[str], Any] = LexborHTMLParser
    return found


class _Walk:
    """One walk through a tree: the run of text that is being gathered, and what is open around it."""

    def __init__(self, markdown: bool, dirty: bool) -> None:
        self.lines = Lines()
        self.links: list[str] = []
        self._markdown = markdown
        # Whether there may be control characters in the text.
        self._dirty = dirty
        self._pieces: list[str] = []
        # How many runs have ended, to tell whether one that was open still is.
        self._runs = 0
        # The numbers of the next items of the open lists; ``None`` for a list without numbers.
        self._lists: list[int | None] = []
        self._cells: list[str] = []
        self._cell_depth = 0
        # The marks of emphasis that are open, each with how many elements of it; the outermost first.
        self._emphasis: dict[str, int] = {}
        # The open link: its address, the number of the run in which it began, the place in the run, and how deep links were.
        self._link: tuple[str, int, int, int] | None = None
        self._link_depth = 0
        # The open inline code: the number of the run, the place in it.
        self._code = (0, 0)
        self._code_depth = 0

    def run(self, root: Any) -> None:
        """Walk through everything below a node."""
        stack: list[tuple[Any, str]] = []
        pieces = self._pieces
        block = self.lines.block
        node = root.child
        while True:
            if node is None:
                if not stack:
                    break
                node, tag = stack.pop()
            else:
                tag = node.tag
                if tag == "-text":
                    text = node.text_content
                    # White space between blocks is most of the texts, and nothing to a run that has not begun.
                    if pieces or not text.isspace():
                        self._text(text)
                    node = node.next
                    continue
                if tag == "p" and not self._cell_depth:
                    # Half of all elements: as the other blocks, but at once.
                    if pieces:
                        self._flush()
                    block()
                    child = node.child
                elif (tag in _BLOCKS and not self._begin_block(tag, node)) or (
                    tag in _OPENED and not self._begin(tag, node)
                ):
                    node = node.next
                    continue
                else:
                    child = node.child
                if child is not None:
                    stack.append((node, tag))
                    node = child
                    continue
            if tag == "p" and not self._cell_depth:
                if pieces:
                    self._flush()
                block()
            elif tag in _BLOCKS:
                self._end_block(tag)
            elif tag in _OPENED:
                self._end(tag)
            node = node.next
        self._flush()

    # -- text ---------------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> None:
        if self._dirty:
            text = CONTROL.sub("", text)
        self._pieces.append(text)
        if "://" in text and self._link is None:
            self.links += bare_urls(text)

    def _flush(self) -> None:
        """The run of text ends: its lines are a block, if there are any."""
        if self._pieces:
            lines = self._taken()
            if lines:
                self.lines.add(lines)

    def _taken(self) -> list[str]:
        """The lines of the run, which begins anew."""
        pieces = self._pieces
        text = pieces[0] if len(pieces) == 1 else "".join(pieces)
        pieces.clear()
        self._runs += 1
        if self._markdown and (self._emphasis or _MARKS.search(text)):
            text = self._marked(text)
        if BREAK not in text:
            text = " ".join(text.split())
            return [text] if text else []
        lines: list[str] = []
        for line in map(collapsed, text.split(BREAK)):
            if line or (lines and lines[-1]):
                lines.append(line)
        if lines and not lines[-1]:
            lines.pop()
        return lines

    def _marked(self, text: str) -> str:
        """The run with its marks of emphasis: none around nothing, white space outside; what is open goes on in the next."""
        text += "".join(_CLOSE[mark] for mark in reversed(self._emphasis))
        self._pieces += [_OPEN[mark] for mark in self._emphasis]
        out: list[str] = []
        waiting: list[str] = []
        space = ""
        for part in _MARKS.split(text):
            if part in ("\x01", "\x02"):
                waiting.append(_MARK_OF[part])
            elif part in ("\x03", "\x04"):
                if waiting:
                    waiting.pop()
                else:
                    out.append(_MARK_OF[part])
            elif part.strip(_SPACE):
                core = part.lstrip(_SPACE)
                out += [space, part[: len(part) - len(core)], *waiting]
                waiting.clear()
                word = core.rstrip(_SPACE)
                out.append(word)
                space = core[len(word) :]
            else:
                space += part
        out.append(space)
        return "".join(out)

    # -- elements -----------------------------------------------------------------------------------------------------

    def _begin(self, tag: str, node: Any) -> bool:
        """An element begins; whether what is in it is to be walked through."""
        if tag == "br":
            self._pieces.append(BREAK)
        elif tag == "a":
            self._begin_link(node)
        elif tag in _EMPHASIS:
            self._begin_emphasis(_EMPHASIS[tag])
        elif tag == "img":
            self._image(node)
        elif tag == "code":
            self._code_depth += 1
            if self._code_depth == 1:
                self._code = (self._runs, len(self._pieces))
        elif tag in _CELLS:
            self._cell_depth += 1
            if self._cell_depth == 1:
                self._flush()
        else:
            return False
        return True

    def _end(self, tag: str) -> None:
        if tag == "a":
            self._end_link()
        elif tag in _EMPHASIS:
            self._end_emphasis(_EMPHASIS[tag])
        elif tag == "code":
            self._end_code()
        elif tag in _CELLS:
            self._cell_depth -= 1
            if self._cell_depth == 0:
                self._cells.append(" ".join(filter(None, self._taken())))

    def _begin_block(self, tag: str, node: Any) -> bool:
        if self._cell_depth:
            self._pieces.append(" ")
            if tag == "pre":
                self._pieces.append(self._preformatted(node))
            return tag != "pre"
        self._flush()
        if tag == "li":
            self.lines.item()
            mark = self._mark()
            self.lines.open(mark, " " * len(mark), item=True)
        elif tag in _BARE_ITEMS:
            self.lines.item()
            self.lines.open("", "", item=True)
        elif tag == "tr":
            self.lines.item()
            self._cells = []
        else:
            self.lines.block()
        if tag == "blockquote":
            self.lines.open("> ", "> ")
        elif tag == "ol":
            self._lists.append(1)
        elif tag == "ul":
            self._lists.append(None)
        elif tag == "pre":
            self._add_code(self._preformatted(node))
            self.lines.block()
            return False
        elif tag == "hr":
            self.lines.add(["---"])
        return True

    def _end_block(self, tag: str) -> None:
        if self._cell_depth:
            self._pieces.append(" ")
            return
        if tag == "tr":
            row = " | ".join(self._cells).strip()
            if row:
                self.lines.add([row])
                self.lines.end_item()
            self._cells = []
            return
        if tag in _HEADINGS and self._markdown and self._pieces:
            heading = " ".join(filter(None, self._taken()))
            if heading:
                self.lines.add([_HEADINGS[tag] + heading])
        self._flush()
        if tag == "li" and self.lines.is_empty:
            self.lines.add([""])
        if tag == "li" or tag in _BARE_ITEMS:
            if self.lines.close():
                self.lines.end_item()
        else:
            if tag == "blockquote":
                self.lines.close()
            elif tag in ("ol", "ul") and self._lists:
                self._lists.pop()
            self.lines.block()

    def _mark(self) -> str:
        """What stands before the next item of the innermost list."""
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    # -- code ---------------------------------------------------------------------------------------------------------

    def _preformatted(self, root: Any) -> str:
        """The text in an element as it stands, for code; its links are kept."""
        pieces: list[str] = []
        stack: list[tuple[Any, bool]] = []
        node = root.child
        linked = self._link is not None
        while True:
            if node is None:
                if not stack:
                    break
                node, linked = stack.pop()
                node = node.next
                continue
            tag = node.tag
            if tag == "-text":
                text = node.text_content
                pieces.append(text)
                if not linked:
                    self.links += bare_urls(text)
            elif tag == "br":
                pieces.append("\n")
            elif tag not in _SKIPPED and node.child is not None:
                stack.append((node, linked))
                if tag == "a":
                    href = (node.attributes.get("href") or "").strip()
                    linked = linked or bool(href)
                    address = absolute(href)
                    if address is not None:
                        self.links.append(address)
                node = node.child
                continue
            node = node.next
        code = "".join(pieces).replace("\r\n", "\n").replace("\r", "\n")
        return CONTROL.sub("", code) if self._dirty else code

    def _add_code(self, code: str) -> None:
        code = code.removesuffix("\n")
        if not code:
            return
        lines = code.split("\n")
        if self._markdown:
            fence = "`" * max(3, 1 + _longest_backticks(code))
            self.lines.add([fence, *lines, fence])
        else:
            self.lines.add([f"    {line}" for line in lines])

    def _end_code(self) -> None:
        self._code_depth -= 1
        run, place = self._code
        if self._code_depth or not self._markdown or run != self._runs:
            return
        raw = "".join(self._pieces[place:])
        code = collapsed(raw.replace(BREAK, " "))
        if not code:
            return
        fence = "`" * (1 + _longest_backticks(code))
        pad = " " if code[0] == "`" or code[-1] == "`" else ""
        self._pieces[place:] = [_around(raw, f"{fence}{pad}{code}{pad}{fence}")]

    # -- links, images, emphasis --------------------------------------------------------------------------------------

    def _begin_link(self, node: Any) -> None:
        self._link_depth += 1
        href = collapsed(node.attributes.get("href") or "")
        if self._dirty:
            href = CONTROL.sub("", href)
        if href and self._link is None:
            self._link = (href, self._runs, len(self._pieces), self._link_depth)
        address = absolute(href)
        if address is not None:
            self.links.append(address)

    def _end_link(self) -> None:
        self._link_depth -= 1
        if self._link is None or self._link_depth >= self._link[3]:
            return
        href, run, place, _ = self._link
        self._link = None
        if run != self._runs:
            # There are blocks in the link: its text stands in lines already.
            self._pieces.append(f" ({href})" if not self._markdown else f" <{href}>")
            return
        raw = "".join(self._pieces[place:])
        text = raw.strip()
        if self._markdown:
            shown = f"[{text}]({href})"
        elif not text or shows_address(collapsed(text), href):
            shown = href
        else:
            shown = f"{text} ({href})"
        self._pieces[place:] = [_around(raw, shown)]

    def _image(self, node: Any) -> None:
        attributes = node.attributes
        alt = collapsed(attributes.get("alt") or "")
        source = collapsed(attributes.get("src") or "")
        if self._dirty:
            alt, source = CONTROL.sub("", alt), CONTROL.sub("", source)
        if self._markdown:
            self._pieces.append(f"![{alt}]({source})")
        elif alt:
            self._pieces.append(f"[{alt}]")

    def _begin_emphasis(self, mark: str) -> None:
        if not self._markdown or self._code_depth:
            return
        depth = self._emphasis.get(mark, 0) + 1
        self._emphasis[mark] = depth
        if depth == 1:
            self._pieces.append(_OPEN[mark])

    def _end_emphasis(self, mark: str) -> None:
        if not self._markdown or self._code_depth:
            return
        self._emphasis[mark] -= 1
        if not self._emphasis[mark]:
            del self._emphasis[mark]
            self._pieces.append(_CLOSE[mark])


def _around(raw: str, shown: str) -> str:
    """What is shown in place of a raw text, with the white space that the text has at its ends."""
    core = raw.strip(_SPACE)
    begin = raw.find(core)
    return raw[:begin] + shown + raw[begin + len(core) :]


def _longest_backticks(code: str) -> int:
    return max(map(len, _BACKTICKS.findall(code)), default=0)
