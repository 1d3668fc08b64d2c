"""The pages of a source: files of HTML, WARC files, or a folder of either, each with the address that it was saved from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

from tertulia.corpus.exchange import Place, ReadOptions, Report
from tertulia.crawl.encoding import decode_html
from tertulia.crawl.page import Page
from tertulia.crawl.warc import read_warc
from tertulia.errors import InputError
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.pages.markup import MOST_CHARACTERS

__all__ = ["SavedPage", "joined", "saved_pages"]

_PATTERNS = ("*.html", "*.htm", "*.xhtml", "*.warc")
_EXPECTED = "saved pages (*.html) or WARC files (*.warc, *.warc.gz)"
_HEAD = 50_000
# What browsers and their extensions write at the head of a page that they save.
_SAVED_FROM = re.compile(
    r"<!--\s*saved from url=\([0-9]+\)(\S+?)\s*-->|<!--\s*Page saved with SingleFile\s+url:\s*(\S+)", re.IGNORECASE
)
_LINK = re.compile(r"<link\s[^>]*>", re.IGNORECASE)
_META = re.compile(r"<meta\s[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page: its address (of a file that does not say one, its path within the source), its HTML, where it lies."""

    address: str
    html: str
    place: Place


def joined(base: str, link: str) -> str | None:
    """The address that a link leads to, without a fragment; ``None`` where it leads to no page."""
    try:
        address = urldefrag(urljoin(base, link.strip())).url
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in ("", "http", "https") or not address:
        return None
    return address


def saved_pages(source: str, report: Report, options: ReadOptions) -> Iterator[SavedPage]:
    """The pages of a file, or of the files of a folder or zip archive in order of name.

    What is no HTML page is counted; a page that is too long is a malformed record.

    Raises
    ------
    InputError
        There is no page at this path, or a file is damaged.
    MissingExtraError
        A page does not say its encoding, and what guesses it is not installed.
    """
    for file in source_files(source, *_PATTERNS, expected=_EXPECTED, options=options):
        if file.name.lower().endswith(".warc") or _is_warc(file):
            yield from _of_warc(file, report, options)
            continue
        page = None
        with report.catching(options, file.place(1)):
            page = _of_file(file, options)
        if page is not None:
            yield page


def _is_warc(file: SourceFile) -> bool:
    """Whether a file of another name is a WARC file. A pipe, which can be read only once, is none."""
    if not Path(file.where).is_file():
        return False
    with file.open(ReadOptions()) as stream:
        return stream.read(5) == b"WARC/"


def _of_file(file: SourceFile, options: ReadOptions) -> SavedPage:
    with file.open(options) as stream:
        body = stream.read(MOST_CHARACTERS + 1)
    if len(body) > MOST_CHARACTERS:
        raise InputError(f"is longer than {MOST_CHARACTERS:,} bytes; expected an HTML page")
    html = decode_html(body)[0]
    return SavedPage(_address(html) or file.name, html, Place(file.where, file.name))


def _address(html: str) -> str | None:
    """The address that a saved page says it has.

    What the browser wrote comes first: ``rel=canonical`` of the second page of a thread often names the first.
    """
    head = html[:_HEAD]
    saved = _SAVED_FROM.search(head)
    if saved:
        found = _absolute(saved[1] or saved[2])
        if found:
            return found
    for tags, key, wanted, value in ((_LINK, "rel", "canonical", "href"), (_META, "property", "og:url", "content")):
        for tag in tags.findall(head):
            attributes = {match[0].lower(): "".join(match[1:]) for match in _ATTRIBUTE.findall(tag)}
            if wanted in attributes.get(key, "").lower().split():
                found = _absolute(attributes.get(value, "").replace("&amp;", "&"))
                if found:
                    return found
    return None


def _absolute(address: str) -> str | None:
    found = joined("", address)
    return found if found and urlsplit(found).scheme else None


def _of_warc(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[SavedPage]:
    path = Path(file.where)
    if not path.is_file():
        raise InputError(
            "is a WARC file within an archive; expected it in a folder", where=file.where, hint="unpack it"
        )

    def skipped(reason: str, where: str) -> None:
        report.skip(f"records of a WARC file: {reason}", where.replace(str(path), file.name))

    pages = read_warc(path, skipped=skipped)
    at = file.place(1)
    while True:
        page: Page | None = None
        with _damage(report, options, Place(file.where, file.name)) as damage:
            page = next(pages, None)
        if page is None or damage:
            break
        at = Place(f"{file.where}: {page.url}", f"{file.name}: {page.url}")
        if page.status != 200:
            report.skip("answers with another status than 200", at.shown)
        elif not page.is_html and page.content_type is not None:
            report.skip("pages that are no HTML", at.shown)
        else:
            yield SavedPage(joined(page.url, "") or page.url, page.html(), at)
    options.progress(file.size, file.total)


@contextmanager
def _damage(report: Report, options: ReadOptions, place: Place) -> Iterator[list[InputError]]:
    """A WARC file that is damaged ends there: an error, or with ``skip_bad`` counted; the list then holds it."""
    found: list[InputError] = []
    try:
        yield found
    except InputError as error:
        if not options.skip_bad:
            raise
        found.append(error)
        report.skip("WARC files that are damaged; what is behind the damage is not read", place.shown)
