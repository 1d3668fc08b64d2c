"""A corpus on disk: written as a stream, read as a stream or one dialogue at a time."""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tertulia.artefact import Manifest, create, verify
from tertulia.corpus.model import Dialogue, Record
from tertulia.corpus.tables import TABLES, TableReader, TableWriter, footer_digest
from tertulia.errors import ArtefactError, InputError

__all__ = ["KIND", "Corpus", "CorpusWriter", "write_corpus"]

KIND = "corpus"
# Records wait in memory until this many characters of text; then they are sorted and written as a run.
_RUN_CHARACTERS = 64_000_000
# So many runs at most are merged at a time, each holding one row group of each table in memory and three files open.
_FAN_IN = 16


class Corpus:
    """A corpus directory, open for reading.

    ``Corpus(path)`` checks the manifest and the sizes of the files; ``check_digests`` reads them whole, which a command that
    is going to read everything does first.
    """

    def __init__(self, path: str | Path, *, check_digests: bool = False) -> None:
        self.path = Path(path)
        self.manifest: Manifest = verify(self.path, KIND, digests=check_digests)
        footers = self.manifest.details.get("footers")
        self._reader = TableReader(self.path, footers if isinstance(footers, dict) else None)

    def __enter__(self) -> Corpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._reader.close()

    def __len__(self) -> int:
        return int(self._reader.file("dialogues").metadata.num_rows)

    def records(self) -> Iterator[Record]:
        """Every dialogue with its annotations, in order of id, streaming."""
        return self._reader.records()

    def dialogues(self) -> Iterator[Dialogue]:
        """Every dialogue, in order of id, streaming."""
        return (record.dialogue for record in self.records())

    def get(self, dialogue_id: str) -> Record:
        """One dialogue by its id, without reading the rest.

        Raises
        ------
        InputError
            The corpus has no dialogue of that id.
        """
        record = self._reader.get(dialogue_id)
        if record is None:
            raise InputError(f"has no dialogue {dialogue_id!r}", where=self.path)
        return record


class CorpusWriter:
    """Takes records in any order and leaves the sorted tables of a corpus in a directory.

    Memory is bounded: what does not fit waits on disk in sorted runs, which are merged at the end. Records that come in
    order of id make one run, which is the result.
    """

    def __init__(self, directory: Path, *, run_characters: int = _RUN_CHARACTERS) -> None:
        self._directory = directory
        self._limit = run_characters
        self._waiting: list[Record] = []
        self._characters = 0
        self._runs: list[Path] = []
        self._run_count = 0
        self._writer: TableWriter | None = None
        self._last_id: str | None = None
        self.dialogues = 0
        self.utterances = 0
        self.annotations = 0

    def add(self, record: Record) -> None:
        """Take one record."""
        self._waiting.append(record)
        self.dialogues += 1
        self.utterances += len(record.dialogue.utterances)
        self.annotations += len(record.annotations)
        self._characters += 500 + _size(record.dialogue.attributes)
        self._characters += sum(
            len(utterance.text) + 200 + _size(utterance.attributes) for utterance in record.dialogue.utterances
        )
        self._characters += sum(100 + len(note.label or "") + _size(note.attributes) for note in record.annotations)
        if self._characters >= self._limit:
            self._write_run()

    def _write_run(self) -> None:
        self._waiting.sort(key=lambda record: record.dialogue.id)
        first = self._waiting[0].dialogue.id if self._waiting else None
        if self._writer is None or (first is not None and self._last_id is not None and first <= self._last_id):
            self._start_run()
        for record in self._waiting:
            identifier = record.dialogue.id
            if identifier == self._last_id:
                raise _twice(identifier)
            if self._writer is not None:
                self._writer.write(record)
            self._last_id = identifier
        self._waiting = []
        self._characters = 0

    def _start_run(self) -> None:
        if self._writer is not None:
            self._writer.close()
        # The first run is the result where it stays alone, so it has row groups of full size.
        self._writer = TableWriter(self._new_run(), share=_FAN_IN if self._runs[1:] else 1)
        self._last_id = None

    def _new_run(self) -> Path:
        run = self._directory / f".run-{self._run_count:05d}"
        self._run_count += 1
        run.mkdir()
        self._runs.append(run)
        return run

    def close(self) -> None:
        """Merge the runs into the corpus's tables and remove them."""
        self._write_run()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        while len(self._runs) > _FAN_IN:
            merging, self._runs = self._runs[:_FAN_IN], self._runs[_FAN_IN:]
            _merge(merging, TableWriter(self._new_run(), share=_FAN_IN))
        if len(self._runs) == 1:
            for table in TABLES:
                (self._runs[0] / f"{table}.parquet").rename(self._directory / f"{table}.parquet")
            self._runs[0].rmdir()
        else:
            _merge(self._runs, TableWriter(self._directory))

    def abandon(self) -> None:
        """Close the files without a result; does nothing after ``close``."""
        if self._writer is not None:
            self._writer.abandon()
            self._writer = None


def _merge(runs: list[Path], merged: TableWriter) -> None:
    """Write the records of sorted runs in order, and remove the runs."""
    readers = [TableReader(run) for run in runs]
    try:
        last = None
        streams = (reader.records() for reader in readers)
        for record in heapq.merge(*streams, key=lambda record: record.dialogue.id):
            if record.dialogue.id == last:
                raise _twice(record.dialogue.id)
            last = record.dialogue.id
            merged.write(record)
        merged.close()
    finally:
        merged.abandon()
        for reader in readers:
            reader.close()
    for run in runs:
        shutil.rmtree(run)


def _size(attributes: dict[str, Any]) -> int:
    """About how many characters attributes take."""
    return len(repr(attributes)) if attributes else 0


def _twice(identifier: str) -> InputError:
    return InputError(f"two dialogues have the id {identifier!r}; expected every id once")


def write_corpus(path: str | Path, records: Iterable[Record], manifest: Manifest, *, overwrite: bool = False) -> Corpus:
    """Write records, in any order, as the corpus at ``path``; the manifest's counts are filled in.

    Raises
    ------
    ArtefactError
        ``path`` cannot be written (it exists, and ``overwrite`` is not given).
    InputError
        Two records have the same id, or whatever the stream raises.
    """
    if manifest.kind != KIND:
        raise ArtefactError(f"the manifest is of a {manifest.kind}; expected a {KIND}", where=path)
    with create(path, manifest, overwrite=overwrite) as draft:
        writer = CorpusWriter(draft.directory)
        try:
            for record in records:
                writer.add(record)
            writer.close()
        finally:
            writer.abandon()
        draft.manifest.details["footers"] = {
            table: footer_digest(draft.directory / f"{table}.parquet") for table in TABLES
        }
        draft.manifest.counts = {
            "dialogues": writer.dialogues,
            "utterances": writer.utterances,
            "annotations": writer.annotations,
        }
    return Corpus(path)
