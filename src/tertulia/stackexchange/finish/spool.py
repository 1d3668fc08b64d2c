"""Finished dialogues on their way to the corpus: on disk, in parts by their ids, as the rows of the corpus's tables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tertulia.corpus.grouped import Rows
from tertulia.corpus.model import Dialogue, Record
from tertulia.corpus.tables import RECORDS, SCHEMAS

__all__ = ["SPOOLED", "Piece", "Spool", "read_piece"]

SPOOLED = ("dialogues", "utterances")
"""The tables that a dialogue of a dump has rows in."""
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Piece(NamedTuple):
    """Where the rows of one table that belong to one part of the corpus stand in a file."""

    part: int
    table: str
    path: Path
    offset: int
    length: int


class Spool:
    """Gathers the rows of dialogues by the part of the corpus in which their ids fall, and writes them into one file.

    ``boundaries`` are the first ids of the parts but the first.
    """

    def __init__(self, boundaries: Sequence[str]) -> None:
        self._boundaries = boundaries
        self._rows: dict[tuple[int, str], Rows] = {}

    def add(self, dialogue: Dialogue) -> None:
        """Take a dialogue."""
        part = bisect_right(self._boundaries, dialogue.id)
        for table, (rows, _) in zip(RECORDS.tables, RECORDS.rows(Record(dialogue)), strict=True):
            if rows:
                self._rows.setdefault((part, table), []).extend(rows)

    def write(self, path: Path) -> list[Piece]:
        """Write what was taken to a new file."""
        pieces = []
        with path.open("wb") as file:
            for (part, table), rows in self._rows.items():
                schema = SCHEMAS[table]
                columns = zip(*rows, strict=True)
                arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
                offset = file.tell()
                with pa.ipc.new_stream(pa.PythonFile(file), schema, options=_OPTIONS) as stream:
                    stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
                pieces.append(Piece(part, table, path, offset, file.tell() - offset))
        self._rows = {}
        return pieces


def read_piece(piece: Piece) -> pa.Table:
    """The rows of a piece."""
    with piece.path.open("rb") as file:
        file.seek(piece.offset)
        return pa.ipc.open_stream(pa.py_buffer(file.read(piece.length))).read_all()
