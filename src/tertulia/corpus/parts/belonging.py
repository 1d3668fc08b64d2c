"""Which records belong together: those with the same texts, of the same dialogue, or with the same value of an attribute.

Numbers stand for records and groups, so that ten million dialogues take some hundred megabytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.corpus.columns import values_of
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import InputError

__all__ = ["By", "groups_of", "keyed_order", "normalised"]

By = Literal["dialogue", "prompt", "time"]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Advance = Callable[[int, int | None], None]
# Put after each text, so that ["ab", "c"] and ["a", "bc"] differ.
_END = "\x1f"


def normalised(texts: pa.Array) -> pa.Array:
    """Texts as they are compared: compatibility forms unified, lower case, white space of any kind and length as one space."""
    texts = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    # Replacing costs seven times what looking costs, and few texts have anything to replace.
    uneven = pc.match_substring_regex(texts, r"\s\s|[^\S ]")
    if pc.any(uneven).as_py():
        texts = pc.replace_with_mask(texts, uneven, pc.replace_substring_regex(texts.filter(uneven), r"\s+", " "))
    return pc.utf8_trim(texts, " ")


def groups_of(
    collection: Corpus | RankingSet, by: By, together: str | None = None, advance: Advance = lambda _n, _total: None
) -> Numbers:
    """For each record, in order of id, the number of its group.

    Records of equal texts (of a corpus by ``prompt``: of equal first utterances) are one group; contexts of one dialogue are too,
    and records with the same value of the attribute ``together``. Memory: some 90 bytes a record in all.

    Returns
    -------
    Array of the shape (records,): the smallest index of a record of the group.
    """
    keys = [_text_keys(collection, first_only=by == "prompt", advance=advance)]
    if isinstance(collection, RankingSet):
        keys.append(_column_keys(collection, "contexts", lambda row: row, "dialogue_id"))
    if together is not None:
        table = collection.layout.tables[0]
        keys.append(_column_keys(collection, table, lambda row: _attribute(row, together), "attributes"))
        if not keys[-1].any():
            raise InputError(f"no {collection.layout.noun} has an attribute {together!r}", where=collection.path)
    return _united(keys)


def _text_keys(collection: Corpus | RankingSet, *, first_only: bool, advance: Advance) -> Hashes:
    """A hash of each record's texts, 0 for a record without any text."""
    total = len(collection)
    keys = np.zeros(total, dtype=np.uint64)
    if isinstance(collection, RankingSet):
        done = 0
        for batch in collection.batches("contexts", ["turns"]):
            turns = batch.column("turns").combine_chunks()
            texts = pc.struct_field(turns.flatten(), "text")
            lengths = pc.list_value_length(turns).to_numpy(zero_copy_only=False)
            hashes = _hashes(texts, np.concatenate([[0], np.cumsum(lengths)]))
            keys[done : done + len(hashes)] = hashes
            done += len(hashes)
            advance(len(hashes), total)
        return keys
    numbers = _numbers(collection)
    for batch in collection.batches("utterances", ["dialogue_id", "text"]):
        ids = batch.column("dialogue_id").combine_chunks()
        runs = _runs(ids)
        hashes = _hashes(batch.column("text").combine_chunks(), runs, first_only=first_only)
        places = numbers(ids.take(pa.array(runs[:-1])))
        keys[places] = hashes
        advance(len(hashes), total)
    return keys


def _numbers(corpus: Corpus) -> Callable[[pa.Array], Numbers]:
    """Gives the numbers of dialogues by their ids, which must be asked for in ascending order."""
    ids = (batch.column("id").combine_chunks() for batch in corpus.batches("dialogues", ["id"]))
    current, offset = pa.array([], pa.string()), 0

    def numbers(wanted: pa.Array) -> Numbers:
        nonlocal current, offset
        found = np.empty(len(wanted), dtype=np.int64)
        done = 0
        while done < len(wanted):
            places = pc.index_in(wanted.slice(done), current)
            here = int(pc.sum(pc.is_valid(places)).as_py() or 0)
            found[done : done + here] = places.slice(0, here).to_numpy(zero_copy_only=False) + offset
            done += here
            if done < len(wanted):
                offset += len(current)
                current = next(ids)
        return found

    return numbers


def _runs(ids: pa.Array) -> Numbers:
    """Where each run of equal values begins, and the end."""
    changes = pc.not_equal(ids.slice(1), ids.slice(0, max(0, len(ids) - 1))).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(changes) + 1, [len(ids)]]).astype(np.int64)


def _hashes(texts: pa.Array, runs: Numbers, *, first_only: bool = False) -> Hashes:
    """A hash of the normalised texts of each run: one slice of Arrow's buffer a run. 0 where there is nothing but space."""
    if first_only:
        texts = texts.take(pa.array(runs[:-1]))
        runs = np.arange(len(texts) + 1)
    plain = normalised(texts)
    ended = pc.binary_join_element_wise(plain, "", _END).cast(pa.large_binary())
    offsets = np.frombuffer(ended.buffers()[1], dtype=np.int64)[ended.offset :][: len(ended) + 1]
    data = memoryview(ended.buffers()[2] or b"")
    bounds = offsets[runs] if len(offsets) else np.zeros(len(runs), dtype=np.int64)
    empty = (bounds[1:] - bounds[:-1]) == (runs[1:] - runs[:-1])
    made = b"".join(
        hashlib.blake2b(data[low:high], digest_size=8).digest()
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    )
    hashes = np.frombuffer(made, dtype=np.uint64) | np.uint64(1)
    return np.where(empty, np.uint64(0), hashes)


def _column_keys(
    collection: Corpus | RankingSet, table: str, value_of: Callable[[str], str | None], column: str
) -> Hashes:
    """A hash of what a column says of each record, 0 where it says nothing."""
    return np.concatenate(
        [
            np.array([0 if value is None else _hash(value_of(value)) for value in values], dtype=np.uint64)
            for values in _column_values(collection, table, column)
        ]
        or [np.zeros(0, dtype=np.uint64)]
    )


def _column_values(collection: Corpus | RankingSet, table: str, column: str) -> Iterator[list[Any]]:
    """The values of a column, a list a row group: never those of all records at once."""
    for batch in collection.batches(table, [column]):
        yield values_of(batch.column(column))


def _attribute(text: str, name: str) -> str | None:
    value = json.loads(text).get(name)
    return None if value is None else json.dumps(value, sort_keys=True)


def _hash(value: str | None) -> int:
    if value is None:
        return 0
    return int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8).digest(), "little") | 1


def _united(keys: list[Hashes]) -> Numbers:
    """The groups of records that share any key, as the smallest index in each; a key of 0 is shared with nobody.

    Labels sink to the smallest within each key's groups until nothing changes; as many rounds as the longest chain of groups.
    """
    labels = np.arange(len(keys[0]), dtype=np.int64)
    orders = [_grouping(key) for key in keys]
    changed = True
    while changed:
        changed = False
        for order, starts in orders:
            if not len(order):
                continue
            smallest = np.minimum.reduceat(labels[order], starts)
            spread = np.repeat(smallest, np.diff(np.append(starts, len(order))))
            if (labels[order] != spread).any():
                labels[order] = spread
                changed = len(orders) > 1
    return labels


def _grouping(key: Hashes) -> tuple[Numbers, Numbers]:
    """The records that share their key with others, ordered by key, and where each key's begin."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = int(np.searchsorted(ordered, 1))
    order, ordered = order[first:], ordered[first:]
    if not len(order):
        return order, order
    starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
    sizes = np.diff(np.append(starts, len(order)))
    shared = np.repeat(sizes > 1, sizes)
    return order[shared], np.concatenate([[0], np.cumsum(sizes[sizes > 1])[:-1]]).astype(np.int64)


def keyed_order(collection: Corpus | RankingSet, seed: int) -> Hashes:
    """For each record, in order of id, a number that a seeded hash gives its id: the order of a draw.

    It depends on the id alone, so that a record is drawn or not whatever else the collection holds.
    """
    key = seed.to_bytes(16, "little", signed=True)
    table = collection.layout.tables[0]
    parts = [np.zeros(0, dtype=np.uint64)]
    for identifiers in _column_values(collection, table, "id"):
        made = b"".join(hashlib.blake2b(name.encode(), digest_size=8, key=key).digest() for name in identifiers)
        parts.append(np.frombuffer(made, dtype=np.uint64))
    return np.concatenate(parts)
