"""What the tests of downloads share: a file, and a downloader that notes what it does."""

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from tertulia.errors import InputError
from tertulia.formats.fetching.catalogue import RemoteFile
from tertulia.formats.fetching.download import Downloader, DownloadOptions, Received

BODY = random.Random(7).randbytes(250_000)
OTHER = random.Random(8).randbytes(250_000)
SHA = hashlib.sha256(BODY).hexdigest()
KNOWN = {"sha256": SHA}
MONDAY, TUESDAY = "Mon, 02 Mar 2020 10:00:00 GMT", "Tue, 03 Mar 2020 10:00:00 GMT"


class Fetcher:
    """Downloads to one target, and notes what was said, waited and advanced."""

    def __init__(self, folder: Path) -> None:
        self.target = folder / "corpus.bin"
        self.part = folder / "corpus.bin.part"
        self.about = folder / "corpus.bin.part.json"
        self.said: list[str] = []
        self.waited: list[float] = []
        self.advanced: list[tuple[int, int | None]] = []

    def __call__(
        self, *urls: str, size: int | None = None, digests: dict[str, str] | None = None, **options: Any
    ) -> Received:
        options = {"timeout_s": 5.0, "say": self.said.append, "sleep": self.waited.append, **options}
        with Downloader(DownloadOptions(**options)) as downloader:
            return downloader.download(
                RemoteFile("corpus.bin", urls, size, digests or {}),
                self.target,
                lambda step, total: self.advanced.append((step, total)),
            )

    def has(self, body: bytes) -> bool:
        """Whether the target holds this and nothing is left beside it, with progress to match."""
        assert sum(step for step, _ in self.advanced) == len(body)
        return self.target.read_bytes() == body and not self.part.exists() and not self.about.exists()

    def leave(self, body: bytes, url: str, etag: str | None = None) -> None:
        """A part as a killed process leaves it."""
        self.part.write_bytes(body)
        self.about.write_text(f'{{"url": "{url}", "etag": {"null" if etag is None else repr(etag)[1:-1]}}}')


def refused(fetch: Fetcher, *urls: str, **options: Any) -> str:
    with pytest.raises(InputError) as failure:
        fetch(*urls, **options)
    assert not fetch.target.exists()
    return failure.value.one_line()
