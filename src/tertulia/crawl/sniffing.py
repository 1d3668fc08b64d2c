"""Whether bytes are an HTML page, whatever the server says: servers send pictures, archives and data under its name."""

from __future__ import annotations

import codecs
import re

__all__ = ["ENOUGH", "not_html"]

ENOUGH = 4096
"""So many bytes tell."""
_SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"%!PS": "a PostScript file",
    b"\x89PNG": "a picture",
    b"GIF8": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"RIFF": "a picture or sound",
    b"OggS": "a sound",
    b"ID3": "a sound",
    b"PK\x03\x04": "an archive",
    b"\x1f\x8b": "an archive",
    b"BZh": "an archive",
    b"7z\xbc\xaf": "an archive",
    b"Rar!": "an archive",
    b"\xfd7zXZ": "an archive",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"wOFF": "a font",
    b"\xd0\xcf\x11\xe0": "an office document",
    b"{\\rtf": "an office document",
}
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEFORE = re.compile(rb"(\s+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_TAG = re.compile(
    rb"<(!doctype html|html|head|body|title|meta|link|script|style|base|p|div|span|a|br|h[1-6]|table|tr|ul|ol|li|center|font|"
    rb"article|main|section|header|nav|form|b|i|em|strong|pre|img|frameset|iframe|noscript|svg|blockquote|hr)[\s>/]",
    re.IGNORECASE,
)
_OTHER_ROOT = re.compile(rb"<(rss|feed|rdf:rdf|svg|urlset|sitemapindex|opml|math|kml|gpx|soap)[\s>]", re.IGNORECASE)


def not_html(head: bytes) -> str | None:
    """What the first bytes of a body are if they are no HTML; ``None`` where they may be.

    >>> not_html(b"%PDF-1.7 ...")
    'a PDF file'
    >>> not_html(b"<!doctype html><title>A page</title>") is None
    True
    """
    head = head[:ENOUGH]
    for signature, what in _SIGNATURES.items():
        if head.startswith(signature):
            return what
    if head.startswith(_MARKS[1:]):
        head = head[2:].replace(b"\0", b"")
    elif b"\0" in head:
        return "binary data"
    head = head.removeprefix(codecs.BOM_UTF8)
    before = _BEFORE.match(head)
    start = head[before.end() if before else 0 :]
    if _OTHER_ROOT.match(start):
        return "another kind of XML"
    if not _TAG.search(head) and len(start) and not start.startswith(b"<"):
        return "JSON" if start[:1] in (b"{", b"[") else "plain text"
    return None
