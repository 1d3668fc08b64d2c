"""Fetching a corpus of the catalogue into a folder, which keeps in ``fetched.json`` what was fetched from where.

Files come one by one; each takes its name only whole and checked. What is there and as it was is not fetched again, and a file
that was changed is never replaced unasked.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

from tertulia.artefact import write_atomically
from tertulia.errors import ArtefactError, ConfigurationError
from tertulia.formats.fetching.catalogue import FETCHED, Entry, RemoteFile, safe_name
from tertulia.formats.fetching.download import Downloader, DownloadOptions, Received, digests_of
from tertulia.formats.fetching.listing import files_of_listing
from tertulia.formats.fetching.unpacking import Unpacked, unpack

__all__ = ["FetchOptions", "Fetched", "fetch"]

_SCHEMA = 1
_LONGEST_LISTING = 32_000_000


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """What a user may ask of a fetch.

    ``only`` are patterns of file names, empty for all files; ``overwrite`` fetches anew what is there; ``unpack`` unpacks zip
    and gzip files beside themselves; ``accept`` is asked once about the licence, with the entry and the bytes of its files.
    """

    accept: Callable[[Entry], bool]
    only: Sequence[str] = ()
    overwrite: bool = False
    unpack: bool = False
    download: DownloadOptions = field(default_factory=DownloadOptions)


@dataclass(slots=True)
class Fetched:
    """What a folder holds after a fetch.

    ``files`` maps a name to what is known of it (``url``, ``bytes``, ``sha256``, ``etag``, ``last_modified``, ``checked``: the
    kinds of digest that were known beforehand and hold); ``new`` names those that this fetch brought.
    """

    entry: Entry
    folder: Path
    files: dict[str, dict[str, Any]]
    new: list[str]
    unpacked: dict[str, Unpacked]

    @property
    def bytes(self) -> int:
        """The bytes of all files."""
        return sum(file["bytes"] for file in self.files.values())


@contextlib.contextmanager
def _no_progress() -> Iterator[Callable[[int, int | None], None]]:
    yield lambda _done, _total: None


def fetch(
    entry: Entry,
    folder: Path,
    options: FetchOptions,
    progress: Callable[[], AbstractContextManager[Callable[[int, int | None], None]]] = _no_progress,
) -> Fetched:
    """Bring the files of an entry into ``folder``, which is made where it is not there.

    ``progress`` is opened when the licence is accepted and the first bytes are to come; what it gives is told the bytes since the
    last call and the bytes in all, or ``None`` where they are not known.

    Raises
    ------
    ConfigurationError
        The licence was not accepted, or ``only`` names no file.
    ArtefactError
        ``folder`` holds something else, a file in it was changed, or it cannot be written.
    InputError
        A file cannot be had; what has arrived of it is kept.
    """
    known = _read_record(folder, entry, options.overwrite)
    with Downloader(options.download) as downloader:
        entry = _with_files(entry, known, downloader, options)
        wanted = [file for file in entry.files if _is_wanted(file.name, options.only)]
        if not wanted:
            raise ConfigurationError(
                f"no file of {entry.name} is named like {' or '.join(options.only)}; "
                f"there are: {', '.join(file.name for file in entry.files[:20])}"
            )
        if known.get("terms") != entry.terms and not options.accept(entry):
            raise ConfigurationError(f"{entry.name} was not fetched: its licence was not accepted")
        with _locked(folder), progress() as advance:
            return _fetch_files(entry, wanted, folder, downloader, options, known, advance)


def _fetch_files(
    entry: Entry,
    wanted: list[RemoteFile],
    folder: Path,
    downloader: Downloader,
    options: FetchOptions,
    known: dict[str, Any],
    tell: Callable[[int, int | None], None],
) -> Fetched:
    files: dict[str, dict[str, Any]] = known.get("files", {})
    unpacked: dict[str, Unpacked] = known.get("unpacked", {})
    result = Fetched(entry, folder, files, [], unpacked)
    missing = [file for file in wanted if not _is_intact(file, folder, files, options.overwrite)]
    _write_record(result)
    advance = _Progress([file.bytes for file in missing], tell)
    for number, file in enumerate(missing):
        target = folder / file.name
        _make_parents(target, folder)

        def record(received: Received, file: RemoteFile = file) -> None:
            files[file.name] = {key: value for key, value in asdict(received).items() if value is not None}
            files[file.name]["checked"] = [kind for kind in received.checked if kind in file.digests]
            _write_record(result)

        downloader.download(_expected(file, files, options.overwrite), target, advance.of(number), record)
        result.new.append(file.name)
    if options.unpack:
        for file in wanted:
            done = unpack(folder / file.name, folder, again=file.name in result.new, before=unpacked.get(file.name))
            if done is not None:
                unpacked[file.name] = done
        _write_record(result)
    result.files = {file.name: files[file.name] for file in entry.files if file.name in files}
    return result


def _with_files(entry: Entry, known: dict[str, Any], downloader: Downloader, options: FetchOptions) -> Entry:
    """The entry with its files, read from its listing where it has one, or from what was fetched before."""
    if entry.listing is None:
        return entry
    recorded = known.get("listed")
    if recorded and not options.overwrite:
        files = tuple(RemoteFile(f["name"], tuple(f["urls"]), f["bytes"], f["digests"]) for f in recorded)
        return replace(entry, files=files)
    return replace(entry, files=files_of_listing(entry, downloader.small(entry.listing, _LONGEST_LISTING)))


def _is_wanted(name: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _is_intact(file: RemoteFile, folder: Path, files: dict[str, dict[str, Any]], overwrite: bool) -> bool:
    """Whether a file is there and is what it should be; one that is there and is not is an error unless overwritten."""
    target = folder / file.name
    if overwrite or not target.exists():
        return False
    recorded = files.get(file.name)
    expected = dict(file.digests)
    if recorded is not None:
        expected.setdefault("sha256", recorded["sha256"])
    if not target.is_file():
        raise ArtefactError("is not a file; expected what was fetched", where=target, hint="name another path")
    if not expected:
        raise ArtefactError(
            "is there already, and was not fetched by this command", where=target, hint="--overwrite replaces it"
        )
    found = digests_of(target, tuple({"sha256": "", **expected}))
    if any(found[kind] != digest for kind, digest in expected.items()):
        raise ArtefactError(
            "is not as it was fetched, or not what the catalogue says now",
            where=target,
            hint="move it away, or replace it with --overwrite",
        )
    if recorded is None:
        files[file.name] = {
            "url": file.urls[0],
            "bytes": target.stat().st_size,
            "sha256": found["sha256"],
            "checked": list(file.digests),
        }
    return True


def _expected(file: RemoteFile, files: dict[str, dict[str, Any]], overwrite: bool) -> RemoteFile:
    """The file with what is known of it: by the catalogue, or else by the first time it was fetched."""
    recorded = files.get(file.name)
    if recorded is None or overwrite or file.digests:
        return file
    return replace(file, bytes=recorded["bytes"], digests={"sha256": recorded["sha256"]})


class _Progress:
    """The progress of several files as one: what has come of all, and the sum where every size is known."""

    def __init__(self, sizes: list[int | None], tell: Callable[[int, int | None], None]) -> None:
        self._sizes = sizes
        self._tell = tell

    def of(self, number: int) -> Callable[[int, int | None], None]:
        def advance(step: int, total: int | None) -> None:
            if total is not None:
                self._sizes[number] = total
            known = [size for size in self._sizes if size is not None]
            self._tell(step, sum(known) if len(known) == len(self._sizes) else None)

        return advance


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other fetches out of it."""
    if folder.is_symlink() and not folder.exists():
        raise ArtefactError("is a link to nothing; expected the path of a folder", where=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(f"cannot be made: {error.strerror}", where=folder) from None
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArtefactError("is being fetched into by another process", where=folder, hint="wait for it") from None
        except OSError:
            # A file system without locks.
            pass
        yield
    finally:
        os.close(descriptor)


def _make_parents(target: Path, folder: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(f"cannot be made: {error.strerror}", where=target.parent) from None
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise ArtefactError("leads out of the folder", where=target.parent, hint="a link is in the way")


def _read_record(folder: Path, entry: Entry, overwrite: bool) -> dict[str, Any]:
    """What ``fetched.json`` says; empty for a folder that is empty or not there yet.

    A folder with anything in it that no fetch has begun is left alone.
    """
    path = folder / FETCHED
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise ArtefactError(
                f"holds other files and no {FETCHED}, so it is left alone", where=folder, hint="name another path"
            ) from None
        return {}
    except OSError as error:
        raise ArtefactError(
            "is a file; expected the path of a folder" if folder.is_file() else f"cannot be read: {error.strerror}",
            where=folder,
        ) from None
    try:
        record = _parse_record(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ConfigurationError):
        if overwrite:
            return {}
        raise ArtefactError(
            "is not what a fetch has written", where=path, hint="--overwrite fetches everything again"
        ) from None
    if record["name"] != entry.name:
        raise ArtefactError(
            f"holds {record['name']}, and {entry.name} is to be fetched, so it is left alone",
            where=folder,
            hint="name another path",
        )
    return record


def _parse_record(value: Any) -> dict[str, Any]:
    """What a record holds, checked; any error means that it is none."""
    if value["fetched"] != _SCHEMA or not isinstance(value["name"], str):
        raise ValueError
    files = {}
    for name, file in value["files"].items():
        if not isinstance(file["bytes"], int) or not isinstance(file["sha256"], str):
            raise ValueError
        files[name] = dict(file)
    listed = value.get("listed")
    for file in listed or []:
        RemoteFile(safe_name(file["name"], FETCHED), tuple(file["urls"]), file["bytes"], dict(file["digests"]))
    return {
        "name": value["name"],
        "terms": f"{value['licence']}\n{value['asks']}".strip(),
        "files": files,
        "listed": listed,
        "unpacked": {name: Unpacked(**done) for name, done in value["unpacked"].items()},
    }


def _write_record(fetched: Fetched) -> None:
    """Write ``fetched.json``: no time and no path of this machine, so that equal fetches give equal bytes."""
    entry = fetched.entry
    record = {
        "fetched": _SCHEMA,
        "name": entry.name,
        "title": entry.title,
        "licence": entry.licence,
        "asks": entry.asks,
        "citation": entry.citation,
        "homepage": entry.homepage,
        "files": {name: fetched.files[name] for name in sorted(fetched.files)},
        "unpacked": {name: asdict(done) for name, done in sorted(fetched.unpacked.items())},
    }
    if entry.listing is not None:
        record["listing"] = entry.listing
        record["listed"] = [
            {"name": file.name, "urls": list(file.urls), "bytes": file.bytes, "digests": dict(file.digests)}
            for file in entry.files
        ]
    try:
        write_atomically(fetched.folder / FETCHED, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise ArtefactError(f"cannot be written: {error.strerror}", where=fetched.folder / FETCHED) from None
