"""WARC files: ours read by warcio, warcio's read by us, those of other crawlers, and files that are damaged."""

import gzip
import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tertulia.crawl.archive import Archive, Exchange
from tertulia.crawl.coding import CodingError, Decoder, TooLargeError, decoded, unchunked
from tertulia.crawl.page import Page
from tertulia.crawl.warc import read_page, read_warc
from tertulia.errors import InputError

TIME = datetime(2020, 5, 1, 12, 30, 15, tzinfo=UTC)


def record(
    url: str, block: bytes, kind: str = "response", content_type: str = "application/http; msgtype=response"
) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2020-05-01T12:30:15Z\r\n"
        f"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


BODIES = [f"<p>Larch number {number}</p>".encode() * (1 + number * 2000) for number in range(5)]
PLAIN = b"".join(record(f"http://a.example/{number}", answer(body)) for number, body in enumerate(BODIES))
EACH = b"".join(gzip.compress(record(f"http://a.example/{number}", answer(body))) for number, body in enumerate(BODIES))


@pytest.mark.parametrize(
    "data", [PLAIN, EACH, gzip.compress(PLAIN), EACH + bytes(1000)], ids=["plain", "each", "at once", "zeros"]
)
def test_packed_in_any_way(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.warc"
    file.write_bytes(data)
    pages = list(read_warc(file))
    assert [page.body for page in pages] == BODIES
    assert pages[3] == Page("http://a.example/3", "http://a.example/3", 200, "text/html", "utf-8", BODIES[3], TIME)
    assert pages[3].is_html
    assert pages[3].html().startswith("<p>Larch number 3</p>")


def test_records_of_all_kinds(tmp_path: Path) -> None:
    body = b"<p>Larch</p>"
    chunked = b"5;x=y\r\n<p>La\r\n7\r\nrch</p>\r\n0\r\n\r\n"
    records = [
        record("http://a.example/info", b"software: x", "warcinfo", "application/warc-fields"),
        record("http://a.example/1", b"GET / HTTP/1.1\r\n\r\n", "request", "application/http; msgtype=request"),
        record("<http://a.example/1>", answer(body)),
        record("http://a.example/2", answer(gzip.compress(body), "Content-Encoding: gzip")),
        record("http://a.example/3", answer(chunked, "Transfer-Encoding: chunked")),
        record("http://a.example/4", answer(body, "Transfer-Encoding: chunked")),
        record("http://a.example/5", answer(body, "Content-Encoding: gzip")),
        record("http://a.example/6", answer(body, "Content-Encoding: br")),
        record("http://a.example/7", body, "resource", "text/html"),
        record("http://a.example/8", answer(b"", status="404 Not Found")),
        record("http://a.example/9", answer(b"", "Location: /1", status="301 Moved")),
        record("http://a.example/10", answer(body).replace(b"\r\n", b"\n")),
        record("http://a.example/r", answer(b""), "revisit"),
        record("dns:a.example", b"a.example 1.2.3.4", "resource", "text/dns"),
    ]
    file = tmp_path / "a.warc"
    file.write_bytes(b"".join(records))
    found = {page.url.rpartition("/")[2]: page for page in read_warc(file)}
    assert {name: page.status for name, page in found.items()} == {
        **{str(n): 200 for n in range(1, 8)},
        "8": 404,
        "9": 301,
        "10": 200,
    }
    assert {name for name, page in found.items() if page.body == body} == {"1", "2", "3", "4", "5", "6", "7", "10"}
    assert found["7"].charset is None
    assert not found["8"].is_html


def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    records = [
        record("http://a.example/1", answer(b"x" * 200_000)),
        record("http://a.example/2", answer(gzip.compress(b"x" * 200_000), "Content-Encoding: gzip")),
        record("http://a.example/3", answer(b"\x01\x02", "Content-Encoding: br")),
        record("http://a.example/4", b"SSH-2.0-x\r\n"),
        record("http://a.example/5", b""),
        record("http://a.example/6", answer(b"<p>whole</p>")),
        record("http://a.example/7", answer(b"x" * 900_000)),
    ]
    file = tmp_path / "a.warc"
    file.write_bytes(b"".join(records))
    told: list[tuple[str, str]] = []
    pages = list(read_warc(file, max_bytes=100_000, skipped=lambda reason, where: told.append((reason, where))))
    assert [page.url for page in pages] == ["http://a.example/6"]
    assert [reason.split()[0] for reason, _ in told] == ["bodies", "bodies", "a", "responses", "responses", "bodies"]
    assert [int(where.rpartition(" ")[2].replace(",", "")) for _, where in told][1] == len(records[0])


def test_what_warcio_writes_is_read_and_the_other_way_round(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.warc.gz"
    with theirs.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        writer.write_record(writer.create_warcinfo_record("theirs", {"software": "x"}))
        for number, body in enumerate(BODIES):
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.0")
            payload = {"payload": io.BytesIO(body), "length": len(body), "http_headers": headers}
            writer.write_record(writer.create_warc_record(f"http://a.example/{number}", "response", **payload))
    assert [page.body for page in read_warc(theirs)] == BODIES

    archive = Archive(tmp_path, {}, 1_000_000, "tertulia/1.0")
    places = [archive.write([exchange(f"http://a.example/{number}", body)]) for number, body in enumerate(BODIES)]
    archive.close()
    ours = tmp_path / "crawl-00000.warc.gz"
    assert [page.body for page in read_warc(ours)] == BODIES
    assert places[-1][2] == ours.stat().st_size
    for number, (name, offset, _) in enumerate(places):
        page = read_page(tmp_path / name, offset)
        assert (page.url, page.body, page.fetched_at) == (f"http://a.example/{number}", BODIES[number], TIME)
    with ours.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        kinds = [
            (each.rec_type, each.rec_headers.get_header("WARC-Target-URI"), each.content_stream().read())
            for each in records
        ]
    assert [kind for kind, _, _ in kinds] == ["warcinfo"] + ["response", "request"] * 5
    assert [body for kind, _, body in kinds if kind == "response"] == BODIES


def exchange(url: str, body: bytes) -> Exchange:
    headers = [("Content-Type", "text/html"), ("Transfer-Encoding", "chunked"), ("X-Odd", "größe"), ("X-Odd", "again")]
    return Exchange(url, "/" + url.rpartition("/")[2], [("Host", "a.example")], 200, "OK", headers, body, TIME)


def test_a_full_file_is_followed_by_another_and_a_stopped_one_is_gone_on_with(tmp_path: Path) -> None:
    archive = Archive(tmp_path, {}, 2000, "tertulia/1.0")
    first = [
        archive.write([exchange("http://a.example/1", BODIES[0] + bytes(n for n in range(256)))]) for _ in range(6)
    ]
    archive.close()
    assert {name for name, _, _ in first} == {"crawl-00000.warc.gz", "crawl-00001.warc.gz", "crawl-00002.warc.gz"}
    again = Archive(tmp_path, {name: size for name, _, size in first}, 10**9, "tertulia/1.0")
    name, offset, size = again.write([exchange("http://a.example/2", BODIES[1])])
    again.close()
    assert name == "crawl-00002.warc.gz"
    assert read_page(tmp_path / name, offset).body == BODIES[1]
    assert size == (tmp_path / name).stat().st_size


# -- damage


DAMAGED = [
    (b"", "is empty"),
    (b"<html>", "expected a WARC file"),
    (b"WARC/1.0\r\nContent-Length: x\r\n\r\n", "Content-Length"),
    (b"WARC/1.0\r\n\r\n", "Content-Length"),
    (b"WARC/1.0\r\nContent-Length: -5\r\n\r\n", "Content-Length"),
    (b"WARC/1.0\r\nContent-Length: 5\r\n\r\nab", "ends 3 bytes before"),
    (b"WARC/1.0\r\nContent-Length: 999999999999\r\nWARC-Type: response\r\nWARC-Target-URI: http://a\r\n\r\nab", "bytes before"),
    (b"WARC/1.0\r\nX: " + b"y" * 100_000, "line of its head"),
    (b"WARC/1.0\r\n" + b"X: y\r\n" * 100_000, "head has more than"),
    (PLAIN[:-1000], "bytes before its end"),
    (PLAIN + b"and something else\r\n", "expected WARC/1.0"),
    (EACH[:-10], "the file ends within"),
    (EACH + b"garbage", "unpack"),
    (gzip.compress(b"nothing of the kind\n"), "expected WARC/1.0"),
    (gzip.compress(b"W" * 50_000_000), "line of its head"),
    (b"\x1f\x8b\x08garbage", "holds no whole"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_damaged_files_end_in_one_error(tmp_path: Path, number: int) -> None:
    data, said = DAMAGED[number]
    file = tmp_path / "a.warc"
    file.write_bytes(data)
    with pytest.raises(InputError, match=re.escape(said)) as failure:
        list(read_warc(file))
    assert str(file) in failure.value.one_line()


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match="cannot be read"):
            list(read_warc(path))
    (tmp_path / "a.warc").write_bytes(PLAIN)
    with pytest.raises(InputError, match="holds no whole"):
        read_page(tmp_path / "a.warc", 7)
    with pytest.raises(InputError, match="no record begins there"):
        read_page(tmp_path / "a.warc", 10**9)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_mutated_file_gives_pages_or_one_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([PLAIN[:3000], EACH[:800], gzip.compress(PLAIN)])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    file = tmp_path_factory.getbasetemp() / "mutated.warc"
    file.write_bytes(whole)
    try:
        for page in read_warc(file, max_bytes=1000):
            assert len(page.body) <= 1000
            page.html()
    except InputError as found:
        failure = found
    else:
        return
    assert "mutated.warc" in failure.one_line()


# -- codings


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=2000), st.sampled_from(["gzip", "identity", None]), st.lists(st.integers(1, 50), max_size=20))
def test_what_comes_in_pieces_is_unpacked(body: bytes, coding: str | None, cuts: list[int]) -> None:
    packed = gzip.compress(body) if coding == "gzip" else body
    decoder, at, out = Decoder(coding, 2000), 0, b""
    for cut in [*cuts, len(packed)]:
        out += decoder.feed(packed[at : at + cut])
        at += cut
    assert out == body
    assert decoder.complete


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "x-gzip", "GZIP "]))
def test_any_bytes_unpack_or_do_not(data: bytes, coding: str) -> None:
    try:
        assert len(decoded(data, coding, 1000)) <= 1000
    except (CodingError, TooLargeError):
        return


@given(st.binary(max_size=200), st.lists(st.integers(1, 30), max_size=9))
def test_chunks_are_put_together(body: bytes, sizes: list[int]) -> None:
    pieces, at = [], 0
    for size in [*sizes, len(body) or 1]:
        piece = body[at : at + size]
        at += size
        if piece:
            pieces.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    assert unchunked(b"".join(pieces) + b"0\r\n\r\n") == body


@given(st.binary(max_size=200))
def test_any_bytes_may_say_that_they_have_chunks(data: bytes) -> None:
    assert len(unchunked(data)) <= len(data)
