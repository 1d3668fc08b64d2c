"""HTML as text, and pages made to trouble the parser."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.errors import InputError
from tertulia.formats.pages.markup import first, is_selector, parse, remove, select, text_of


def said(html: str) -> str:
    return text_of(parse(f"<body>{html}</body>").body)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("one <b>two</b><i> three</i> ", "one two three"),
        ("one\n\t two", "one two"),
        ("one <b> two</b>", "one two"),
        ("a<br>b<br/><br><br>c", "a\nb\n\nc"),
        ("<p>a<p>b<div>c</div>d", "a\n\nb\n\nc\n\nd"),
        ("<p> a </p> <p> </p> <p>b</p>", "a\n\nb"),
        ("<ul><li>one<li>two</ul>three", "one\ntwo\n\nthree"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc"),
        ("a<pre>  x\n\n   y  \n</pre>b", "a\n\n  x\n\n   y\n\nb"),
        ("<pre>\n  x</pre>", "  x"),
        ("a<script>x()</script><style>p{}</style><!-- no --><noscript>n</noscript><template>t</template>b", "ab"),
        ('fine <img src="e.png" alt="🎉"><img src=x>', "fine 🎉"),
        ("&lt;b&gt; &amp;amp; &nbsp;&#0;x", "<b> &amp; \ufffdx"),
        ("\x00\x07a\x1b[2J", "a[2J"),
        ("", ""),
        ("<a href=x>link</a>, <code>c  d</code>", "link, c d"),
        ("中文<br>字", "中文\n字"),
    ],
)
def test_text(html: str, text: str) -> None:
    assert said(html) == text


def test_what_is_asked_for_speaks_even_if_it_is_silent_otherwise() -> None:
    tree = parse("<title> A  title </title><body><textarea>typed</textarea>")
    assert text_of(first(tree, "title")) == "A title"
    assert text_of(first(tree, "textarea")) == "typed"
    assert text_of(tree.body) == ""


pieces = st.sampled_from(
    ["<p>", "</p>", "<div>", "</div>", "<br>", "<pre>", "</pre>", "<li>", "<ul>", "</ul>", "a", " ", "\n", "&nbsp;", "<b>",
     "</b>", "<!--", "-->", "<td>", "<table>", "</table>", "<script>", "</script>", "<", "&", "é", "<template>", "\0", "<svg>"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(html=st.lists(pieces, max_size=30).map("".join))
def test_any_html_is_text_without_loose_ends(html: str) -> None:
    tree = parse(html)
    text = text_of(tree.body or tree.root)
    assert text == text.strip("\n").rstrip()
    assert "\n\n\n" not in text
    assert not any(line.endswith(" ") for line in text.split("\n"))
    text.encode()


def test_an_element_is_not_among_what_is_in_it_and_none_comes_twice() -> None:
    tree = parse("<div id=a class=x><div id=b class=x><p id=c class=x>t</p></div></div>")
    outer = first(tree, "#a")
    assert [node.attributes["id"] for node in select(outer, "div, .x, p")] == ["b", "c"]
    assert first(outer, "#a") is None
    remove(tree, "div, .x")
    assert tree.body.html == "<body></body>"


def test_which_selectors_there_are() -> None:
    good = [
        "a",
        "a > b",
        "a ~ b",
        "a + b",
        "*",
        "[x]",
        "[x^='y' i]",
        ":not(.x, .y)",
        ":is(a, b)",
        ":where(a)",
        ":has(> b)",
    ]
    good += [":nth-child(2n+1)", ":nth-child(1 of .x)", ":first-child", ":last-of-type", ":empty", "a, b", ":root"]
    good += ['p:lexbor-contains("x" i)']
    bad = [
        "",
        " ",
        "p::text",
        "p::attr(x)",
        "a,,b",
        "a >",
        "[",
        ":eq(1)",
        ":contains('x')",
        ":scope > a",
        "\ud800",
        "1a",
    ]
    assert [css for css in good if not is_selector(css)] == []
    assert [css for css in bad if is_selector(css)] == []


@pytest.mark.parametrize(
    "unit", ["<div>", "<ul><li>", "<dl><dd>x", "<table><tr><td>", "<div></span>", "<div><table></div>"]
)
def test_deep_nesting_is_refused_and_not_parsed(unit: str) -> None:
    start = time.monotonic()
    with pytest.raises(InputError, match="nest deeper than"):
        parse(unit * 100_000)
    assert time.monotonic() - start < 20


def test_what_is_long_but_flat_is_parsed() -> None:
    html = "<div><p>a<li>b<br><b>c</b></div><!--<div>--><script>'<div>'</script>" * 30_000
    assert len(select(parse(html), "p")) == 30_000


def test_deep_but_parsed_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said("<div>" * 3_000 + "x") == "x"
    tree: Any = parse("<p>" + "<b>" * 3_000 + "y")
    assert text_of(tree.body) == "y"


def test_too_long_is_refused() -> None:
    with pytest.raises(InputError, match="longer than 20,000,000 characters"):
        parse("x" * 20_000_001)
