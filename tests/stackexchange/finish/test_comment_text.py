"""Comments as text, and the links in them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.stackexchange.finish.comment_text import comment_text
from tertulia.stackexchange.finish.links import absolute, bare_urls, comment_links, shows_address


@pytest.mark.parametrize(
    ("source", "plain", "html"),
    [
        ("", "", ""),
        ("  two \n words\t", "two words", "  two \n words\t"),
        ("a < b & c", "a < b & c", "a &lt; b &amp; c"),
        (
            'see [this](https://a.org/x?a=1&b="2") now',
            'see this (https://a.org/x?a=1&b="2") now',
            'see <a href="https://a.org/x?a=1&amp;b=&quot;2&quot;">this</a> now',
        ),
        ("[https://a.org](https://a.org/)", "https://a.org/", '<a href="https://a.org/">https://a.org</a>'),
        ("[](http://a.org)", "http://a.org", '<a href="http://a.org"></a>'),
        ("[w](http://a.org/b_(c)), d", "w (http://a.org/b_(c)), d", '<a href="http://a.org/b_(c)">w</a>, d'),
        ("[w](/questions/5) [x](ftp://a)", "[w](/questions/5) [x](ftp://a)", "[w](/questions/5) [x](ftp://a)"),
        ("[w](http://a b)", "[w](http://a b)", "[w](http://a b)"),
        ("**bold** `code` @you", "**bold** `code` @you", "**bold** `code` @you"),
        ("a\x00b\x1fc", "abc", "a\x00b\x1fc"),
    ],
)
def test_each_rule(source: str, plain: str, html: str) -> None:
    assert comment_text(source, "plain") == plain
    assert comment_text(source, "html") == html
    assert comment_text(source, "markdown") == source.strip()


@pytest.mark.parametrize(
    ("source", "links"),
    [
        ("nothing", []),
        ("see http://a.org/b, or HTTPS://C.org.", ["http://a.org/b", "HTTPS://C.org"]),
        ("(http://a.org/b_(c)) http://a.org/d)", ["http://a.org/b_(c)", "http://a.org/d"]),
        (
            "[x](http://a.org/1) http://b.org/2 [y](https://c.org)",
            ["http://a.org/1", "http://b.org/2", "https://c.org"],
        ),
        ("`http://a.org/x` **http://b.org**", ["http://a.org/x", "http://b.org"]),
        ("http:// http://{x} xhttp://a.org", ["http://a.org"]),
        ("http://[::1]/x http://a.org/?q=[1]", ["http://[::1]/x", "http://a.org/?q=[1]"]),
    ],
)
def test_links(source: str, links: list[str]) -> None:
    assert list(comment_links(source)) == links


def test_what_is_absolute() -> None:
    assert absolute(" http://a.org/x ") == "http://a.org/x"
    for address in ("", "/x", "//a.org", "ftp://a.org", "http://", "http://a b", "javascript:http://a"):
        assert absolute(address) is None


def test_what_shows_an_address() -> None:
    assert shows_address("A", "A")
    assert shows_address("a.org/x", "https://a.org/x/")
    assert not shows_address("a.org", "https://a.org/x")
    assert not shows_address("...", "https://a.org/x")


@given(st.text("[]()htp:/s.a \n", max_size=60))
@settings(deadline=None, max_examples=300)
def test_no_text_is_lost_but_brackets_of_links(source: str) -> None:
    kept = "".join(char for char in comment_text(source, "plain") if char not in "[]() ")
    if "](" not in source:
        assert kept == "".join(char for char in source if char not in "[]() \n")
    assert all(not link[-1].isspace() for link in comment_links(source))


@pytest.mark.parametrize("part", ["[", "[a](http://", "[a](http://x(", "http://a", "(", "](", "[a](http://b)"])
def test_a_long_hostile_comment_is_converted(part: str) -> None:
    source = part * (400_000 // len(part))
    assert comment_text(source, "plain")
    assert comment_text(source, "html")
    assert len(list(comment_links(source))) <= len(source)
    assert len(list(bare_urls(source))) <= len(source)
