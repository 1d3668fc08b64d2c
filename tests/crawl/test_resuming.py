"""Crawls that are stopped in every way go on where they were; limits of time and number; addresses found in pages."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tertulia.crawl.crawler import crawl, progress_of, state_folder
from tertulia.crawl.options import CrawlOptions
from tertulia.crawl.page import Page
from tertulia.crawl.pages import Crawl
from tertulia.crawl.warc import read_warc
from tertulia.errors import ArtefactError, ConfigurationError, InputError, StoreError, TertuliaError

from .conftest import QUICK, Crawler
from .web import Web, page, serve

pytestmark = pytest.mark.timeout(90)
PROGRAM = """
import sys
from pathlib import Path
from tertulia.crawl.crawler import crawl
from tertulia.crawl.options import CrawlOptions
urls = Path(sys.argv[1]).read_text().split()
crawl(urls, sys.argv[2], CrawlOptions(delay_s=0.03, allow_loopback=True, warc_bytes=20_000))
"""


def numbered(web: Web, count: int) -> list[str]:
    return [
        web.put(f"/{number}", serve(page(f"Page number {number}. " + "Words. " * number))) for number in range(count)
    ]


def start(tmp_path: Path, urls: list[str], output: Path) -> subprocess.Popen:
    listing = tmp_path / "urls"
    listing.write_text("\n".join(urls))
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(listing), str(output)], stderr=subprocess.PIPE, text=True
    )


def wait_until(true, process: subprocess.Popen) -> None:
    end = time.monotonic() + 30
    while not true():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)


def whole(output: Path, urls: list[str]) -> None:
    """The crawl has every page once, in the table and in the archive."""
    with Crawl(output, check_digests=True) as found:
        assert {p.url: p.outcome for p in found} == dict.fromkeys(urls, "ok")
        for number, url in enumerate(urls):
            assert f"Page number {number}." in found.text_of(url)
        assert sorted(p.url for p in found.pages()) == sorted(urls)
    kept = [p.url for file in sorted(output.glob("*.warc.gz")) for p in read_warc(file)]
    assert sorted(kept) == sorted(urls)
    assert [path.name for path in output.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGKILL], [signal.SIGKILL] * 4, [signal.SIGINT], [signal.SIGTERM]],
    ids=["kill", "4 kills", "Ctrl-C", "term"],
)
def test_a_crawl_that_is_stopped_goes_on(web: Web, tmp_path: Path, output: Path, signals: list[signal.Signals]) -> None:
    urls = numbered(web, 40)
    for round_, number in enumerate(signals, 1):
        process = start(tmp_path, urls, output)
        wait_until(lambda: len([p for p in web.paths() if p != "/robots.txt"]) >= 7 * round_, process)  # noqa: B023
        process.send_signal(number)
        process.wait(20)
        assert process.returncode not in (0, 1) or number == signal.SIGINT
        process.stderr.close()
        assert not output.exists()
        done, total = progress_of(output)
        assert total == 40
        assert 7 * round_ - 3 * round_ <= done < 40
    with crawl(urls, output, CrawlOptions(**QUICK)):
        pass
    whole(output, urls)
    asked = [p for p in web.paths() if p != "/robots.txt"]
    # A page that had been asked for, but was not yet written down, when the crawl was killed is the only one asked for twice.
    assert len(asked) - len(set(asked)) <= len(signals)
    assert not state_folder(output).exists()


def test_half_a_record_is_cut_off(web: Web, run: Crawler, output: Path) -> None:
    urls = numbered(web, 3)

    def stop(step: int, total: int | None) -> None:
        if step and len([p for p in web.paths() if p != "/robots.txt"]) >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crawl(urls, output, CrawlOptions(**QUICK), progress=stop)
    (archive,) = state_folder(output).glob("*.warc.gz")
    with archive.open("ab") as file:
        file.write(archive.read_bytes()[:300])
    (state_folder(output) / "crawl-00007.warc.gz").write_bytes(b"half")
    run(*urls)
    whole(output, urls)


def test_pages_that_a_power_cut_took_are_asked_for_again(web: Web, run: Crawler, output: Path) -> None:
    urls = numbered(web, 6)
    stops = iter([False] * 5 + [True])

    def stop(step: int, total: int | None) -> None:
        if step and next(stops):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crawl(urls, output, CrawlOptions(**QUICK), progress=stop)
    (archive,) = state_folder(output).glob("*.warc.gz")
    os.truncate(archive, archive.stat().st_size - 100)
    run(*urls)
    whole(output, urls)


def test_another_list_is_not_mixed_with_an_interrupted_one(web: Web, run: Crawler, output: Path) -> None:
    urls = numbered(web, 4)
    with pytest.raises(KeyboardInterrupt):
        crawl(
            urls,
            output,
            CrawlOptions(**QUICK),
            progress=lambda step, _: (_ for _ in ()).throw(KeyboardInterrupt) if step else None,
        )
    with pytest.raises(InputError, match=re.escape("--fresh")):
        run(*urls[:2])
    assert set(run(*urls[:2], fresh=True)) == set(urls[:2])
    assert not state_folder(output).exists()


def test_two_crawls_do_not_write_to_one_place(web: Web, tmp_path: Path, output: Path, run: Crawler) -> None:
    urls = numbered(web, 60)
    process = start(tmp_path, urls, output)
    try:
        wait_until(lambda: len(web.requests) > 3, process)
        with pytest.raises(ArtefactError, match="another crawl"):
            run(*urls)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_an_existing_crawl_is_replaced_only_when_asked(web: Web, run: Crawler, output: Path) -> None:
    (url,) = numbered(web, 1)
    run(url)
    asked = len(web.requests)
    with pytest.raises(ArtefactError, match="exists already"):
        run(url)
    assert len(web.requests) == asked
    run(url, overwrite=True)
    shutil.rmtree(output)
    output.mkdir()
    (output / "mine").write_text("precious")
    with pytest.raises(ArtefactError, match="left alone"):
        run(url, overwrite=True)
    assert (output / "mine").read_text() == "precious"


def test_a_state_that_a_killed_crawl_left_beside_its_output_is_not_taken_up(
    web: Web, run: Crawler, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = web.put("/a", serve(page("The first.")), serve(page("The second.")))
    with monkeypatch.context() as patch:
        # Killed after the output had taken its name.
        patch.setattr(shutil, "rmtree", lambda path, **_: None)
        assert "first" in run(url)[url].text
    assert state_folder(output).exists()
    assert "second" in run(url, overwrite=True)[url].text
    assert not state_folder(output).exists()


def test_a_damaged_state_is_one_error(web: Web, run: Crawler, output: Path) -> None:
    folder = state_folder(output)
    folder.mkdir()
    (folder / "state.sqlite").write_bytes(b"this is no database" * 100)
    (url,) = numbered(web, 1)
    with pytest.raises(StoreError, match="state"):
        run(url)
    assert set(run(url, fresh=True)) == {url}
    shutil.rmtree(output)
    folder.mkdir()
    with sqlite3.connect(folder / "state.sqlite") as database:
        database.execute("create table meta (name text primary key, value text not null) without rowid")
        database.execute("insert into meta values ('version', '99')")
    database.close()
    with pytest.raises(StoreError, match="another version"):
        run(url)


def test_a_list_that_breaks_off_leaves_nothing(web: Web, output: Path) -> None:
    def urls():
        yield from numbered(web, 2)
        raise InputError("a line that is none")

    with pytest.raises(InputError, match="a line"):
        crawl(urls(), output, CrawlOptions(**QUICK))
    assert list(output.parent.iterdir()) == []
    assert not web.requests


def test_a_damaged_crawl_is_one_error(web: Web, run: Crawler, output: Path) -> None:
    run(*numbered(web, 2))
    table = output / "pages.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-1] + b"x")
    with pytest.raises(ArtefactError, match="damaged"):
        Crawl(output)
    with pytest.raises(ArtefactError, match="digest"):
        Crawl(output, check_digests=True)
    table.write_bytes(whole[:-5])
    with pytest.raises(ArtefactError, match="bytes"):
        Crawl(output)
    at = whole.index(b"Page number") if b"Page number" in whole else 100
    table.write_bytes(whole[:at] + bytes(20) + whole[at + 20 :])
    with pytest.raises(ArtefactError, match="damaged"), Crawl(output) as found:
        list(found)
    table.write_bytes(whole)
    (archive,) = output.glob("*.warc.gz")
    archive.write_bytes(bytes(archive.stat().st_size))
    with Crawl(output) as found, pytest.raises(InputError):
        list(found.pages())


def test_an_error_of_follow_leaves_what_was_done(web: Web, output: Path) -> None:
    urls = numbered(web, 3)

    def follow(page: Page):
        raise InputError("a selector that does not hold")

    with pytest.raises(TertuliaError, match="selector"):
        crawl(urls, output, CrawlOptions(**QUICK), follow=follow)
    assert progress_of(output)[1] == 3
    with crawl(urls, output, CrawlOptions(**QUICK)) as found:
        assert {p.outcome for p in found} == {"ok"}


# -- the network


def test_an_outage_ends_the_crawl_and_costs_no_address(web: Web, run: Crawler, output: Path) -> None:
    """A network that goes away is no reason to write every host off."""
    down = []

    async def lookup(host: str) -> list[str]:
        if down and down[0]:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    async def last(request) -> None:
        down.append(True)
        await serve(page("Page number 3."))(request)

    web.put("/", serve(page("Page number 0.")), serve(page("Page number 1.")), last, serve(page("Page number 4.")))
    urls = [f"http://h{number}.example:{web.port}/" for number in range(40)]
    with pytest.raises(InputError, match="connected to the network"):
        run(*urls, lookup=lookup, tries=1, concurrency=1)
    assert progress_of(output) == (3, 40)
    down[:] = [False]
    found = run(*urls, lookup=lookup)
    assert [found[url].outcome for url in urls] == ["ok"] * 40
    assert web.asked("/") == 40


def test_a_list_of_dead_hosts_alone_is_taken_for_an_outage_and_among_others_it_is_not(web: Web, run: Crawler) -> None:
    async def lookup(host: str) -> list[str]:
        if host.startswith("gone"):
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return ["127.0.0.1"]

    dead = [f"http://gone{number}.example/" for number in range(60)]
    with pytest.raises(InputError, match="connected to the network"):
        run(*dead[:5], lookup=lookup, tries=1)
    assert {result.outcome for result in run(*dead[:4], lookup=lookup, tries=1, fresh=True).values()} == {"dns"}
    web.put("/", serve(page("Alive.")))
    alive = [f"http://h{number}.example:{web.port}/" for number in range(30)]
    found = run(*alive, *dead, lookup=lookup, tries=1, concurrency=1, overwrite=True)
    assert {found[url].outcome for url in dead} == {"dns"}
    assert {found[url].outcome for url in alive} == {"ok"}


# -- limits


def test_the_time_for_all(web: Web, run: Crawler) -> None:
    urls = numbered(web, 40)
    began = time.monotonic()
    found = run(*urls, delay_s=0.5, total_time_s=4.0)
    assert time.monotonic() - began < 18
    outcomes = [found[url].outcome for url in urls]
    assert set(outcomes) == {"ok", "not-reached"}
    assert outcomes[0] == "ok"
    assert "4 s" in found[urls[-1]].reason


def test_the_number_of_pages(web: Web, run: Crawler) -> None:
    urls = numbered(web, 10)
    found = run(*urls, max_pages=4)
    assert [found[url].outcome for url in urls] == ["ok"] * 4 + ["not-reached"] * 6
    assert len(web.requests) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_agent": ""}, {"user_agent": "a\nb"}, {"user_agent": "größe/1"}, {"user_agent": "1/2"},
        {"contact": "x\r\nEvil: 1"}, {"delay_s": -1.0}, {"delay_s": float("nan")}, {"concurrency": 0}, {"tries": 0},
        {"page_time_s": 0.0}, {"max_bytes": 0}, {"ports": frozenset()},
        {"ports": frozenset({70000})}, {"total_time_s": float("inf")}, {"max_pages": -1}, {"max_redirects": -1}, {"depth": -1},
    ],
)  # fmt: skip
def test_options_that_make_no_sense(wrong: dict) -> None:
    with pytest.raises(ConfigurationError):
        CrawlOptions(**wrong)


# -- following


def links(page: Page) -> list[str]:
    return re.findall(r"href=['\"]?([^'\" >]+)", page.html())


def site(web: Web) -> str:
    """An index of two pages, which lead to threads, one of which goes on."""

    def of(*targets: str) -> object:
        body = "".join(f"<li><a href='{target}'>there</a></li>" for target in targets)
        return serve(f"<html><body><ul>{body}</ul></body></html>".encode())

    web.put("/index", of("thread/1", "/thread/2#top", "index?page=2", "mailto:me@a.example", "http://[broken"))
    web.put("/index?page=2", of("/thread/3", "/index"))
    web.put("/thread/1", of("/thread/1?page=2"))
    web.put("/thread/1?page=2", of("/index"))
    web.put("/thread/2", of())
    web.put("/thread/3", of("/missing"))
    return web.address + "/index"


def test_addresses_found_in_pages_are_followed(web: Web, run: Crawler) -> None:
    index = site(web)
    found = run(index, follow=links)
    assert {url.removeprefix(web.address): result.outcome for url, result in found.items()} == {
        "/index": "ok", "/index?page=2": "ok", "/thread/1": "ok", "/thread/1?page=2": "ok", "/thread/2": "ok", "/thread/3": "ok",
        "/missing": "http-error",
    }  # fmt: skip
    assert len(web.requests) == len(found) + 1


def test_how_deep_and_how_many(web: Web, run: Crawler) -> None:
    index = site(web)
    found = run(index, follow=links, depth=1)
    assert {url.removeprefix(web.address) for url in found} == {"/index", "/thread/1", "/thread/2", "/index?page=2"}
    found = run(index, follow=links, max_pages=3, overwrite=True)
    assert sum(result.outcome == "ok" for result in found.values()) == 3
    assert {result.outcome for result in found.values()} == {"ok", "not-reached"}


def test_progress_counts_what_is_found(web: Web, output: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    with crawl(
        [site(web)],
        output,
        CrawlOptions(**QUICK),
        follow=links,
        progress=lambda step, total: steps.append((step, total)),
    ):
        pass
    assert steps[-1][1] == sum(step for step, _ in steps) == 7
