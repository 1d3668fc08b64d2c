"""Dumps into Parquet: every table in byte ranges of a fixed size, several at a time, each part file kept for the next build."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tertulia import __version__
from tertulia.corpus.exchange import Report
from tertulia.errors import InputError, MissingExtraError
from tertulia.stackexchange.archives import unpack
from tertulia.stackexchange.cache import Cache, put_file, put_json, read_json
from tertulia.stackexchange.dumps import FILES, Site, TableFile, find_sites
from tertulia.stackexchange.parts import PartReport, RowError, read_part, write_part
from tertulia.stackexchange.ranges import Frame, StoppedError, range_starts, read_frame
from tertulia.stackexchange.rows.schema import SCHEMAS
from tertulia.stackexchange.tables import COLUMNS, write_empty

__all__ = ["Parsed", "Progress", "parse_dumps"]

Progress = Callable[[int, int | None], None]
"""Told the bytes of XML read since the last call, and the bytes in all; calls do not overlap."""

RANGE = 64 << 20
BLOCK = 8 << 20
# Part files of another version are not taken over. The version of the package is in the key of an entry too.
_VERSION = 1


@dataclass
class Parsed:
    """What parsing dumps leaves.

    Attributes
    ----------
    sites:
        The sites, in order of domain; ``Site.tables`` has the tables that are there.
    tables:
        Table → its Parquet files, those of all sites; a table that no site has, or that was not asked for, has one without rows.
    report:
        What was left out, and what is worth knowing.
    inputs:
        For each table that was read its name (``beer_20200531/Posts.xml``), its bytes, and ``blake3``: the digest of the
        digests of its ranges, so that it takes no pass of its own.
    bytes:
        The bytes of XML that were read, now or by a build before.
    """

    sites: list[Site]
    tables: dict[str, list[Path]]
    report: Report
    inputs: list[dict[str, Any]]
    bytes: int
    cache: Cache
    entries: list[Path] = field(default_factory=list)

    def remove(self) -> None:
        """Remove the Parquet files, unless another build is at work in the same cache."""
        self.cache.remove(self.entries)
        self.cache.close()

    def close(self) -> None:
        """The Parquet files are needed no more, and are kept."""
        self.cache.close()


@dataclass
class _Job:
    """One table of one dump on its way to Parquet."""

    site: Site
    file: TableFile
    entry: Path
    range_size: int
    stamp: tuple[int, int]
    frame: Frame | None = None
    starts: list[int] = field(default_factory=list)
    reports: list[PartReport | None] = field(default_factory=list)

    @property
    def xml(self) -> Path:
        """The XML file: the dump's own, or the place of the one that is unpacked."""
        return self.file.path if self.file.member is None else self.entry / self.file.name

    @property
    def is_complete(self) -> bool:
        return self.frame is not None and None not in self.reports

    def part(self, index: int) -> Path:
        return self.entry / f"part-{index:05d}.parquet"

    def take(self, frame: Frame) -> None:
        """Cut the file into ranges, and take over the parts that are there."""
        self.frame = frame
        self.starts = range_starts(frame, self.range_size)
        self.reports = [read_part(self.part(index)) for index in range(len(self.starts))]

    def line(self, index: int, line: int) -> int:
        """The number in the file of a line of a range; the ranges before must be there."""
        before = sum(report.lines for report in self.reports[:index] if report is not None)
        return (self.frame.line if self.frame else 1) + before + line


class _Control:
    """What threads share: the progress, and from which task on work is of no use any more."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._lock = threading.Lock()
        self._progress = progress
        self._total = total
        self.limit: float = float("inf")

    def step(self, task: int, count: int) -> None:
        """Tell the progress, and stop where an earlier task has failed."""
        if task > self.limit:
            raise StoppedError
        with self._lock:
            self._progress(count, self._total)

    def stop_after(self, task: float) -> None:
        with self._lock:
            self.limit = min(self.limit, task)


def parse_dumps(
    dumps: Sequence[Path],
    cache: Path,
    *,
    names: Mapping[str, str] | None = None,
    tables: Collection[str] = ("posts", "comments", "users", "votes"),
    skip_bad: bool = False,
    workers: int = 2,
    progress: Progress = lambda _done, _total: None,
    range_size: int = RANGE,
    block_size: int = BLOCK,
) -> Parsed:
    """Parse tables of dumps to Parquet files in a cache, or take over what an earlier build has parsed.

    Memory holds some 50 MB a worker. The files do not depend on the number of workers.

    Parameters
    ----------
    dumps:
        Folders and ``.7z`` archives; see :func:`tertulia.stackexchange.dumps.find_sites`.
    cache:
        The folder for Parquet files, and for the XML of archives while it is read.
    names:
        Name of a dump → host of its site.
    tables:
        Which tables to read: ``posts``, ``comments``, ``users``, ``votes``, ``history``.
    skip_bad:
        Leave malformed rows out and count them; a table that is cut off is read as far as it goes.
    workers:
        How many ranges, or archives, are read at a time.
    range_size, block_size:
        Bytes of a range, which makes a part file, and of a block within it, which is in memory.

    Raises
    ------
    InputError
        Naming the file, and the line of the first malformed row.
    """
    _check_blake3()
    store = Cache(cache)
    try:
        return _parse(dumps, store, names, tables, skip_bad, max(1, workers), progress, range_size, block_size)
    except BaseException:
        store.close()
        raise


def _parse(
    dumps: Sequence[Path],
    store: Cache,
    names: Mapping[str, str] | None,
    tables: Collection[str],
    skip_bad: bool,
    workers: int,
    progress: Progress,
    range_size: int,
    block_size: int,
) -> Parsed:
    sites = find_sites(dumps, names, tables)
    jobs = [_job(site, site.tables[t], store, range_size) for site in sites for t in FILES if t in site.tables]
    packed = [job for job in jobs if job.file.member is not None and not job.is_complete and not _is_unpacked(job)]
    total = sum(job.file.size for job in jobs) + sum(job.file.size for job in packed)
    control = _Control(progress, total)
    progress(0, total)
    with _threads(workers, control) as pool:
        _unpack(packed, control, pool)
        for job in jobs:
            frame = job.frame or _read_frame(job)
            if not frame.is_whole and not skip_bad:
                raise _cut_off(job)
        _scan(jobs, skip_bad, control, pool, block_size)
    for job in jobs:
        _check_unchanged(job)
    parsed = Parsed(sites, {}, _report(sites, jobs, tables), [_input(job) for job in jobs], 0, store)
    parsed.bytes = sum(job.file.size for job in jobs)
    parsed.entries = [job.entry for job in jobs]
    for table in FILES:
        mine = [job for job in jobs if job.file.table == table]
        parsed.tables[table] = [job.part(i) for job in mine for i in range(len(job.starts))] or [_empty(store, table)]
    return parsed


# ---------------------------------------------------------------- before reading


def _check_blake3() -> None:
    try:
        import blake3  # noqa: F401
    except ImportError:
        raise MissingExtraError("stackexchange build", package="blake3", extra="full") from None


def _job(site: Site, file: TableFile, store: Cache, range_size: int) -> _Job:
    stamp = _stamp(file)
    made_from = {
        "file": [str(file.path.absolute()), file.member, file.size, *stamp],
        "site": site.index,
        "range": range_size,
        "rows": repr(SCHEMAS[file.table]),
        "columns": COLUMNS[file.table],
        "version": [_VERSION, __version__],
    }
    job = _Job(site, file, store.entry(f"{site.domain}-{file.table}", made_from), range_size, stamp)
    frame = _frame_from_json(read_json(job.entry / "frame.json"))
    if frame is not None and frame.size == file.size:
        job.take(frame)
    return job


def _stamp(file: TableFile) -> tuple[int, int]:
    try:
        state = file.path.stat()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=file.path) from None
    return state.st_size, state.st_mtime_ns


def _check_unchanged(job: _Job) -> None:
    if _stamp(job.file) != job.stamp:
        raise InputError("was changed while it was read; expected a dump at rest", where=job.file.path)


def _is_unpacked(job: _Job) -> bool:
    return job.xml.is_file() and job.xml.stat().st_size == job.file.size


def _read_frame(job: _Job) -> Frame:
    frame = read_frame(job.xml, job.file.shown, _root(job))
    put_json(job.entry / "frame.json", _frame_to_json(frame))
    job.take(frame)
    return frame


def _root(job: _Job) -> str:
    return FILES[job.file.table].lower().removesuffix(".xml")


def _frame_to_json(frame: Frame) -> list[Any]:
    return [frame.size, frame.start, frame.end, frame.line, frame.is_whole]


def _frame_from_json(value: Any) -> Frame | None:
    if not isinstance(value, list) or [type(item) for item in value] != [int, int, int, int, bool]:
        return None
    return Frame(*value)


def _cut_off(job: _Job) -> InputError:
    root = _root(job)
    hint = "--skip-bad takes what is there"
    if job.file.size == 0:
        return InputError(f"is empty (0 bytes); expected <{root}> with rows", where=job.file.shown, hint=hint)
    return InputError(f"ends without </{root}>, so it is cut off", where=job.file.shown, hint=hint)


# ---------------------------------------------------------------- reading


@contextmanager
def _threads(workers: int, control: _Control) -> Iterator[ThreadPoolExecutor]:
    """Threads that stop soon when something fails, Ctrl-C too."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="parse")
    try:
        yield pool
    finally:
        control.stop_after(-1)
        pool.shutdown(wait=True, cancel_futures=True)


def _unpack(packed: list[_Job], control: _Control, pool: ThreadPoolExecutor) -> None:
    """Unpack the tables of archives that have to be read, an archive a thread."""
    archives: dict[Path, list[_Job]] = {}
    for job in packed:
        archives.setdefault(job.file.path, []).append(job)

    def unpack_one(task: int, jobs: list[_Job]) -> None:
        targets = {str(job.file.member): job.xml for job in jobs}
        sizes = {str(job.file.member): job.file.size for job in jobs}
        unpack(jobs[0].file.path, targets, sizes, lambda count: control.step(task, count))

    futures = {pool.submit(unpack_one, task, jobs): task for task, jobs in enumerate(archives.values())}
    errors = _gather(futures, control)
    if errors:
        raise errors[min(errors)]


def _scan(jobs: list[_Job], skip_bad: bool, control: _Control, pool: ThreadPoolExecutor, block_size: int) -> None:
    """Parse the ranges that are not there yet; the error is that of the first malformed row, however threads run."""
    tasks = [(job, index) for job in jobs for index in range(len(job.starts))]
    missing: dict[int, int] = {}
    errors: dict[int, BaseException] = {}
    futures: dict[Future[Any], int] = {}
    for task, (job, index) in enumerate(tasks):
        report = job.reports[index]
        if report is None:
            missing[id(job)] = missing.get(id(job), 0) + 1
            continue
        control.step(0, report.bytes)
        if report.problems and not skip_bad:
            errors[task] = RowError(report.first_line, report.first_message)
            control.stop_after(task)
            break

    def scan_one(task: int, job: _Job, index: int, frame: Frame) -> None:
        report = write_part(
            job.xml,
            job.part(index),
            frame,
            job.starts[index : index + 2],
            schema=SCHEMAS[job.file.table],
            site=job.site.index,
            shown=job.file.shown,
            skip_bad=skip_bad,
            block_size=block_size,
            step=lambda count: control.step(task, count),
        )
        job.reports[index] = report

    for task, (job, index) in enumerate(tasks):
        if job.reports[index] is None and job.frame is not None and task <= control.limit:
            futures[pool.submit(scan_one, task, job, index, job.frame)] = task

    def done(task: int) -> None:
        job, _ = tasks[task]
        missing[id(job)] -= 1
        if not missing[id(job)]:
            _remove_unpacked(job)

    errors |= _gather(futures, control, done)
    if errors:
        task = min(errors)
        job, index = tasks[task]
        error = errors[task]
        if isinstance(error, RowError):
            hint = None if error.is_fatal else "--skip-bad leaves such rows out"
            raise InputError(error.message, where=f"{job.file.shown}:{job.line(index, error.line)}", hint=hint)
        raise error
    for job in jobs:
        _remove_unpacked(job)


def _gather(
    futures: dict[Future[Any], int], control: _Control, done: Callable[[int], None] = lambda _task: None
) -> dict[int, BaseException]:
    """Wait for tasks; one that fails stops those behind it, so that what fails first in order is known whatever ran first."""
    errors: dict[int, BaseException] = {}
    waiting = set(futures)
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            error = None if future.cancelled() else future.exception()
            if error is None:
                if not future.cancelled():
                    done(futures[future])
            elif not isinstance(error, StoppedError):
                errors[futures[future]] = error
                control.stop_after(futures[future])
                for other in waiting:
                    if futures[other] > control.limit:
                        other.cancel()
    return errors


def _remove_unpacked(job: _Job) -> None:
    if job.file.member is not None:
        job.xml.unlink(missing_ok=True)


# ---------------------------------------------------------------- after reading


def _empty(store: Cache, table: str) -> Path:
    """A Parquet file of a table without rows."""
    entry = store.entry(f"none-{table}", {"columns": COLUMNS[table], "version": [_VERSION, __version__]})
    path = entry / "part-00000.parquet"
    if not path.is_file():
        put_file(path, lambda temporary: write_empty(temporary, table))
    return path


def _input(job: _Job) -> dict[str, Any]:
    from blake3 import blake3

    digest = blake3()
    for report in job.reports:
        digest.update(bytes.fromhex(report.blake3 if report else ""))
    return {"name": f"{job.site.label}/{job.file.name}", "bytes": job.file.size, "blake3": digest.hexdigest()}


def _report(sites: Sequence[Site], jobs: Sequence[_Job], tables: Collection[str]) -> Report:
    report = Report()
    for job in jobs:
        prefix = f"{job.site.name}/" if len(sites) > 1 else ""
        if job.frame is not None and not job.frame.is_whole:
            report.skip("tables that end before their end tag", f"{prefix}{job.file.name}")
        for index, part in enumerate(job.reports):
            if part is None:
                continue
            if part.problems:
                place = f"{prefix}{job.file.name}:{job.line(index, part.first_line)}"
                report.skip("malformed rows", f"{place}: {part.first_message}", part.problems)
            if job.file.table == "posts":
                report.note("posts that are neither question nor answer", None, part.left_out)
            if part.nameless:
                place = f"{prefix}{job.file.name}, id {part.first_nameless}"
                report.note(f"{job.file.table} without a user id", place, part.nameless)
    for site in sites:
        for table, file in FILES.items():
            if table in tables and table not in site.tables:
                report.note(f"dumps without {file}", f"{site.name}: there is no {file}")
    return report
