"""Texts of posts and comments are those of the plain definition, for made-up HTML and for every post of the real dumps."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.stackexchange.finish.comment_text import comment_text
from tertulia.stackexchange.finish.html_text import html_text
from tertulia.stackexchange.finish.links import comment_links
from tests.stackexchange import reference_text as plainly
from tests.stackexchange.reference import rows

STYLES = ["plain", "markdown"]
WORDS = [
    "beer",
    "a  b",
    "\n",
    " ",
    "x\u00a0y",
    "5 < 6",
    "`",
    "* star",
    "http://hop.example/malt.",
    "Tom & Ann",
    "…",
    "\tend",
]
ADDRESSES = [
    "http://hop.example/",
    "https://hop.example/a_(b)",
    "/q/7",
    "",
    "mailto:x@hop.example",
    "http://x.example/a?b=1&c=2",
]


def element(tag: str, inside: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>{inside}</{tag}>"


def inlines() -> st.SearchStrategy[str]:
    leaf = st.one_of(
        # No element begins or ends with white space: on which side of its mark that stands is nobody's business.
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(
            lambda words: html.escape(" ".join(["hop", *words, "malt"]))
        ),
        st.sampled_from(["hop", "a ` b", "``", "5 &lt; 6", "* x"]).map(lambda code: element("code", code)),
        st.just("malt<br>\nyeast"),
        st.just("<img src='http://pic.example/1.png' alt='a foam'>"),
        st.just("<img src='http://pic.example/2.png'>"),
        st.just("<!-- left out -->"),
    )
    within = st.recursive(
        leaf,
        lambda inner: st.builds(
            lambda tag, parts: element(tag, "".join(parts)),
            st.sampled_from(["b", "strong", "em", "i", "kbd", "sup", "span"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        max_leaves=5,
    )
    link = st.builds(
        lambda address, parts: element("a", "".join(parts), f' href="{html.escape(address)}"'),
        st.sampled_from(ADDRESSES),
        st.lists(st.one_of(within, st.sampled_from(ADDRESSES).map(html.escape)), max_size=2),
    )
    return st.lists(st.one_of(within, link), min_size=1, max_size=4).map("".join)


def blocks() -> st.SearchStrategy[str]:
    code = st.lists(st.sampled_from(["if x:", "\ty  ", "", "`z`", "```", "&lt;p&gt;"]), max_size=4).map("\n".join)
    leaf = st.one_of(
        inlines().map(lambda inside: element("p", inside)),
        inlines().map(lambda inside: element("p", inside)),
        code.map(lambda inside: f"<pre><code>{inside}\n</code></pre>"),
        code.map(lambda inside: f"<pre>\n{inside}</pre>"),
        inlines().map(lambda inside: element("h2", inside)),
        st.just("<hr>"),
        st.lists(inlines(), min_size=1, max_size=3).map(
            lambda cells: (
                "<table><tbody>" + 2 * element("tr", "".join(element("td", c) for c in cells)) + "</tbody></table>"
            )
        ),
        inlines().map(lambda inside: f"<dl><dt>term</dt><dd>{inside}</dd></dl>"),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: element("blockquote", "\n  ".join(parts))),
            st.lists(inner, min_size=1, max_size=2).map(lambda parts: element("div", "\n".join(parts))),
            st.builds(
                lambda tag, items: element(tag, "\n".join(element("li", item) for item in items)),
                st.sampled_from(["ul", "ol"]),
                st.lists(st.one_of(inlines(), inner), min_size=1, max_size=3),
            ),
        ),
        max_leaves=6,
    )


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(blocks(), inlines()), max_size=4).map("\n\n".join))
def test_made_up_html(style: str, source: str) -> None:
    found = html_text(source, style)
    assert found.text == plainly.html_text(source, style)
    assert found.text == found.text.strip()
    assert list(dict.fromkeys(found.links)) == list(dict.fromkeys(plainly.html_links(source)))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from([*WORDS, *ADDRESSES, "[x", "](", ")", "[a](http://b.example/c)", "<b>", '"']), max_size=8
    ).map("".join)
)
def test_made_up_comments(source: str) -> None:
    for style in (*STYLES, "html"):
        assert comment_text(source, style) == plainly.comment_text(source, style)
    assert list(dict.fromkeys(comment_links(source))) == list(dict.fromkeys(plainly.comment_links(source)))


@pytest.mark.data
def test_every_post_and_comment_of_a_real_dump(data: Path) -> None:
    dump = data / "stackexchange" / "beer_20200531"
    bodies = {row["Body"] for row in rows(dump, "posts") if row.get("Body")}
    assert len(bodies) > 3000
    for body in bodies:
        for style in STYLES:
            assert html_text(body, style).text == plainly.html_text(body, style)
        assert list(dict.fromkeys(html_text(body).links)) == list(dict.fromkeys(plainly.html_links(body)))
    for row in rows(dump, "comments"):
        for style in (*STYLES, "html"):
            assert comment_text(row["Text"], style) == plainly.comment_text(row["Text"], style)
        assert list(dict.fromkeys(comment_links(row["Text"]))) == list(
            dict.fromkeys(plainly.comment_links(row["Text"]))
        )
