"""The tables of the corpus from finished dialogues: part by part in order of id, with the splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.grouped import table_writer
from tertulia.corpus.tables import RECORDS, SCHEMAS
from tertulia.stackexchange.finish.spool import SPOOLED, Piece, read_piece

__all__ = ["write_tables"]

Numbers = np.ndarray[Any, np.dtype[np.int64]]
# Row groups close as those of any corpus do (corpus/grouped.py).
_GROUP_ROWS = 16_384
_GROUP_BYTES = 4 << 20
_KEYS = {"dialogues": ["id"], "utterances": ["dialogue_id", "position"]}
# The columns by which the size of a row is told, and what is added for the others.
_SIZED = {"dialogues": (["id", "title", "attributes"], 64), "utterances": (["text", "attributes"], 48)}


def write_tables(
    directory: Path,
    pieces: Sequence[Piece],
    names: Sequence[str] | None,
    splits: Numbers,
    progress: Callable[[int], None] = lambda _count: None,
) -> dict[str, int]:
    """Write the tables of a corpus and return their counts of rows.

    Parameters
    ----------
    directory:
        Where to write.
    pieces:
        The rows, whose parts follow each other in order of id; within a part they are in no order.
    names:
        The names of the splits; ``None`` for no splits.
    splits:
        The number of the split of each dialogue, in order of id.
    progress:
        Told how many dialogues were written since the last call.
    """
    counts = dict.fromkeys(RECORDS.tables, 0)
    writers = {table: table_writer(RECORDS, table, directory) for table in RECORDS.tables}
    waiting: dict[str, Any] = {}
    try:
        # The tables are packed side by side, while the next part is read and sorted.
        with ThreadPoolExecutor(len(SPOOLED)) as pool:
            for part in _parts(pieces):
                dialogues, utterances = (_sorted(part[table], table) for table in SPOOLED)
                done = counts["dialogues"]
                if names is not None:
                    chosen = pa.array(list(names), pa.string()).take(pa.array(splits[done : done + len(dialogues)]))
                    column = SCHEMAS["dialogues"].get_field_index("split")
                    dialogues = dialogues.set_column(column, SCHEMAS["dialogues"].field(column), chosen)
                ends = np.cumsum(dialogues.column("utterances").to_numpy())
                own = np.arange(1, len(dialogues) + 1)
                for table, rows, last in (("dialogues", dialogues, own), ("utterances", utterances, ends)):
                    counts[table] += len(rows)
                    if table in waiting:
                        waiting[table].result()
                    waiting[table] = pool.submit(_write_groups, writers[table], rows, table, last)
                progress(len(dialogues))
            for result in waiting.values():
                result.result()
    finally:
        for writer in writers.values():
            writer.close()
    return counts


def _parts(pieces: Sequence[Piece]) -> Iterator[dict[str, pa.Table]]:
    by_part: dict[int, dict[str, list[Piece]]] = {}
    for piece in pieces:
        by_part.setdefault(piece.part, {table: [] for table in SPOOLED})[piece.table].append(piece)
    for part in sorted(by_part):
        yield {table: pa.concat_tables(map(read_piece, found)) for table, found in by_part.pop(part).items()}


def _sorted(rows: pa.Table, table: str) -> pa.Table:
    order = pc.sort_indices(rows, sort_keys=[(key, "ascending") for key in _KEYS[table]])
    return rows.take(order)


def _write_groups(writer: Any, rows: pa.Table, table: str, ends: Numbers) -> None:
    """Write rows in row groups; ``ends`` are the places behind the last row of each dialogue, where a group may close."""
    for begin, end in pairwise(_group_ends(_sizes(rows, table), ends)):
        writer.write_table(rows.slice(begin, end - begin), row_group_size=max(1, end - begin))


def _sizes(rows: pa.Table, table: str) -> Numbers:
    columns, others = _SIZED[table]
    sizes = np.full(len(rows), others, dtype=np.int64)
    for name in columns:
        sizes += pc.fill_null(pc.binary_length(rows.column(name)), 0).to_numpy()
    return sizes


def _group_ends(sizes: Numbers, ends: Numbers) -> list[int]:
    """0, then the end of each row group: that of the first dialogue with which the group is full."""
    found = [0]
    before = np.concatenate([[0], np.cumsum(sizes)])
    while found[-1] < len(sizes):
        begin = found[-1]
        by_bytes = int(np.searchsorted(before, before[begin] + _GROUP_BYTES))
        full = min(by_bytes, begin + _GROUP_ROWS, len(sizes))
        found.append(int(ends[np.searchsorted(ends, full)]))
    return found
