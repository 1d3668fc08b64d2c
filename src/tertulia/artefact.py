"""An artefact: a directory with a manifest that says what it is, from what and how it was made, and its digests.

Every corpus, index, model, run and bot is one. An artefact is written into a sibling temporary directory that is
renamed at the end, so that a writer which is killed leaves the old artefact or none, never half of one. The same
inputs, options and seed give byte-identical files, the manifest among them: it holds no time and no absolute path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
    "read_manifest",
    "sha256_of",
    "verify",
    "write_atomically",
    "write_manifest",
]

MANIFEST = "manifest.json"
_CHUNK = 1 << 20


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
        """The manifest as indented JSON with a fixed order of keys."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    @property
    def digest(self) -> str:
        """One SHA-256 over all file digests: it stands for the artefact where it is an input of another."""
        listing = {name: entry.sha256 for name, entry in self.files.items()} | self.parts
        return hashlib.sha256(canonical_json(listing).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, and text as it is: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sha256_of(path: Path) -> str:
    """The SHA-256 of one file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of_path(path: Path) -> dict[str, Any]:
    """What a manifest says of an input: its name, bytes and digest; a directory's digest is over names and digests."""
    if path.is_dir():
        if (path / MANIFEST).is_file():
            manifest = read_manifest(path)
            total = sum(entry.bytes for entry in manifest.files.values())
            return {"name": path.name, "kind": manifest.kind, "bytes": total, "sha256": manifest.digest}
        digest, total = hashlib.sha256(), 0
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
            total += file.stat().st_size
        return {"name": path.name, "bytes": total, "sha256": digest.hexdigest()}
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


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

    An existing artefact is replaced only with ``overwrite``, and only at the end; anything else of that name is never
    replaced. What a killed writer left beside it is removed by the next one.

    Raises
    ------
    ArtefactError
        ``path`` exists and ``overwrite`` is not given, or it is not an artefact.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    _check_target(target, overwrite)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.{os.getpid()}.", suffix=".part", dir=target.parent))
    work.chmod(0o755)
    try:
        yield Draft(work, manifest)
        manifest.parts = {part: read_manifest(work / part).digest for part in _part_names(work)}
        manifest.files = _entries(work, tuple(manifest.parts))
        write_manifest(work, manifest)
        _put_in_place(work, target, overwrite)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_symlink() and not target.exists():
        raise ArtefactError("is a link to nothing; expected a path to write to", where=target)
    if not target.exists():
        return
    if not target.is_dir():
        raise ArtefactError("is a file; expected the path of a directory to write", where=target)
    if (target / MANIFEST).is_file():
        if not overwrite:
            raise ArtefactError("exists already", where=target, hint="--overwrite replaces it")
    elif any(target.iterdir()):
        raise ArtefactError(
            "exists and is not an artefact of Tertulia, so it is left alone", where=target, hint="name another path"
        )


def _remove_leftovers(target: Path) -> None:
    """Clear away what writers of this artefact that no longer run have left beside it.

    One that was killed between its two renames has left the old artefact under its ``.old`` name: it is put back.
    """
    for leftover in target.parent.iterdir():
        if not (leftover.name.startswith(f".{target.name}.") and leftover.suffix in {".part", ".old"}):
            continue
        owner = leftover.name[len(target.name) + 2 :].split(".", 1)[0]
        if not owner.isdigit() or _is_running(int(owner)):
            continue
        if leftover.suffix == ".old" and not target.exists():
            os.rename(leftover, target)
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _put_in_place(work: Path, target: Path, overwrite: bool) -> None:
    _check_target(target, overwrite)
    if not target.exists():
        os.rename(work, target)
        return
    # Two renames: between them a crash leaves the old artefact whole under its ".old" name.
    aside = work.with_suffix(".old")
    os.rename(target, aside)
    try:
        os.rename(work, target)
    except BaseException:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


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
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ArtefactError(f"is not a manifest of Tertulia: {error}", where=file) from None
    if kind is not None and manifest.kind != kind:
        raise ArtefactError(f"is a {manifest.kind}; expected a {kind}", where=directory)
    return manifest


def _parse(raw: Mapping[str, Any]) -> Manifest:
    known = set(Manifest.__dataclass_fields__)
    if not isinstance(raw, Mapping) or "kind" not in raw:
        raise ValueError("it names no kind")
    if not isinstance(raw["kind"], str) or not isinstance(raw.get("schema", 1), int):
        raise ValueError("kind must be text and schema a number")
    if raw.get("schema", 1) > 1:
        raise ValueError(f"its schema is {raw['schema']}, and this version of Tertulia reads 1; update Tertulia")
    values = {key: value for key, value in raw.items() if key in known}
    files = {str(name): FileEntry(int(e["bytes"]), str(e["sha256"])) for name, e in raw.get("files", {}).items()}
    values["parts"] = {str(name): str(digest) for name, digest in raw.get("parts", {}).items()}
    for name in (*files, *values["parts"]):
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"it names a file outside the artefact: {name!r}")
    values["files"] = files
    return Manifest(**values)


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
