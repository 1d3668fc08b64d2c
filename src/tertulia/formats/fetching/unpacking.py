"""Unpacking a fetched zip or gzip file beside itself, whole or not at all.

An archive is from outside: names that lead out of the folder, links and encrypted members are refused, and what comes out is
counted while it comes, whatever the archive says of itself.
"""

from __future__ import annotations

import gzip
import lzma
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from tertulia.artefact import put_in_place, work_directory
from tertulia.errors import ArtefactError, InputError

if TYPE_CHECKING:
    from _typeshed import SupportsRead

__all__ = ["Unpacked", "unpack"]

_CHUNK = 1 << 20
_MOST_MEMBERS = 100_000
# No corpus packs better than this (JSON with long repeated keys comes to 30); a bomb does.
_MOST_RATIO = 300
_RATIO_COUNTS_FROM = 100_000_000
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError, ValueError)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came out of an archive: the path within the folder, the files and their bytes, and how many it left in."""

    path: str
    files: int
    bytes: int
    left_out: int = 0


def unpack(archive: Path, folder: Path, *, again: bool = False, before: Unpacked | None = None) -> Unpacked | None:
    """Unpack a zip file into a folder named after it, or a gzip file into a file; ``None`` for any other file.

    What came out ``before`` is kept where it is still there, unless ``again``. ``__MACOSX`` and ``.DS_Store``, which are not
    the publisher's, stay packed.

    Raises
    ------
    InputError
        The archive is damaged, or holds what no corpus does.
    ArtefactError
        Something else stands where it is to go, or the disk is full.
    """
    with archive.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(b"\x1f\x8b") and archive.suffix == ".gz":
        target, work = archive.with_suffix(""), _unpack_gzip
    elif magic == b"PK\x03\x04":
        target, work = archive.with_name(re.sub(r"(\.corpus)?\.zip$", "", archive.name) or archive.name), _unpack_zip
        if target == archive:
            target = archive.with_name(f"{archive.name}.unpacked")
    else:
        return None
    shown = target.relative_to(folder).as_posix()
    if target.exists() and before is None:
        raise ArtefactError(f"stands where {archive.name} is to be unpacked", where=target, hint="move it away")
    if target.exists() and not again:
        return before
    most = max(_RATIO_COUNTS_FROM, archive.stat().st_size * _MOST_RATIO)
    try:
        with work_directory(target) as directory:
            draft = directory / "draft"
            done = work(archive, draft, most)
            put_in_place(draft, target)
    except _DAMAGE as error:
        raise InputError(f"cannot be unpacked: {error}", where=archive, hint="the file is damaged") from None
    except OSError as error:
        raise ArtefactError(f"cannot be unpacked: {error.strerror or error}", where=target) from None
    return Unpacked(shown, *done)


def _unpack_gzip(archive: Path, draft: Path, most: int) -> tuple[int, int, int]:
    with gzip.open(archive) as source, draft.open("wb") as out:
        return 1, _copy(source, out, most, archive), 0


def _unpack_zip(archive: Path, draft: Path, most: int) -> tuple[int, int, int]:
    draft.mkdir()
    size = files = left_out = 0
    with zipfile.ZipFile(archive) as opened:
        members = [member for member in opened.infolist() if not member.is_dir()]
        if len(members) > _MOST_MEMBERS:
            raise InputError(f"has {len(members):,} members; at most {_MOST_MEMBERS:,} are unpacked", where=archive)
        for member in members:
            path = PurePosixPath(member.filename)
            if path.parts[:1] == ("__MACOSX",) or path.name == ".DS_Store":
                left_out += 1
                continue
            _refuse_unsafe(member, archive)
            target = draft / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                raise InputError(f"has two members {member.filename!r}", where=archive)
            with opened.open(member) as source, target.open("wb") as out:
                size += _copy(source, out, most - size, archive)
            files += 1
    return files, size, left_out


def _refuse_unsafe(member: zipfile.ZipInfo, archive: Path) -> None:
    name = member.filename
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or re.search(r"[\x00-\x1f\\:]", name) or not path.parts:
        raise InputError(f"has a member {name[:100]!r}, which leads out of the folder", where=archive)
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise InputError(f"has a member {name[:100]!r} that is no plain file", where=archive)
    if member.flag_bits & 1:
        raise InputError(f"has an encrypted member {name[:100]!r}", where=archive)


def _copy(source: SupportsRead[bytes], out: IO[bytes], most: int, archive: Path) -> int:
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > most:
            raise InputError(
                "unpacks to far more than a corpus of its size would",
                where=archive,
                hint="it may be made to fill the disk; the packed file is kept",
            )
        out.write(chunk)
    return size
