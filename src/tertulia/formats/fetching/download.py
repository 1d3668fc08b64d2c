"""Downloading one file: resumed where it broke off, tried again, checked by size and digest before it takes its name.

What arrives is written to ``NAME.part`` beside the target, with ``NAME.part.json`` saying which state of which address it is of
(RFC 9110: ``Range``, ``If-Range``, ``ETag``). No proxy, certificate or password is taken from the environment.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin, urlsplit

from tertulia import __version__
from tertulia.errors import ArtefactError, InputError, MissingExtraError
from tertulia.formats.fetching.catalogue import RemoteFile
from tertulia.formats.fetching.partial_file import PartialFile

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["DownloadOptions", "Downloader", "Received", "digests_of", "next_address"]

_CHUNK = 1 << 20
_REDIRECTS = {301, 302, 303, 307, 308}
_MOST_REDIRECTS = 10
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}
_LONGEST_WAIT_S = 60.0
_LONGEST_RETRY_AFTER_S = 300.0
_SPARE_BYTES = 64_000_000
# Fewer bytes than this within one time-out, and a connection is as good as dead although it is not silent.
_LEAST_BYTES = 1024
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DownloadOptions:
    """How to download.

    ``tries`` in a row may bring no new byte; ``timeout_s`` is how long a server may be silent; ``max_bytes`` bounds a file whose
    size is not known beforehand; ``proxy`` is the address of an HTTP proxy; ``say`` is told of every new try.
    """

    tries: int = 5
    timeout_s: float = 60.0
    max_bytes: int = 20_000_000_000
    proxy: str | None = None
    say: Callable[[str], None] = lambda _message: None
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Received:
    """A file as it arrived; ``checked`` names the kinds of digest that it was held against."""

    url: str
    bytes: int
    sha256: str
    etag: str | None
    last_modified: str | None
    checked: tuple[str, ...]


class _InterruptedError(Exception):
    """An attempt that failed in a way that the next may not; ``wait_s`` is what the server asks for."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class _WrongBytesError(InputError):
    """What arrived is not the file of the catalogue."""


def digests_of(path: Path, kinds: tuple[str, ...]) -> dict[str, str]:
    """The digests of a file, hexadecimal, in one pass; ``"git"`` is the id that git gives a file of these bytes."""
    running = {kind: hashlib.new("sha1" if kind == "git" else kind, usedforsecurity=False) for kind in kinds}
    if "git" in running:
        running["git"].update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            for digest in running.values():
                digest.update(chunk)
    return {kind: digest.hexdigest() for kind, digest in running.items()}


def next_address(address: str, location: str) -> str:
    """Where a redirect leads: only to http or https, and never from https to http.

    Raises
    ------
    InputError
        It leads elsewhere.
    """
    try:
        target = urljoin(address, location)
        parts = urlsplit(target)
        host = parts.hostname
    except ValueError:
        raise InputError(f"redirects to {location[:100]!r}, which is no address", where=address) from None
    if parts.scheme not in {"http", "https"} or not host:
        raise InputError(f"redirects to {target[:100]!r}; expected an address with http or https", where=address)
    if urlsplit(address).scheme == "https" and parts.scheme == "http":
        raise InputError(f"redirects from https to plain http ({target[:100]}), which is not followed", where=address)
    return target


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Whom we trust to say who a server is. Loading it takes longer than a small download, so it is done once."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class Downloader:
    """Downloads files over HTTP. A context manager; one connection is kept between files of one host."""

    def __init__(self, options: DownloadOptions | None = None) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("downloading", package="httpx", extra="full") from None
        self._httpx = httpx
        self.options = options or DownloadOptions()
        # Asked for as they are stored: sizes, ranges and digests are of the stored bytes.
        self._headers = {"User-Agent": f"tertulia/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
        timeout = httpx.Timeout(self.options.timeout_s, connect=min(20.0, self.options.timeout_s))
        self._extensions = {"timeout": timeout.as_dict()}
        proxy = self.options.proxy
        # A bare transport: no cookies, no passwords, and redirects are ours to judge before anything is made of them.
        try:
            self._transport = httpx.HTTPTransport(
                verify=_trusted(), trust_env=False, proxy=None if proxy is None else httpx.Proxy(proxy)
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise InputError(f"is not the address of a proxy: {error}", where=proxy) from None

    def __enter__(self) -> Downloader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()

    def download(
        self,
        file: RemoteFile,
        target: Path,
        advance: Callable[[int, int | None], None] = lambda _step, _total: None,
        record: Callable[[Received], None] = lambda _received: None,
    ) -> Received:
        """Fetch a file to ``target``, replacing what is there only when the new one has arrived whole and is what it should be.

        The addresses of the file are tried in turn. ``advance`` is told the bytes since the last call (fewer than 0 where a
        server makes us start again) and the file's size where it is known. ``record`` is told of the file before it takes its name,
        so that no file stands there that nobody knows of.

        Raises
        ------
        InputError
            Naming the address: it cannot be reached, refuses, breaks off again and again (what arrived is kept), or sends bytes
            that are not the file (they are removed).
        ArtefactError
            The target cannot be written.
        """
        part = PartialFile(target, advance)
        failures: list[InputError] = []
        try:
            for url in file.urls:
                try:
                    received = self._from(url, file, part)
                except InputError as failure:
                    failures.append(failure)
                    continue
                record(received)
                part.finish(target)
                return received
        except OSError as error:
            said = "there is no space left on the disk" if error.errno in _NO_SPACE else str(error.strerror or error)
            raise ArtefactError(
                f"cannot be written: {said}", where=target, hint="what arrived is kept; run the command again to go on"
            ) from None
        if len(failures) == 1:
            raise failures[0]
        raise InputError(
            f"{file.name} could not be had from any of its {len(failures)} addresses: "
            + "; ".join(failure.one_line() for failure in failures)
        )

    def small(self, url: str, most: int) -> bytes:
        """The content of an address, at most ``most`` bytes, in memory.

        Raises
        ------
        InputError
            It cannot be had, or is longer.
        """

        def attempt() -> bytes:
            content = bytearray()
            with self._open(url, {}) as response:
                self._expect(response, url, {200})
                for chunk in response.iter_raw():
                    content += chunk
                    if len(content) > most:
                        raise InputError(f"has more than {most:,} bytes, which is not expected", where=url)
            return bytes(content)

        return self._persist(url, attempt, lambda: 0)

    def _from(self, url: str, file: RemoteFile, part: PartialFile) -> Received:
        """Get the whole file into its part, and hold it against what is known of it."""
        for last in (False, True):
            self._persist(url, lambda: self._attempt(url, file, part), lambda: part.size)
            joined = part.joined
            try:
                return self._check(url, file, part)
            except _WrongBytesError:
                if last or not joined:
                    raise
            # It was put together from several answers, which may have been of different files: once more, from the start.
            self.options.say(f"{file.name}: the parts do not make up the file; starting again")
        raise AssertionError

    def _persist(self, url: str, attempt: Callable[[], _T], got: Callable[[], int]) -> _T:
        """Try until it works; give up after so many tries in a row that brought no new byte."""
        best, fruitless = got(), 0
        for _ in range(20 * self.options.tries):
            try:
                return attempt()
            except _InterruptedError as failure:
                reason = failure
            size = got()
            fruitless = 0 if size > best else fruitless + 1
            best = max(best, size)
            if fruitless >= self.options.tries:
                break
            wait = min(2.0 ** (fruitless - 1), _LONGEST_WAIT_S) if reason.wait_s is None else reason.wait_s
            when = f"in {wait:.0f} s" if wait >= 1 else "at once"
            self.options.say(f"{url}: {reason}; trying again {when}")
            self.options.sleep(wait)
        hint = (
            f"the {best:,} bytes that arrived are kept; run the command again to go on" if best else "try again later"
        )
        raise InputError(f"{reason}; given up after {fruitless or 'many'} tries", where=url, hint=hint)

    def _attempt(self, url: str, file: RemoteFile, part: PartialFile) -> None:
        """One request for what is missing; the part is whole afterwards as far as can be told without digests."""
        start = self._resumable(url, file, part)
        if start and start == file.bytes:
            return
        headers = {"Range": f"bytes={start}-"} if start else {}
        validator = part.validator()
        # With a digest the whole is checked in the end, and a server whose ETags change by themselves does no harm.
        if start and validator is not None and not file.digests:
            headers["If-Range"] = validator
        with self._open(url, headers) as response:
            self._expect(response, url, {200, 206, 416} if start else {200})
            if response.status_code == 416:
                if self._range_total(response) == start:
                    return
                part.drop()
                raise _InterruptedError("the server has less of the file than there was already")
            if response.status_code == 206:
                total = self._continued(response, start, file, part)
            else:
                self._refuse_web_page(response, url, file)
                length = response.headers.get("Content-Length", "")
                total = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None
                start = 0
            self._refuse_unfit(url, file, total, start, part)
            if response.status_code == 200:
                part.begin(url, response.headers)
            else:
                part.joined = True
            self._store(response, url, file, total, part)

    def _resumable(self, url: str, file: RemoteFile, part: PartialFile) -> int:
        """The bytes of the part that can be kept; one that cannot is dropped."""
        size = part.size
        same = part.url == url and part.validator() is not None
        if size and ((not same and not file.digests) or (file.bytes is not None and size > file.bytes)):
            part.drop()
            size = 0
        part.tell(file.bytes)
        return size

    def _range_total(self, response: httpx.Response) -> int | None:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        return int(match[3]) if match and match[3] != "*" else None

    def _continued(self, response: httpx.Response, start: int, file: RemoteFile, part: PartialFile) -> int | None:
        """The file's size as an answer with a part of it says; it must be the part that was asked for, of the same file."""
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        etag = response.headers.get("ETag")
        if match is None or match[1] is None or int(match[1]) != start:
            part.drop()
            raise _InterruptedError("the server sent another part of the file than was asked for")
        if not file.digests and None not in (etag, part.etag) and etag != part.etag:
            part.drop()
            raise _InterruptedError("the file changed on the server meanwhile")
        return self._range_total(response)

    def _refuse_web_page(self, response: httpx.Response, url: str, file: RemoteFile) -> None:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/html" and not file.name.lower().endswith((".html", ".htm")):
            raise InputError(
                "answers with a web page instead of the file",
                where=url,
                hint="a log-in or a confirmation may be needed: fetch it with a browser",
            )
        packed = response.headers.get("Content-Encoding", "identity").strip().lower()
        if packed not in {"", "identity"} and not file.digests and not file.name.endswith(".gz"):
            raise InputError(f"sends the file packed as {packed[:40]!r}, which was not asked for", where=url)

    def _refuse_unfit(self, url: str, file: RemoteFile, total: int | None, start: int, part: PartialFile) -> None:
        """What can be told before the first byte: another size, too large, no space."""
        if None not in (file.bytes, total) and total != file.bytes:
            part.drop()
            raise _WrongBytesError(
                f"has {total:,} bytes; expected {file.bytes:,}",
                where=url,
                hint="it is not the same file any more",
            )
        if total is not None and total > self._most(file):
            raise InputError(
                f"has {total:,} bytes, more than the {self._most(file):,} that are allowed",
                where=url,
                hint="--max-size allows more",
            )
        needed = (total if total is not None else file.bytes or 0) - start
        free = shutil.disk_usage(part.path.parent).free
        if needed + _SPARE_BYTES > free:
            raise ArtefactError(
                f"{needed:,} bytes are to come, and {free:,} are free on its disk", where=part.path.parent
            )

    def _most(self, file: RemoteFile) -> int:
        return self.options.max_bytes if file.bytes is None else file.bytes

    def _store(
        self, response: httpx.Response, url: str, file: RemoteFile, total: int | None, part: PartialFile
    ) -> None:
        most, since, lately = self._most(file), time.monotonic(), 0
        with part.path.open("ab") as out:
            size = part.size
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > most:
                    out.close()
                    part.drop()
                    raise InputError(
                        f"sends more than the {most:,} bytes that are expected; they were removed",
                        where=url,
                        hint="--max-size allows more" if file.bytes is None else None,
                    )
                out.write(chunk)
                # So that a process that is killed leaves what has come.
                out.flush()
                part.tell(total or file.bytes, size)
                lately += len(chunk)
                now = time.monotonic()
                if now - since > self.options.timeout_s:
                    if lately < _LEAST_BYTES:
                        raise _InterruptedError(f"only {lately} bytes came within {now - since:.0f} s")
                    since, lately = now, 0
        expected = file.bytes if file.bytes is not None else total
        if expected is not None and size < expected:
            raise _InterruptedError(f"the connection ended after {size:,} of {expected:,} bytes")

    @contextlib.contextmanager
    def _open(self, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        """The answer of an address, redirects followed; what goes wrong with the connection becomes an interruption."""
        address = url
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                request = self._httpx.Request(
                    "GET", address, headers=self._headers | headers, extensions=self._extensions
                )
                with contextlib.closing(self._transport.handle_request(request)) as response:
                    location = response.headers.get("Location")
                    if response.status_code not in _REDIRECTS or location is None:
                        yield response
                        return
                address = next_address(address, location)
        except self._httpx.TimeoutException:
            raise _InterruptedError(f"no answer within {self.options.timeout_s:.0f} s") from None
        except (self._httpx.TransportError, self._httpx.StreamError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise InputError(f"cannot prove who it is: {error}", where=address) from None
            raise _InterruptedError(f"the connection failed: {error or type(error).__name__}") from None
        except (self._httpx.InvalidURL, self._httpx.HTTPError, UnicodeError) as error:
            raise InputError(f"is no address that can be asked: {error}", where=address) from None
        raise InputError(f"redirects more than {_MOST_REDIRECTS} times", where=url)

    def _expect(self, response: httpx.Response, url: str, codes: set[int]) -> None:
        code = response.status_code
        if code in codes:
            return
        said = f"the server answers {code} {response.reason_phrase}".strip()
        if code not in _TRY_AGAIN:
            hint = "it is not there any more, or under another address" if code in {404, 410} else None
            raise InputError(said, where=url, hint=hint)
        wait = _retry_after(response.headers.get("Retry-After"))
        if wait is not None and wait > _LONGEST_RETRY_AFTER_S:
            raise InputError(f"{said} and asks to come back in {wait:,.0f} s", where=url, hint="try again then")
        raise _InterruptedError(said, wait)

    def _check(self, url: str, file: RemoteFile, part: PartialFile) -> Received:
        size = part.size
        found = digests_of(part.path, tuple({"sha256": "", **file.digests}))
        wrong = next((kind for kind, digest in file.digests.items() if found[kind] != digest), None)
        if wrong is None and file.bytes in (None, size):
            return Received(url, size, found["sha256"], part.etag, part.last_modified, tuple(file.digests))
        part.drop()
        if wrong is None:
            problem = f"sent {size:,} bytes; expected {file.bytes:,}"
        else:
            problem = f"sent a file with the {wrong} {found[wrong]}; expected {file.digests[wrong]}"
        raise _WrongBytesError(
            f"{problem}. It was removed", where=url, hint="damaged on the way, or not the same file any more"
        )


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait by a ``Retry-After`` header: a number of them or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:12])
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
