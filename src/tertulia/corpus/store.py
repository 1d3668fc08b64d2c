"""A corpus on disk: written as a stream, read as a stream or one dialogue at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.artefact import Manifest
from tertulia.corpus.collection import Collection, write_collection
from tertulia.corpus.model import Dialogue, Record
from tertulia.corpus.sorting import SortedWriter
from tertulia.corpus.tables import RECORDS

if TYPE_CHECKING:
    from tertulia.corpus.interchange.conversions import CorpusFrames

__all__ = ["KIND", "Corpus", "CorpusWriter", "write_corpus"]

KIND = "corpus"


class Corpus(Collection[Record]):
    """A corpus directory, open for reading."""

    kind = KIND
    layout = RECORDS

    def dialogues(self) -> Iterator[Dialogue]:
        """Every dialogue, in order of id, streaming."""
        return (record.dialogue for record in self.records())

    def to_polars(self) -> CorpusFrames:
        """The tables as lazy frames of Polars: ``dialogues``, ``utterances``, ``annotations``."""
        from tertulia.corpus.interchange.conversions import CorpusFrames, lazy_frames

        return CorpusFrames(*lazy_frames(self))

    def to_huggingface(self, what: str | None = None) -> Any:
        """A streaming ``datasets.IterableDataset``: a dialogue a row, or the rows of the table ``what``."""
        from tertulia.corpus.interchange.conversions import to_huggingface

        return to_huggingface(self, what)

    def to_convokit(self) -> Any:
        """A ``convokit.Corpus``, in memory."""
        from tertulia.corpus.interchange.conversions import to_convokit

        return to_convokit(self)


class CorpusWriter(SortedWriter[Record]):
    """Takes records in any order and leaves the sorted tables of a corpus in a directory."""

    def __init__(self, directory: Path, *, run_characters: int | None = None) -> None:
        super().__init__(RECORDS, directory, _characters, run_characters=run_characters)
        self.counts = {"dialogues": 0, "utterances": 0, "annotations": 0}

    def add(self, record: Record) -> None:
        """Take one record."""
        self.counts["dialogues"] += 1
        self.counts["utterances"] += len(record.dialogue.utterances)
        self.counts["annotations"] += len(record.annotations)
        super().add(record)


def _characters(record: Record) -> int:
    count = 500 + _size(record.dialogue.attributes)
    count += sum(len(utterance.text) + 200 + _size(utterance.attributes) for utterance in record.dialogue.utterances)
    return count + sum(100 + len(note.label or "") + _size(note.attributes) for note in record.annotations)


def _size(attributes: dict[str, Any]) -> int:
    """About how many characters attributes take."""
    return len(repr(attributes)) if attributes else 0


def write_corpus(path: str | Path, records: Iterable[Record], manifest: Manifest, *, overwrite: bool = False) -> Corpus:
    """Write records, in any order, as the corpus at ``path``; the manifest's counts are filled in.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written (it exists, and ``overwrite`` is not given).
    InputError
        Two records have the same id, or whatever the stream raises.
    """
    write_collection(path, records, manifest, KIND, CorpusWriter, RECORDS, overwrite=overwrite)
    return Corpus(path)
