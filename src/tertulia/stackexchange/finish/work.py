"""The share of the finishing that one process does: endings are judged, what is left becomes dialogues."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tertulia.stackexchange.criteria import POSITIVE_ENDING
from tertulia.stackexchange.finish.dialogue import SiteNames, dialogue_of, last_word
from tertulia.stackexchange.finish.sentiment import compound_scorer
from tertulia.stackexchange.finish.spool import Piece, Spool
from tertulia.stackexchange.finish.threads import Share, read_candidates
from tertulia.stackexchange.options import BuildOptions

__all__ = ["Done", "Job", "finish_share"]

_OBJECTS_BETWEEN_COLLECTIONS = 200_000
# So many candidates are finished between two looks at whether to go on.
_LOOK_EVERY = 50


@dataclass(frozen=True)
class Job:
    """What every worker has to know."""

    options: BuildOptions
    sites: tuple[SiteNames, ...]
    boundaries: tuple[str, ...]
    folder: Path


@dataclass
class Done:
    """What came of a share.

    ``positives`` counts candidates whose seeker has the last word and ends well, by mask; ``dialogues`` has a row
    ``site, question, answer, created`` for each dialogue; their rows are in the ``pieces``.
    """

    rows: int
    positives: Counter[int] = field(default_factory=Counter)
    dialogues: pa.Table | None = None
    pieces: list[Piece] = field(default_factory=list)


def finish_share(number: int, share: Share, job: Job, is_stopped: Callable[[], bool] = lambda: False) -> Done:
    """Finish the share of this number; what there is of it when ``is_stopped`` says so is of no use to anybody."""
    done = Done(share.rows)
    options = job.options
    judges = POSITIVE_ENDING in options.criteria
    score = compound_scorer() if judges else None
    thresholds = [options.threshold(site.domain) for site in job.sites]
    spool = Spool(job.boundaries)
    kept: list[tuple[int, int, int, int]] = []
    with _few_collections():
        for place, candidate in enumerate(read_candidates(share, job.sites)):
            if place % _LOOK_EVERY == 0 and is_stopped():
                return done
            if score is not None and candidate.seeker_last:
                if score(last_word(candidate.seeker, candidate.comments)) < thresholds[candidate.site]:
                    continue
                done.positives[candidate.mask] += 1
            thread = candidate.thread
            if thread is not None:
                spool.add(dialogue_of(thread, options.text))
                kept.append((candidate.site, thread.question.id, thread.answer.id, thread.question.created))
        done.pieces = spool.write(job.folder / f"share-{number:06d}.arrow")
    done.dialogues = _table(kept)
    return done


def _table(rows: Sequence[tuple[int, int, int, int]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    names = ("site", "question", "answer", "created")
    return pa.table({name: pa.array(values, pa.int64()) for name, values in zip(names, columns, strict=True)})


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python look for cycles seldom: millions of objects come and go, none of them in a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
