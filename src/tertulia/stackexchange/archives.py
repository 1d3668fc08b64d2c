"""``.7z`` archives of a dump: what they hold, checked before anything is trusted, and tables streamed out of them to disk."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple

from tertulia.errors import InputError, MissingExtraError, TertuliaError
from tertulia.stackexchange.ranges import StoppedError

__all__ = ["Member", "members", "unpack"]

_SIGNATURE = b"7z\xbc\xaf\x27\x1c"
_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGED = "is damaged or cut off"


class Member(NamedTuple):
    """A member of an archive: its name as it stands there, its unpacked bytes, and whether it is a plain file."""

    name: str
    size: int
    is_file: bool

    @property
    def base(self) -> str:
        """The last part of its name."""
        return PurePosixPath(self.name.replace("\\", "/")).name

    @property
    def depth(self) -> int:
        """In how many folders it stands."""
        return len(PurePosixPath(self.name.replace("\\", "/")).parts) - 1


class _CannotWriteError(Exception):
    """An unpacked file that cannot be written: told apart from an archive that cannot be read."""


def members(archive: Path) -> list[Member]:
    """The members of an archive.

    Raises
    ------
    InputError
        No archive, damaged, encrypted, or one with a name that leads out of the folder it is unpacked to, or with a link.
    MissingExtraError
        The package that reads archives is not installed.
    """
    with _opened(archive) as content:
        found = []
        for item in content.files:
            name = item.filename
            _check_name(name, archive)
            if item.is_symlink or item.is_junction:
                raise InputError(f"holds the link {name!r}; expected plain files only", where=archive)
            size = int(item.uncompressed or 0)
            found.append(Member(name, size, bool(item.is_file) and not item.is_directory))
        return found


def unpack(archive: Path, targets: Mapping[str, Path], sizes: Mapping[str, int], step: Callable[[int], None]) -> None:
    """Write members of an archive to disk, in one pass over it; memory holds what a megabyte of the archive unpacks to.

    Parameters
    ----------
    targets:
        Name of a member → the file to write, all in one folder that is there; each gets its name when it is whole.
    sizes:
        Name of a member → the bytes that the archive declares for it; what is more than the disk has is refused.
    step:
        Told the bytes written since the last call; what it raises ends the unpacking.

    Raises
    ------
    InputError
        The archive is damaged or encrypted, or the disk is too small.
    """
    folder = next(iter(targets.values())).parent
    needed, free = sum(sizes[name] for name in targets), shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(
            f"unpacks to {needed:,} bytes, and {free:,} are free at {folder}",
            where=archive,
            hint="--cache names a folder on a larger disk",
        )
    # Members are told apart by their base names: what py7zr makes of a whole name depends on its version.
    writing = {Member(name, 0, True).base: _Written(path, step) for name, path in targets.items()}
    try:
        with _opened(archive) as content:
            content.extract(path=folder, targets=list(targets), factory=_Factory(writing))
            for name in targets:
                written = writing[Member(name, 0, True).base]
                if written.bytes != sizes[name]:
                    raise InputError(
                        f"{_DAMAGED}: {name} has {written.bytes:,} bytes; {sizes[name]:,} were declared", where=archive
                    )
                written.finish()
    finally:
        for written in writing.values():
            written.abandon()


@contextmanager
def _opened(archive: Path) -> Iterator[Any]:
    """An archive, open; whatever the library finds wrong with it is one clear error."""
    try:
        import py7zr
        from py7zr.exceptions import PasswordRequired
    except ImportError:
        raise MissingExtraError(f"reading {archive.name}", package="py7zr", extra="full") from None
    try:
        file = archive.open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=archive) from None
    with file:
        _check_signature(file, archive)
        try:
            with py7zr.SevenZipFile(file) as content:
                if content.needs_password():
                    raise PasswordRequired
                yield content
        except StoppedError:
            raise
        except (TertuliaError, _CannotWriteError) as error:
            raise _explained(error) from None
        except PasswordRequired:
            raise InputError("is encrypted; expected an archive without a password", where=archive) from None
        except py7zr.UnsupportedCompressionMethodError:
            raise InputError(
                "is packed by a method that cannot be unpacked here",
                where=archive,
                hint="unpack it and name the folder",
            ) from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise InputError(f"{_DAMAGED}, or cannot be read: {reason}", where=archive) from None
        except Exception as error:
            # A damaged archive ends in any kind of error inside the library.
            reason = str(error) or type(error).__name__
            raise InputError(f"{_DAMAGED}: {reason[:200]}", where=archive) from None


def _explained(error: Exception) -> Exception:
    if isinstance(error, _CannotWriteError):
        path, cause = error.args
        hint = "--cache names a folder on a larger disk" if cause.errno == errno.ENOSPC else None
        return InputError(f"cannot be written: {cause.strerror}", where=path, hint=hint)
    return error


def _check_signature(file: BinaryIO, archive: Path) -> None:
    try:
        start = file.read(len(_SIGNATURE))
        file.seek(0)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=archive) from None
    if not start:
        raise InputError("is empty (0 bytes); expected a 7z archive", where=archive)
    if start != _SIGNATURE:
        raise InputError(f"begins with {start!r}; expected a 7z archive", where=archive)


def _check_name(name: object, archive: Path) -> None:
    if not isinstance(name, str) or not name:
        raise InputError(f"{_DAMAGED}: it holds a file without a name", where=archive)
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0].startswith("/") or ".." in parts or _DRIVE.match(name) or "\x00" in name:
        raise InputError(
            f"holds {name!r}, a name that leads out of the folder it is unpacked to; expected plain names",
            where=archive,
        )


class _Written:
    """One file that is being unpacked, as the library writes to it: under a temporary name until it is whole."""

    def __init__(self, target: Path, step: Callable[[int], None]) -> None:
        self._target = target
        self._temporary = target.with_name(f"{target.name}.{os.getpid()}-{id(self):x}.part")
        self._step = step
        self._file: BinaryIO | None = None
        self.bytes = 0

    def begin(self) -> None:
        with _writing(self._temporary):
            self._file = self._temporary.open("wb")

    def write(self, data: bytes | bytearray) -> int:
        with _writing(self._temporary):
            if self._file is not None:
                self._file.write(data)
        self.bytes += len(data)
        self._step(len(data))
        return len(data)

    def read(self, _size: int | None = None) -> bytes:
        return b""

    def seek(self, _offset: int, _whence: int = 0) -> int:
        return 0

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self.bytes

    def close(self) -> None:
        if self._file is not None:
            with _writing(self._temporary):
                self._file.close()
                self._file = None

    def finish(self) -> None:
        """Give the file its name."""
        self.close()
        with _writing(self._target):
            os.replace(self._temporary, self._target)

    def abandon(self) -> None:
        """Remove what is not whole; does nothing after ``finish``."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._temporary.unlink(missing_ok=True)


class _Factory:
    """Hands the library the file that a member is written to."""

    def __init__(self, writing: Mapping[str, _Written]) -> None:
        self._writing = writing

    def create(self, filename: str) -> _Written:
        written = self._writing[PurePosixPath(filename.replace("\\", "/")).name]
        written.begin()
        return written


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _CannotWriteError(path, error) from None
