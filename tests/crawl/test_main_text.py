"""What is read in a page: its encoding, its title, its main text, and pages that are made to be slow."""

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tertulia.crawl.encoding import decode_html
from tertulia.crawl.extracting import Extracted, ExtractionError, Extractor
from tertulia.crawl.main_text import main_text

from .web import page

RUSSIAN = "Привет из Москвы, здесь уже выпал первый снег и очень холодно"


@pytest.mark.parametrize(
    ("text", "stored", "named", "taken"),
    [
        ("Grüße aus Łódź", "utf-8", "utf-8", "utf-8"),
        ("Grüße aus Łódź", "utf-8", None, "utf-8"),
        ("Grüße aus Köln", "latin-1", "ISO-8859-1", "cp1252"),
        ("\u201equoted\u201c Köln", "cp1252", "latin1", "cp1252"),
        ("Grüße aus Köln, wo es heute regnet", "latin-1", "utf-8", None),
        (RUSSIAN, "cp1251", "windows-1251", "cp1251"),
        (RUSSIAN, "koi8-r", None, "koi8-r"),
        ("東京の天気は晴れです", "shift_jis", "Shift_JIS", "cp932"),
        ("北京今天的天气很好", "gbk", "gb2312", "gb18030"),
        ("Grüße aus Köln", "utf-8-sig", "latin1", "utf-8"),
        ("Grüße aus Köln", "utf-16", None, "utf-16-le"),
        ("Grüße", "utf-8", "nonsense", "utf-8"),
        ("Grüße", "utf-8", "zip", "utf-8"),
        ("Grüße", "utf-8", "utf-7", "utf-8"),
        ("Grüße", "utf-8", "\udce4", "utf-8"),
    ],
)
def test_encodings(text: str, stored: str, named: str | None, taken: str | None) -> None:
    html = f"<html><body><p>{text}</p></body></html>"
    title, found, encoding = main_text(html.encode(stored), named)
    assert found == text
    assert title is None
    assert taken is None or encoding == taken


@pytest.mark.parametrize(
    "head",
    [
        b"<html><head><meta charset='iso-8859-2'></head>",
        b"<html><head><META HTTP-EQUIV=Content-Type content='text/html; charset=iso-8859-2'></head>",
        b"<?xml version='1.0' encoding='iso-8859-2'?><html xmlns='http://www.w3.org/1999/xhtml'>",
    ],
)
def test_the_encoding_that_a_page_names_itself(head: bytes) -> None:
    body = head + "<body><p>Zażółć gęślą jaźń</p></body></html>".encode("iso-8859-2")
    assert main_text(body)[1:] == ("Zażółć gęślą jaźń", "iso8859-2")
    # The head of the answer counts more than what the page says.
    assert decode_html("<meta charset=iso-8859-2><p>Łódź".encode(), "utf-8") == (
        "<meta charset=iso-8859-2><p>Łódź",
        "utf-8",
    )


def test_a_damaged_character_is_no_other_encoding() -> None:
    text, encoding = decode_html("Grüße aus Łódź".encode() + b"\xff", "utf-8")
    assert (text, encoding) == ("Grüße aus Łódź\ufffd", "utf-8")


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=300),
    st.none() | st.text(max_size=12) | st.sampled_from(["utf-8", "gbk", "utf-16", "big5", "hz"]),
)
def test_any_bytes_are_some_text(body: bytes, named: str | None) -> None:
    text, encoding = decode_html(body, named)
    assert body.decode(encoding, "replace").removeprefix("\ufeff") == text.removeprefix("\ufeff") or body[:2] in (
        b"\xff\xfe",
        b"\xfe\xff",
    )
    main_text(body, named)


def test_the_main_text_and_no_other() -> None:
    title, text, _ = main_text(
        page("Larches turn gold in October, and the huts close soon after.", "Autumn &amp;\n winter")
    )
    assert title == "Autumn & winter"
    assert "Larches turn gold in October, and the huts close soon after." in text
    for other in ("Home", "About us", "alert", "cookie"):
        assert other not in text


def test_code_and_lists_keep_their_lines() -> None:
    body = b"<html><body><main><p>Do so:</p><pre>if x:\n    y()\n</pre><ul><li>one<li>two</ul></main></body></html>"
    text = main_text(body)[1]
    assert "if x:\n    y()" in text
    assert [line.split()[-1] for line in text.splitlines()[-2:]] == ["one", "two"]


@pytest.mark.parametrize("depth", range(7))
def test_a_list_is_judged_by_its_links_and_not_by_where_it_stands(depth: int) -> None:
    def text(list_: str) -> str:
        start = "<html><body>" + "<div>" * depth
        return main_text(f"{start}<p>Before the tour.</p><ul>{list_}</ul><p>Then.</p></body></html>".encode())[1]

    assert text("<li>A warm jacket</li><li>Water</li>").split() == [
        "Before",
        "the",
        "tour.",
        "•",
        "A",
        "warm",
        "jacket",
        "•",
        "Water",
        "Then.",
    ]
    assert text("<li><a href=/>Home</a></li><li><a href=/shop>Shop</a></li>").split() == [
        "Before",
        "the",
        "tour.",
        "Then.",
    ]


def test_pages_without_words() -> None:
    for body in (b"", b"<html></html>", b"<html><body><script>x()</script></body></html>", b"\0\0"):
        assert main_text(body)[1].strip("\ufffd\0") == ""
    # Where no part is the main one, the whole page is.
    assert main_text(b"<html><body><nav>Only a menu</nav></body></html>")[1] == "Only a menu"


def test_a_page_that_is_made_to_be_slow_costs_its_text_only() -> None:
    async def run() -> tuple[list[object], float]:
        extractor = Extractor(processes=1, limit_s=1)
        slow = b"<div>" * 100_000 + b"deep"
        began = time.monotonic()
        try:
            found = await asyncio.gather(
                *(extractor.extract(body, None) for body in (page("One."), slow, page("Two."))), return_exceptions=True
            )
        finally:
            await extractor.close()
        return list(found), time.monotonic() - began

    (one, slow, two), took = asyncio.run(run())
    assert isinstance(one, Extracted)
    assert isinstance(two, Extracted)
    assert "Two." in two.text
    assert isinstance(slow, ExtractionError)
    assert str(slow) == "its main text takes more than 1 s to take out"
    assert took < 30
