"""Runs over the tables of a dump with one parser and counts rows: a process of its own for every measurement.

``python _stackexchange_load.py lxml|xml.etree LIMIT TABLE.xml...`` reads of each table the first LIMIT of its bytes (a share
between 0 and 1), and keeps nothing: no attribute is looked at, no value converted.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any


class Limited(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, path: Path, limit: int) -> None:
        self._file = path.open("rb")
        self.left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        wanted = self.left if size < 0 else min(size, self.left)
        data = self._file.read(wanted)
        self.left -= len(data)
        return data


def rows_by_lxml(file: Limited) -> int:
    from lxml import etree

    rows = 0
    try:
        for _, row in etree.iterparse(file, events=("end",), tag="row", huge_tree=True):
            rows += 1
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]
    except etree.XMLSyntaxError:
        if file.left:  # not the end of the sample
            raise
    return rows


def rows_by_etree(file: Limited) -> int:
    from xml.etree import ElementTree

    rows = 0
    try:
        events = ElementTree.iterparse(file, events=("start", "end"))
        root = next(iter(events))[1]
        for event, element in events:
            if event == "end" and element is not root:
                rows += 1
                root.clear()
    except ElementTree.ParseError:
        if file.left:
            raise
    return rows


def main() -> None:
    parser, share, *tables = sys.argv[1:]
    read = {"lxml": rows_by_lxml, "xml.etree": rows_by_etree}[parser]
    begun = time.perf_counter()
    rows = done = 0
    for table in map(Path, tables):
        limit = int(table.stat().st_size * float(share))
        rows += read(Limited(table, limit))
        done += limit
    print(json.dumps({"wall_s": time.perf_counter() - begun, "rows": rows, "bytes": done}))


if __name__ == "__main__":
    main()
