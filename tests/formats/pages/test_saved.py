"""Where pages come from: saved files, archives of them, WARC files, folders of all these."""

import gzip
import zipfile
from pathlib import Path

import pytest

from tertulia.corpus.exchange import ReadOptions, Report
from tertulia.errors import InputError
from tertulia.formats.pages.format import PagesFormat
from tertulia.formats.pages.saved import SavedPage, joined, saved_pages

from .. import mutate
from ..ranking import counts
from .board import SELECTORS, SITE, page, post, put, read, rules

FIRST = page(None, post(1, "q", first=True), post(2, "one"), following="/t/5?page=2")
SECOND = page(None, post(3, "two"))


def pages(source: Path, **options: bool) -> tuple[list[SavedPage], Report]:
    report = Report()
    return list(saved_pages(str(source), report, ReadOptions(**options))), report


def warc(*answers: tuple[str, str, str, str | bytes], packed: bool = True) -> bytes:
    """A WARC file of answers: address, status line, type, body."""
    records = [("warcinfo", "", b"software: a test\r\n")]
    for address, status, kind, body in answers:
        head = f"HTTP/1.1 {status}\r\n" + (f"Content-Type: {kind}\r\n" if kind else "") + "\r\n"
        raw = body.encode() if isinstance(body, str) else body
        records.append(("response", f"WARC-Target-URI: {address}\r\n", head.encode() + raw))
    out = b""
    for number, (kind, target, block) in enumerate(records):
        head = (
            f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>\r\n"
            f"WARC-Date: 2016-05-01T08:00:00Z\r\n{target}Content-Length: {len(block)}\r\n"
            f"Content-Type: application/http; msgtype=response\r\n\r\n"
        )
        record = head.encode() + block + b"\r\n\r\n"
        out += gzip.compress(record) if packed else record
    return out


ANSWERS = (
    (f"{SITE}/t/5?page=2#x", "200 OK", "text/html; charset=utf-8", SECOND),
    (f"{SITE}/t/5", "200 OK", "text/html", FIRST),
    (f"{SITE}/t/6", "404 Not Found", "text/html", FIRST),
    (f"{SITE}/t/7", "301 Moved", "text/html", ""),
    (f"{SITE}/t/8", "200 OK", "image/png", b"\x89PNG"),
    (f"{SITE}/t/9", "200 OK", "", page(None, post(1, "no type", first=True))),
)


@pytest.mark.parametrize(
    ("head", "address"),
    [
        (f'<link rel="canonical" href="{SITE}/t/1?a=1&amp;b=2#x">', f"{SITE}/t/1?a=1&b=2"),
        (f"<LINK HREF={SITE}/t/1 REL='x Canonical'>", f"{SITE}/t/1"),
        (f'<meta property="og:url" content="{SITE}/t/2">', f"{SITE}/t/2"),
        (f'<meta property="og:url" content="{SITE}/t/2"><link rel=canonical href="{SITE}/t/1">', f"{SITE}/t/1"),
        (f'<link rel=canonical href="{SITE}/t/1"><!-- saved from url=(0030){SITE}/t/3 -->', f"{SITE}/t/3"),
        (f"<!--\n Page saved with SingleFile \n url: {SITE}/t/4 \n saved date: today -->", f"{SITE}/t/4"),
        ('<link rel=canonical href="/t/1">', "sub/a.html"),
        ('<link rel=canonical href="javascript:x()">', "sub/a.html"),
        ('<link rel=canonical href="http://[::1">', "sub/a.html"),
        ("<link rel=canonical>", "sub/a.html"),
        ("", "sub/a.html"),
    ],
)
def test_the_address_that_a_page_says_it_has(tmp_path: Path, head: str, address: str) -> None:
    [found], _ = pages(put(tmp_path, {"sub/a.html": f"<!DOCTYPE html><head>{head}</head><p>x"}))
    assert found.address == address
    assert found.place.shown == "sub/a.html"


@pytest.mark.parametrize(
    ("base", "link", "address"),
    [
        ("https://x.example/a/b", "../c?d#e", "https://x.example/c?d"),
        ("https://x.example/a", "//y.example/b", "https://y.example/b"),
        ("saved/p1.html", "p2.html#top", "saved/p2.html"),
        ("https://x.example/a", "mailto:ivy@x.example", None),
        ("https://x.example/a", "javascript:void(0)", None),
        ("https://x.example/a", "#top", "https://x.example/a"),
        ("https://x.example/a", "http://[bad", None),
        ("", "", None),
    ],
)
def test_links(base: str, link: str, address: str | None) -> None:
    assert joined(base, link) == address


def test_links_go_from_the_base_that_a_page_names(tmp_path: Path) -> None:
    first = FIRST.replace("<head>", "<head><base href='/deep/'>").replace("/t/5?page=2", "../t/5?page=2")
    files: dict[str, str | bytes] = {
        "b.html": first.replace("<head>", f"<head><link rel=canonical href={SITE}/t/5>"),
        "a.html": SECOND.replace("<head>", f"<head><link rel=canonical href='{SITE}/t/5?page=2'>"),
    }
    [record], _ = read(put(tmp_path / "saved", files), rules(tmp_path))
    assert [candidate.text for candidate in record.candidates] == ["one", "two"]


def test_files_without_an_address_are_known_by_their_path(tmp_path: Path) -> None:
    selectors = rules(tmp_path, SELECTORS.replace("https://allotment.example/t/*", "*/t*").replace("'/t/(", "'/t("))
    files: dict[str, str | bytes] = {
        "x/t5.html": FIRST.replace("/t/5?page=2", "t5-2.html"),
        "x/t5-2.html": SECOND,
        "x/notes.txt": "no page",
        "x/.hidden.html": FIRST,
    }
    [record], report = read(put(tmp_path / "saved", files), selectors)
    assert (record.context.id, record.context.attributes["url"]) == ("allotment-5", "x/t5.html")
    assert [candidate.source for candidate in record.candidates] == ["x/t5.html", "x/t5-2.html"]
    assert counts(report) == {}


def test_pages_say_their_encoding(tmp_path: Path) -> None:
    html = page(f"{SITE}/t/5", post(1, "你好", first=True), post(2, "世界")).replace("charset=utf-8", "charset=gb2312")
    files: dict[str, str | bytes] = {"a.html": html.encode("gb18030")}
    [record], _ = read(put(tmp_path / "saved", files), rules(tmp_path))
    assert (record.context.texts, record.candidates[0].text) == (["你好"], "世界")


def test_pages_in_archives(tmp_path: Path) -> None:
    html = page(f"{SITE}/t/5", post(1, "q", first=True), post(2, "r"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/a.html", html)
        archive.writestr("x/b.htm.gz", gzip.compress(page(f"{SITE}/t/6", post(1, "q2", first=True)).encode()))
    found, _ = read(tmp_path / "a.zip", rules(tmp_path))
    assert [record.context.id for record in found] == ["allotment-5", "allotment-6"]
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a.html", html)
        archive.writestr("b.warc", warc(*ANSWERS, packed=False))
    with pytest.raises(InputError, match=r"b\.zip/b\.warc: is a WARC file within an archive.*unpack it"):
        read(tmp_path / "b.zip", rules(tmp_path))


@pytest.mark.parametrize("name", ["a.warc.gz", "a.warc", "crawl-1"])
def test_a_warc_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(warc(*ANSWERS, packed=name.endswith(".gz")))
    found, report = read(tmp_path / name, rules(tmp_path))
    assert [(record.context.id, [c.text for c in record.candidates]) for record in found] == [
        ("allotment-5", ["one", "two"]),
        ("allotment-9", []),
    ]
    assert found[0].candidates[1].source == f"{SITE}/t/5?page=2"
    assert counts(report) == {
        "answers with another status than 200": 2,
        "pages that are no HTML": 1,
        "threads without a response": 1,
    }
    assert report.skipped["pages that are no HTML"].first == f"{name.removesuffix('.gz')}: {SITE}/t/8"


def test_a_folder_of_warc_files_and_pages(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "one/a.warc.gz": warc(ANSWERS[0]),
        "one/b.warc": warc(ANSWERS[1], packed=False),
        "two.html": page(f"{SITE}/t/6", post(1, "saved", first=True)),
        "pages.parquet": b"PAR1",
    }
    source = put(tmp_path / "source", files)
    steps: list[int] = []
    report = Report()
    options = ReadOptions(values={"selectors": rules(tmp_path)}, progress=lambda step, _total: steps.append(step))
    found = list(PagesFormat().read(str(source), report, options))
    assert [record.context.id for record in found] == ["allotment-5", "allotment-6"]
    assert [candidate.text for candidate in found[0].candidates] == ["one", "two"]
    assert sum(steps) == sum((source / name).stat().st_size for name in list(files)[:3])


def test_a_warc_file_that_is_cut_off(tmp_path: Path) -> None:
    whole = warc(*ANSWERS)
    files: dict[str, str | bytes] = {"a.warc.gz": whole[:-40], "b.warc.gz": warc(*ANSWERS[:2])}
    source = put(tmp_path / "source", files)
    with pytest.raises(InputError, match=r"a\.warc\.gz") as caught:
        read(source, rules(tmp_path))
    assert str(source) in caught.value.one_line()
    found, report = read(source, rules(tmp_path), skip_bad=True)
    assert [record.context.id for record in found] == ["allotment-5"]
    assert report.skipped["WARC files that are damaged; what is behind the damage is not read"].first == "a.warc"
    assert str(tmp_path) not in str(report.to_json())


def test_pages_that_are_too_long_or_too_deep(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.html": page(f"{SITE}/t/5", post(1, "q", first=True)),
        "b.html": page(f"{SITE}/t/6", "<div>" * 20_000),
        "c.html": "x" * 20_000_001,
    }
    source = put(tmp_path / "source", files)
    with pytest.raises(InputError, match=r"b\.html: the page's elements nest deeper than 4,000"):
        read(source, rules(tmp_path))
    found, report = read(source, rules(tmp_path), skip_bad=True)
    assert [record.context.id for record in found] == ["allotment-5"]
    assert counts(report)["malformed records"] == 2
    assert (report.skipped["malformed records"].first or "").startswith("b.html: ")


def test_damage_ends_in_threads_or_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutate, "MUTATIONS", max(100, mutate.MUTATIONS // 4))

    class WithSelectors(PagesFormat):
        def read(self, source, report, options):  # type: ignore[no-untyped-def]
            values = {"selectors": selectors}
            return super().read(source, report, ReadOptions(options.skip_bad, options.drop_duplicates, values=values))

    selectors = rules(tmp_path)
    html = page(f"{SITE}/t/5", post(1, "q", first=True), post(2, "one"), post(3, "two", votes="3")).encode()
    for files in ({"a.html": html, "b.html": html}, {"a.warc": warc(*ANSWERS, packed=False)}):
        found = mutate.outcomes(WithSelectors(), files, tmp_path, seed=7)
        assert sum(found.values()) == mutate.MUTATIONS
        assert found["corpus"] > mutate.MUTATIONS // 40, found
