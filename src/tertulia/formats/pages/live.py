"""A live site: crawled politely from its topic index on, through threads and next pages, before it is read like saved pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.crawl.crawler import crawl
from tertulia.crawl.options import CrawlOptions
from tertulia.crawl.page import Page
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.pages.reading import PageReader
from tertulia.formats.pages.saved import SavedPage

__all__ = ["crawl_site"]

_DELAY_S = 1.0
_LIMIT = 1_000
# Threads have as many pages as they have; the limit bounds them all together.
_DEPTH = 1_000_000


def crawl_site(
    address: str,
    folder: Path,
    reader: PageReader,
    options: ReadOptions,
    report: Report,
    *,
    allow_loopback: bool = False,
) -> None:
    """Fetch the page at an address and those that it leads to, as a crawl in ``folder``; what was not fetched is counted.

    Raises
    ------
    ConfigurationError
        An option does not hold, or there is something at ``folder``.
    InputError
        Not one page could be fetched.
    MissingExtraError
        What the crawler needs is not installed.
    """
    if folder.exists():
        raise ConfigurationError(
            "there is something here already; expected a new folder for the pages",
            where=folder,
            hint="what an earlier crawl kept is a source itself: tertulia corpus import pages FOLDER ...",
        )
    how = CrawlOptions(
        delay_s=_number(options, "delay", _DELAY_S),
        max_pages=int(_number(options, "limit", _LIMIT)),
        depth=_DEPTH,
        text=False,
        allow_loopback=allow_loopback,
    )

    def follow(page: Page) -> Iterator[str]:
        # What is wrong with a page is told when it is read.
        try:
            links = reader.links(SavedPage(page.final_url, page.html(), Place(page.url, page.url)))
        except InputError:
            return
        options.progress(len(page.body), None)
        yield from links

    pages = 0
    failed: list[str] = []
    with crawl([address], folder, how, follow=follow, command=["tertulia", "corpus", "import", "pages"]) as crawled:
        for row in crawled:
            if row.outcome == "ok":
                pages += 1
                continue
            report.skip(f"addresses that were not fetched: {row.outcome}", row.url)
            failed.append(f"{row.outcome}, {row.reason}" if row.reason else row.outcome)
    if not pages:
        raise InputError(f"could not be fetched: {'; '.join(failed) or 'the crawl is empty'}", where=address)


def _number(options: ReadOptions, name: str, default: float) -> float:
    text = options.values.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1_000_000_000 or (name == "limit" and (value < 1 or not value.is_integer())):
        expected = "a whole number from 1" if name == "limit" else "seconds, such as 1.5"
        raise ConfigurationError(f"--option {name} is {text!r}; expected {expected}")
    return value
