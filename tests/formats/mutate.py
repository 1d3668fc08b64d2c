"""Seeded damage to valid sources, and what every reader owes: a corpus, or one clear error."""

import os
import random
import shutil
from pathlib import Path

from tertulia.corpus.exchange import Format, ReadOptions, Report
from tertulia.corpus.ranking_set import RankingSetWriter
from tertulia.corpus.ranking_tables import RankingTableReader
from tertulia.corpus.store import CorpusWriter
from tertulia.corpus.tables import TableReader
from tertulia.errors import InputError

# TERTULIA_MUTATIONS=100000 tries harder than the suite does.
MUTATIONS = int(os.environ.get("TERTULIA_MUTATIONS", "1000"))
# Bytes that mean something to the formats, so that damage is not only of letters.
TELLING = [
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"{}",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"[",
    b"}",
    b":",
    b"null",
    b"1e999",
]
TELLING += [b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"-", b"9" * 30, b"NaN", b"true", b"\\u0000", b" ", b"\t", b"\x1b[2J"]


def mutate(chance: random.Random, data: bytes) -> bytes:
    """One to four changes: bits flipped, bytes put in, taken out, repeated, moved, or the end cut off."""
    for _ in range(chance.choice([1, 1, 2, 4])):
        if not data:
            break
        place = chance.randrange(len(data))
        other = chance.randrange(len(data))
        low, high = min(place, other), min(max(place, other), min(place, other) + 60)
        action = chance.randrange(7)
        if action == 0:
            data = data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
        elif action == 1:
            data = data[:place] + chance.choice(TELLING) + data[place:]
        elif action == 2:
            data = data[:low] + data[high:]
        elif action == 3:
            data = data[:place] + data[low:high] + data[place:]
        elif action == 4:
            data = data[:place]
        elif action == 5:
            data = data[:low] + chance.choice(TELLING) + data[high:]
        else:
            lines = data.split(b"\n")
            chance.shuffle(lines)
            data = b"\n".join(lines)
    return data


def outcomes(part: Format, files: dict[str, bytes], folder: Path, seed: int) -> dict[str, int]:
    """Reads ``MUTATIONS`` damaged copies; counts how they end. Anything but a corpus or an ``InputError`` comes through."""
    chance = random.Random(seed)
    counts = {"corpus": 0, "error": 0}
    source, work = folder / "source", folder / "work"
    for _ in range(MUTATIONS):
        shutil.rmtree(source, ignore_errors=True)
        victim = chance.choice(sorted(files))
        for name, data in files.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutate(chance, data) if name == victim else data)
        options = ReadOptions(skip_bad=chance.random() < 0.5, drop_duplicates=chance.random() < 0.5)
        problem = None
        try:
            records = list(part.read(str(source), Report(), options))
        except InputError as error:
            problem = error.one_line()
        if problem is not None:
            assert "\n" not in problem
            assert str(source) in problem
            counts["error"] += 1
            continue
        work.mkdir()
        writer = RankingSetWriter(work) if part.holds == "ranking-set" else CorpusWriter(work)
        for record in records:
            writer.add(record)
        writer.close()
        reader = RankingTableReader(work) if part.holds == "ranking-set" else TableReader(work)
        assert sum(1 for _ in reader.records()) == len(records)
        reader.close()
        shutil.rmtree(work)
        counts["corpus"] += 1
    return counts
