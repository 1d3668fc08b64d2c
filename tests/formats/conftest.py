"""A web server and a downloader for the tests of downloads."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .downloads import Fetcher
from .web_server import Site, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def site(server: Site) -> Site:
    server.plan.clear()
    server.requests.clear()
    return server


@pytest.fixture
def fetch(tmp_path: Path) -> Fetcher:
    return Fetcher(tmp_path)
