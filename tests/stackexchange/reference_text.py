"""A post's HTML and a comment's text as plain text or Markdown, and their links: slow, plain, and written from the specification.

The HTML goes through Python's own parser into a small tree, so that it shares neither the parser nor the walk with the product.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from itertools import groupby

BLOCKS = {"p", "div", "blockquote", "pre", "ul", "ol", "li", "dl", "dt", "dd", "hr", "table", "tr"}
BLOCKS |= {"h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "details", "summary"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LEFT_OUT = {"script", "style"}
# An element that opens ends an open one of these, if nothing of the last column stands between them.
IMPLIED_ENDS = {
    "li": ({"li"}, {"ul", "ol"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "a": ({"a"}, {"td", "th", "table"}),
}
FORMATTING = {"a", "b", "code", "em", "font", "i", "s", "small", "strike", "strong", "u"}


@dataclass
class Node:
    """An element: its children are elements and strings."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)


class Tree(HTMLParser):
    """Builds the tree as a browser does where tags are left out or cross: implied ends, emphasis that goes on."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("body")]
        self.active: list[Node] = []  # emphasis that no tag has ended yet, whether its block has ended or not

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS and any(node.tag == "p" for node in self.open):
            self.end({"p"}, {"td", "th", "table"})
        if tag in IMPLIED_ENDS:
            self.end(*IMPLIED_ENDS[tag])
        if tag == "a":
            self.active = [node for node in self.active if node.tag != "a"]
        if tag not in BLOCKS:
            self.go_on()
        node = Node(tag, {name: value or "" for name, value in reversed(attributes)})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)
        if tag in FORMATTING:
            self.active.append(node)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)  # <p/> is <p>

    def handle_endtag(self, tag: str) -> None:
        if tag == "br" or (tag == "p" and all(node.tag != "p" for node in self.open)):
            self.open[-1].children.append(Node(tag))  # an end tag alone stands for the whole element
        elif tag not in VOID:
            for place in range(len(self.active) - 1, -1, -1):
                if self.active[place].tag == tag:
                    del self.active[place]
                    break
            self.end({tag}, set())

    def handle_data(self, data: str) -> None:
        self.go_on()
        self.open[-1].children.append(data)

    def go_on(self) -> None:
        """Open again what has ended with its block or with what it stood in, but not by a tag of its own."""
        for place, node in enumerate(self.active):
            if all(node is not other for other in self.open):
                again = Node(node.tag, node.attributes)
                self.active[place] = again
                self.open[-1].children.append(again)
                self.open.append(again)

    def end(self, tags: set[str], until: set[str]) -> None:
        for place in range(len(self.open) - 1, 0, -1):
            if self.open[place].tag in tags:
                del self.open[place:]
                return
            if self.open[place].tag in until:
                return


def tree_of(source: str) -> Node:
    builder = Tree()
    builder.feed(source.replace("\r\n", "\n").replace("\r", "\n"))
    builder.close()
    return builder.open[0]


@cache
def html_text(source: str, style: str) -> str:
    """The Body of a post as ``plain``, ``markdown`` or ``html``."""
    if style == "html":
        return source
    return "\n\n".join(blocks(tree_of(source), style)).strip()


def without_controls(text: str) -> str:
    return re.sub("[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]", "", text)


def blocks(node: Node, style: str) -> list[str]:
    """What stands in an element as blocks, each of one or more lines, none of them empty."""
    found: list[str] = []
    tags: list[str] = []
    run: list[Node | str] = []

    def end_run() -> None:
        text = tidy(inline(run, style))
        if text:
            found.append(text)
            tags.append("")
        run.clear()

    def walk(children: list[Node | str], within: list[Node]) -> None:
        for child in children:
            if isinstance(child, Node) and child.tag in BLOCKS:
                end_run()
                text = block(Node(child.tag, child.attributes, wrapped(child.children, within)), style)
                if text and found and child.tag in IMPLIED_ENDS and tags[-1:] == [child.tag]:
                    found[-1] += "\n" + text  # items without their list
                elif text:
                    found.append(text)
                    tags.append(child.tag)
            elif isinstance(child, Node) and child.tag != "a" and has_block(child):
                walk(child.children, [*within, Node(child.tag)])
            else:
                run.extend(wrapped([child], within))

    walk(node.children, [])
    end_run()
    return found


def wrapped(children: list[Node | str], within: list[Node]) -> list[Node | str]:
    """What stands in emphasis that goes over several blocks is emphasised in each."""
    found: list[Node | str] = []
    for is_block, group in groupby(children, lambda c: isinstance(c, Node) and (c.tag in BLOCKS or has_block(c))):
        some = list(group)
        if is_block:
            found += [Node(c.tag, c.attributes, wrapped(c.children, within)) for c in some if isinstance(c, Node)]
        elif all(isinstance(c, str) and not c.strip() for c in some):
            found += some
        else:
            for outer in reversed(within):
                some = [Node(outer.tag, {}, some)]
            found += some
    return found


def has_block(node: Node) -> bool:
    return any(isinstance(c, Node) and (c.tag in BLOCKS or has_block(c)) for c in node.children)


def block(node: Node, style: str) -> str:
    """One block as lines."""
    if node.tag == "pre":
        return code_block(node, style)
    if node.tag == "hr":
        return "---"
    if node.tag in ("ul", "ol"):
        return list_block(node, style)
    if node.tag == "table":
        return "\n".join(filter(None, (row_block(row, style) for row in rows_of(node))))
    if node.tag == "tr":
        return row_block(node, style)
    if node.tag == "dl":
        return "\n".join(filter(None, (block(c, style) for c in node.children if isinstance(c, Node))))
    text = "\n\n".join(blocks(node, style))
    if node.tag == "blockquote" and text:
        return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
    if re.fullmatch("h[1-6]", node.tag) and style == "markdown" and text:
        return "#" * int(node.tag[1]) + " " + " ".join(text.split())  # a heading has one line
    if node.tag == "li":
        return item_block("- ", text)
    return text


def code_block(node: Node, style: str) -> str:
    children = node.children
    if children and isinstance(children[0], str) and children[0].startswith("\n"):
        children = [children[0][1:], *children[1:]]  # HTML: a line break right after <pre> is none
    code = without_controls("".join(map(verbatim, children)))
    code = code[:-1] if code.endswith("\n") else code
    if not code:
        return ""
    if style == "markdown":
        fence = longer_fence(code, 3)
        return f"{fence}\n{code}\n{fence}"
    return "\n".join("    " + line for line in code.split("\n"))


def verbatim(child: Node | str) -> str:
    if isinstance(child, str):
        return child
    if child.tag == "br":
        return "\n"
    return "" if child.tag in LEFT_OUT else "".join(map(verbatim, child.children))


def longer_fence(code: str, least: int) -> str:
    """Backticks, more than the code has in a row."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    return "`" * max(least, longest + 1)


def list_block(node: Node, style: str) -> str:
    lines = ""
    number = 0
    item_before = False
    for child in node.children:
        is_item = isinstance(child, Node) and child.tag == "li"
        if is_item:
            number += 1
            marker = f"{number}. " if node.tag == "ol" else "- "
            text = item_block(marker, "\n\n".join(blocks(child, style)))
        else:
            text = "\n\n".join(blocks(Node("div", {}, [child]), style))
        if text:
            between = "\n" if is_item and item_before else "\n\n"
            lines += (between if lines else "") + text
            item_before = is_item
    return lines


def item_block(marker: str, text: str) -> str:
    first, *others = text.split("\n")
    indented = [" " * len(marker) + line if line else "" for line in others]
    return "\n".join([marker + first if text else marker.rstrip(" "), *indented])


def rows_of(node: Node) -> list[Node]:
    rows = []
    for child in node.children:
        if isinstance(child, Node):
            rows += [child] if child.tag == "tr" else rows_of(child)
    return rows


def row_block(row: Node, style: str) -> str:
    cells = [c for c in row.children if isinstance(c, Node) and c.tag in ("td", "th")]
    return " | ".join(" ".join(" ".join(blocks(cell, style)).split()) for cell in cells).strip(" ")


def inline(children: list[Node | str], style: str) -> str:
    """What stands in a line, white space still at its edges, a line break where there is a ``br``."""
    return "".join(piece(child, style) for child in children)


def piece(child: Node | str, style: str) -> str:
    if isinstance(child, str):
        return re.sub(r"\s+", " ", without_controls(child))
    if child.tag in LEFT_OUT:
        return ""
    if child.tag == "br":
        return "\n"
    if child.tag == "img":
        alt = " ".join(without_controls(child.attributes.get("alt", "")).split())
        if style == "markdown":
            return f"![{alt}]({child.attributes.get('src', '')})"
        return f"[{alt}]" if alt else ""
    inner = inline(child.children, style)
    if child.tag == "a" and child.attributes.get("href", "").strip():
        href = without_controls(child.attributes["href"]).strip()
        text = tidy(inner)
        return around(inner, plain_link(text, href) if style == "plain" else f"[{text}]({href})")
    if style == "markdown" and tidy(inner):
        for tags, mark in ((("strong", "b"), "**"), (("em", "i"), "*")):
            if child.tag in tags:
                inner = inline(without(tags, child.children), style)
                return around(inner, f"{mark}{tidy(inner)}{mark}")
        if child.tag == "code":
            inner = inline(child.children, "plain")  # marks are letters in code
            fence = longer_fence(inner, 1)
            code = " ".join(inner.split())
            space = " " if "`" in (code[:1], code[-1:]) else ""  # else it would lengthen the fence
            return around(inner, f"{fence}{space}{code}{space}{fence}")
    return inner


def without(tags: tuple[str, ...], children: list[Node | str]) -> list[Node | str]:
    """The same in which these elements do nothing: strong within strong is strong."""
    return [
        child
        if isinstance(child, str)
        else Node("span" if child.tag in tags else child.tag, child.attributes, without(tags, child.children))
        for child in children
    ]


def around(inner: str, text: str) -> str:
    """The text with the white space that stood at the edges of what it was made of."""
    before = inner[: len(inner) - len(inner.lstrip(" \n"))]
    after = inner[len(inner.rstrip(" \n")) :] if inner.strip(" \n") else ""
    return before + text + after


def plain_link(text: str, href: str) -> str:
    return href if says_the_same(text, href) else f"{text} ({href})"


def says_the_same(text: str, href: str) -> bool:
    """Whether the text of a link is nothing but its address, perhaps without its scheme, shortened, or less a slash."""
    if not text:
        return True

    def bare(address: str) -> str:
        return re.sub("^https?://", "", address).removesuffix("/")

    if bare(text) == bare(href):
        return True
    for dots in ("…", "..."):
        if text.endswith(dots):
            begin = re.sub("^https?://", "", text[: -len(dots)])
            return bool(begin) and re.sub("^https?://", "", href).startswith(begin)
    return False


def tidy(text: str) -> str:
    text = re.sub(" +", " ", text)
    text = re.sub(" ?\n ?", "\n", text)
    return re.sub("\n{3,}", "\n\n", text).strip(" \n")


# ---------------------------------------------------------------------------------------------------------------- comments

# One pair of brackets may stand in an address: .../wiki/Mash_(brewing).
COMMENT_LINK = re.compile(r"\[([^\[\]]*)\]\((https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)", re.I)
BARE_URL = re.compile(r"(?ai:https?://[0-9a-z\[])[^\s<>\"`{}|\\^]*")


@cache
def comment_text(source: str, style: str) -> str:
    """The Text of a comment as ``plain``, ``markdown`` or ``html``."""
    if style == "markdown":
        return source.strip()
    if style == "plain":
        linked = COMMENT_LINK.sub(lambda found: plain_link(found[1].strip(), found[2]), source)
        return " ".join(without_controls(linked).split())
    parts = []
    end = 0
    for found in COMMENT_LINK.finditer(source):
        parts.append(html.escape(source[end : found.start()], quote=False))
        parts.append(f'<a href="{html.escape(found[2], quote=True)}">{html.escape(found[1], quote=False)}</a>')
        end = found.end()
    return "".join([*parts, html.escape(source[end:], quote=False)])


# ------------------------------------------------------------------------------------------------------------------- links


def html_links(source: str) -> list[str]:
    """Absolute addresses of the anchors, and of the text outside them, in order."""
    found: list[str] = []

    def walk(node: Node) -> None:
        href = node.attributes.get("href", "").strip() if node.tag == "a" else ""
        if href:
            if BARE_URL.match(href):
                found.append(href)
            return
        if node.tag in LEFT_OUT:
            return
        for child in node.children:
            if isinstance(child, str):
                found.extend(bare_urls(child))
            else:
                walk(child)

    walk(tree_of(source))
    return found


def comment_links(source: str) -> list[str]:
    found = []
    end = 0
    for link in COMMENT_LINK.finditer(source):
        found += [*bare_urls(source[end : link.start()]), link[2]]
        end = link.end()
    return found + bare_urls(source[end:])


def bare_urls(text: str) -> list[str]:
    return [without_punctuation(found) for found in BARE_URL.findall(text)]


def without_punctuation(url: str) -> str:
    """What ends the sentence does not belong to the address, nor a bracket that was opened before it."""
    while url[-1] in ".,;:!?'*_…" or (url[-1] in ")]" and url.count(url[-1]) > url.count("(["[")]".index(url[-1])])):
        url = url[:-1]
    return url
