"""A synthetic corpus of any size: words by Zipf's law from a vocabulary of made-up words, dialogues of two to fourteen utterances.

Built column by column in Arrow and written as Tertulia lays a corpus out, at some 50 MB of text a second; seeded, byte for byte.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tertulia.artefact import Manifest, create
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.grouped import table_writer
from tertulia.corpus.tables import RECORDS

VOCABULARY = 200_000
GROUP_ROWS = 16_384
BATCH = 2_000  # dialogues; their utterances are one row group of about 4 MB
WORDS = 31  # a mean utterance: about 200 bytes
DOMAINS = ["cooking", "cycling", "films", "gardening", "music", "sailing", "travel", "weather"]


def words(chance: random.Random) -> pa.Array:
    """Distinct made-up words, the frequent ones short."""
    onsets = ["b", "br", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w", "z", ""]
    vowels = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
    codas = ["", "", "n", "r", "s", "t", "l", "nd"]
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        syllables = 1 + min(3, len(found) * 4 // VOCABULARY + chance.randrange(2))
        parts = [chance.choice(onsets) + chance.choice(vowels) + chance.choice(codas) for _ in range(syllables)]
        found["".join(parts)] = None
    return pa.array(list(found), pa.large_string())


def batches(size: int, seed: int) -> Iterator[tuple[dict[str, pa.Table], int]]:
    """The three tables batch by batch, with the bytes of text in each, until there are ``size`` bytes."""
    rng = np.random.default_rng(seed)
    vocabulary = words(random.Random(seed))
    weights = 1 / (np.arange(VOCABULARY) + 2.7) ** 1.05
    cumulative = np.cumsum(weights / weights.sum())
    # The inverse of the distribution at two million places: a draw is one look.
    inverse = (
        np.searchsorted(cumulative, (np.arange(1 << 21) + 0.5) / (1 << 21)).clip(0, VOCABULARY - 1).astype(np.int32)
    )
    done = number = 0
    while done < size:
        tables = _batch(rng, vocabulary, inverse, number)
        count = int(pc.sum(pc.binary_length(tables["utterances"].column("text"))).as_py())
        yield tables, count
        done += count
        number += BATCH


def _batch(rng: np.random.Generator, vocabulary: pa.Array, inverse: np.ndarray, number: int) -> dict[str, pa.Table]:
    ids = pa.array([f"s{index:09d}" for index in range(number, number + BATCH)], pa.string())
    sizes = rng.integers(2, 15, BATCH)
    owner = np.repeat(np.arange(BATCH), sizes)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lengths = 1 + rng.geometric(1 / WORDS, len(owner))
    drawn = inverse[rng.integers(0, len(inverse), int(lengths.sum()), dtype=np.int32)]
    tokens = pc.take(vocabulary, pa.array(drawn, pa.int32()))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    texts = pc.binary_join(pa.LargeListArray.from_arrays(offsets, tokens), pa.scalar(" ", pa.large_string()))
    people = rng.integers(0, 2_000_000, (BATCH, 2))[owner, position % 2]
    started = 1_500_000_000_000_000 + (number + np.arange(BATCH)) * 30_000_000
    sent = started[owner] + position * 20_000_000
    schemas = RECORDS.schemas
    dialogues = [
        ids,
        pa.array([DOMAINS[which] for which in rng.integers(0, len(DOMAINS), BATCH)], pa.string()),
        pa.nulls(BATCH, pa.string()),
        pa.nulls(BATCH, pa.string()),
        pa.array(started, schemas["dialogues"].field("started_at").type),
        pa.array(sizes, pa.int32()),
        pa.repeat("{}", BATCH),
    ]
    utterances = [
        ids.take(pa.array(owner)),
        pa.array(position, pa.int32()),
        pa.array(position, pa.int32()),
        pc.binary_join_element_wise("p", pa.array(people).cast(pa.string()), ""),
        pa.array(["user", "agent"], pa.string()).take(pa.array(position % 2)),
        texts.cast(pa.string()),
        pa.array(sent, schemas["utterances"].field("sent_at").type),
        pa.nulls(len(owner), pa.string()),
        pa.repeat("{}", len(owner)),
    ]
    rated = np.repeat(np.flatnonzero(rng.random(BATCH) < 0.05), 3)
    grades = (rng.integers(1, 6, len(rated) // 3).repeat(3) + rng.integers(0, 2, len(rated))).clip(1, 5)
    annotations = [
        ids.take(pa.array(rated)),
        pa.nulls(len(rated), pa.int32()),
        pa.nulls(len(rated), pa.int32()),
        pa.nulls(len(rated), pa.int32()),
        pa.array(["rating"] * len(rated), pa.string()),
        pa.array([f"rater{n % 3}" for n in range(len(rated))], pa.string()),
        pa.nulls(len(rated), pa.string()),
        pa.array(grades.astype(float), pa.float64()),
        pa.repeat("{}", len(rated)),
    ]
    columns = {"dialogues": dialogues, "utterances": utterances, "annotations": annotations}
    return {table: pa.Table.from_arrays(columns[table], schema=schemas[table]) for table in columns}


def flush(writer: pq.ParquetWriter, waiting: list[pa.Table]) -> None:
    """Write what waits as one row group."""
    rows = pa.concat_tables(waiting) if waiting else None
    if rows is not None and len(rows):
        writer.write_table(rows, row_group_size=len(rows))
    waiting.clear()


def write(path: Path, size: int, seed: int = 0) -> dict[str, int]:
    """Write a corpus of about ``size`` bytes of text, and say on stderr how it goes; its counts."""
    counts = {"dialogues": 0, "utterances": 0, "annotations": 0}
    began, done, said = time.monotonic(), 0, 0.0
    manifest = Manifest("corpus", command=["benchmarks/_synthetic_corpus.py"], options={"bytes": size}, seed=seed)
    with create(path, manifest, overwrite=True) as draft:
        writers = {table: table_writer(RECORDS, table, draft.directory) for table in RECORDS.tables}
        waiting: dict[str, list[pa.Table]] = {table: [] for table in RECORDS.tables}
        for tables, count in batches(size, seed):
            for table, rows in tables.items():
                counts[table] += len(rows)
                waiting[table].append(rows)
                # As the writer of corpora does: a row group is full at 4 MB of utterances or 16,384 rows, dialogues kept whole.
                if table == "utterances" or sum(map(len, waiting[table])) + len(rows) > GROUP_ROWS:
                    flush(writers[table], waiting[table])
            done += count
            if time.monotonic() - said > 10:
                said = time.monotonic()
                rate = done / (said - began)
                print(f"writing: {done / 1e9:.2f} of {size / 1e9:.2f} GB, {rate / 1e6:.0f} MB/s", file=sys.stderr)
        for table, writer in writers.items():
            flush(writer, waiting[table])
            writer.close()
        draft.manifest.counts = counts
        draft.manifest.details = {"text_bytes": done}
        describe_tables(draft.directory, RECORDS, draft.manifest)
    return counts
