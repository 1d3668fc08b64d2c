"""A page as it was fetched: where from, what the server said, and its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tertulia.crawl.encoding import decode_html
from tertulia.crawl.sniffing import not_html

__all__ = ["HTML_TYPES", "Page", "media_type"]

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class Page:
    """An answer of a web server.

    ``url`` is what was asked for, ``final_url`` where redirects led; ``content_type`` is the media type in lower case without
    parameters, ``charset`` the one that the header names; ``body`` has no transfer or content encoding any more;
    ``fetched_at`` is in UTC.
    """

    url: str
    final_url: str
    status: int
    content_type: str | None
    charset: str | None
    body: bytes
    fetched_at: datetime | None = None

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page that was there (status 200), by its type, or by its bytes where the server names none."""
        if self.content_type is None:
            return self.status == 200 and not_html(self.body) is None
        return self.status == 200 and self.content_type in HTML_TYPES

    def html(self) -> str:
        """The body as text, in the encoding that a browser would take."""
        return decode_html(self.body, self.charset)[0]


def media_type(header: str | None) -> tuple[str | None, str | None]:
    """The media type and the charset that a ``Content-Type`` header names, in lower case.

    >>> media_type('Text/HTML; Charset="UTF-8"')
    ('text/html', 'utf-8')
    """
    if not header:
        return None, None
    kind, *parameters = header.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.strip().lower() or None, value.strip(" \t\"'").lower() or None
    return kind.strip().lower() or None, None
