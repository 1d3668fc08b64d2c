"""``tertulia fetch`` as a stranger meets it: the catalogue, the licence, what is said, and being interrupted."""

import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tertulia.cli.main import app, main

from ..formats.test_fetching import ONE, TWO
from ..formats.web_server import Site, answer, serve, serving
from ..log.conftest import environment

TERTULIA = [sys.executable, "-m", "tertulia.cli.main"]


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def site(server: Site) -> Site:
    server.plan.clear()
    server.requests.clear()
    server.put("/one.txt", serve(ONE))
    server.put("/two.txt", serve(TWO))
    return server


@pytest.fixture
def own(site: Site, tmp_path: Path) -> Path:
    """A catalogue with a corpus on this machine."""
    path = tmp_path / "own.toml"
    path.write_text(
        f"""
        [[corpus]]
        name = "letters"
        title = "Letters of the office"
        about = "five hundred letters"
        licence = "CC-BY-4.0"
        asks = "Name the office."
        next = "tertulia corpus import jsonl {{folder}} -o {{output}}"
        base = "{site.address}/"
        files = [
          {{ name = "one.txt", bytes = {len(ONE)}, sha256 = "{hashlib.sha256(ONE).hexdigest()}" }},
          {{ name = "two.txt" }},
        ]
        """
    )
    return path


def run(capfd: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    capfd.readouterr()
    assert main([str(argument) for argument in arguments]) == code
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert "unexpected" not in err
    return out, err


# -- the catalogue ----------------------------------------------------------------------------------------------------


def test_the_catalogue_is_listed(capfd: pytest.CaptureFixture[str], own: Path) -> None:
    out, err = run(capfd, "fetch", "--catalogue", own)
    assert out.splitlines()[2].split()[0] == "letters"
    for text in ("self-dialogue", "35.4 MB", "BSD-3-Clause", "convokit/NAME", "stackexchange/SITE"):
        assert text in out
    assert "tertulia fetch NAME -o DIR" in err
    assert all(len(line) < 140 for line in out.splitlines())


def test_the_catalogue_as_json(capfd: pytest.CaptureFixture[str], own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERTULIA_CATALOGUE", str(own))
    found = json.loads(run(capfd, "fetch", "--json")[0])
    assert found["corpora"]["letters"] == json.loads(run(capfd, "fetch", "letters", "--json")[0])
    assert found["corpora"]["letters"]["files"][1] == {
        "name": "two.txt",
        "urls": [f"{own.read_text().split('base = ')[1].split()[0][1:-1]}two.txt"],
        "bytes": None,
        "packing": "none",
    }
    assert found["corpora"]["ccpe"]["bytes"] == 5191959
    assert "stackexchange/{SITE}" in found["rules"][1]["names"]


def test_an_entry_is_described(capfd: pytest.CaptureFixture[str], own: Path) -> None:
    out, err = run(capfd, "fetch", "letters", "--catalogue", own)
    for text in (
        "Letters of the office",
        "CC-BY-4.0",
        "Name the office.",
        "sha256",
        "recorded when fetched",
        "plain http",
    ):
        assert text in out
    assert "tertulia fetch letters -o DIR" in err
    assert "files.xml" in run(capfd, "fetch", "stackexchange/beer")[0]


# -- fetching ---------------------------------------------------------------------------------------------------------


def test_a_corpus_is_fetched_and_then_it_is_there(capfd: pytest.CaptureFixture[str], own: Path, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    words = ["fetch", "letters", "-o", folder, "--catalogue", own]
    out, err = run(capfd, *words, "--accept-licence")
    assert out.splitlines() == [
        f"{folder}: 2 files, 0.0 MB; 2 fetched now",
        "No digest was known of two.txt: it is recorded now, and held against from now on.",
    ]
    assert "CC-BY-4.0" in err
    assert "Name the office." in err
    assert f"go on: tertulia corpus import jsonl {folder} -o letters" in err
    out, err = run(capfd, *words)
    assert out.splitlines() == [f"{folder}: 2 files, 0.0 MB; everything is there and intact, nothing was fetched"]
    assert "Name the office." not in err


def test_the_result_as_json(capfd: pytest.CaptureFixture[str], own: Path, tmp_path: Path) -> None:
    words = ["fetch", "letters", "-o", tmp_path / "f", "--catalogue", own, "--json"]
    out, _ = run(capfd, *words, "--accept-licence", "--only", "one*")
    found = json.loads(out)
    assert found["files"].keys() == {"one.txt"}
    assert found["files"]["one.txt"]["checked"] == ["sha256"]
    assert found["new"] == ["one.txt"]
    assert found["bytes"] == len(ONE)
    assert found["licence"] == "CC-BY-4.0"
    assert json.loads(run(capfd, *words, "--only", "one*")[0])["new"] == []


def test_nobody_is_asked_where_nobody_is(
    capfd: pytest.CaptureFixture[str], own: Path, tmp_path: Path, site: Site
) -> None:
    out, err = run(capfd, "fetch", "letters", "-o", tmp_path / "f", "--catalogue", own, code=1)
    assert out == ""
    assert "CC-BY-4.0" in err
    assert err.splitlines()[-1] == (
        "error: the licence of letters has to be accepted first, and nobody can be asked here "
        "(read what stands above, and give --accept-licence)"
    )
    assert site.requests == []
    assert not (tmp_path / "f").exists()


def at_a_terminal(own: Path, folder: Path, said: bytes) -> tuple[int, str]:
    """The exit code and what a terminal shows, where somebody answers the question."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*TERTULIA, "fetch", "letters", "-o", str(folder), "--catalogue", str(own)],
        env={**environment(), "TERM": "xterm", "COLUMNS": "100"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if b"[y/N]" in shown and said:
            os.write(master, said)
            said = b""
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    code = process.wait(timeout=60)
    os.close(master)
    return code, shown.decode(errors="replace")


@pytest.mark.parametrize(("said", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_person_is_asked(own: Path, tmp_path: Path, said: bytes, code: int) -> None:
    ended, shown = at_a_terminal(own, tmp_path / "f", said)
    assert ended == code, shown
    assert "Do you accept these terms?" in shown
    assert shown.index("Name the office.") < shown.index("Do you accept")
    assert (tmp_path / "f" / "one.txt").exists() == (code == 0)
    if code:
        assert "letters was not fetched: its licence was not accepted" in shown


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["nothing"], "there is no corpus 'nothing' in the catalogue", 1),
        (["leters"], "did you mean letters?", 1),
        (["letters", "-o", "{f}", "--accept-licence", "--only", "x"], "no file of letters is named like x", 1),
        (["letters", "-o", "{own}", "--accept-licence"], "is a file; expected the path of a folder", 1),
        (["letters", "-o", "{f}", "--accept-licence", "--max-size", "1K"], "more than the 1,000 that are allowed", 1),
        (["letters", "-o", "{f}", "--accept-licence", "--proxy", "x"], "is not the address of a proxy", 1),
        (["letters", "-o", "{f}", "--max-size", "big"], "'big' is not a size", 2),
        (["letters", "-o", "{f}", "--max-size", "nan"], "'nan' is not a size", 2),
        (["--catalogue", "{f}"], "cannot be read: No such file or directory", 1),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(
    capfd: pytest.CaptureFixture[str], own: Path, tmp_path: Path, words: list[str], said: str, code: int
) -> None:
    words = [word.format(f=tmp_path / "f", own=own) for word in words]
    out, err = run(capfd, "fetch", "--catalogue", own, *words, code=code)
    assert out == ""
    assert said in err.splitlines()[-1]


def test_sizes() -> None:
    from tertulia.cli.fetch import _bytes

    assert [_bytes(text) for text in ("0", "12", "1K", "1.5 MB", "20g", "2TB", "7 B")] == [
        0,
        12,
        1000,
        1_500_000,
        20_000_000_000,
        2_000_000_000_000,
        7,
    ]


# -- being interrupted ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_fetch_goes_on_where_it_was(own: Path, tmp_path: Path, site: Site, how: signal.Signals) -> None:
    def stalls(handler: Any) -> None:
        handler.begin(200, {"Content-Length": len(ONE), "ETag": '"one"'})
        handler.wfile.write(ONE[:3000])
        handler.wfile.flush()
        time.sleep(20)

    site.put("/one.txt", stalls)
    folder = tmp_path / "f"
    command = [*TERTULIA, "fetch", "letters", "-o", str(folder), "--catalogue", str(own), "--accept-licence"]
    process = subprocess.Popen(
        command,
        env=environment(),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    part = folder / "one.txt.part"
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size == 3000):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    assert b"Traceback" not in err
    assert sorted(path.name for path in folder.iterdir()) == ["fetched.json", "one.txt.part", "one.txt.part.json"]
    site.put("/one.txt", serve(ONE))
    site.requests.clear()
    # The licence is not asked for again, although nothing had arrived whole.
    subprocess.run(command[:-1], env=environment(), check=True, timeout=60, capture_output=True)
    assert site.requests[0][1]["range"] == "bytes=3000-"
    assert (folder / "one.txt").read_bytes() == ONE


def test_new_tries_are_told(capfd: pytest.CaptureFixture[str], own: Path, tmp_path: Path, site: Site) -> None:
    site.put("/one.txt", answer(503, Retry_After="0"), serve(ONE))
    _, err = run(capfd, "fetch", "letters", "-o", tmp_path / "f", "--catalogue", own, "--accept-licence")
    assert f"{site.address}/one.txt: the server answers 503 Service Unavailable; trying again at once" in err


def test_the_command_is_there() -> None:
    assert "fetch" in {command.name for command in app.registered_commands}
