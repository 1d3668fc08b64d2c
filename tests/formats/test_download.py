"""Downloading one file from servers that break off, lie, forget and change their minds."""

import hashlib
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tertulia import __version__
from tertulia.errors import ArtefactError, InputError
from tertulia.formats.fetching.download import Received, digests_of

from .downloads import BODY, KNOWN, MONDAY, OTHER, SHA, Fetcher, refused
from .web_server import Site, answer, chunked, hang_up, nonsense, serve, silence

# -- what works -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [None, len(BODY)])
@pytest.mark.parametrize("digests", [{}, KNOWN])
def test_a_file_arrives_whole(site: Site, fetch: Fetcher, size: int | None, digests: dict[str, str]) -> None:
    url = site.put("/c", serve(BODY, modified=MONDAY))
    received = fetch(url, size=size, digests=digests)
    assert fetch.has(BODY)
    assert received == Received(url, len(BODY), SHA, '"one"', MONDAY, tuple(digests))
    assert fetch.advanced[-1][1] == len(BODY)
    headers = site.requests[0][1]
    assert headers["user-agent"] == f"tertulia/{__version__}"
    assert headers["accept-encoding"] == "identity"
    assert set(headers) <= {"host", "accept", "accept-encoding", "connection", "user-agent"}


def test_an_empty_file_is_a_file(site: Site, fetch: Fetcher) -> None:
    received = fetch(site.put("/c", serve(b"")), size=0, digests={"sha256": hashlib.sha256(b"").hexdigest()})
    assert received.bytes == 0
    assert fetch.has(b"")


def test_nothing_of_the_environment_is_used(
    site: Site, fetch: Fetcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    fetch(site.put("/c", serve(BODY)))
    assert site.asked("authorization") == [None]


def test_a_proxy_that_is_named_is_used(site: Site, fetch: Fetcher) -> None:
    # A proxy is asked for the whole address.
    site.plan["http://corpora.invalid/c"] = [serve(BODY)]
    fetch("http://corpora.invalid/c", proxy=site.address)
    assert fetch.has(BODY)
    for proxy in ("nonsense", "ftp://x", "socks5://127.0.0.1:1"):
        with pytest.raises(InputError, match="is not the address of a proxy"):
            fetch("http://corpora.invalid/c", proxy=proxy)


def test_a_slow_server_is_waited_for(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", serve(BODY, pause=0.05)), timeout_s=0.4)
    assert fetch.has(BODY)
    assert len(site.requests) == 1
    assert len(fetch.advanced) >= 10


def test_a_file_in_chunks_without_a_length(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", chunked(BODY, cut=100_000), chunked(BODY)))
    assert fetch.has(BODY)


# -- breaking off -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("etag", ['"one"', 'W/"weak"', None])
@pytest.mark.parametrize("digests", [{}, KNOWN])
def test_what_breaks_off_half_way_goes_on_there(
    site: Site, fetch: Fetcher, etag: str | None, digests: dict[str, str]
) -> None:
    cuts = [serve(BODY, etag=etag, cut=60_000) for _ in range(3)]
    fetch(site.put("/c", *cuts, serve(BODY, etag=etag)), digests=digests)
    assert fetch.has(BODY)
    resumes = etag == '"one"' or digests
    assert site.asked("range") == (
        [None, *(f"bytes={n}-" for n in (60_000, 120_000, 180_000))] if resumes else [None] * 4
    )
    # With a digest the whole is checked, without one the server is asked whether it still is the same file.
    assert site.asked("if-range") == [None, *[etag if etag == '"one"' and not digests else None] * 3]


def test_the_time_of_the_last_change_will_do_for_a_validator(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", serve(BODY, etag=None, modified=MONDAY, cut=60_000), serve(BODY, etag=None, modified=MONDAY)))
    assert fetch.has(BODY)
    assert site.asked("if-range") == [None, MONDAY]


def test_a_later_run_goes_on_where_the_first_gave_up(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", serve(BODY, cut=100_000), answer(503))
    message = refused(fetch, url, tries=3)
    assert "503 Service Unavailable; given up after 3 tries" in message
    assert "the 100,000 bytes that arrived are kept; run the command again" in message
    assert fetch.part.stat().st_size == 100_000
    site.put("/c", serve(BODY))
    again = Fetcher(fetch.target.parent)
    again(url)
    assert again.has(BODY)
    assert site.requests[-1][1]["range"] == "bytes=100000-"
    assert again.advanced[0][0] == 100_000


@pytest.mark.parametrize("digests", [{}, KNOWN])
def test_a_server_without_ranges_starts_again(site: Site, fetch: Fetcher, digests: dict[str, str]) -> None:
    fetch(site.put("/c", serve(BODY, cut=200_000), serve(BODY, ranges=False)), digests=digests)
    assert fetch.has(BODY)
    assert min(step for step, _ in fetch.advanced) == -200_000


def test_a_file_that_changed_between_two_attempts_is_fetched_from_the_start(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", serve(OTHER, cut=100_000), serve(BODY, etag='"two"')))
    assert fetch.has(BODY)
    assert site.asked("if-range") == [None, '"one"']


def test_a_server_that_ignores_if_range_is_found_out_by_its_etag(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", serve(OTHER, cut=100_000), serve(BODY, etag='"two"', if_range=False)))
    assert fetch.has(BODY)
    assert any("changed on the server" in line for line in fetch.said)


@pytest.mark.parametrize("etag", [None, '"one"', '"two"'])
def test_parts_of_two_files_are_found_out_by_the_digest(site: Site, fetch: Fetcher, etag: str | None) -> None:
    fetch(site.put("/c", serve(OTHER, etag='"one"', cut=100_000), serve(BODY, etag=etag)), digests=KNOWN)
    assert fetch.has(BODY)


def test_a_part_of_another_address_is_kept_only_where_a_digest_is_known(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", serve(BODY))
    fetch.leave(BODY[:1000], url="http://elsewhere.invalid/")
    fetch(url)
    assert fetch.has(BODY)
    fetch.target.unlink()
    fetch.leave(BODY[:1000], url="http://elsewhere.invalid/")
    fetch.advanced.clear()
    fetch(url, digests=KNOWN)
    assert fetch.has(BODY)
    assert site.asked("range") == [None, "bytes=1000-"]


@pytest.mark.parametrize(
    "about", [b"", b"{", b"[]", b'{"url": 1}', b"\xff", b'{"url": "\\n", "etag": "a\\r\\nHost: x"}', b"[" * 9999]
)
def test_a_damaged_note_of_a_part_is_as_none(site: Site, fetch: Fetcher, about: bytes) -> None:
    fetch.part.write_bytes(OTHER[:1000])
    fetch.about.write_bytes(about)
    fetch(site.put("/c", serve(BODY)))
    assert fetch.has(BODY)
    assert site.asked("range") == [None]


def test_a_part_that_is_whole_already_costs_no_download(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", serve(BODY))
    fetch.leave(BODY, url, etag='"one"')
    fetch.about.write_text(f'{{"url": "{url}", "etag": "\\"one\\""}}')
    fetch(url)
    assert fetch.has(BODY)
    assert site.asked("range") == [f"bytes={len(BODY)}-"]
    fetch.target.rename(fetch.part)
    fetch.advanced.clear()
    fetch(url, size=len(BODY), digests=KNOWN)
    assert fetch.has(BODY)
    assert len(site.requests) == 1


@pytest.mark.parametrize(("size", "digests"), [(None, {}), (None, KNOWN), (len(BODY), {}), (len(BODY), KNOWN)])
def test_a_part_longer_than_the_file_is_given_up(
    site: Site, fetch: Fetcher, size: int | None, digests: dict[str, str]
) -> None:
    url = site.put("/c", serve(BODY))
    fetch.part.write_bytes(BODY + b"more")
    fetch.about.write_text(f'{{"url": "{url}", "etag": "\\"one\\""}}')
    fetch(url, size=size, digests=digests)
    assert fetch.has(BODY)


def test_another_part_than_was_asked_for_is_not_taken(site: Site, fetch: Fetcher) -> None:
    def from_zero(handler: Any) -> None:
        handler.begin(206, {"Content-Range": f"bytes 0-{len(BODY) - 1}/{len(BODY)}", "Content-Length": len(BODY)})
        handler.wfile.write(BODY)

    fetch(site.put("/c", serve(BODY, cut=100_000), from_zero, serve(BODY)))
    assert fetch.has(BODY)
    assert site.asked("range") == [None, "bytes=100000-", None]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, 260_000), max_size=6),
    ranges=st.lists(st.booleans(), min_size=7, max_size=7),
    etags=st.lists(st.sampled_from(['"one"', '"two"', 'W/"one"', None]), min_size=7, max_size=7),
    digests=st.sampled_from([{}, KNOWN]),
    size=st.sampled_from([None, len(BODY)]),
)
def test_however_it_breaks_the_bytes_are_right(
    server: Site,
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[int],
    ranges: list[bool],
    etags: list[str | None],
    digests: dict[str, str],
    size: int | None,
) -> None:
    fetch = Fetcher(tmp_path_factory.mktemp("any"))
    steps = [serve(BODY, etag=e, ranges=r, cut=cut) for e, r, cut in zip(etags, ranges, cuts, strict=False)]
    fetch(
        server.put("/any", *steps, serve(BODY, etag=etags[-1], ranges=ranges[-1])), digests=digests, size=size, tries=20
    )
    assert fetch.has(BODY)


# -- trying again -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [answer(500), answer(429), answer(408), hang_up, nonsense, serve(BODY, cut=0)])
def test_trouble_that_passes_is_waited_out(site: Site, fetch: Fetcher, trouble: Any) -> None:
    fetch(site.put("/c", trouble, trouble, trouble, serve(BODY)))
    assert fetch.has(BODY)
    assert fetch.waited == [1.0, 2.0, 4.0]
    assert [line.rpartition("; ")[2] for line in fetch.said] == [f"trying again in {wait} s" for wait in (1, 2, 4)]


@pytest.mark.parametrize("trouble", [answer(500), answer(503), hang_up, nonsense])
def test_trouble_that_stays_is_given_up(site: Site, fetch: Fetcher, trouble: Any) -> None:
    message = refused(fetch, site.put("/c", trouble))
    assert message.startswith(f"{site.address}/c: ")
    assert "given up after 5 tries (try again later)" in message
    assert len(site.requests) == 5


def test_a_server_that_brings_a_little_each_time_may_take_many_tries(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", *[serve(BODY, cut=13_000) for _ in range(19)], serve(BODY)), tries=2)
    assert fetch.has(BODY)
    assert len(site.requests) == 20


def test_a_server_that_always_breaks_off_at_the_same_place_is_given_up(site: Site, fetch: Fetcher) -> None:
    message = refused(fetch, site.put("/c", serve(BODY, ranges=False, cut=100_000)))
    assert "given up after 5 tries" in message
    assert "100,000 bytes" in message
    assert len(site.requests) == 6


def test_a_silent_server_is_not_waited_for_for_ever(site: Site, fetch: Fetcher) -> None:
    fetch(site.put("/c", silence(1.0), serve(BODY)), timeout_s=0.2)
    assert fetch.has(BODY)
    assert "no answer within 0 s" in fetch.said[0]


def test_a_trickle_is_as_good_as_silence(site: Site, fetch: Fetcher) -> None:
    def trickle(handler: Any) -> None:
        handler.begin(200, {"Content-Length": len(BODY), "ETag": '"one"'})
        for byte in BODY[:40]:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(0.05)
        handler.hang_up()

    fetch(site.put("/c", trickle, serve(BODY)), timeout_s=0.3)
    assert fetch.has(BODY)
    assert "bytes came within" in fetch.said[0]


def test_a_server_says_when_to_come_back(site: Site, fetch: Fetcher) -> None:
    fetch(
        site.put(
            "/c",
            answer(503, Retry_After="7"),
            answer(429, Retry_After=MONDAY),
            answer(503, Retry_After="soon"),
            serve(BODY),
        )
    )
    assert fetch.waited == [7.0, 0.0, 4.0]
    message = refused(Fetcher(fetch.target.parent / "x"), site.put("/d", answer(503, Retry_After="86400")))
    assert "asks to come back in 86,400 s (try again then)" in message


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (404, "the server answers 404 Not Found (it is not there any more, or under another address)"),
        (410, "410 Gone"),
        (403, "403 Forbidden"),
        (401, "401 Unauthorized"),
        (204, "204 No Content"),
        (206, "206 Partial Content"),
        (304, "304 Not Modified"),
        (501, "501 Not Implemented"),
    ],
)
def test_an_answer_that_will_not_change_is_not_asked_for_again(
    site: Site, fetch: Fetcher, code: int, said: str
) -> None:
    assert said in refused(fetch, site.put("/c", answer(code)))
    assert len(site.requests) == 1


def test_a_web_page_is_not_a_corpus(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", serve(b"<html>please log in</html>", kind="text/html; charset=utf-8"))
    assert "answers with a web page instead of the file" in refused(fetch, url)
    assert not fetch.part.exists()


def test_a_file_packed_on_the_way_is_refused(site: Site, fetch: Fetcher) -> None:
    assert "packed as 'br'" in refused(fetch, site.put("/c", serve(BODY, Content_Encoding="br")))


def test_nobody_there(fetch: Fetcher) -> None:
    message = refused(fetch, "http://127.0.0.1:9/c", tries=2)
    assert "the connection failed" in message
    assert "given up after 2 tries" in message


@pytest.mark.parametrize(
    "url",
    ["http://[::1/c", "http://a b/c", "http://" + "a" * 300 + ".invalid/c", "http://x:99999/c", "https://ä\udc80/c"],
)
def test_an_address_that_is_none(fetch: Fetcher, url: str) -> None:
    assert refused(fetch, url, tries=1)


# -- the wrong bytes --------------------------------------------------------------------------------------------------


def test_wrong_bytes_are_removed_and_the_old_file_stays(site: Site, fetch: Fetcher) -> None:
    fetch.target.write_bytes(b"the old one")
    with pytest.raises(InputError) as failure:
        fetch(site.put("/c", serve(OTHER)), digests=KNOWN)
    message = failure.value.one_line()
    assert f"sent a file with the sha256 {hashlib.sha256(OTHER).hexdigest()}; expected {SHA}. It was removed" in message
    assert fetch.target.read_bytes() == b"the old one"
    assert not fetch.part.exists()
    assert len(site.requests) == 1


@pytest.mark.parametrize("kind", ["sha256", "sha1", "md5", "git"])
def test_every_kind_of_digest_is_held_against(site: Site, fetch: Fetcher, kind: str) -> None:
    running = hashlib.sha1(b"blob 250000\0") if kind == "git" else hashlib.new(kind)
    running.update(BODY)
    right = running.hexdigest()
    url = site.put("/c", serve(BODY))
    assert fetch(url, digests={kind: right}).checked == (kind,)
    fetch.target.unlink()
    assert f"with the {kind} {right}" in refused(fetch, url, digests={kind: right[::-1]})


def test_the_id_that_git_gives(tmp_path: Path) -> None:
    # What "git hash-object" says of these bytes.
    (tmp_path / "f").write_bytes(b"what is up, doc?")
    assert digests_of(tmp_path / "f", ("git",)) == {"git": "bd9dbf5aae1a3862dd1526723246b20206e5fc37"}


def test_another_size_is_told_before_the_first_byte(site: Site, fetch: Fetcher) -> None:
    message = refused(fetch, site.put("/c", serve(BODY)), size=99, digests=KNOWN)
    assert "has 250,000 bytes; expected 99 (it is not the same file any more)" in message
    assert sum(step for step, _ in fetch.advanced) == 0


@pytest.mark.parametrize(("says", "size"), [(100, None), (100, 250_000), (400_000, None), (400_000, 250_000)])
def test_a_false_length(site: Site, fetch: Fetcher, says: int, size: int | None) -> None:
    url = site.put("/c", serve(BODY, says=says))
    if says == 100 and size is None:
        # Nothing can tell that there was more: HTTP ends the file there.
        assert fetch(url).bytes == 100
        return
    if size is None:
        # Asked for the rest, the server says that there is none.
        assert fetch(url).bytes == 250_000
        return
    assert f"has {says:,} bytes; expected 250,000" in refused(fetch, url, size=size, tries=2)


def test_a_file_that_ends_without_saying_so_is_found_short(site: Site, fetch: Fetcher) -> None:
    def until_closed(handler: Any) -> None:
        handler.begin(200, {"Connection": "close"})
        handler.wfile.write(BODY[:1000])
        handler.close_connection = True

    message = refused(fetch, site.put("/c", until_closed), size=len(BODY), digests=KNOWN, tries=2)
    assert "the connection ended after 1,000 of 250,000 bytes" in message


def test_more_than_is_allowed_is_not_fetched(site: Site, fetch: Fetcher) -> None:
    message = refused(fetch, site.put("/c", serve(BODY)), max_bytes=1000)
    assert "has 250,000 bytes, more than the 1,000 that are allowed (--max-size allows more)" in message
    message = refused(fetch, site.put("/c", chunked(BODY)), max_bytes=100_000)
    assert "sends more than the 100,000 bytes that are expected; they were removed" in message
    assert not fetch.part.exists()


def test_no_space_on_the_disk_is_told_before(site: Site, fetch: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(fetch.target.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=64_100_000))
    with pytest.raises(ArtefactError, match="250,000 bytes are to come, and 64,100,000 are free"):
        fetch(site.put("/c", serve(BODY)))


def test_a_target_that_cannot_be_written(site: Site, fetch: Fetcher) -> None:
    url = site.put("/c", serve(BODY))
    fetch.target.mkdir()
    (fetch.target / "inside").touch()
    with pytest.raises(ArtefactError, match="cannot be written"):
        fetch(url)
    fetch.target = fetch.target.parent / "nowhere" / "corpus.bin"
    with pytest.raises(ArtefactError, match="cannot be written: No such file or directory"):
        fetch(url)
