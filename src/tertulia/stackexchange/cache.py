"""The folder of what is kept between builds: entries by what they were made from, whole files only, shared by builds at a time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

from tertulia.errors import ConfigurationError, InputError

__all__ = ["Cache", "default_cache", "put_file", "put_json", "read_json"]

PART = ".part"
_LOCK = ".lock"
_DIGITS = 20


def default_cache() -> Path:
    """Where intermediate tables are kept unless a user names another folder."""
    from platformdirs import user_cache_path

    return user_cache_path("tertulia") / "stackexchange"


class Cache:
    """A folder with an entry, a folder itself, for everything that was made from the same things in the same way.

    Builds may use it at the same time: a file gets its name when it is whole, and entries are removed only where no other
    build is at work. Close it when the entries are needed no more.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._lock = _lock_of(root)
        except OSError as error:
            raise ConfigurationError(
                f"cannot be used as a cache: {error.strerror}", where=root, hint="--cache names another folder"
            ) from None
        self._finalizer = weakref.finalize(self, _close, self._lock)
        self._alone(self._sweep)

    def entry(self, label: str, made_from: Any) -> Path:
        """The folder of an entry, which is made where it is not there; ``made_from`` is plain JSON that tells it from others."""
        folder = self.root / f"{label}-{_key(made_from)}"
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"cannot be written: {error.strerror}", where=folder, hint="--cache names another folder"
            ) from None
        return folder

    def remove(self, entries: Iterable[Path]) -> bool:
        """Remove entries, unless another build is at work in this cache; whether they are gone."""

        def clear() -> None:
            for entry in entries:
                shutil.rmtree(entry, ignore_errors=True)

        return self._alone(clear)

    def close(self) -> None:
        """Let others remove entries again."""
        self._finalizer()

    def _sweep(self) -> None:
        """Remove what killed builds have left half written."""
        for left in self.root.glob(f"*/*{PART}"):
            with contextlib.suppress(OSError):
                left.unlink()

    def _alone(self, action: Callable[[], None]) -> bool:
        """Act while no other build uses the cache; whether that was so. The cache is held for use afterwards."""
        if sys.platform == "win32" or self._lock is None:
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            is_alone = False
        else:
            is_alone = True
            action()
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        return is_alone


def _lock_of(root: Path) -> int | None:
    return None if sys.platform == "win32" else os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)


def _close(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _key(made_from: Any) -> str:
    import hashlib

    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def put_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file under a temporary name and give it its own when it is whole.

    Raises
    ------
    InputError
        It cannot be written; the message says why.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}{PART}")
    try:
        write(temporary)
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot be written: {reason}", where=path, hint="--cache names a folder on another disk"
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def put_json(path: Path, value: Any) -> None:
    """Write plain JSON, whole or not at all."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    put_file(path, lambda temporary: _write(temporary, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def read_json(path: Path) -> Any:
    """The JSON of a file; ``None`` where there is none or it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
