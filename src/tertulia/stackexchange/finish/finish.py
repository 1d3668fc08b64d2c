"""From threads to the tables of a corpus: several processes make dialogues, then splits are dealt, then all is written in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tertulia.errors import StoreError
from tertulia.stackexchange.finish.dialogue import SiteNames
from tertulia.stackexchange.finish.pool import finish_shares
from tertulia.stackexchange.finish.splits import splits_of
from tertulia.stackexchange.finish.spool import Piece
from tertulia.stackexchange.finish.threads import Share, shares_of, survivors_of
from tertulia.stackexchange.finish.work import Job
from tertulia.stackexchange.finish.writing import write_tables
from tertulia.stackexchange.options import BuildOptions

__all__ = ["Finished", "finish"]

# A part is sorted in memory: this many dialogues, or more where there would be more parts than these.
_PART_DIALOGUES = 4_096
_MOST_PARTS = 256


@dataclass(frozen=True)
class Finished:
    """The rows that each table got, and how many candidates end well (see ``funnel.funnel_of``)."""

    counts: dict[str, int]
    positives: Counter[int]


def finish(
    sites: Sequence[SiteNames],
    threads: Sequence[Path],
    options: BuildOptions,
    directory: Path,
    work: Path,
    *,
    workers: int = 1,
    progress: Callable[[int, int | None], None] = lambda _done, _total: None,
) -> Finished:
    """Write the tables of the corpus into a directory. They do not depend on the order of rows and files, nor on the workers.

    Parameters
    ----------
    sites:
        The names of the sites by the number that the threads have.
    threads:
        The Parquet files that narrowing left.
    directory:
        Where the tables are to be.
    work:
        A folder for what waits on disk; it must be there.
    workers:
        How many processes.
    progress:
        Told the threads finished since the last call, and how many there are.

    Raises
    ------
    StoreError
        The files of the threads, or the folder, cannot be used.
    MissingExtraError
        A package is not installed.
    """
    try:
        shares = shares_of(threads)
        job = Job(options, tuple(sites), _boundaries(shares, sites), work)
        return _finish(shares, job, directory, workers, progress)
    except OSError as error:
        raise StoreError(f"cannot be used: {error.strerror or error}", where=error.filename or work) from None
    except pa.ArrowException as error:
        raise StoreError(f"the dialogues cannot be kept: {error}", where=work) from None


def _finish(
    shares: Sequence[Share], job: Job, directory: Path, workers: int, progress: Callable[[int, int | None], None]
) -> Finished:
    positives: Counter[int] = Counter()
    pieces: list[Piece] = []
    found: list[pa.Table] = []
    total = sum(share.rows for share in shares)
    progress(0, total)
    for _, done in finish_shares(shares, job, workers):
        positives += done.positives
        pieces += done.pieces
        if done.dialogues is not None:
            found.append(done.dialogues)
        progress(done.rows, total)
    names, splits = _splits(found, job)
    return Finished(write_tables(directory, pieces, names, splits), positives)


def _splits(
    found: Sequence[pa.Table], job: Job
) -> tuple[list[str] | None, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """The names of the splits, and the number of the split of each dialogue in order of their ids."""
    fractions = job.options.split
    if fractions is None or not found:
        return None, np.zeros(0, dtype=np.int64)
    dialogues = pa.concat_tables(found)
    threads = _ids(dialogues, job.sites, ["question"])
    names, numbers = splits_of(threads, dialogues.column("created"), fractions)
    order = pc.sort_indices(_ids(dialogues, job.sites, ["question", "answer"])).to_numpy()
    return names, numbers[order]


def _boundaries(shares: Sequence[Share], sites: Sequence[SiteNames]) -> tuple[str, ...]:
    """The first ids of the parts but the first, so that parts are about equal in dialogues."""
    if not shares:
        return ()
    ids = _ids(pa.concat_tables(map(survivors_of, shares)), sites, ["question", "answer"])
    ordered = ids.take(pc.sort_indices(ids))
    size = max(_PART_DIALOGUES, -(-len(ordered) // _MOST_PARTS))
    return tuple(ordered[place].as_py() for place in range(size, len(ordered), size))


def _ids(rows: pa.Table, sites: Sequence[SiteNames], columns: Sequence[str]) -> pa.Array:
    """The ids of threads or dialogues: the domain and the numbers in these columns, joined by hyphens."""
    domains = pa.array([site.domain for site in sites], pa.string()).take(rows.column("site").combine_chunks())
    numbers = [rows.column(name).combine_chunks().cast(pa.string()) for name in columns]
    joined = pc.binary_join_element_wise(domains, *numbers, "-")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
