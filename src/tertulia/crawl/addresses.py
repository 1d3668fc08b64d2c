"""Web addresses: found in plain text, and in the one form under which the table of a crawl knows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, urlsplit

__all__ = ["Address", "AddressError", "address_of", "normalised", "urls_in"]

_DEFAULT_PORTS = {"http": 80, "https": 443}
# What ends an address in running text: white space, controls, quotes, angle brackets, and the punctuation of other scripts.
_FOUND = re.compile(
    r"https?://[^\s\x00-\x20\x7f-\xa0<>\"`{}|\\^\u2018-\u201f\u2026\u2039\u203a\u00ab\u00bb"
    r"\u3000-\u301f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\ufe30-\ufe4f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]{1,8192}",
    re.IGNORECASE,
)
# Control characters, and halves of surrogate pairs.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PAIRS = {")": "(", "]": "["}
_TRAILING = ".,;:!?'*_~"
_LABELS = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
# What may stand as it is in a request; everything else is percent-encoded, and what is percent-encoded stays so.
_SAFE = "/?#[]@!$&'()*+,;=:-._~%"
_LONGEST = 8000


class AddressError(Exception):
    """What is no address of a web page; the message says why, to be put behind the address."""


class Address(NamedTuple):
    """An address in parts.

    ``host`` is lower case and ASCII, IPv6 without brackets; ``port`` is the default one of the scheme where none is named;
    ``target`` is path and query, percent-encoded where a request needs it.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a ``robots.txt`` holds for."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}")

    @property
    def url(self) -> str:
        """The address as it is asked for."""
        return self.origin + self.target


def urls_in(text: str) -> Iterator[str]:
    """The http and https addresses that stand in a plain text, in order, as they stand.

    Punctuation at the end is not taken, nor a bracket that was opened before the address.

    >>> list(urls_in("See http://a.example/b_(c), or (https://d.example)."))
    ['http://a.example/b_(c)', 'https://d.example']
    """
    at = 0
    while (match := _FOUND.search(text, at)) is not None:
        found = _trimmed(match[0])
        # An address that another one contains, as those of archives do, is no address of its own; one after a bracket is.
        at = match.start() + max(len(found), len("http://"))
        try:
            address_of(found)
        except AddressError:
            continue
        yield found


def _trimmed(found: str) -> str:
    """An address less the punctuation of the sentence around it."""
    start = len(_SCHEME.match(found)[0]) if _SCHEME.match(found) else 0  # type: ignore[index]
    opened: list[str] = []
    end = len(found)
    for at in range(start, len(found)):
        character = found[at]
        if character in "([":
            opened.append(character)
        elif character in _PAIRS:
            if _PAIRS[character] not in opened:
                end = at
                break
            while opened.pop() != _PAIRS[character]:
                pass
    found = found[:end]
    while found and (found[-1] in _TRAILING or found[-1] in "(["):
        found = found[:-1]
    return found


def normalised(url: str) -> str:
    """An address in the one form that a table of pages has: without fragment and default port, scheme and host in lower case.

    The host is in its ASCII form, an empty path is ``/``; percent-encoding is left as it is.

    >>> normalised("HTTP://Example.COM:80/A%7eb?c#d")
    'http://example.com/A%7eb?c'

    Raises
    ------
    AddressError
        It is no address with http or https and a host.
    """
    return address_of(url).url


def address_of(url: str) -> Address:
    """An address in parts; user name and password are refused, as they are no part of what names a page.

    Raises
    ------
    AddressError
        It is no address with http or https and a host, or it names a user.
    """
    text = url.strip(" \t\r\n\f")
    if len(text) > _LONGEST:
        raise AddressError(f"has {len(text):,} characters; expected {_LONGEST:,} at most")
    if _CONTROL.search(text):
        raise AddressError("has a control character")
    try:
        parts = urlsplit(text)
        name, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressError(f"is no address: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise AddressError(f"has the scheme {scheme[:20]!r}; expected http or https" if scheme else "has no scheme")
    if "@" in parts.netloc:
        raise AddressError("names a user; such addresses are not asked for")
    if not name or "\\" in parts.netloc:
        raise AddressError("has no host")
    if port == 0:
        raise AddressError("has the port 0")
    target = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    return Address(scheme, _ascii_host(name), port or _DEFAULT_PORTS[scheme], target)


def _ascii_host(name: str) -> str:
    if ":" in name:
        import ipaddress

        try:
            return ipaddress.IPv6Address(name.partition("%")[0] if "%" not in name else "").compressed
        except ValueError:
            raise AddressError(f"has the host {name[:60]!r}, which is no IPv6 address") from None
    if not name.isascii():
        import idna

        try:
            name = idna.encode(name, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            raise AddressError(f"has the host {name[:60]!r}, which is no name of a host") from None
    name = name.lower()
    if not _LABELS.fullmatch(name) or len(name) > 253 or any(len(label) > 63 for label in name.split(".")):
        raise AddressError(f"has the host {name[:60]!r}, which is no name of a host")
    return name.rstrip(".")
