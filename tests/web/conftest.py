"""An application over the small bot, and a real server and a real browser for the tests that need them."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tertulia.bot.pipeline import Bot
from tertulia.bot.service import Conversations
from tertulia.log.store import LogStore
from tertulia.web.app import create_app
from tests.web.browser import Findings

with warnings.catch_warnings():
    # Newer Starlettes would rather have httpx2 than httpx, and say so at import; either does.
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

BROWSER_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def conversations(small_bot: Path, tmp_path: Path) -> Iterator[Conversations]:
    conversations = Conversations([Bot(small_bot)], LogStore(f"sqlite:///{tmp_path / 'log.sqlite'}"))
    yield conversations
    conversations.close()


@pytest.fixture
def app(conversations: Conversations) -> FastAPI:
    return create_app(conversations, allowed_hosts=["testserver"])


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Server:
    """``tertulia serve`` in a process of its own; it can be stopped and started again on the same port and log."""

    bots: list[Path]
    database: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process; whether it comes up, nobody knows yet."""
        command = "from tertulia.cli.main import main; raise SystemExit(main())"
        bots = [argument for bot in self.bots for argument in ("--bot", str(bot))]
        arguments = ["serve", *bots, "--database", f"sqlite:///{self.database}", "--port", str(self.port)]
        return subprocess.Popen([sys.executable, "-c", command, *arguments], stderr=subprocess.PIPE)

    def start(self) -> None:
        """Start the process and wait until it answers."""
        self.process = self.launch()
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/api/health", timeout=5):
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("the server did not come up")
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers with the bots given; they end with the test."""
    servers: list[Server] = []

    def start(*bots: Path) -> Server:
        server = Server(list(bots), tmp_path / f"log-{len(servers)}.sqlite")
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def server(serve: Callable[..., Server], small_bot: Path) -> Server:
    return serve(small_bot)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium, by ``CHROMIUM`` or on the path; the test is skipped where there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium on the path; install it, or name one in CHROMIUM")
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def findings() -> Findings:
    return Findings()


@pytest.fixture
def open_page(browser: Browser, findings: Findings, serve: Callable[..., Server]) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a context of its own with the options given; nothing they did may have gone wrong.

    They are closed before the servers: a page whose server went away would have something to say about it.
    """
    contexts: list[BrowserContext] = []

    def open_one(**options: object) -> Page:
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        findings.watch(page)
        return page

    yield open_one
    for context in contexts:
        for page in context.pages:
            assert page.evaluate("violations") == []
        context.close()
    assert findings.dialogs == []
    assert findings.unexpected == []


@pytest.fixture
def page(open_page: Callable[..., Page], server: Server) -> Page:
    page = open_page()
    page.goto(server.url)
    return page
