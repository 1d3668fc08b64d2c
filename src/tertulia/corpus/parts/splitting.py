"""Splits: which part of a corpus or ranking set each record belongs to, so that nothing stands on both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tertulia.artefact import create
from tertulia.corpus.collection import describe_tables
from tertulia.corpus.grouped import table_writer
from tertulia.corpus.opening import open_collection
from tertulia.corpus.parts.belonging import By, Hashes, Numbers, groups_of, keyed_order
from tertulia.corpus.parts.derived import derived_manifest, take_over
from tertulia.corpus.ranking_set import RankingSet
from tertulia.corpus.store import Corpus
from tertulia.errors import ArtefactError, InputError, UsageError

__all__ = ["DEFAULT_FRACTIONS", "split_collection", "targets"]

DEFAULT_FRACTIONS: Mapping[str, float] = {"train": 0.8, "dev": 0.1, "test": 0.1}
_REST = "train"
# Numbers are taken out of arrays a block at a time: as Python objects they take five times the memory.
_BLOCK = 1 << 16


def targets(total: int, *, fractions: Mapping[str, float] | None, counts: Mapping[str, int] | None) -> dict[str, int]:
    """How many records each split is to have, in the order given; with ``counts`` the rest is ``train``.

    Fractions must sum to 1; what rounding leaves goes to the splits with the largest remainders.

    Raises
    ------
    UsageError
        The numbers make no split.
    """
    if counts is not None:
        if any(count < 0 for count in counts.values()) or not counts:
            raise UsageError("counts are whole numbers from 0, such as dev=500,test=500")
        left = total - sum(counts.values())
        if left < 0:
            raise UsageError(f"the counts sum to {sum(counts.values()):,}, and there are only {total:,}")
        if _REST in counts:
            if left:
                raise UsageError(f"the counts leave {left:,} over; leave {_REST} out, and it gets the rest")
            return dict(counts)
        return {_REST: left, **counts}
    fractions = fractions or DEFAULT_FRACTIONS
    if any(not 0 <= share <= 1 for share in fractions.values()) or not math.isclose(sum(fractions.values()), 1):
        raise UsageError(
            f"the fractions sum to {sum(fractions.values()):g}; expected shares between 0 and 1 that sum to 1"
        )
    exact = {name: share * total for name, share in fractions.items()}
    whole = {name: math.floor(share + 1e-9) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: whole[name] - exact[name])
    for name in by_remainder[: total - sum(whole.values())]:
        whole[name] += 1
    return whole


def split_collection(
    path: Path,
    output: Path | None,
    *,
    by: By = "dialogue",
    fractions: Mapping[str, float] | None = None,
    counts: Mapping[str, int] | None = None,
    together: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] = lambda _n, _total: None,
) -> dict[str, int]:
    """Give every record a split, and write the result at ``output``, or in place of the collection where that is ``None``.

    Records of equal texts are never on two sides (compared without regard to case and white space), nor are contexts of one
    dialogue or of equal turns, nor records with the same value of the attribute ``together``; by ``prompt`` neither are dialogues
    of the same first utterance. By ``time`` the earliest come first, in the order of the splits, a group by its earliest record.

    Returns
    -------
    Split → records.

    Raises
    ------
    ArtefactError
        ``output`` cannot be written, or the collection has splits already and is to be replaced without ``overwrite``.
    InputError
        There is no time to split by.
    """
    with open_collection(path, check_digests=True) as source:
        wanted = targets(len(source), fractions=fractions, counts=counts)
        if output is None and not overwrite and _has_splits(source):
            raise ArtefactError(
                "has splits already", where=path, hint="-o writes another corpus, --overwrite replaces these"
            )
        groups = groups_of(source, by, together, progress)
        order = _times(source) if by == "time" else keyed_order(source, seed)
        names = list(wanted)
        assigned = assign(groups, order, list(wanted.values()), in_order=by == "time")
        options = {
            "by": by,
            "splits": dict(wanted if counts is not None else (fractions or DEFAULT_FRACTIONS)),
            "together": together,
        }
        manifest = derived_manifest(["tertulia", "corpus", "split"], [source], options, seed=seed)
        manifest.counts = source.manifest.counts
        manifest.report = source.manifest.report
        target = path if output is None else output
        in_place = target.exists() and target.resolve() == path.resolve()
        if in_place and output is not None and not overwrite:
            raise ArtefactError("exists already", where=output, hint="--overwrite replaces it")
        with create(target, manifest, overwrite=overwrite or in_place) as draft:
            first, *others = source.layout.tables
            _write_splits(source, first, draft.directory, names, assigned)
            for table in others:
                take_over(table, source.path, draft.directory, link=in_place)
            describe_tables(draft.directory, source.layout, draft.manifest)
        return {name: int((assigned == number).sum()) for number, name in enumerate(names)}


def assign(groups: Numbers, order: Hashes | Numbers, wanted: list[int], *, in_order: bool) -> Numbers:
    """The number of the split of each record.

    Groups are taken by the smallest ``order`` of their records. Each goes to the smallest split that still has room for all of
    it, so that the sizes are exact where there are enough groups of one; ``in_order`` fills the splits one after the other.
    """
    ranks = np.lexsort((np.arange(len(order)), order))
    # The records of each group together, groups in the order of their first record.
    position = np.empty(len(groups), dtype=np.int64)
    position[ranks] = np.arange(len(ranks))
    earliest = np.full(len(groups), len(groups), dtype=np.int64)
    np.minimum.at(earliest, groups, position)
    labels = np.flatnonzero(earliest < len(groups))
    labels = labels[np.argsort(earliest[labels])]
    sizes = np.bincount(groups, minlength=len(groups))[labels]
    chosen = _fill(sizes, wanted) if in_order else _fit(sizes, wanted)
    split_of_label = np.zeros(len(groups), dtype=np.int64)
    split_of_label[labels] = chosen
    return split_of_label[groups]


def _fill(sizes: Numbers, wanted: list[int]) -> Numbers:
    """One split after the other; a group belongs to the split in which its first record falls."""
    begins = np.cumsum(sizes) - sizes
    return np.minimum(np.searchsorted(np.cumsum(wanted), begins, side="right"), len(wanted) - 1)


def _fit(sizes: Numbers, wanted: list[int]) -> Numbers:
    """The smallest split that has room for the whole group; where none has, the one with most room."""
    by_size = sorted(range(len(wanted)), key=lambda number: wanted[number])
    chosen = np.empty(len(sizes), dtype=np.int64)
    room = list(wanted)
    for begin in range(0, len(sizes), _BLOCK):
        for index, size in enumerate(sizes[begin : begin + _BLOCK].tolist(), begin):
            split = next((number for number in by_size if room[number] >= size), None)
            if split is None:
                split = room.index(max(room))
            chosen[index] = split
            room[split] -= size
    return chosen


def _has_splits(source: Corpus | RankingSet) -> bool:
    table = source.layout.tables[0]
    return any(batch.column("split").null_count < len(batch) for batch in source.batches(table, ["split"]))


def _times(source: Corpus | RankingSet) -> Numbers:
    """The time of each dialogue in microseconds: when it started, else of its first dated utterance."""
    if isinstance(source, RankingSet):
        raise InputError(
            "a ranking set has no times to split by", where=source.path, hint="split the corpus it is made of"
        )
    parts = [np.zeros(0, dtype="datetime64[us]")]
    for batch in source.batches("dialogues", ["started_at"]):
        parts.append(batch.column("started_at").to_numpy().astype("datetime64[us]"))  # noqa: PERF401
    times = np.concatenate(parts)
    missing = np.flatnonzero(np.isnat(times))
    if len(missing):
        first = _first_sent(source, set(missing.tolist()))
        for number, time in first.items():
            times[number] = time
        missing = np.flatnonzero(np.isnat(times))
    if len(missing):
        raise InputError(
            f"{len(missing):,} of {len(times):,} dialogues have no time to split by",
            where=source.path,
            hint="--by dialogue draws at random",
        )
    return times.astype(np.int64)


def _first_sent(source: Corpus, numbers: set[int]) -> dict[int, Any]:
    found = {}
    for number, record in enumerate(source.records()):
        if number in numbers:
            times = [utterance.sent_at for utterance in record.dialogue.utterances if utterance.sent_at]
            if times:
                found[number] = np.datetime64(min(times).replace(tzinfo=None), "us")
    return found


def _write_splits(source: Corpus | RankingSet, table: str, directory: Path, names: list[str], splits: Numbers) -> None:
    """The table of the records with another column ``split``, row group by row group."""
    schema = source.layout.schemas[table]
    column = schema.get_field_index("split")
    dictionary = pa.array(names, pa.string())
    done = 0
    with table_writer(source.layout, table, directory) as writer:
        for batch in source.batches(table):
            chosen = dictionary.take(pa.array(splits[done : done + len(batch)]))
            done += len(batch)
            replaced = batch.set_column(column, schema.field(column), chosen).cast(schema)
            writer.write_table(replaced, row_group_size=max(1, len(batch)))
