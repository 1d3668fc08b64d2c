"""``tertulia stackexchange links`` and ``crawl`` as a user meets them: what is said, and what happens on Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tertulia.artefact import Manifest
from tertulia.cli.main import main
from tertulia.corpus.model import Dialogue, Record, Utterance
from tertulia.corpus.store import write_corpus
from tertulia.crawl.pages import Crawl

from ..crawl.web import Web, page, redirect, serve, serving, status
from ..log.conftest import environment

pytestmark = pytest.mark.timeout(90)
TERTULIA = [sys.executable, "-m", "tertulia.cli.main", "stackexchange"]


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with serving() as site:
        site.put("/robots.txt", serve(b"User-agent: *\nDisallow: /private\nCrawl-delay: 0", "text/plain"))
        site.put("/a", serve(page("Larches turn gold in October, and the huts close soon after.")))
        site.put("/b", redirect("/a"))
        site.put("/gone", status(404))
        site.put("/pdf", serve(b"%PDF-1.7", "application/pdf"))
        for number in range(50):
            site.put(f"/n{number}", serve(page(f"Page number {number}.")))
        yield site


@pytest.fixture
def corpus(web: Web, tmp_path: Path) -> Path:
    first, *others = (f"{web.address}/{path}" for path in ("a#x", "b", "gone", "private"))
    text = f"See {first}, {', '.join(others)} and http://10.0.0.1/ ({web.address}/pdf)."
    thread = Dialogue("1", [Utterance(0, 0, "s", "Where?", "user"), Utterance(1, 1, "p", text, "agent")], "hiking")
    path = tmp_path / "threads"
    write_corpus(path, [Record(thread)], Manifest("corpus"))
    return path


def run(*words: object) -> int:
    return main(["stackexchange", *map(str, words)])


def test_links_then_pages(web: Web, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing, output = tmp_path / "links.jsonl", tmp_path / "pages"
    assert run("links", corpus, "-o", listing) == 0
    said = capsys.readouterr()
    assert said.out == f"{listing}: 6 links in 1 utterance, 6 addresses on 2 hosts\n"
    assert "crawl" in said.err
    assert run("crawl", listing, "-o", output, "--delay", 0, "--allow-loopback", "--contact", "me@a.example") == 0
    said = capsys.readouterr()
    assert f"{output}: 2 pages of 6 addresses" in said.out
    rows = dict(re.findall(r"^([a-z-]+) +(\d+)  ", said.out, re.MULTILINE))
    assert rows == {"ok": "2", "robots": "1", "forbidden-address": "1", "not-html": "1", "http-error": "1"}
    with Crawl(output) as found:
        assert "Larches" in (found.text_of(f"{web.address}/b") or "")
        assert found.manifest.inputs[0]["name"] == "links.jsonl"


def test_json(web: Web, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing, output = tmp_path / "links.tsv", tmp_path / "pages"
    assert run("links", corpus, "-o", listing, "--role", "any", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "output": str(listing), "links": 6, "urls": 6, "hosts": 2, "utterances": 1, "unusable": 0, "kinds": {"href": 0, "bare": 6},
    }  # fmt: skip
    assert run("crawl", listing, "-o", output, "--delay", 0, "--allow-loopback", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "crawl": str(output), "addresses": 6, "pages": 2,
        "outcomes": {"ok": 2, "robots": 1, "forbidden-address": 1, "not-html": 1, "http-error": 1},
    }  # fmt: skip
    assert "--contact" in said.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["crawl", "{tmp}/none", "-o", "{tmp}/x"], 1, "nothing at this path"),
        (["crawl", "{tmp}", "-o", "{tmp}/x"], 1, "is a folder"),
        (["crawl", "{tmp}/empty", "-o", "{tmp}/x"], 1, "has no address"),
        (["crawl", "{tmp}/list", "-o", "{tmp}/list"], 1, "is a file"),
        (["crawl", "{tmp}/list", "-o", "{tmp}/x", "--max-size", "much"], 2, "--max-size"),
        (["crawl", "{tmp}/list", "-o", "{tmp}/x", "--delay", "-1"], 1, "delay"),
        (["crawl", "{tmp}/list", "-o", "{tmp}/x", "--port", "0"], 1, "port"),
        (["crawl", "{tmp}/list", "-o", "{tmp}/x", "--user-agent", "größe"], 1, "user agent"),
        (["links", "{tmp}/none", "-o", "{tmp}/x"], 1, "nothing at this path"),
        (["links", "{tmp}/list", "-o", "{tmp}/x"], 1, "artefact"),
        (["links", "{tmp}", "-o", "{tmp}/x", "--role", "nobody"], 2, "nobody"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    (tmp_path / "empty").write_text("\n# nothing\n")
    (tmp_path / "list").write_text("http://10.0.0.1/\n")
    assert run(*(word.format(tmp=tmp_path) for word in words)) == code
    found = capsys.readouterr()
    assert said in found.err
    assert "Traceback" not in found.err
    assert found.out == ""


def test_control_characters_of_a_server_do_not_reach_the_terminal(web: Web, tmp_path: Path) -> None:
    web.put("/evil", status(302, Location="/a\x1b[31m"), status(404))
    (tmp_path / "list").write_text(f"{web.address}/evil\nhttp://a\x1b[31m.example/\n")
    assert run("crawl", tmp_path / "list", "-o", tmp_path / "pages", "--delay", 0, "--allow-loopback") == 0
    with Crawl(tmp_path / "pages") as found:
        assert all("\x1b" not in (row.reason or "") for row in found)


def test_ctrl_c_says_how_far_it_is_and_the_same_command_goes_on(web: Web, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("\n".join(f"{web.address}/n{number}" for number in range(50)))
    words = [
        *TERTULIA,
        "crawl",
        str(tmp_path / "list"),
        "-o",
        str(tmp_path / "pages"),
        "--allow-loopback",
        "--contact",
        "me@a.example",
    ]
    web.requests.clear()
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [*words, "--delay", "0.05"], stderr=terminal, stdout=subprocess.DEVNULL, env=environment()
    )
    os.close(terminal)
    end = time.monotonic() + 30
    while len(web.requests) < 10:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    shown = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    found = re.search(r"interrupted: (\d+) of 50 addresses are done; the same command goes on", shown.decode())
    assert found, shown
    assert int(found[1]) >= 7
    assert b"Traceback" not in shown
    done = subprocess.run([*words, "--delay", "0"], capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    assert "50 pages of 50 addresses" in done.stdout
    asked = [path for path in web.paths() if path != "/robots.txt"]
    assert len(asked) - len(set(asked)) <= 1
