"""The crawler: a list of addresses in, an artefact with the pages out; stopped at any moment, it goes on where it was."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import heapq
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tertulia.artefact import Manifest, create, read_manifest, sha256_of
from tertulia.crawl.addresses import AddressError, address_of
from tertulia.crawl.archive import Archive
from tertulia.crawl.connecting import network
from tertulia.crawl.extracting import ExtractionError, Extractor
from tertulia.crawl.fetching import Fetched, Fetcher
from tertulia.crawl.hosts import Hosts
from tertulia.crawl.main_text import check_installed
from tertulia.crawl.options import CrawlOptions
from tertulia.crawl.outage import OfflineError, Outage
from tertulia.crawl.page import Page
from tertulia.crawl.pages import KIND, Crawl
from tertulia.crawl.requesting import RefusedError, TryAgainError
from tertulia.crawl.state import Result, State, Waiting
from tertulia.crawl.table import TABLE, write_table
from tertulia.errors import ArtefactError, InputError, StoreError

__all__ = ["Follow", "crawl", "progress_of", "state_folder"]

Follow = Callable[[Page], Iterable[str]]
"""Further addresses of a page, as they stand in it: relative ones are of the page."""
Progress = Callable[[int, int | None], None]
# A host that fails so often in a row is not asked any more.
_MOST_FAILURES = 5
_HOST_FAILURES = {"connection", "dns", "timeout", "robots-unreachable"}


def crawl(
    urls: Iterable[str],
    output: str | Path,
    options: CrawlOptions | None = None,
    *,
    follow: Follow | None = None,
    overwrite: bool = False,
    fresh: bool = False,
    command: Sequence[str] = (),
    source: Mapping[str, Any] | None = None,
    progress: Progress = lambda _step, _total: None,
) -> Crawl:
    """Fetch pages politely into the artefact ``output``; where a crawl of the same addresses was interrupted, go on with it.

    ``follow`` gives further addresses of each page that was fetched, which are fetched too, ``options.depth`` deep. ``fresh``
    forgets an interrupted crawl. ``source`` is what the manifest says of where the addresses are from. ``progress`` is told how
    many addresses are done since the last call and how many there are. Not to be called where an event loop runs.

    A ``KeyboardInterrupt`` leaves a state that the next call takes up, as does every error and every kill.

    Raises
    ------
    ArtefactError
        ``output`` cannot be written, or another crawl is writing there.
    InputError
        An interrupted crawl of other addresses is there.
    StoreError
        The disk is full, or the state is damaged.
    """
    options = options or CrawlOptions()
    manifest = Manifest(
        KIND, command=list(command), options=_said(options), inputs=[dict(source)] if source is not None else []
    )
    folder = state_folder(output)
    with create(output, manifest, overwrite=overwrite) as draft, _store_errors(folder):
        if options.text:
            check_installed()
        if fresh or _is_done(folder, Path(output)):
            _forget(folder)
        with State(folder) as state:
            _load(state, urls)
            state.mend_archives()
            asyncio.run(_Crawler(state, options, follow, progress).run())
            write_table(draft.directory / TABLE, state.results())
            state.made(sha256_of(draft.directory / TABLE))
            for name in state.archives():
                _link(folder / name, draft.directory / name)
            outcomes = {
                str(outcome): count for outcome, count in sorted(state.counts().items(), key=lambda it: str(it[0]))
            }
        manifest.counts = {"addresses": sum(outcomes.values()), "pages": outcomes.get("ok", 0)}
        manifest.details["outcomes"] = outcomes
    shutil.rmtree(folder, ignore_errors=True)
    return Crawl(output)


def state_folder(output: str | Path) -> Path:
    """Where the state of a crawl into ``output`` lies while it is not done: a hidden folder beside it."""
    target = Path(os.path.abspath(output))
    if target.is_symlink() and target.exists():
        target = target.resolve()
    return target.with_name(f".{target.name}.crawl")


def _is_done(folder: Path, output: Path) -> bool:
    """Whether the state is of the crawl that stands at ``output`` already: it was killed before it could clear away."""
    if not folder.is_dir():
        return False
    with contextlib.suppress(ArtefactError, InputError, StoreError):
        made = read_manifest(output).files.get(TABLE)
        with State(folder) as state:
            return made is not None and state.table == made.sha256
    return False


def _forget(folder: Path) -> None:
    """Remove the state of an interrupted crawl, unless another crawl is at it."""
    if folder.is_dir():
        with contextlib.suppress(StoreError), State(folder):
            pass
        shutil.rmtree(folder)


def progress_of(output: str | Path) -> tuple[int, int]:
    """How many addresses of the interrupted crawl into ``output`` are done, and how many there are; zeros where none is."""
    folder = state_folder(output)
    if not folder.is_dir():
        return 0, 0
    with _store_errors(folder), State(folder) as state:
        counts = state.counts()
    total = sum(counts.values())
    return total - counts.get(None, 0), total


@contextlib.contextmanager
def _store_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the state of the crawl cannot be kept: {error}", where=folder) from None
    except OSError as error:
        where = error.filename or folder
        raise StoreError(f"cannot be written: {error.strerror or error}", where=where) from None


def _said(options: CrawlOptions) -> dict[str, Any]:
    """The options as a manifest says them."""
    names = (
        "user_agent",
        "contact",
        "delay_s",
        "max_delay_s",
        "page_time_s",
        "total_time_s",
        "max_bytes",
        "max_redirects",
    )
    said = {name: getattr(options, name) for name in (*names, "tries", "max_retry_after_s", "max_pages", "text")}
    return {**said, "ports": sorted(options.ports)}


def _load(state: State, urls: Iterable[str]) -> None:
    """Bring the addresses into the state, or see that they are those that are there."""
    digest = hashlib.sha256()

    def addresses() -> Iterator[tuple[str, str, str | None, str | None]]:
        for url in urls:
            row = _waiting(url)
            digest.update(row[0].encode("utf-8", "replace") + b"\n")
            yield row

    if state.source is None:
        try:
            state.load(addresses())
        except BaseException:
            # A list that cannot be read whole leaves nothing behind.
            shutil.rmtree(state.folder, ignore_errors=True)
            raise
        state.loaded(digest.hexdigest())
        return
    for _ in addresses():
        pass
    if state.source != digest.hexdigest():
        raise InputError(
            "an interrupted crawl of other addresses is there",
            where=state.folder,
            hint="--fresh forgets it, or name another output",
        )


def _waiting(url: str) -> tuple[str, str, str | None, str | None]:
    """An address as the state takes it: its one form and its host, or why it cannot be asked for."""
    try:
        address = address_of(url)
    except AddressError as error:
        text = url.strip().encode("utf-8", "replace").decode()[:2000]
        return text, "", "bad-address", str(error)
    return address.url, address.host, None, None


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, so that the state stays whole until the artefact is there; copy it where that cannot be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


class _Crawler:
    """One run over a state."""

    def __init__(self, state: State, options: CrawlOptions, follow: Follow | None, progress: Progress) -> None:
        self._state = state
        self._options = options
        self._follow = follow
        self._progress = progress
        self._hosts = Hosts(options.delay_s, options.max_delay_s)
        self._ready: list[tuple[float, int, str]] = []
        self._queued: set[str] = set()
        self._outage: Outage
        self._number = 0
        counts = state.counts()
        self._total = sum(counts.values())
        self._begun = self._total - counts.get(None, 0) - counts.get("bad-address", 0)
        progress(self._total - counts.get(None, 0), self._total)

    async def run(self) -> None:
        """Ask for what is waiting, until nothing is, or the time or the number of pages is reached."""
        archive = Archive(self._state.folder, self._state.archives(), self._options.warc_bytes, self._options.agent)
        extractor = Extractor()
        try:
            async with network(self._options) as opened, asyncio.timeout(self._options.total_time_s):
                self._outage = Outage(opened.knows)
                fetcher = Fetcher(opened.session, self._options, self._hosts)
                await self._dispatch(lambda host: self._step(host, fetcher, archive, extractor))
        except OfflineError:
            # Those that were taken for dead are asked for again as well.
            self._state.reset("dns")
            raise InputError(
                "no host can be found any more; is this machine connected to the network?",
                where=self._state.folder,
                hint="the same command goes on from where it is",
            ) from None
        except TimeoutError:
            seconds = self._options.total_time_s or 0
            self._give_up(f"the time for the crawl ({seconds:g} s) was over")
        else:
            self._give_up(f"the number of pages ({self._options.max_pages}) was reached")
        finally:
            await extractor.close()
            archive.close()

    def _give_up(self, reason: str) -> None:
        self._advance(self._state.give_up_all("not-reached", reason))

    async def _dispatch(self, step: Callable[[str], Any]) -> None:
        """Run a step for each host whose time has come, so many at a time as may be, until no host is left."""
        loop = asyncio.get_running_loop()
        # Hosts of one site, which stand side by side by name, are often one machine: they are not asked side by side.
        for host in sorted(
            self._state.hosts(), key=lambda name: hashlib.blake2b(name.encode(), digest_size=8).digest()
        ):
            self._push(host, 0.0)
        active: set[asyncio.Task[None]] = set()
        try:
            while True:
                room = self._options.concurrency - len(active)
                while room > 0 and self._ready and self._ready[0][0] <= loop.time() and self._may_begin():
                    host = heapq.heappop(self._ready)[2]
                    self._begun += 1
                    active.add(asyncio.create_task(step(host)))
                    room -= 1
                if not active and not (self._ready and self._may_begin()):
                    return
                wait = (
                    max(0.0, self._ready[0][0] - loop.time())
                    if room > 0 and self._ready and self._may_begin()
                    else None
                )
                if not active:
                    await asyncio.sleep(wait or 0.0)
                    continue
                done, active = await asyncio.wait(active, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            for task in active:
                task.cancel()
            await asyncio.gather(*active, return_exceptions=True)

    def _may_begin(self) -> bool:
        return self._options.max_pages is None or self._begun < self._options.max_pages

    def _push(self, host: str, time: float) -> None:
        self._queued.add(host)
        self._number += 1
        heapq.heappush(self._ready, (time, self._number, host))

    def _advance(self, done: int, found: int = 0) -> None:
        self._total += found
        self._progress(done, self._total)

    async def _step(self, name: str, fetcher: Fetcher, archive: Archive, extractor: Extractor) -> None:
        """Ask a host for its next page."""
        waiting = self._state.next_of(name)
        if waiting is None:
            self._begun -= 1
            self._queued.discard(name)
            return
        try:
            fetched = await fetcher.fetch(waiting.url)
        except RefusedError as failure:
            if failure.status is not None or failure.outcome == "robots" or (failure.host or name) != name:
                self._outage.met(name)
            if isinstance(failure, TryAgainError) and waiting.tries + 1 < self._options.tries:
                self._later(name, waiting, failure)
            else:
                await self._refused(name, waiting, failure)
        else:
            self._outage.met(name)
            self._hosts.get(name).failures = 0
            await self._keep(waiting, fetched, archive, extractor)
        if self._state.next_of(name) is None:
            self._queued.discard(name)
        else:
            self._push(name, self._hosts.get(name).next_time)

    def _later(self, name: str, waiting: Waiting, failure: TryAgainError) -> None:
        """Have a page asked for again after a while."""
        self._begun -= 1
        self._state.tried(waiting)
        back_off = self._options.back_off_s * 2**waiting.tries
        wait = failure.wait_s if failure.wait_s is not None else back_off
        for host in {name, failure.host or name}:
            self._hosts.get(host).wait(wait)

    async def _refused(self, name: str, waiting: Waiting, failure: RefusedError) -> None:
        """Write down why a page is not to be had; a host that fails on and on is given up."""
        result = Result(
            waiting.url, failure.status, failure.outcome, content_type=failure.content_type, reason=failure.reason
        )
        self._state.record(waiting, result, None)
        self._advance(1)
        failed = failure.host or name
        host = self._hosts.get(failed)
        host.failures = host.failures + 1 if failure.outcome in _HOST_FAILURES else 0
        # A name without an address has none for the next page either.
        if host.failures >= _MOST_FAILURES or failure.outcome == "dns":
            self._advance(self._state.give_up(failed, failure.outcome, f"not asked for: {failure.reason}"))
        if failure.outcome == "dns":
            await self._outage.lost(failed, last=not self._ready)

    async def _keep(self, waiting: Waiting, fetched: Fetched, archive: Archive, extractor: Extractor) -> None:
        """Archive a page, take its text out, and write it down."""
        page = fetched.page
        result = Result(
            waiting.url, page.status, "ok", page.final_url, page.content_type, page.charset, bytes=len(page.body)
        )
        if page.fetched_at is not None:
            result.fetched_at = int(page.fetched_at.timestamp() * 1000)
        if self._options.text:
            try:
                result.title, result.text, result.charset = await extractor.extract(page.body, page.charset)
            except ExtractionError as error:
                result.reason = str(error)
        found = [row[:2] for row in self._found(page, waiting.depth) if row[2] is None]
        # From here on nothing is awaited: the archive and the row stand or fall together.
        result.warc_file, result.warc_offset, size = archive.write(fetched.exchanges)
        added = self._state.record(waiting, result, (result.warc_file, size), found)
        for _, host in found if added else ():
            if host not in self._queued:
                self._push(host, 0.0)
        self._advance(1, added)

    def _found(self, page: Page, depth: int) -> Iterator[tuple[str, str, str | None, str | None]]:
        if self._follow is None or depth >= self._options.depth:
            return
        for url in self._follow(page):
            with contextlib.suppress(ValueError):
                yield _waiting(urljoin(page.final_url, url))
