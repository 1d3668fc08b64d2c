"""The list of files that an item of the Internet Archive has: its ``<item>_files.xml``, with sizes and digests.

The form is ``<files><file name="..."><size>..</size><sha1>..</sha1><md5>..</md5></file>...</files>``; names may hold folders.
"""

from __future__ import annotations

import difflib
import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from urllib.parse import quote, urljoin
from xml.parsers import expat

from tertulia.errors import InputError, NotFoundError
from tertulia.formats.fetching.catalogue import DIGESTS, Entry, RemoteFile, safe_name

__all__ = ["files_of_listing"]

_MOST_BYTES = 1 << 40


def files_of_listing(entry: Entry, content: bytes) -> tuple[RemoteFile, ...]:
    """The files of an entry by the list at its ``listing``: those that match the first of its ``wanted`` that any name matches.

    Raises
    ------
    InputError
        The list is not XML of the Archive's form.
    NotFoundError
        No file matches; names that are close are said.
    """
    listed = _parse(content, str(entry.listing))
    names = {PurePosixPath(file.name).name: file for file in listed}
    for pattern in entry.wanted:
        found = [file for last, file in sorted(names.items()) if fnmatchcase(last, pattern)]
        if found:
            return tuple(_located(file, str(entry.listing)) for file in found)
    asked = entry.name.rpartition("/")[2].partition("@")[0]
    sites = sorted({_site(last) for last in names if last.endswith(".7z")})
    close = difflib.get_close_matches(asked, sites, 3, 0.5)
    meant = f"; did you mean {' or '.join(close)}?" if close else f"; it has {len(names):,} other files"
    raise NotFoundError(f"has no file for {entry.name!r}{meant}", where=entry.listing)


def _site(name: str) -> str:
    """The short name of the site that an archive holds: ``beer.stackexchange.com.7z`` is ``beer``."""
    return re.sub(r"(\.stackexchange)?(\.com|\.net)?(-\w+)?\.7z$", "", name)


def _located(file: RemoteFile, listing: str) -> RemoteFile:
    name = safe_name(PurePosixPath(file.name).name, listing)
    return RemoteFile(name, (urljoin(listing, quote(file.name)),), file.bytes, file.digests)


class _Files:
    """Collects the files while the XML is parsed."""

    def __init__(self) -> None:
        self.files: list[RemoteFile] = []
        self._name: str | None = None
        self._values: dict[str, str] = {}
        self._tag = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._tag = tag
        if tag == "file":
            self._name, self._values = attributes.get("name"), {}

    def text(self, text: str) -> None:
        if self._name is not None and self._tag in {"size", *DIGESTS}:
            self._values[self._tag] = (self._values.get(self._tag, "") + text)[:100]

    def end(self, tag: str) -> None:
        self._tag = ""
        if tag == "file" and self._name is not None:
            size = self._values.pop("size", "").strip()
            digests = {kind: self._values.get(kind, "").strip().lower() for kind in DIGESTS}
            known = {
                kind: digest
                for kind, digest in digests.items()
                if re.fullmatch(rf"[0-9a-f]{{{DIGESTS[kind]}}}", digest) and kind != "git"
            }
            count = int(size) if re.fullmatch(r"[0-9]{1,13}", size) and int(size) <= _MOST_BYTES else None
            self.files.append(RemoteFile(self._name, (), count, known))
            self._name = None


def _parse(content: bytes, where: str) -> list[RemoteFile]:
    found = _Files()
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        raise InputError("declares entities, which a list of files has no need of", where=where)

    # Entities are how a small XML file becomes a large one.
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = found.start
    parser.EndElementHandler = found.end
    parser.CharacterDataHandler = found.text
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise InputError(f"is not the list of an item's files: {error}", where=where) from None
    if not found.files:
        raise InputError("lists no file; expected the list of an item of the Internet Archive", where=where)
    return found.files
