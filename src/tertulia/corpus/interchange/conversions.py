"""Corpora and ranking sets in the hands of other libraries: Polars, Hugging Face ``datasets``, ConvoKit.

Polars and ``datasets`` read the Parquet files where they lie, as they are asked for rows; nothing is copied beforehand. A corpus
of ConvoKit is in memory as a whole, for that is how ConvoKit works.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tertulia.corpus.collection import Collection
from tertulia.corpus.grouped import GroupedReader
from tertulia.corpus.interchange.convokit_shape import Conversation, conversation_of
from tertulia.corpus.interchange.nested_rows import Groups, nested_schema, nested_tables
from tertulia.corpus.model import Record
from tertulia.corpus.opening import open_collection
from tertulia.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    import polars

__all__ = ["CorpusFrames", "RankingFrames", "lazy_frames", "to_convokit", "to_huggingface"]


def _package(name: str, feature: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(feature, package=name, extra=extra) from None


class CorpusFrames(NamedTuple):
    """The tables of a corpus."""

    dialogues: polars.LazyFrame
    utterances: polars.LazyFrame
    annotations: polars.LazyFrame


class RankingFrames(NamedTuple):
    """The tables of a ranking set."""

    contexts: polars.LazyFrame
    candidates: polars.LazyFrame


def lazy_frames(collection: Collection[Any]) -> list[polars.LazyFrame]:
    """The tables of a corpus or ranking set as lazy frames, which scan the Parquet files when they are collected.

    ``attributes`` is a text that holds JSON.

    Raises
    ------
    MissingExtraError
        Polars is not installed.
    """
    library = _package("polars", "to_polars", "full")
    tables = collection.layout.tables
    return [library.scan_parquet(collection.path / f"{table}.parquet", glob=False) for table in tables]


def to_huggingface(collection: Collection[Any], what: str | None = None) -> Any:
    """A ``datasets.IterableDataset``; it reads the files, some records at a time, while one iterates over it.

    Parameters
    ----------
    collection:
        The corpus or ranking set; it need not stay open.
    what:
        A table, or by default the first (``"dialogues"`` or ``"contexts"``), which then has the rows of the others as lists
        in its rows: a dialogue its ``utterances`` and ``annotations``, a context its ``candidates``.

    Raises
    ------
    ConfigurationError
        There is no such table.
    MissingExtraError
        ``datasets`` is not installed.
    """
    tables = collection.layout.tables
    what = what or tables[0]
    if what not in tables:
        raise ConfigurationError(f"a {collection.kind} has no table {what!r}; it has: {', '.join(tables)}")
    datasets = _package("datasets", "to_huggingface", "full")
    layout = collection.layout
    schema = nested_schema(layout) if what == tables[0] else layout.schemas[what]
    reader = GroupedReader[Any](layout, collection.path, _footers(collection))
    count = int(reader.file(what).num_row_groups)
    reader.close()
    return datasets.IterableDataset.from_generator(
        _rows,
        features=datasets.Features.from_arrow_schema(schema),
        # The list is what ``datasets`` shares out among workers.
        gen_kwargs={"path": str(collection.path.absolute()), "what": what, "groups": list(range(count)) or [-1]},
    )


def _rows(path: str, what: str, groups: list[int]) -> Iterator[dict[str, Any]]:
    """The rows of some row groups of a table; a function of its own, so that worker processes can have it."""
    with open_collection(Path(path)) as collection:
        for table in _tables(collection, what, [group for group in groups if group >= 0]):
            yield from table.to_pylist()


def _tables(collection: Collection[Any], what: str, groups: list[int]) -> Iterator[pa.Table]:
    layout, footers = collection.layout, _footers(collection)
    if what == layout.tables[0]:
        yield from nested_tables(collection.path, layout, footers, groups)
        return
    reader = GroupedReader[Any](layout, collection.path, footers)
    try:
        table = Groups(reader, collection.path / f"{what}.parquet", what)
        for group in groups:
            for batch in table.read(group).to_batches(max_chunksize=1_000):
                yield pa.Table.from_batches([batch])
    finally:
        reader.close()


def _footers(collection: Collection[Any]) -> dict[str, str] | None:
    footers = collection.manifest.details.get("footers")
    return footers if isinstance(footers, dict) else None


def to_convokit(corpus: Collection[Record]) -> Any:
    """A ``convokit.Corpus``, in memory, as ConvoKit loads it from what the format ``convokit`` writes.

    Dialogues without an utterance are left out, for ConvoKit has none. ConvoKit leaves a file with its settings in ``~/.convokit``.

    Raises
    ------
    MissingExtraError
        ConvoKit is not installed.
    """
    convokit = _package("convokit", "to_convokit", "convokit")
    speakers: dict[str, Any] = {}
    metas: dict[str, dict[str, Any]] = {}
    utterances = []
    for conversation in _conversations(corpus):
        for name, meta in conversation.speakers.items():
            if name not in speakers:
                speakers[name] = convokit.Speaker(id=name, meta=meta)
        metas[conversation.id] = conversation.meta
        utterances += [
            convokit.Utterance(
                id=row.id,
                speaker=speakers[row.speaker],
                conversation_id=conversation.id,
                reply_to=row.reply_to,
                timestamp=row.timestamp,
                text=row.text,
                meta=row.meta,
            )
            for row in conversation.rows
        ]
    made = convokit.Corpus(utterances=utterances)
    for identifier, meta in metas.items():
        if meta and made.has_conversation(identifier):
            made.get_conversation(identifier).meta.update(meta)
    return made


def _conversations(corpus: Collection[Record]) -> Iterator[Conversation]:
    """All dialogues in ConvoKit's shape."""
    ids: set[str] = set()
    speakers: dict[str, dict[str, Any]] = {}

    def claim(identifier: str) -> bool:
        is_new = identifier not in ids
        ids.add(identifier)
        return is_new

    for record in corpus.records():
        yield conversation_of(record, claim, speakers.setdefault)
