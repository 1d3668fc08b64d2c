"""A crawl on disk, open for reading: what came of each address, the main text of a page by its address, the pages as they were."""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tertulia.artefact import Manifest, verify
from tertulia.crawl.addresses import AddressError, normalised
from tertulia.crawl.page import Page
from tertulia.crawl.table import SCHEMA, TABLE
from tertulia.crawl.warc import read_page
from tertulia.errors import ArtefactError, InputError

__all__ = ["KIND", "Crawl", "CrawledPage"]

KIND = "crawl"
_CACHED_GROUPS = 8


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """A row of the table: an address and what came of it.

    ``outcome`` is ``ok`` for a page; ``text`` is its main text, ``None`` where there is none; ``reason`` says more of other
    outcomes; ``warc_file`` and ``warc_offset`` say where the page is in the archive.
    """

    url: str
    status: int | None
    outcome: str
    final_url: str | None
    content_type: str | None
    charset: str | None
    title: str | None
    text: str | None
    bytes: int | None
    fetched_at: datetime | None
    warc_file: str | None
    warc_offset: int | None
    reason: str | None


class Crawl:
    """A crawl, open for reading. Iterating gives a ``CrawledPage`` for each address, in order of address.

    Memory holds 24 bytes for each address, and a few groups of rows.

    Raises
    ------
    ArtefactError
        It is no crawl, or is damaged.
    """

    def __init__(self, path: str | Path, *, check_digests: bool = False) -> None:
        self.path = Path(path)
        self.manifest: Manifest = verify(self.path, KIND, digests=check_digests)
        try:
            self._file = pq.ParquetFile(self.path / TABLE, page_checksum_verification=True)
            if not self._file.schema_arrow.equals(SCHEMA):
                raise ValueError("its columns are others")
            self._keys, self._rows = self._index()
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None
        counts = [self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups)]
        self._ends = np.cumsum([0, *counts])
        self._groups: OrderedDict[int, Any] = OrderedDict()

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def __enter__(self) -> Crawl:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the table."""
        self._file.close()

    def __iter__(self) -> Iterator[CrawledPage]:
        for group in range(self._file.num_row_groups):
            for row in self._read(group).to_pylist():
                yield CrawledPage(**row)

    def get(self, url: str) -> CrawledPage | None:
        """What came of an address, in any of its forms; ``None`` for one that is not here. A redirect's end is found as well."""
        try:
            wanted = normalised(url)
        except AddressError:
            return None
        key = _key(wanted)
        found = None
        for at in range(int(np.searchsorted(self._keys, key)), len(self._keys)):
            if self._keys[at] != key:
                break
            row = self._row(int(self._rows[at]))
            if row["url"] == wanted:
                return CrawledPage(**row)
            if found is None and row["final_url"] == wanted:
                found = row
        return None if found is None else CrawledPage(**found)

    def text_of(self, url: str) -> str | None:
        """The main text of the page at an address; ``None`` where there is no page, or no word in it."""
        page = self.get(url)
        return None if page is None else page.text or None

    def pages(self) -> Iterator[Page]:
        """The pages that were fetched, each as the server sent it, in order of address. One is held in memory at a time."""
        for row in self:
            if row.warc_file is None or row.warc_offset is None:
                continue
            page = read_page(self.path / row.warc_file, row.warc_offset, 1 << 40)
            if page is None:
                raise InputError(
                    "has no page where the table says", where=self.path / row.warc_file, hint="crawl again"
                )
            yield Page(
                row.url,
                page.url,
                page.status,
                page.content_type,
                page.charset,
                page.body,
                row.fetched_at or page.fetched_at,
            )

    def _index(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The keys of all addresses and of those that they lead to, in order, and the rows that they stand in."""
        keys, rows, number = array("Q"), array("q"), 0
        for batch in self._file.iter_batches(batch_size=8192, columns=["url", "final_url"]):
            for url, final in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                keys.append(_key(url))
                rows.append(number)
                if final is not None and final != url:
                    keys.append(_key(final))
                    rows.append(number)
                number += 1
        found, places = np.frombuffer(keys, np.uint64), np.frombuffer(rows, np.int64)
        order = np.argsort(found, kind="stable")
        return found[order], places[order]

    def _read(self, group: int) -> Any:
        try:
            return self._file.read_row_group(group)
        except (OSError, ValueError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ArtefactError:
        return ArtefactError(f"is damaged: {error}", where=self.path / TABLE, hint="crawl again")

    def _row(self, number: int) -> dict[str, Any]:
        group = int(np.searchsorted(self._ends, number, side="right")) - 1
        table = self._groups.get(group)
        if table is None:
            table = self._groups[group] = self._read(group)
            if len(self._groups) > _CACHED_GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        row: dict[str, Any] = table.slice(number - int(self._ends[group]), 1).to_pylist()[0]
        return row


def _key(url: str) -> int:
    return int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "little")
