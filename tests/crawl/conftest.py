"""What the tests of the crawler share: servers, and a crawl that is quick and may ask this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tertulia.crawl.crawler import crawl
from tertulia.crawl.options import CrawlOptions
from tertulia.crawl.pages import CrawledPage

from .web import Web, serving

Crawler = Callable[..., dict[str, CrawledPage]]
QUICK: dict[str, Any] = {"delay_s": 0.0, "back_off_s": 0.01, "page_time_s": 5.0, "allow_loopback": True}


@pytest.fixture(scope="session")
def _server() -> Iterator[Web]:
    with serving() as web:
        yield web


@pytest.fixture
def web(_server: Web) -> Web:
    _server.clear()
    return _server


@pytest.fixture(scope="session")
def _elsewhere(_server: Web) -> Iterator[Web]:
    with serving("127.0.0.2", _server.port) as web:
        yield web


@pytest.fixture
def elsewhere(_elsewhere: Web) -> Web:
    """A server at an address that no crawl may ask, the switch for tests or not; its port is that of ``web``."""
    _elsewhere.clear()
    return _elsewhere


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "pages"


@pytest.fixture
def run(output: Path) -> Crawler:
    """Crawls these addresses with quick options, and gives what came of each."""

    def crawled(*urls: str, follow: Any = None, overwrite: bool = False, fresh: bool = False, **options: Any) -> Any:
        with crawl(
            urls, output, CrawlOptions(**{**QUICK, **options}), follow=follow, overwrite=overwrite, fresh=fresh
        ) as found:
            return {page.url: page for page in found}

    return crawled
