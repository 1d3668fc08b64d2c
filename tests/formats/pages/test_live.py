"""A live site, served from this machine: topic index, threads, next pages."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tertulia.artefact import read_manifest
from tertulia.errors import ConfigurationError, InputError, TertuliaError
from tertulia.formats.pages.format import PagesFormat

from ..ranking import counts
from .board import SELECTORS, page, post, read, rules


class Board(BaseHTTPRequestHandler):
    """Serves the pages of a board and remembers what it was asked for."""

    pages: ClassVar[dict[str, str]]
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        html = self.pages.get(self.path)
        body = (html or "").encode()
        self.send_response(404 if html is None else 200)
        self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@pytest.fixture
def board() -> Iterator[tuple[str, list[str]]]:
    class Ours(Board):
        asked: ClassVar[list[str]] = []
        pages: ClassVar[dict[str, str]] = {
            "/robots.txt": "User-agent: *\nDisallow: /t/9\n",
            "/topics": page(
                None,
                "<a class=thread href=/t/5>a</a><a class=thread href='t/6#p2'>b</a><a class=thread href=/t/9>c</a>"
                "<a class=thread href=/about>d</a><a class=thread href=https://elsewhere.example/t/1>e</a>"
                "<a class=thread href=/t/404>f</a><a class=other href=/t/7>g</a><a class=next href=/topics?page=2>n</a>",
            ),
            "/topics?page=2": page(None, "<a class=thread href=/t/8>h</a><a class=next href=/topics>n</a>"),
            "/t/5": page(None, post(1, "q5", first=True), post(2, "one"), following="/t/5?page=2"),
            "/t/5?page=2": page(None, post(3, "two"), following="/t/5?page=3"),
            "/t/5?page=3": page(None, post(4, "three"), following="/login"),
            "/t/6": page(None, post(1, "q6", first=True)),
            "/t/7": page(None, post(1, "q7", first=True)),
            "/t/8": page(None, post(1, "q8", first=True), post(2, "r")),
            "/about": page(None),
        }

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ours)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Ours.asked
    server.shutdown()
    thread.join()
    server.server_close()


def selectors(folder: Path, site: str) -> str:
    return rules(folder, SELECTORS.replace("https://allotment.example", site))


def test_a_site_is_gone_through_from_its_index(tmp_path: Path, board: tuple[str, list[str]]) -> None:
    site, asked = board
    part = PagesFormat(allow_loopback=True)
    kept = tmp_path / "kept"
    found, report = read(f"{site}/topics", selectors(tmp_path, site), part, delay="0", keep=str(kept))
    assert [(record.context.texts, [c.text for c in record.candidates]) for record in found] == [
        (["q5"], ["one", "two", "three"]),
        (["q6"], []),
        (["q8"], ["r"]),
    ]
    assert sorted(asked) == [
        "/robots.txt",
        "/t/404",
        "/t/5",
        "/t/5?page=2",
        "/t/5?page=3",
        "/t/6",
        "/t/8",
        "/topics",
        "/topics?page=2",
    ]
    assert counts(report)["addresses that were not fetched: robots"] == 1
    assert report.skipped["addresses that were not fetched: robots"].first == f"{site}/t/9"
    assert counts(report)["pages of the topic index"] == 2
    # What was kept is a source itself, and says the same.
    assert read_manifest(kept).kind == "crawl"
    again, _ = read(kept, selectors(tmp_path, site))
    assert again == found
    with pytest.raises(ConfigurationError, match="there is something here already; expected a new folder"):
        read(f"{site}/topics", selectors(tmp_path, site), part, keep=str(kept))


def test_the_limit_bounds_what_is_asked_for(tmp_path: Path, board: tuple[str, list[str]]) -> None:
    site, asked = board
    part = PagesFormat(allow_loopback=True)
    found, _ = read(f"{site}/t/5", selectors(tmp_path, site), part, delay="0", limit="2")
    assert [candidate.text for candidate in found[0].candidates] == ["one", "two"]
    assert asked == ["/robots.txt", "/t/5", "/t/5?page=2"]


def test_this_machine_is_not_asked_unless_a_test_says_so(tmp_path: Path, board: tuple[str, list[str]]) -> None:
    site, asked = board
    with pytest.raises(InputError, match=rf"{re.escape(site)}/topics: could not be fetched: forbidden-address"):
        read(f"{site}/topics", selectors(tmp_path, site), delay="0")
    assert asked == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"delay": "-1"}, "--option delay is '-1'; expected seconds"),
        ({"delay": "nan"}, "--option delay is 'nan'; expected seconds"),
        ({"delay": "soon"}, "--option delay is 'soon'"),
        ({"limit": "0"}, "--option limit is '0'; expected a whole number from 1"),
        ({"limit": "1.5"}, "--option limit is '1.5'"),
    ],
)
def test_options_that_do_not_hold(tmp_path: Path, values: dict[str, str], message: str) -> None:
    with pytest.raises(TertuliaError, match=re.escape(message)):
        read("https://x.example/", rules(tmp_path), **values)
