"""A corpus on disk: written as a stream, read as a stream or one dialogue at a time."""

from __future__ import annotations

import contextlib
import heapq
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from tertulia.artefact import Manifest, create, verify
from tertulia.corpus.model import Dialogue, Record
from tertulia.corpus.tables import TABLES, TableReader, TableWriter
from tertulia.errors import ArtefactError, InputError

__all__ = ["KIND", "Corpus", "CorpusWriter", "write_corpus"]

KIND = "corpus"
# Records wait in memory until this many characters of text; then they are sorted and written as a run.
_RUN_CHARACTERS = 64_000_000


class Corpus:
    """A corpus directory, open for reading.

    ``Corpus(path)`` checks the manifest and the sizes of the files; ``check_digests`` reads them whole, which a command that
    is going to read everything does first.
    """

    def __init__(self, path: str | Path, *, check_digests: bool = False) -> None:
        self.path = Path(path)
        self.manifest: Manifest = verify(self.path, KIND, digests=check_digests)
        self._reader = TableReader(self.path)

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
        self._characters += 500 + 100 * len(record.annotations)
        self._characters += sum(len(utterance.text) + 200 for utterance in record.dialogue.utterances)
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
        run = self._directory / f".run-{len(self._runs):05d}"
        run.mkdir()
        self._runs.append(run)
        self._writer = TableWriter(run)
        self._last_id = None

    def close(self) -> None:
        """Merge the runs into the corpus's tables and remove them."""
        self._write_run()
        if self._writer is not None:
            self._writer.close()
        if len(self._runs) == 1:
            for table in TABLES:
                (self._runs[0] / f"{table}.parquet").rename(self._directory / f"{table}.parquet")
        else:
            self._merge()
        for run in self._runs:
            shutil.rmtree(run)

    def _merge(self) -> None:
        merged = TableWriter(self._directory)
        with contextlib.ExitStack() as stack:
            readers = [TableReader(run) for run in self._runs]
            for reader in readers:
                stack.callback(reader.close)
            last = None
            streams = (reader.records() for reader in readers)
            for record in heapq.merge(*streams, key=lambda record: record.dialogue.id):
                if record.dialogue.id == last:
                    raise _twice(record.dialogue.id)
                last = record.dialogue.id
                merged.write(record)
        merged.close()


def _twice(identifier: str) -> InputError:
    return InputError(
        f"two dialogues have the id {identifier!r}; expected every id once",
        hint="--skip-bad keeps the first and counts the others",
    )


def write_corpus(path: str | Path, records: Iterator[Record], manifest: Manifest, *, overwrite: bool = False) -> Corpus:
    """Write a stream of records as the corpus at ``path``; the manifest's counts are filled in.

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
        for record in records:
            writer.add(record)
        writer.close()
        draft.manifest.counts = {
            "dialogues": writer.dialogues,
            "utterances": writer.utterances,
            "annotations": writer.annotations,
        }
    return Corpus(path)
