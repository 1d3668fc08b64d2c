"""An artefact: a directory with a manifest that says what it is, from what and how it was made, and its digests.

Every corpus, index, model, run and bot is one. An artefact is written into a sibling temporary directory that is
renamed at the end, so that a writer which is killed leaves the old artefact or none, never half of one. The same
inputs, options and seed give byte-identical files, the manifest among them: it holds no time and no absolute path.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

if sys.platform != "win32":
    import fcntl

from tertulia import __version__
from tertulia.errors import ArtefactError, InputError

__all__ = [
    "MANIFEST",
    "Draft",
    "FileEntry",
    "Manifest",
    "canonical_json",
    "create",
    "digest_of_path",
    "put_in_place",
    "read_manifest",
    "sha256_of",
    "verify",
    "work_directory",
    "write_atomically",
    "write_manifest",
]

MANIFEST = "manifest.json"
# One encoder for all: a corpus has an object of attributes for every row.
_ENCODE = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_CHUNK = 1 << 20
_SCHEMA = 1
# Linux: exchange two names in one step (renameat2(2)), relative to the working directory.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The size in bytes and the SHA-256 (hexadecimal) of one file of an artefact."""

    bytes: int
    sha256: str


@dataclass(slots=True)
class Manifest:
    """What an artefact is and where it came from.

    ``files`` maps a path relative to the artefact, with forward slashes, to its entry. ``editable`` names the files that a
    user may change by hand (such as ``bot.toml``): that they differ is no error. ``parts`` maps the name of a directory
    that is an artefact of its own inside this one (a bot's bank) to its digest when this one was made; a part may grow
    since, and answers for its own files.
    """

    kind: str
    schema: int = 1
    tertulia: str = __version__
    command: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    inputs: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    licence: str | None = None
    citation: str | None = None
    files: dict[str, FileEntry] = field(default_factory=dict)
    editable: list[str] = field(default_factory=list)
    parts: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The manifest as indented JSON with a fixed order of keys.

        Half a surrogate pair, which a file name that is not UTF-8 leaves in a report, is written as a JSON escape.
        """
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"
        return text.encode(errors="backslashreplace").decode()

    @property
    def digest(self) -> str:
        """One SHA-256 over all file digests: it stands for the artefact where it is an input of another."""
        listing = {name: entry.sha256 for name, entry in self.files.items()} | self.parts
        return hashlib.sha256(canonical_json(listing).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, and text as it is: equal values give equal bytes."""
    return "{}" if value == {} else _ENCODE(value)


def sha256_of(path: Path) -> str:
    """The SHA-256 of one file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of_path(path: Path, *, without: Path | None = None) -> dict[str, Any]:
    """What a manifest says of an input: its name, bytes and digest; a directory's digest is over names and digests.

    Hidden files and folders are no input, nor is what lies at ``without``: the output may be written inside the input.
    """
    name = _utf8(os.path.basename(os.path.abspath(path)))
    if not path.is_dir():
        return {"name": name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
    with contextlib.suppress(ArtefactError):
        manifest = read_manifest(path)
        total = sum(entry.bytes for entry in manifest.files.values())
        return {"name": name, "kind": manifest.kind, "bytes": total, "sha256": manifest.digest}
    digest, total = hashlib.sha256(), 0
    excluded = None if without is None else without.resolve()
    for relative in sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file()):
        file = path / relative
        if any(part.startswith(".") for part in relative.parts) or (
            excluded and file.resolve().is_relative_to(excluded)
        ):
            continue
        digest.update(os.fsencode(f"{relative.as_posix()}\0{sha256_of(file)}\n"))
        total += file.stat().st_size
    return {"name": name, "bytes": total, "sha256": digest.hexdigest()}


def _utf8(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 become replacement characters."""
    return os.fsencode(name).decode(errors="replace")


def write_atomically(path: Path, data: bytes) -> None:
    """Write one file so that a reader sees the old bytes or the new ones, never a part of them."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write (or replace, atomically) the manifest of an artefact."""
    write_atomically(directory / MANIFEST, manifest.to_json().encode())


@dataclass(slots=True)
class Draft:
    """An artefact that is being written: put files under ``directory`` and fill ``manifest``."""

    directory: Path
    manifest: Manifest


@contextlib.contextmanager
def create(path: str | Path, manifest: Manifest, *, overwrite: bool = False) -> Iterator[Draft]:
    """Write an artefact: yields a draft whose directory takes the name ``path`` when the block ends well.

    An existing artefact of the same kind is replaced only with ``overwrite``, and only at the end; anything else of that name
    is never replaced. Where ``path`` is a link, what it points to is replaced. What a killed writer left beside it is removed
    by the next one.

    Raises
    ------
    ArtefactError
        ``path`` exists and ``overwrite`` is not given, or it is not an artefact of this kind, or nothing can be written there.
    """
    target = Path(path)
    if target.name in ("", ".."):
        target = Path(os.path.abspath(target))
    if target.is_symlink() and target.exists():
        target = target.resolve()
    _check_target(target, manifest.kind, overwrite)
    with work_directory(target) as work:
        yield Draft(work, manifest)
        manifest.parts = {part: read_manifest(work / part).digest for part in _part_names(work)}
        manifest.files = _entries(work, tuple(manifest.parts))
        write_manifest(work, manifest)
        _check_target(target, manifest.kind, overwrite)
        put_in_place(work, target)


def _check_target(target: Path, kind: str, overwrite: bool) -> None:
    if target.is_symlink() and not target.exists():
        raise ArtefactError("is a link to nothing; expected a path to write to", where=target)
    if not target.exists():
        return
    if not target.is_dir():
        raise ArtefactError("is a file; expected the path of a directory to write", where=target)
    if not any(target.iterdir()):
        return
    found = _kind_at(target)
    if found is None:
        raise ArtefactError(
            "exists and is not an artefact of Tertulia, so it is left alone", where=target, hint="name another path"
        )
    if not overwrite:
        raise ArtefactError("exists already", where=target, hint="--overwrite replaces it")
    if found not in ("", kind):
        raise ArtefactError(
            f"is a {found}, and a {kind} is to be written, so it is left alone", where=target, hint="name another path"
        )


def _kind_at(directory: Path) -> str | None:
    """The kind of an artefact; empty where its manifest is damaged beyond reading, ``None`` where it is no artefact.

    Other programs have files named ``manifest.json`` too: one that is whole but names no kind is theirs.
    """
    try:
        value = json.loads((directory / MANIFEST).read_bytes())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except (ValueError, RecursionError):
        return ""
    kind = value.get("kind") if isinstance(value, dict) and "files" in value else None
    return kind if isinstance(kind, str) else None


@contextlib.contextmanager
def work_directory(target: Path) -> Iterator[Path]:
    """An empty hidden directory beside ``target`` to write in, removed afterwards unless it has been renamed.

    It is locked while its writer lives, so that the next writer of the same target can tell what a killed one has left, and
    removes it.

    Raises
    ------
    ArtefactError
        No directory can be made there.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        work, lock = _make_locked(target)
    except (FileExistsError, NotADirectoryError):
        raise ArtefactError("cannot be written: a part of its path is a file", where=target) from None
    except OSError as error:
        raise ArtefactError(f"cannot be written: {error.strerror}", where=target) from None
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _make_locked(target: Path) -> tuple[Path, int | None]:
    while True:
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
        work.chmod(0o755)
        lock = _lock(work, wait=True)
        if work.exists():
            return work, lock
        # Another writer took it for a leftover in the moment before it was locked.
        if lock is not None:
            os.close(lock)


def _lock(directory: Path, *, wait: bool) -> int | None:
    """Lock a directory until the descriptor is closed or the process ends; ``None`` where that cannot be."""
    if sys.platform == "win32":
        return None
    descriptor = None
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(target: Path) -> None:
    """Clear away what writers of this target that no longer run have left beside it.

    One that was killed between its two renames has left the old artefact under its ``.old`` name: it is put back.
    """
    leftover = re.compile(rf"\.{re.escape(target.name)}\.[^.]+\.(part|old)")
    for path in target.parent.iterdir():
        if not leftover.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        lock = _lock(path, wait=False)
        if lock is None:
            continue
        try:
            if path.suffix == ".old" and not target.exists():
                os.rename(path, target)
            else:
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)


def put_in_place(work: Path, target: Path) -> None:
    """Give what has been written at ``work`` the name ``target``, in one step; what was there before is removed.

    Where the system cannot exchange two names there are two renames: a crash between them leaves the old under a ``.old``
    name beside the target, from where the next writer puts it back.
    """
    try:
        if not target.exists() or (work.is_file() and target.is_file()):
            os.replace(work, target)
        elif _exchange(work, target):
            _remove(work)
        else:
            aside = target.with_name(f".{target.name}.{os.getpid()}.old")
            os.rename(target, aside)
            try:
                os.rename(work, target)
            except BaseException:
                os.rename(aside, target)
                raise
            _remove(aside)
    except OSError as error:
        raise ArtefactError(f"cannot be put in place: {error.strerror}", where=target) from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths exchange what they name, atomically; whether this system and file system could."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    done: int = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0


def _part_names(directory: Path) -> list[str]:
    return sorted(
        manifest.parent.relative_to(directory).as_posix()
        for manifest in directory.rglob(MANIFEST)
        if manifest.parent != directory
    )


def _entries(directory: Path, parts: tuple[str, ...]) -> dict[str, FileEntry]:
    """The entries of the files of an artefact, those of its parts left to them."""
    names = (file.relative_to(directory).as_posix() for file in directory.rglob("*") if file.is_file())
    own = sorted(name for name in names if name != MANIFEST and not any(name.startswith(f"{part}/") for part in parts))
    return {name: FileEntry((directory / name).stat().st_size, sha256_of(directory / name)) for name in own}


def read_manifest(path: str | Path, kind: str | None = None) -> Manifest:
    """Read the manifest of the artefact at ``path`` and, where ``kind`` is given, hold it to that kind."""
    directory = Path(path)
    file = directory / MANIFEST
    if not directory.exists():
        raise InputError("there is nothing at this path", where=directory)
    if not file.is_file():
        raise ArtefactError(f"has no {MANIFEST}, so it is not an artefact of Tertulia", where=directory)
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        manifest = _parse(raw)
    except (ValueError, RecursionError) as error:
        raise ArtefactError(f"is not a manifest of Tertulia: {error}", where=file) from None
    if kind is not None and manifest.kind != kind:
        raise ArtefactError(f"is a {manifest.kind}; expected a {kind}", where=directory)
    return manifest


_TYPES: dict[str, type | tuple[type, ...]] = {
    "kind": str,
    "schema": int,
    "tertulia": str,
    "command": list,
    "options": dict,
    "seed": (int, type(None)),
    "inputs": list,
    "counts": dict,
    "report": dict,
    "details": dict,
    "licence": (str, type(None)),
    "citation": (str, type(None)),
    "files": dict,
    "editable": list,
    "parts": dict,
}


def _parse(raw: Any) -> Manifest:
    """A manifest from what its JSON holds; a ``ValueError`` says what is wrong with it."""
    if not isinstance(raw, Mapping) or "kind" not in raw:
        raise ValueError("it names no kind")
    if raw.get("schema", _SCHEMA) != _SCHEMA:
        raise ValueError(
            f"its schema is {raw['schema']!r}, and this version of Tertulia reads {_SCHEMA}; another version wrote it"
        )
    values = {key: value for key, value in raw.items() if key in _TYPES}
    for key, value in values.items():
        if not isinstance(value, _TYPES[key]):
            raise ValueError(f"its {key} holds {str(value)[:40]!r}")
    for key in ("command", "editable"):
        if not all(isinstance(item, str) for item in values.get(key, [])):
            raise ValueError(f"its {key} holds something that is not text")
    if not all(isinstance(item, dict) for item in values.get("inputs", [])):
        raise ValueError("its inputs are not objects")
    values["files"] = {_inside(name): _entry(name, entry) for name, entry in values.get("files", {}).items()}
    values["parts"] = {_inside(name): str(digest) for name, digest in values.get("parts", {}).items()}
    return Manifest(**values)


def _inside(name: str) -> str:
    """A name in a manifest, which must lie inside the artefact and be written in its one plain form."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or path.as_posix() != name or name == ".":
        raise ValueError(f"it names a file outside the artefact: {name!r}")
    return name


def _entry(name: str, entry: Any) -> FileEntry:
    size, sha256 = (entry.get("bytes"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
    if not isinstance(size, int) or not isinstance(sha256, str):
        raise ValueError(f"its entry of {name!r} has no bytes and sha256")
    return FileEntry(size, sha256)


def verify(path: str | Path, kind: str | None = None, *, digests: bool = True) -> Manifest:
    """Hold an artefact's files against its manifest: presence and size always, digests unless told not to.

    Raises
    ------
    ArtefactError
        A file is missing, or its size or digest is not the one in the manifest (editable files may differ).
    """
    directory = Path(path)
    manifest = read_manifest(directory, kind)
    for part in manifest.parts:
        verify(directory / part, digests=digests)
    for name, entry in manifest.files.items():
        file = directory / name
        if not file.is_file():
            raise ArtefactError("is in the manifest, but the file is not there", where=file, hint="make it again")
        if name in manifest.editable:
            continue
        size = file.stat().st_size
        if size != entry.bytes:
            raise ArtefactError(
                f"has {size} bytes; its manifest says {entry.bytes}", where=file, hint="it was changed; make it again"
            )
        if digests:
            found = sha256_of(file)
            if found != entry.sha256:
                raise ArtefactError(
                    f"has the digest {found[:12]}…; its manifest says {entry.sha256[:12]}…",
                    where=file,
                    hint="it was changed or damaged; make it again",
                )
    return manifest
