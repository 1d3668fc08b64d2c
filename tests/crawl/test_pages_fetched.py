"""Pages of servers that are slow, lie, loop, never end, break off, and send bombs: each has its outcome, and none takes long."""

import sys
import time
import zlib

import pytest

from tertulia.crawl.pages import Crawl
from tertulia.errors import MissingExtraError

from .conftest import Crawler
from .web import Web, endless, head, packed, page, raw, redirect, reset, serve, silence, status

WORDS = "Larches turn gold in October, and the huts close soon after, so book a bed in time before the snow comes down."

pytestmark = pytest.mark.timeout(60)


def only(pages: dict[str, object], outcome: str) -> str:
    """The one page's reason, after a look at its outcome."""
    (found,) = pages.values()
    assert found.outcome == outcome, found  # type: ignore[attr-defined]
    assert found.text is None  # type: ignore[attr-defined]
    return found.reason or ""  # type: ignore[attr-defined]


def test_a_page_is_kept_with_its_text_and_the_bytes_it_came_as(web: Web, run: Crawler, output) -> None:
    body = page(WORDS, "Autumn")
    url = web.put("/a", serve(body))
    (found,) = run(url).values()
    assert (found.outcome, found.status, found.title, found.charset, found.bytes) == (
        "ok",
        200,
        "Autumn",
        "utf-8",
        len(body),
    )
    assert WORDS in found.text
    assert "alert" not in found.text
    assert "cookie" not in found.text
    assert found.final_url == url
    with Crawl(output, check_digests=True) as crawled:
        (kept,) = crawled.pages()
        assert kept.body == body
        assert (kept.url, kept.status, kept.content_type, kept.charset) == (url, 200, "text/html", "utf-8")
        assert crawled.text_of(url + "#part") == found.text
        assert crawled.text_of(url + "?other") is None
        assert crawled.text_of("not an address") is None
        assert crawled.manifest.counts == {"addresses": 1, "pages": 1}
    sent = web.requests[-1].headers
    assert sent["user-agent"].startswith("tertulia/")
    assert "cookie" not in sent


def test_an_address_is_fetched_once_however_often_and_however_it_is_written(web: Web, run: Crawler) -> None:
    url = web.put("/a", serve(page(WORDS)))
    assert list(run(url, url + "#x", url.replace("http", "HTTP"), url)) == [url]
    assert web.asked("/a") == 1


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate", "identity"])
def test_packed_pages_are_unpacked(web: Web, run: Crawler, output, coding: str) -> None:
    body = page(WORDS)
    if coding == "raw deflate":
        packer = zlib.compressobj(wbits=-15)
        answer = serve(packer.compress(body) + packer.flush(), Content_Encoding="deflate")
    elif coding == "deflate":
        answer = serve(zlib.compress(body), Content_Encoding="deflate")
    else:
        answer = packed(body, coding)
    (found,) = run(web.put("/a", answer)).values()
    assert found.outcome == "ok"
    assert WORDS in found.text
    with Crawl(output) as crawled:
        assert next(crawled.pages()).body == body


def test_the_charset_of_the_head_counts(web: Web, run: Crawler) -> None:
    body = "<html><body><p>Zażółć gęślą jaźń w październiku</p></body></html>".encode("iso-8859-2")
    (found,) = run(web.put("/a", serve(body, 'text/html; Charset="ISO-8859-2"'))).values()
    assert found.charset == "iso8859-2"
    assert "Zażółć gęślą jaźń" in found.text


# -- what is no page


NO_PAGES = [
    (page(WORDS), "application/pdf", "application/pdf"),
    (page(WORDS), "text/plain", "text/plain"),
    (b"%PDF-1.7 " + bytes(5000), "text/html", "a PDF file"),
    (b"\x89PNG\r\n\x1a\n" + bytes(100), "text/html", "a picture"),
    (b"PK\x03\x04" + bytes(100), "text/html", "an archive"),
    (b'{"error": "none"}', "text/html", "JSON"),
    (b"just some words", "text/html", "plain text"),
    (b"<?xml version='1.0'?>\n<rss version='2.0'><channel></channel></rss>", "text/html", "another kind of XML"),
    (bytes(range(256)) * 40, None, "binary data"),
    (b"some\0thing <p>", "text/html", "binary data"),
]


def test_what_is_no_html_whatever_it_says(web: Web, run: Crawler) -> None:
    urls = [web.put(f"/{number}", serve(body, kind)) for number, (body, kind, _) in enumerate(NO_PAGES)]
    found = run(*urls)
    for url, (_, _, said) in zip(urls, NO_PAGES, strict=True):
        assert said in only({url: found[url]}, "not-html")


def test_a_page_without_a_type_is_looked_at(web: Web, run: Crawler) -> None:
    (found,) = run(web.put("/a", serve(page(WORDS), None))).values()
    assert found.outcome == "ok"


def test_a_binary_that_never_ends_is_left_at_its_beginning(web: Web, run: Crawler) -> None:
    url = web.put("/a", endless(head(200, Content_Type="text/html") + b"GIF89a", bytes(5000), 0.01))
    assert "a picture" in only(run(url, page_time_s=60.0), "not-html")


def test_answers_that_are_no_page(web: Web, run: Crawler) -> None:
    codes = {
        web.put(f"/{code}", status(code)): code for code in (204, 206, 304, 400, 401, 403, 404, 410, 451, 500, 502, 999)
    }
    found = run(*codes)
    assert {url: (result.outcome, result.status) for url, result in found.items()} == {
        url: ("http-error", code) for url, code in codes.items()
    }
    assert len(web.requests) == len(codes) + 1


# -- too much, too slow, broken


def test_too_large_by_what_it_says(web: Web, run: Crawler) -> None:
    url = web.put("/a", raw(head(200, Content_Type="text/html", Content_Length=10**12) + b"<p>"))
    assert "1000000000000 bytes" in only(run(url), "too-large")
    huge = web.put("/b", raw(head(200, Content_Type="text/html", Content_Length="9" * 400) + b"<p>"))
    assert run(huge, overwrite=True)[huge].outcome in {"too-large", "bad-answer"}


def test_a_stream_without_end_is_cut_at_the_limit(web: Web, run: Crawler) -> None:
    url = web.put("/a", endless(head(200, Content_Type="text/html") + b"<p>", b"more and more <b>of it</b> " * 1000))
    assert "more than 300,000 bytes" in only(run(url, max_bytes=300_000), "too-large")


def test_a_bomb_of_gzip_stays_small(web: Web, run: Crawler) -> None:
    """5 MB that unpack to 5 GB: a thousand members of one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = packer.compress(b"<p>" + bytes(b" " * 50_000_000)) + packer.flush()
    url = web.put("/a", serve(bomb * 80, Content_Encoding="gzip"))
    assert len(bomb * 80) < 5_000_000
    began = time.monotonic()
    assert "more than 5,000,000 bytes" in only(run(url), "too-large")
    assert time.monotonic() - began < 20


def test_bodies_that_do_not_unpack(web: Web, run: Crawler) -> None:
    assert "unpack" in only(run(web.put("/a", serve(page(WORDS), Content_Encoding="gzip"))), "bad-answer")
    again = run(web.put("/b", serve(page(WORDS), Content_Encoding="br")), overwrite=True)
    assert "coding 'br'" in only(again, "bad-answer")


def test_silence_and_drops_of_a_page_end_in_time(web: Web, run: Crawler) -> None:
    silent = web.put("/silent", silence(30))
    drops = web.put("/drops", endless(head(200, Content_Type="text/html") + b"<p>", b"x", 0.05))
    head_only = web.put("/head", endless(b"HTTP/1.1 200 OK\r\nX: ", b"y", 0.05))
    began = time.monotonic()
    found = run(silent, drops, head_only, page_time_s=0.4)
    assert {url: result.outcome for url, result in found.items()} == dict.fromkeys(
        (silent, drops, head_only), "timeout"
    )
    assert time.monotonic() - began < 20


def test_a_connection_that_breaks_is_tried_again(web: Web, run: Crawler) -> None:
    cut = raw(head(200, Content_Type="text/html", Content_Length=5000) + b"<p>only the start")
    url = web.put("/a", cut, reset, serve(page(WORDS)))
    assert run(url)[url].outcome == "ok"
    broken = web.put("/b", reset)
    assert run(broken, overwrite=True)[broken].outcome == "connection"
    assert 3 <= web.asked("/b") <= 6  # aiohttp itself tries a connection once more that it kept open


def test_a_packed_body_that_is_cut_is_no_page(web: Web, run: Crawler) -> None:
    whole = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = whole.compress(page(WORDS) * 50) + whole.flush()
    url = web.put("/a", serve(body[:-20], Content_Encoding="gzip"))
    assert "cut off" in only(run(url), "connection")


def test_what_is_not_http(web: Web, run: Crawler) -> None:
    for number, data in enumerate(
        (b"\x00\xff how do you do\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n")
    ):
        url = web.put(f"/{number}", raw(data))
        assert run(url, overwrite=True)[url].outcome in {"bad-answer", "connection"}


def test_huge_heads(web: Web, run: Crawler) -> None:
    one = web.put("/one", raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 10_000_000 + b"\r\n\r\n"))
    many = web.put("/many", raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(100_000)) + b"\r\n"))
    found = run(one, many)
    assert {result.outcome for result in found.values()} == {"bad-answer"}


# -- redirects


def test_redirects_are_followed_and_kept(web: Web, run: Crawler, output) -> None:
    web.put("/c", serve(page(WORDS)))
    web.put("/b", redirect("c", 301))
    url = web.put("/a", redirect(web.address + "/b", 307))
    (found,) = run(url).values()
    assert (found.outcome, found.url, found.final_url) == ("ok", url, web.address + "/c")
    with Crawl(output) as crawled:
        assert crawled.text_of(web.address + "/c") == found.text
        (kept,) = crawled.pages()
        assert (kept.url, kept.final_url) == (url, web.address + "/c")


def test_redirects_in_circles_and_on_and_on(web: Web, run: Crawler) -> None:
    loop = web.put("/loop", redirect("/pool"))
    web.put("/pool", redirect("/loop"))
    for number in range(20):
        web.put(f"/{number}", redirect(f"/{number + 1}"))
    endless_ = web.address + "/0"
    found = run(loop, endless_)
    assert found[loop].reason == "leads in a circle"
    assert found[endless_].reason == "leads on more than 5 times"
    assert {result.outcome for result in found.values()} == {"redirects"}
    assert web.asked("/6") == 0


@pytest.mark.parametrize(
    "location",
    [
        "ftp://a.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http://[",
        "http://me:word@a.example/",
    ],
)
def test_redirects_to_what_is_no_page(web: Web, run: Crawler, location: str) -> None:
    found = run(web.put("/a", redirect(location)))
    assert {result.outcome for result in found.values()} <= {"bad-address", "redirects"}


def test_no_cookie_goes_anywhere(web: Web, run: Crawler) -> None:
    web.put("/b", serve(page(WORDS)))
    url = web.put("/a", status(302, Location="/b", Set_Cookie="who=me; Path=/"))
    run(url, web.put("/c", serve(page(WORDS))))
    assert all("cookie" not in request.headers for request in web.requests)


@pytest.mark.parametrize("package", ["aiohttp", "warcio.warcwriter", "resiliparse"])
def test_a_package_that_is_not_there_is_named_and_nothing_is_lost(
    web: Web, run: Crawler, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = web.put("/a", serve(page(WORDS)))
    with monkeypatch.context() as patch:
        if package == "resiliparse":
            patch.setattr("importlib.util.find_spec", lambda _name: None)
        else:
            patch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match=package.partition(".")[0]):
            run(url)
    assert run(url)[url].outcome == "ok"
