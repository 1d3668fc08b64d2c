"""The directory of an index: which files its manifest commits to, who may write, and what a killed writer left.

A writer puts new files beside the old ones and then replaces the manifest in one step. Until that step a reader sees
the old index, whole; after it the new one. Files are never changed once a manifest names them.
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tertulia.artefact import MANIFEST, FileEntry, Manifest, read_manifest, sha256_of, write_manifest
from tertulia.errors import ArtefactError
from tertulia.retrieval.segment import Segment, SegmentFiles
from tertulia.retrieval.tokenizer import tokenizer_for
from tertulia.retrieval.weights import check_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "KIND",
    "Commit",
    "commit",
    "fill_manifest",
    "new_manifest",
    "open_segments",
    "read_commit",
    "with_segments",
    "writing",
]

KIND = "matching-index"
_LOCK = ".writer.lock"
_OUR_FILES = re.compile(r"^(segment-\d{6}\.(index|texts)|removed-\d{6})$")
# What write_atomically leaves of a manifest when it is killed.
_HALF_MANIFEST = re.compile(rf"^\.{re.escape(MANIFEST)}\..")


@dataclass(frozen=True, slots=True)
class Commit:
    """What a manifest says of an index: its segments, the next free utterance number and the next free file number."""

    manifest: Manifest
    segments: tuple[SegmentFiles, ...]
    next_number: int
    next_file: int

    @property
    def language(self) -> str:
        """The language of the bank."""
        return str(self.manifest.options["language"])

    @property
    def scale(self) -> float:
        """The scale ``s`` of the weights."""
        return float(self.manifest.options["scale"])

    def new_segment(self) -> tuple[Commit, SegmentFiles]:
        """A free pair of names, and the commit with that number taken."""
        stem = f"segment-{self.next_file:06d}"
        return replace(self, next_file=self.next_file + 1), SegmentFiles(f"{stem}.index", f"{stem}.texts")

    def new_removal(self) -> tuple[Commit, str]:
        """A free name for a removal, and the commit with that number taken."""
        return replace(self, next_file=self.next_file + 1), f"removed-{self.next_file:06d}"


def with_segments(state: Commit, segments: Sequence[SegmentFiles], *, added: int = 0) -> Commit:
    """The commit with these segments, after ``added`` new utterances took their numbers."""
    return replace(state, segments=tuple(segments), next_number=state.next_number + added)


def new_manifest(language: str, scale: float, **provenance: Any) -> Manifest:
    """The manifest of a new index; ``provenance`` are fields of :class:`tertulia.artefact.Manifest`."""
    options = {
        **provenance.pop("options", {}),
        "language": language,
        "tokenizer": tokenizer_for(language).name,
        "scale": check_scale(scale),
    }
    return Manifest(kind=KIND, options=options, **provenance)


def fill_manifest(state: Commit, opened: Sequence[Segment]) -> Manifest:
    """The manifest of a commit whose segments are open: details and counts, not yet the files' digests."""
    manifest = state.manifest
    live = [segment.live_counts() for segment in opened]
    manifest.counts = {
        "dialogues": sum(dialogues for dialogues, _ in live),
        "utterances": sum(utterances for _, utterances in live),
    }
    manifest.details = {
        "segments": [
            {"index": files.index, "texts": files.texts, "removal": files.removal} for files in state.segments
        ],
        "next_number": state.next_number,
        "next_file": state.next_file,
    }
    return manifest


def commit(directory: Path, state: Commit, opened: Sequence[Segment]) -> Commit:
    """Make ``state`` the index: digests of new files, the manifest in one step, then the files that no one names go."""
    manifest = fill_manifest(state, opened)
    known = manifest.files
    names = sorted(name for files in state.segments for name in files.names)
    manifest.files = {name: known.get(name) or _entry(directory / name) for name in names}
    write_manifest(directory, manifest)
    _remove_unnamed(directory, names)
    return replace(state, manifest=manifest)


def _entry(file: Path) -> FileEntry:
    return FileEntry(file.stat().st_size, sha256_of(file))


def _remove_unnamed(directory: Path, names: Sequence[str]) -> None:
    """Remove files of ours that the manifest does not name: those replaced, and those a killed writer left."""
    for file in directory.iterdir():
        if (_OUR_FILES.match(file.name) and file.name not in names) or _HALF_MANIFEST.match(file.name):
            # Where an open file cannot be removed (Windows), the next writer does it.
            with contextlib.suppress(OSError):
                file.unlink()


def read_commit(directory: Path) -> Commit:
    """What the manifest says.

    Raises
    ------
    InputError, ArtefactError
        There is nothing here, or not an index of this version.
    """
    manifest = read_manifest(directory, KIND)
    try:
        segments = tuple(
            SegmentFiles(_ours(entry["index"]), _ours(entry["texts"]), entry["removal"] and _ours(entry["removal"]))
            for entry in manifest.details["segments"]
        )
        state = Commit(manifest, segments, int(manifest.details["next_number"]), int(manifest.details["next_file"]))
        tokenizer = tokenizer_for(state.language).name
        check_scale(state.scale)
        stated = manifest.options["tokenizer"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtefactError(
            f"its manifest does not describe an index: {error!r}", where=directory, hint="make the index again"
        ) from None
    if stated != tokenizer:
        raise ArtefactError(
            f"was made with the tokenizer {stated!r}; this version of Tertulia has {tokenizer!r}",
            where=directory,
            hint="make the index again",
        )
    return state


def _ours(name: Any) -> str:
    if not isinstance(name, str) or not _OUR_FILES.match(name):
        raise ValueError(f"{name!r} is not a file of an index")
    return name


def open_segments(
    directory: Path,
    manifest: Manifest | None,
    segments: Sequence[SegmentFiles],
    already: Sequence[Segment] = (),
) -> list[Segment]:
    """Open segments; those of ``already`` with the same files are used again.

    ``manifest`` says how large the files are; none while they are not committed yet.

    Raises
    ------
    FileNotFoundError
        A file is gone: a writer has replaced the index since its manifest was read.
    ArtefactError
        A file is damaged, or its size is not the one in the manifest.
    """
    by_files = {segment.files: segment for segment in already}
    opened: list[Segment] = []
    for files in segments:
        if files in by_files:
            opened.append(by_files[files])
            continue
        if manifest is not None:
            for name in files.names:
                _check_size(directory / name, manifest.files.get(name))
        opened.append(Segment(directory, files))
    return opened


def _check_size(file: Path, entry: FileEntry | None) -> None:
    size = file.stat().st_size
    if entry is None or entry.bytes != size:
        stated = "does not name it" if entry is None else f"says {entry.bytes}"
        raise ArtefactError(
            f"has {size} bytes; the manifest {stated}", where=file, hint="it is damaged; make the index again"
        )


@contextlib.contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Hold the one right to write to an index; the system takes it back from a process that ends, however it ends.

    Raises
    ------
    ArtefactError
        Another writer holds it, or the directory cannot be written.
    """
    try:
        handle = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ArtefactError(f"cannot be changed: {error.strerror}", where=directory) from None
    try:
        if not _try_lock(handle):
            raise ArtefactError(
                "another writer is changing this index", where=directory, hint="try again when it has ended"
            )
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
