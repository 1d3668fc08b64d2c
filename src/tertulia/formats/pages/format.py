"""``pages``: prompts and their responses from web pages: saved ones, WARC files, or a live site that is crawled first.

A TOML file of CSS selectors, one for a site, says what is a prompt, a response, a link to a thread. A thread becomes a context, its
responses the candidates. So did the human-rated corpus of 2018 collect what was rated: topic index, prompts, responses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast, get_args

from tertulia.corpus.exchange import Holds, ReadOptions, Report
from tertulia.corpus.model import RankingRecord
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.pages.live import crawl_site
from tertulia.formats.pages.reading import Authors, PageReader
from tertulia.formats.pages.saved import saved_pages
from tertulia.formats.pages.selectors import Selectors, read_selectors
from tertulia.formats.pages.threads import Threads

__all__ = ["PagesFormat"]


class PagesFormat:
    """Reads prompts and responses from web pages."""

    name = "pages"
    summary = "prompts and responses of web pages (saved, WARC, or live), by a TOML file of CSS selectors"
    writes = False
    holds: Holds = "ranking-set"
    options: Mapping[str, str] = {
        "selectors": "the TOML file of CSS selectors (needed)",
        "authors": "hash (default), keep or drop the names of authors",
        "keep": "the folder to keep the pages of a live site in",
        "delay": "seconds between two requests to a live site (default 1)",
        "limit": "the most pages to ask a live site for (default 1,000)",
    }
    path_options = frozenset({"selectors", "keep"})
    licence = None
    citation = None

    def __init__(self, *, allow_loopback: bool = False) -> None:
        """``allow_loopback`` is for tests: it lets the crawler ask this machine itself."""
        self._allow_loopback = allow_loopback

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[RankingRecord]:
        """The threads that the pages of the source hold, in order of their ids."""
        path = options.values.get("selectors")
        if not path:
            raise ConfigurationError(
                "the format 'pages' needs a file of CSS selectors",
                hint="--option selectors=FILE.toml; docs/formats.md has a whole example",
            )
        selectors = read_selectors(path)
        authors = options.values.get("authors", "hash")
        if authors not in get_args(Authors):
            raise ConfigurationError(f"--option authors is {authors!r}; expected {', '.join(get_args(Authors))}")
        reader = PageReader(selectors, cast("Authors", authors), report)
        is_live = source.lower().startswith(("http://", "https://"))
        for name in ("keep", "delay", "limit"):
            if name in options.values and not is_live:
                raise ConfigurationError(f"--option {name} is for a live site; the source is none", where=source)
        if not is_live:
            yield from _records(source, selectors, reader, report, options, named=source)
            return
        with tempfile.TemporaryDirectory(prefix="tertulia-pages-") as folder:
            kept = Path(options.values.get("keep") or Path(folder) / "crawl")
            crawl_site(source, kept, reader, options, report, allow_loopback=self._allow_loopback)
            yield from _records(str(kept), selectors, reader, report, options, named=source)

    def write(self, records: Iterator[RankingRecord], path: str, report: Report) -> None:  # noqa: ARG002 - it refuses
        """This format is only read."""
        raise ConfigurationError("the format 'pages' is read, not written")


def _records(
    source: str, selectors: Selectors, reader: PageReader, report: Report, options: ReadOptions, *, named: str
) -> Iterator[RankingRecord]:
    """The threads in saved pages; ``named`` is what the user named as the source."""
    pages = found = 0
    with Threads(selectors, report, options) as threads:
        for page in saved_pages(source, report, options):
            pages += 1
            with report.catching(options, page.place):
                for part in reader.parts(page):
                    threads.add(part, page.place)
        for record in threads.records():
            found += 1
            yield record
        if not found:
            raise _nothing(named, pages, threads.parts, report)


def _nothing(source: str, pages: int, parts: int, report: Report) -> InputError:
    """Why there is not one thread: most likely the selectors are of another site."""
    reasons = [f"{reason} ({finding.count:,}, first {finding.first})" for reason, finding in report.skipped.items()]
    told = f": {'; '.join(reasons)}" if reasons else ""
    return InputError(
        f"holds no thread with a prompt; {pages:,} pages were read, {parts:,} parts of threads found{told}",
        where=source,
        hint="the file of selectors says what is a thread ([thread] match, id) and what its prompt (prompt)",
    )
