"""The files of threads that narrowing leaves, read a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tertulia.corpus.columns import values_of
from tertulia.errors import StoreError
from tertulia.stackexchange.finish.dialogue import Comment, Post, SiteNames, Thread

__all__ = ["Candidate", "Share", "read_candidates", "shares_of", "survivors_of"]

# Rows with two long posts each: this many are some megabytes.
_ROWS = 512
_POST = ("score", "user", "name", "licence", "body")
_COLUMNS = [
    *("site", "question", "answer", "mask", "survives", "seeker_last", "seeker", "provider", "comments"),
    *("accepted", "q_title", "q_tags", "q_created", *(f"q_{name}" for name in _POST)),
    *("a_created", *(f"a_{name}" for name in _POST)),
    *("seeker_name", "provider_name"),
]
_IN_ORDER = attrgetter("created", "id")
_FIELDS = Comment._fields


class Share(NamedTuple):
    """A row group of a file of threads, which one worker finishes at a time."""

    path: Path
    group: int
    rows: int


class Candidate(NamedTuple):
    """A row of the threads: ``thread`` is there where the tables let it be a dialogue."""

    mask: int
    seeker_last: bool
    seeker: str
    comments: Sequence[Comment]
    site: int
    thread: Thread | None


def shares_of(paths: Sequence[Path]) -> list[Share]:
    """The shares of the files, in order of path."""
    found = []
    for path in sorted(paths):
        metadata = _open(path).metadata
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if rows:
                found.append(Share(path, group, rows))
    return found


def survivors_of(share: Share) -> pa.Table:
    """``site, question, answer`` of the candidates that the tables let be dialogues."""
    table = _open(share.path).read_row_group(share.group, columns=["site", "question", "answer", "survives"])
    return table.filter(table.column("survives")).drop_columns(["survives"])


def read_candidates(share: Share, sites: Sequence[SiteNames]) -> Iterator[Candidate]:
    """The rows of a share; comments in order of time, then id."""
    file = _open(share.path)
    for batch in file.iter_batches(_ROWS, row_groups=[share.group], columns=_COLUMNS, use_threads=False):
        columns = [values_of(batch.column(name)) for name in _COLUMNS]
        order = _order_of_fields(batch.schema.field("comments").type)
        for row in zip(*columns, strict=True):
            yield _candidate(row, order, sites)


def _open(path: Path) -> pq.ParquetFile:
    try:
        # Unbuffered, a row group is read whole, all of its long texts.
        return pq.ParquetFile(path, buffer_size=1 << 18, pre_buffer=False)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"cannot be read: {error}", where=path, hint="run the build again") from None


def _order_of_fields(kind: pa.DataType) -> itemgetter[Any] | None:
    """What puts the fields of a comment's struct in order; ``None`` where they are."""
    struct = kind.value_type
    names = [struct.field(number).name for number in range(struct.num_fields)]
    return None if names == list(_FIELDS) else itemgetter(*(names.index(name) for name in _FIELDS))


def _candidate(row: tuple[Any, ...], order: itemgetter[Any] | None, sites: Sequence[SiteNames]) -> Candidate:
    number, question, answer, mask, survives, seeker_last, seeker, provider, comments, *more = row
    found = [Comment(*(comment if order is None else order(comment))) for comment in comments or ()]
    found.sort(key=_IN_ORDER)
    thread = None
    if survives:
        accepted, title, tags, *posts, seeker_name, provider_name = more
        q_created, q_score, q_user, _, q_licence, q_body, a_created, a_score, a_user, _, a_licence, a_body = posts
        thread = Thread(
            sites[number],
            Post(question, q_created, q_score, q_user, seeker, seeker_name, q_licence, q_body),
            Post(answer, a_created, a_score, a_user, provider, provider_name, a_licence, a_body),
            title,
            tags,
            accepted,
            found,
        )
    return Candidate(mask, seeker_last, seeker, found, number, thread)
