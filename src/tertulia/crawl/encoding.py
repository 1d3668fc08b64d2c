"""The character encoding of an HTML page: byte order mark, then the header, then what the page says of itself, then a guess.

The order is that of the HTML standard (WHATWG HTML, "determining the character encoding"), with one difference for the sake of
what people read: an encoding that the bytes do not hold to is passed over where another one fits.
"""

from __future__ import annotations

import codecs
import re

from tertulia.errors import MissingExtraError

__all__ = ["decode_html"]

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# The standard looks at 1,024 bytes; real pages name it later now and then.
_LOOKED_AT = 4096
_META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([a-z0-9_:.\-]+)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([a-z0-9_:.\-]+)", re.IGNORECASE)


def decode_html(body: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text of a page and the name of the encoding that was taken; what does not decode becomes U+FFFD.

    ``declared`` is the charset that the ``Content-Type`` header names.

    Raises
    ------
    MissingExtraError
        The page does not say its encoding, it is not UTF-8, and what guesses it is not installed.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace"), encoding
    named = [encoding for encoding in (_known(declared), _declared_within(body)) if encoding]
    for encoding in [*named, "utf-8"]:
        text = _strictly(body, encoding)
        if text is not None:
            return text, encoding
    for encoding in named:
        text = body.decode(encoding, "replace")
        # A damaged character here and there is no other encoding; where most do not fit, the name is wrong.
        damaged = text.count("\ufffd")
        if damaged <= sum(character > "\x7f" for character in text) - damaged:
            return text, encoding
    guess = _guess(body)
    return body.decode(guess, "replace"), guess


def _strictly(body: bytes, encoding: str) -> str | None:
    try:
        return body.decode(encoding)
    except UnicodeError:
        # The standard's windows-1252 has a character for each of the five bytes that Python's has none for.
        return body.decode(encoding, "replace") if encoding == "cp1252" and not _is_utf8(body) else None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeError:
        return False
    return True


def _declared_within(body: bytes) -> str | None:
    head = body[:_LOOKED_AT]
    found = _META.search(head) or _XML.match(head)
    encoding = _known(found[1].decode("ascii")) if found else None
    # A page whose meta could be read as ASCII is not UTF-16, whatever it says (so the standard).
    return "utf-8" if encoding is not None and encoding.startswith("utf-16") else encoding


def _known(label: str | None) -> str | None:
    """Python's name of an encoding, by the label that the web uses for it."""
    if not label or not label.isascii():
        return None
    name = _LABELS.get(label.strip().lower(), label.strip().lower())
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # Codecs from bytes to bytes (such as zip) are no encodings of text, nor are these.
    if not getattr(codec, "_is_text_encoding", True) or codec.name in _NOT_ON_THE_WEB:
        return None
    return codec.name


_NOT_ON_THE_WEB = {"utf-7", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
# What the label means on the web where Python takes it for less (WHATWG Encoding, 4.2).
_LABELS = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "ansi": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso_8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "l1": "cp1252",
    "iso-8859-9": "cp1254",
    "latin5": "cp1254",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gb_2312-80": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "chinese": "gb18030",
    "big5": "big5hkscs",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "korean": "cp949",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "sjis": "cp932",
    "unicode": "utf-16-le",
    "utf-16": "utf-16-le",
    "utf8": "utf-8",
    "x-mac-roman": "mac_roman",
}


def _guess(body: bytes) -> str:
    try:
        from resiliparse.parse.encoding import detect_encoding
    except ImportError:
        raise MissingExtraError("guessing the encoding of a page", package="resiliparse", extra="full") from None
    return _known(detect_encoding(body)) or "cp1252"
