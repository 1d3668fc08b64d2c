"""A ranking set on disk: contexts, each with its candidates; written as a stream, read as a stream or one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.artefact import Manifest
from tertulia.corpus.collection import Collection, write_collection
from tertulia.corpus.model import RankingRecord
from tertulia.corpus.ranking_tables import RANKING_RECORDS
from tertulia.corpus.sorting import SortedWriter

if TYPE_CHECKING:
    from tertulia.corpus.interchange.conversions import RankingFrames

__all__ = ["RANKING_SET", "RankingSet", "RankingSetWriter", "write_ranking_set"]

RANKING_SET = "ranking-set"


class RankingSet(Collection[RankingRecord]):
    """A ranking set's directory, open for reading; its length is the number of contexts."""

    kind = RANKING_SET
    layout = RANKING_RECORDS

    def to_polars(self) -> RankingFrames:
        """The tables as lazy frames of Polars: ``contexts``, ``candidates``."""
        from tertulia.corpus.interchange.conversions import RankingFrames, lazy_frames

        return RankingFrames(*lazy_frames(self))

    def to_huggingface(self, what: str | None = None) -> Any:
        """A streaming ``datasets.IterableDataset``: a context a row, or the rows of the table ``what``."""
        from tertulia.corpus.interchange.conversions import to_huggingface

        return to_huggingface(self, what)


class RankingSetWriter(SortedWriter[RankingRecord]):
    """Takes records in any order and leaves the sorted tables of a ranking set in a directory."""

    def __init__(self, directory: Path, *, run_characters: int | None = None) -> None:
        super().__init__(RANKING_RECORDS, directory, _characters, run_characters=run_characters)
        self.counts = {"contexts": 0, "candidates": 0}

    def add(self, record: RankingRecord) -> None:
        """Take one record."""
        self.counts["contexts"] += 1
        self.counts["candidates"] += len(record.candidates)
        super().add(record)


def _characters(record: RankingRecord) -> int:
    count = 500 + sum(len(turn.text) + 200 for turn in record.context.turns)
    count += len(repr(record.context.attributes)) if record.context.attributes else 0
    return count + sum(
        len(candidate.text)
        + 300
        + 100 * len(candidate.ratings)
        + (len(repr(candidate.attributes)) if candidate.attributes else 0)
        for candidate in record.candidates
    )


def write_ranking_set(
    path: str | Path, records: Iterable[RankingRecord], manifest: Manifest, *, overwrite: bool = False
) -> RankingSet:
    """Write records, in any order, as the ranking set at ``path``; the manifest's counts are filled in.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written (it exists, and ``overwrite`` is not given).
    InputError
        Two contexts have the same id, or whatever the stream raises.
    """
    write_collection(path, records, manifest, RANKING_SET, RankingSetWriter, RANKING_RECORDS, overwrite=overwrite)
    return RankingSet(path)
