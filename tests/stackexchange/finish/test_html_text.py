"""The HTML of posts as text: each rule by an example, hostile HTML, and the plain definition beside it."""

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.stackexchange.finish.html_text import html_text
from tertulia.stackexchange.finish.nesting import DEEPEST, flattened

from .. import reference_text

EXAMPLES = [
    # source, plain, markdown
    ("", "", ""),
    ("  \n\n ", "", ""),
    ("just text", "just text", "just text"),
    ("<p>one</p>\n\n<p>two\n  lines</p>", "one\n\ntwo lines", "one\n\ntwo lines"),
    ("<p>one<br>two<br><br><br>three<br></p>", "one\ntwo\n\nthree", "one\ntwo\n\nthree"),
    ("<p>a &lt; b &amp;&amp; c</p>", "a < b && c", "a < b && c"),
    ("<div>before<p>inside</p>after</div>", "before\n\ninside\n\nafter", "before\n\ninside\n\nafter"),
    ("<p></p><p> </p><div><p></p></div>end", "end", "end"),
    # emphasis and code in a line
    ("<p>so <b>bold</b> and <em>slanted</em></p>", "so bold and slanted", "so **bold** and *slanted*"),
    ("a<strong> b </strong>c <i></i><b> </b>d", "a b c d", "a **b** c d"),
    ("<b><i>x</i> y</b>", "x y", "***x* y**"),
    ("<p>call <code>f(x)</code></p>", "call f(x)", "call `f(x)`"),
    ("<code>a``b</code> <code>`</code>", "a``b `", "```a``b``` `` ` ``"),
    ("<code>a <b>b</b></code>", "a b", "`a b`"),
    ("<sup>1</sup><kbd>Ctrl</kbd><foo>x</foo>", "1Ctrlx", "1Ctrlx"),
    # links and images
    ('<a href="https://a.org/x">the page</a>', "the page (https://a.org/x)", "[the page](https://a.org/x)"),
    ('<a href="https://a.org/x">https://a.org/x</a>', "https://a.org/x", "[https://a.org/x](https://a.org/x)"),
    ('<a href="https://a.org/x/">a.org/x</a>', "https://a.org/x/", "[a.org/x](https://a.org/x/)"),
    ('<a href="https://a.org/x/y">a.org/x…</a>', "https://a.org/x/y", "[a.org/x…](https://a.org/x/y)"),
    ('<a href="http://a.org/x/y">http://a.org/x...</a>', "http://a.org/x/y", "[http://a.org/x...](http://a.org/x/y)"),
    ('<a href="https://a.org/">…</a>', "… (https://a.org/)", "[…](https://a.org/)"),
    ('see<a href="/q/5"> that </a>one', "see that (/q/5) one", "see [that](/q/5) one"),
    ("<a>no link</a> <a href=''>none</a>", "no link none", "no link none"),
    ('<a href="https://a.org"></a>', "https://a.org", "[](https://a.org)"),
    ('<img src="a.png" alt="a  cat"> <img src="b.png">', "[a cat]", "![a cat](a.png) ![](b.png)"),
    ('<a href="b.png"><img src="a.png" alt="cat"></a>', "[cat] (b.png)", "[![cat](a.png)](b.png)"),
    # quotes
    ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc", "> a\n>\n> b\n\nc"),
    ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b", "> a\n>\n> > b"),
    ("<blockquote></blockquote>x", "x", "x"),
    # lists
    ("<ul><li>a</li><li>b</li></ul>", "- a\n- b", "- a\n- b"),
    ("<p>x</p><ol><li>a</li>\n<li>b</li></ol><p>y</p>", "x\n\n1. a\n2. b\n\ny", "x\n\n1. a\n2. b\n\ny"),
    ("<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", "- a\n\n  b\n- c", "- a\n\n  b\n- c"),
    ("<ul><li>a<ol><li>b</li></ol></li></ul>", "- a\n\n  1. b", "- a\n\n  1. b"),
    ("<ul><li></li><li>b<br>c</li></ul>", "-\n- b\n  c", "-\n- b\n  c"),
    ("<ul><li><blockquote>q</blockquote></li></ul>", "- > q", "- > q"),
    ("<ul><li><ul><li>deep</li></ul></li></ul>", "- - deep", "- - deep"),
    ("<dl><dt></dt><dt>a</dt><dd>b</dd><dd><p>c</p></dd></dl>", "a\nb\nc", "a\nb\nc"),
    # code
    ("x<pre><code>a  b\n\tc\n</code></pre>y", "x\n\n    a  b\n    \tc\n\ny", "x\n\n```\na  b\n\tc\n```\n\ny"),
    ("x<pre>a\n\nb</pre>", "x\n\n    a\n    \n    b", "x\n\n```\na\n\nb\n```"),
    ("x<pre>```\na</pre>", "x\n\n    ```\n    a", "x\n\n````\n```\na\n````"),
    ("<pre></pre>x", "x", "x"),
    ("x<blockquote><pre>a\nb</pre></blockquote>", "x\n\n>     a\n>     b", "x\n\n> ```\n> a\n> b\n> ```"),
    # headings, rules, tables
    ("<h2>a <b>b</b></h2>c", "a b\n\nc", "## a **b**\n\nc"),
    ("a<hr>b", "a\n\n---\n\nb", "a\n\n---\n\nb"),
    (
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>",
        "a | b\n1 | 2",
        "a | b\n1 | 2",
    ),
    ("<table><tr><td>1</td><td></td><td>3</td></tr></table>x", "1 |  | 3\n\nx", "1 |  | 3\n\nx"),
    # left out
    ("<script>alert(1)</script><style>p{}</style><!-- no -->x", "x", "x"),
    ("a&#1;b\x02c\x7fd", "abcd", "abcd"),
    ("a\u00a0\u00a0b", "a b", "a b"),
]


@pytest.mark.parametrize(("source", "plain", "markdown"), EXAMPLES)
def test_each_rule(source: str, plain: str, markdown: str) -> None:
    assert html_text(source).text == plain
    assert html_text(source, "markdown").text == markdown


def test_links_in_order() -> None:
    source = (
        '<p>http://bare.org/a. and <a href=" https://b.org/x ">http://hidden.org</a> <a href="/rel">r</a>'
        '<a href="mailto:x@y.z">m</a></p><img src="http://img.org/i.png"><pre>curl http://code.org/c</pre>'
        "<p>(https://d.org/e_(f)) &quot;https://g.org&quot; http://bare.org/a</p>"
    )
    assert html_text(source).links == [
        "http://bare.org/a",
        "https://b.org/x",
        "http://code.org/c",
        "https://d.org/e_(f)",
        "https://g.org",
        "http://bare.org/a",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 100_000 + "x",
        "<blockquote><p>x" * 50_000,
        "<ul><li>" * 50_000 + "x",
        "<b>" * 100_000 + "x",
        '<a href="http://a.org">' * 50_000 + "x",
        "<table><tr><td>x" * 20_000,
        "<p>x" * 50_000,
        "<b><p>x" * 20_000,
        "</p>" * 100_000 + "x",
        "<pre>" + "\n`" * 100_000 + "x",
        "x " + "http://a.org/" + ")" * 100_000,
        "<" * 200_000 + " x",
        "&" * 200_000 + "x",
        "<p " + "x=1 " * 100_000 + ">x",
    ],
    ids=lambda source: source[:12],
)
def test_hostile_html_is_converted(source: str) -> None:
    for style in ("plain", "markdown"):
        text = html_text(source, style).text  # type: ignore[arg-type]
        assert "x" in text


def test_text_deeper_than_the_limit_stays() -> None:
    deep = "<div>" * (DEEPEST + 50) + "inside" + "</div>" * (DEEPEST + 50) + "<p>after</p>"
    assert flattened(deep).count("<div>") == DEEPEST
    assert html_text(deep).text == "inside\n\nafter"
    shallow = "<p>a<br></p>" * DEEPEST
    assert flattened(shallow) == shallow


_TAGS = [
    "p",
    "b",
    "em",
    "code",
    "blockquote",
    "ul",
    "ol",
    "li",
    "pre",
    "div",
    "h1",
    "table",
    "tr",
    "td",
    "a",
    "dl",
    "dd",
]
pieces = st.one_of(
    st.sampled_from(["<" + tag + ">" for tag in _TAGS] + ["</" + tag + ">" for tag in _TAGS]),
    st.sampled_from(
        ['<a href="http://x.org/y">', "<br>", "<hr>", '<img alt="i" src="s">', "&#0;", "&nbsp;", "\n", "  "]
    ),
    st.text("ab `*>-\n\t\u00a0\x00\x85|", max_size=6),
)
sources = st.lists(pieces, max_size=30).map("".join)


@given(sources)
@settings(deadline=None, max_examples=300)
def test_whatever_the_html_the_text_is_tidy(source: str) -> None:
    for style in ("plain", "markdown"):
        text = html_text(source, style).text  # type: ignore[arg-type]
        assert text == text.strip()
        assert not any(char < " " and char not in "\n\t" for char in text)
        if "<pre" not in source:
            assert "\n\n\n" not in text
            assert all(line == line.rstrip() for line in text.split("\n"))


blocks = st.recursive(
    st.text("abc <&", min_size=1, max_size=8).map(lambda text: f"<p>{html.escape(text)}</p>"),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda found: "<blockquote>" + "\n".join(found) + "</blockquote>"),
        st.tuples(st.sampled_from(["ul", "ol"]), st.lists(inner, min_size=1, max_size=3)).map(
            lambda found: f"<{found[0]}>" + "".join(f"<li>{item}</li>" for item in found[1]) + f"</{found[0]}>"
        ),
        st.text("ab\n `", max_size=8).map(lambda code: f"<pre><code>c{code}c\n</code></pre>"),
        st.text("ab ", min_size=1, max_size=5).map(
            lambda text: f'<p>see <a href="http://x.org/">{text}</a> <b>b</b></p>'
        ),
    ),
    max_leaves=8,
)


@given(st.lists(blocks, max_size=4).map("\n\n".join), st.sampled_from(["plain", "markdown"]))
@settings(deadline=None, max_examples=200)
def test_well_formed_html_equals_the_plain_definition(source: str, style: str) -> None:
    assert html_text(source, style).text == reference_text.html_text(source, style)  # type: ignore[arg-type]
