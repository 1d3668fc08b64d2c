"""The table of a crawl: ``pages.parquet``, a row an address, in order of address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tertulia.crawl.state import Result

__all__ = ["SCHEMA", "TABLE", "write_table"]

TABLE = "pages.parquet"
SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("status", pa.int32()),
        ("outcome", pa.string()),
        ("final_url", pa.string()),
        ("content_type", pa.string()),
        ("charset", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("bytes", pa.int64()),
        ("fetched_at", pa.timestamp("ms", tz="UTC")),
        ("warc_file", pa.string()),
        ("warc_offset", pa.int64()),
        ("reason", pa.string()),
    ]
)
_GROUP_ROWS = 4096
# Small groups: whoever looks for the text of one page reads one of them.
_GROUP_CHARACTERS = 1_000_000


def write_table(path: Path, results: Iterable[Result]) -> int:
    """Write results, given in order of address; gives how many. One group of rows is held in memory."""
    count = 0
    how = {"compression": "zstd", "compression_level": 3, "version": "2.6", "write_page_checksum": True}
    with pq.ParquetWriter(path, SCHEMA, **how) as writer:
        for rows in _groups(results):
            columns = [
                pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), row_group_size=len(rows))
            count += len(rows)
    return count


def _groups(results: Iterable[Result]) -> Iterator[list[tuple[Any, ...]]]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for result in results:
        rows.append(tuple(getattr(result, name) for name in SCHEMA.names))
        size += len(result.text or "") + 200
        if len(rows) >= _GROUP_ROWS or size >= _GROUP_CHARACTERS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows
