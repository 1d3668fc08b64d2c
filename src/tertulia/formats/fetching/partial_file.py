"""The unfinished part of a file that is being downloaded: ``NAME.part``, and ``NAME.part.json`` with what it is a part of."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tertulia.artefact import write_atomically
from tertulia.formats.fetching.catalogue import PART

__all__ = ["PartialFile"]


class PartialFile:
    """The unfinished file beside a target, and which state of which address it holds."""

    def __init__(self, target: Path, advance: Callable[[int, int | None], None]) -> None:
        self.path = target.with_name(target.name + PART)
        self._about = target.with_name(f"{target.name}{PART}.json")
        self._advance = advance
        self._told = 0
        # Whether bytes were put behind those of an earlier answer.
        self.joined = False
        self.url: str | None = None
        self.etag: str | None = None
        self.last_modified: str | None = None
        with contextlib.suppress(OSError, ValueError, RecursionError):
            about = json.loads(self._about.read_bytes())
            if isinstance(about, dict):
                found = {key: about.get(key) for key in ("url", "etag", "last_modified")}
                if all(value is None or (isinstance(value, str) and value.isprintable()) for value in found.values()):
                    self.url, self.etag, self.last_modified = found.values()

    @property
    def size(self) -> int:
        """The bytes that are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def validator(self) -> str | None:
        """What ``If-Range`` may hold: an ETag unless it is weak, or the time of the last change."""
        if self.etag is not None:
            return None if self.etag.startswith("W/") else self.etag
        return self.last_modified

    def begin(self, url: str, headers: Mapping[str, str]) -> None:
        """Empty the file, then note what it is going to hold: a crash between the two leaves nothing to resume wrongly."""
        with self.path.open("wb"):
            pass
        self.joined = False
        self.tell()
        self.url, self.etag, self.last_modified = url, headers.get("ETag"), headers.get("Last-Modified")
        about = {"url": url, "etag": self.etag, "last_modified": self.last_modified}
        write_atomically(self._about, json.dumps(about, indent=2).encode())

    def tell(self, total: int | None = None, size: int | None = None) -> None:
        """Let the progress know how far the file is."""
        size = self.size if size is None else size
        self._advance(size - self._told, total)
        self._told = size

    def drop(self) -> None:
        """Throw away what is there."""
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)
        self.url = self.etag = self.last_modified = None
        self.tell()

    def finish(self, target: Path) -> None:
        """Give the whole file its name, replacing what is there."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(self.path, target)
        self._about.unlink(missing_ok=True)
