"""Addresses in running text, their one form, robots.txt held to a plain definition, and lists of addresses."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tertulia.crawl.addresses import AddressError, address_of, normalised, urls_in
from tertulia.crawl.listing import read_addresses
from tertulia.crawl.requesting import retry_after
from tertulia.crawl.robots import Rules, parse_robots
from tertulia.crawl.sniffing import not_html
from tertulia.errors import InputError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see http://a.example/b.", ["http://a.example/b"]),
        ("(see http://a.example/b), or <https://c.example/>!", ["http://a.example/b", "https://c.example/"]),
        ("https://a.example/wiki/Larch_(tree)", ["https://a.example/wiki/Larch_(tree)"]),
        ("(https://a.example/wiki/Larch_(tree))", ["https://a.example/wiki/Larch_(tree)"]),
        ("[a page](http://a.example/b) and more", ["http://a.example/b"]),
        ("[http://a.example](http://a.example)", ["http://a.example", "http://a.example"]),
        ("HTTP://A.example/B?c=d&e=f#g, then", ["HTTP://A.example/B?c=d&e=f#g"]),
        ("\"http://a.example/x\" 'http://b.example/y'", ["http://a.example/x", "http://b.example/y"]),
        ("http://a.example/b?c=[1]&d={2}", ["http://a.example/b?c=[1]&d="]),
        ("http://[2606:4700::1]:8080/x", ["http://[2606:4700::1]:8080/x"]),
        ("请看https://a.example/x，谢谢", ["https://a.example/x"]),
        ("（https://a.example/x）。", ["https://a.example/x"]),
        ("http://bücher.example/straße…", ["http://bücher.example/straße"]),
        ("https://web.archive.example/2010/http://a.example/", ["https://web.archive.example/2010/http://a.example/"]),
        ("http://a.example/b\u200bc", ["http://a.example/b"]),
        ("**http://a.example/b** _http://c.example_", ["http://a.example/b", "http://c.example"]),
        ("http://a.example/b;c,d", ["http://a.example/b;c,d"]),
        ("http:// and https://, http://) http://. ftp://a.example mailto:me@a.example //a.example", []),
        ("http://me:word@a.example/", []),
        ("http://a.example:99999/", []),
        ("", []),
    ],
)
def test_addresses_in_text(text: str, found: list[str]) -> None:
    assert list(urls_in(text)) == found


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text("htps:/.,()[]a1 \n«。é%#?&@", max_size=60).map("http://a.example/".__add__))
@example("http://" * 2000)
@example("http://a.example/" + "(" * 5000 + ")" * 5000)
@example("http://a.example/" + "." * 5000)
@example("http://a)" * 5000)
def test_whatever_is_found_stands_there_and_has_one_form(text: str) -> None:
    at = 0
    for url in urls_in(text):
        at = text.index(url, at) + len(url)
        once = normalised(url)
        assert normalised(once) == once
        assert once.isascii()
        assert not re.search(r"[\s\x00-\x20\x7f]", once)
        assert "#" not in once


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:80/a", "https://example.com:80/a"),
        ("http://example.com./a#b", "http://example.com/a"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/%7Ea/%2f?%C3%BC=1", "http://example.com/%7Ea/%2f?%C3%BC=1"),
        ("http://example.com/ü ö?ß", "http://example.com/%C3%BC%20%C3%B6?%C3%9F"),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://[2606:4700:0:0::1]/", "http://[2606:4700::1]/"),
        ("  http://example.com/a  ", "http://example.com/a"),
        ("http://example.com/a/../b", "http://example.com/a/../b"),
        ("http://example.com/#", "http://example.com/"),
        ("http://example.com/?", "http://example.com/"),
    ],
)
def test_the_one_form(url: str, form: str) -> None:
    assert normalised(url) == form


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.text("/:?#[]@!a.%0 é", max_size=30).map("http://".__add__))
def test_any_text_is_an_address_or_nothing_but_an_error(text: str) -> None:
    try:
        address = address_of(text)
    except AddressError:
        return
    parts = urlsplit(address.url)
    assert (parts.scheme, parts.hostname) == (address.scheme, address.host)
    assert address_of(address.url) == address


# -- robots.txt


def fits(pattern: str, path: str) -> bool:
    """The definition, as a regular expression."""
    end = "$" if pattern.endswith("$") else ""
    return bool(
        re.match(
            ".*".join(re.escape(piece) for piece in pattern.removesuffix("$").split("*")) + end.replace("$", r"\Z"),
            path,
            re.DOTALL,
        )
    )


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.text("ab*$/", min_size=1, max_size=6).map("/".__add__)), max_size=5),
    st.text("ab/", max_size=8).map("/".__add__),
)
def test_rules_are_those_of_the_standard(rules: list[tuple[bool, str]], path: str) -> None:
    text = "User-agent: *\n" + "".join(
        f"{'Allow' if allowed else 'Disallow'}: {pattern}\n" for allowed, pattern in rules
    )
    parsed = parse_robots(text.encode(), "tertulia")
    kept = [(allowed, re.sub(r"\*+", "*", pattern)) for allowed, pattern in rules]
    best = max(((len(pattern), allowed) for allowed, pattern in kept if fits(pattern, path)), default=(0, True))
    assert parsed.allows(path) == best[1]


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/", True),
        ("Disallow: /", "/", True),
        ("User-agent: *\nDisallow:", "/", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: tertulia\nAllow: /", "/x", True),
        (
            "User-agent: tertulia\nDisallow: /a\nUser-agent: *\nDisallow: /b\nUser-agent: TERTULIA\nDisallow: /c",
            "/c",
            False,
        ),
        ("User-agent: tertulia\nDisallow: /a\nUser-agent: *\nDisallow: /b", "/b", True),
        ("User-agent: x\nUser-agent: tertulia\nDisallow: /a", "/a", False),
        ("User-agent: tertuliabot\nDisallow: /", "/a", True),
        ("user-AGENT : *\n  disALLOW : /a # no", "/a", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a/b", True),
        ("User-agent: *\nDisallow: /a%2fb", "/a%2Fb", False),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: *\nDisallow: /%61", "/a", False),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php", False),
        ("User-agent: *\nDisallow: /*.php$", "/x/y.php?z", True),
        ("User-agent: *\nDisallow: /x\nAllow: /x", "/x", True),
        ("User-agent: *\nDisallow: a", "/a", True),
        ("Sitemap: http://a.example/\nUser-agent: *\nSitemap: x\nDisallow: /a", "/a", False),
    ],
)
def test_files(text: str, path: str, allowed: bool) -> None:
    assert parse_robots(text.encode(), "tertulia").allows(path) == allowed


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text("user-agent: *\n\rdisallow/#$crawl-delay0123", max_size=200).map(str.encode))
def test_any_bytes_are_rules(data: bytes) -> None:
    rules = parse_robots(data, "tertulia")
    assert isinstance(rules.allows("/a"), bool)
    assert rules.delay_s is None or rules.delay_s >= 0


def test_rules_that_are_made_to_be_slow() -> None:
    rules = parse_robots(
        b"User-agent: *\n" + b"Disallow: /" + b"*a" * 200_000 + b"\n" + b"Disallow: /*a*b*c*d$\n" * 20_000, "tertulia"
    )
    assert isinstance(rules.allows("/" + "a" * 7000), bool)


def test_delays() -> None:
    assert parse_robots(b"User-agent: *\nCrawl-delay: 2.5", "tertulia").delay_s == 2.5
    for value in ("x", "-1", "inf", "nan", "1e999", ""):
        assert parse_robots(f"User-agent: *\nCrawl-delay: {value}".encode(), "tertulia") == Rules()


@given(st.text(max_size=40))
def test_any_text_may_stand_for_a_time(text: str) -> None:
    wait = retry_after(text)
    assert wait is None or wait >= 0


@given(st.binary(max_size=200))
def test_any_bytes_are_html_or_not(data: bytes) -> None:
    assert not_html(data) is None or isinstance(not_html(data), str)


# -- lists


def test_lists_of_addresses(tmp_path: Path) -> None:
    urls = ["http://a.example/1", "http://b.example/ü", "nonsense"]
    plain = tmp_path / "plain.txt"
    plain.write_bytes("\ufeff# mine\n\nhttp://a.example/1\r\n http://b.example/ü \nnonsense".encode())
    lines = tmp_path / "links.jsonl"
    lines.write_text("\n".join(json.dumps({"url": url, "position": 1}) for url in urls) + "\n")
    columns = tmp_path / "links.tsv"
    columns.write_text("url\tdialogue_id\n" + "".join(f"{url}\tx\n" for url in urls))
    table = tmp_path / "links.parquet"
    pq.write_table(pa.table({"url": urls}), table)
    for path in (plain, lines, columns, table):
        assert list(read_addresses(path)) == urls


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x", b'{"url": 7}\n', "x:1"),
        ("x", b'http://a.example/\n{"url": \n', "x:2"),
        ("x", b'{"uri": "http://a.example/"}', "x:1"),
        ("x", b"\xff\xfe", "UTF-8"),
        ("x", b"a" * 200_000, "x:1"),
        ("x.parquet", b"PAR1", "Parquet"),
        ("x.parquet", b"", "Parquet"),
        ("x", b'{"a":' * 9999 + b"\n", "x:1"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=re.escape(said)):
        list(read_addresses(tmp_path / name))


def test_lists_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError):
            list(read_addresses(path))
    pq.write_table(pa.table({"url": [1]}), tmp_path / "numbers.parquet")
    with pytest.raises(InputError, match="column"):
        list(read_addresses(tmp_path / "numbers.parquet"))
