"""The three Parquet tables of a corpus: their columns, a writer of sorted records, a streaming reader.

Rows are sorted by dialogue id and position, and a dialogue never straddles two row groups, so that the statistics of the row
groups lead to one dialogue without reading the rest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tertulia.artefact import canonical_json
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.corpus.times import as_utc
from tertulia.errors import ArtefactError, InputError

__all__ = ["SCHEMAS", "TABLES", "TableReader", "TableWriter", "footer_digest"]

_TIME = pa.timestamp("us", tz="UTC")
SCHEMAS: dict[str, pa.Schema] = {
    "dialogues": pa.schema(
        [
            ("id", pa.string()),
            ("domain", pa.string()),
            ("split", pa.string()),
            ("title", pa.string()),
            ("started_at", _TIME),
            ("utterances", pa.int32()),
            ("attributes", pa.string()),
        ]
    ),
    "utterances": pa.schema(
        [
            ("dialogue_id", pa.string()),
            ("position", pa.int32()),
            ("turn", pa.int32()),
            ("speaker", pa.string()),
            ("role", pa.string()),
            ("text", pa.string()),
            ("sent_at", _TIME),
            ("id", pa.string()),
            ("attributes", pa.string()),
        ]
    ),
    "annotations": pa.schema(
        [
            ("dialogue_id", pa.string()),
            ("position", pa.int32()),
            ("start", pa.int32()),
            ("end", pa.int32()),
            ("layer", pa.string()),
            ("annotator", pa.string()),
            ("label", pa.string()),
            ("value", pa.float64()),
            ("attributes", pa.string()),
        ]
    ),
}
TABLES = tuple(SCHEMAS)
# The columns that every row fills.
_FILLED = {
    "dialogues": {"id", "utterances"},
    "utterances": {"dialogue_id", "position", "turn", "speaker", "text"},
    "annotations": {"dialogue_id", "layer", "annotator"},
}
# A row group closes at the first of these. Small groups make one dialogue cheap to reach, large ones compress better and
# keep the footer small: 8 MB gives some 2,500 groups in a corpus of 20 GB, whose footer parses in milliseconds.
_GROUP_ROWS = 32_768
_GROUP_BYTES = 8 << 20
# Columns of few distinct values or of long runs; the rest is cheaper written as it is.
_DICTIONARY = ["domain", "split", "dialogue_id", "speaker", "role", "layer", "annotator", "label", "attributes"]


class TableWriter:
    """Writes records, given in ascending order of dialogue id, to the three tables in a directory.

    ``share`` divides the limits of a row group, for tables of which many are going to be read at the same time.
    """

    def __init__(self, directory: Path, *, share: int = 1) -> None:
        self._group_rows = max(1, _GROUP_ROWS // share)
        self._group_bytes = max(1, _GROUP_BYTES // share)
        self._writers = {
            name: pq.ParquetWriter(
                directory / f"{name}.parquet",
                schema,
                compression="zstd",
                compression_level=3,
                use_dictionary=[column for column in _DICTIONARY if column in schema.names],
                version="2.6",
                write_page_checksum=True,
            )
            for name, schema in SCHEMAS.items()
        }
        self._columns: dict[str, dict[str, list[Any]]] = {name: _empty(name) for name in TABLES}
        self._bytes = dict.fromkeys(TABLES, 0)

    def write(self, record: Record) -> None:
        """Append one record.

        Raises
        ------
        InputError
            A text is not Unicode, or an attribute is not JSON.
        """
        dialogue = record.dialogue
        try:
            self._write_dialogue(dialogue)
            self._write_utterances(dialogue)
            self._write_annotations(record)
        except ValueError as error:
            raise InputError(f"dialogue {dialogue.id!r} has an attribute that is not JSON: {error}") from None
        for name in TABLES:
            if self._bytes[name] >= self._group_bytes or len(self._columns[name]["attributes"]) >= self._group_rows:
                self._flush(name)

    def _write_dialogue(self, dialogue: Dialogue) -> None:
        columns = self._columns["dialogues"]
        attributes = canonical_json(dialogue.attributes)
        for name, value in (
            ("id", dialogue.id),
            ("domain", dialogue.domain),
            ("split", dialogue.split),
            ("title", dialogue.title),
            ("started_at", _to_utc(dialogue.started_at)),
            ("utterances", len(dialogue.utterances)),
            ("attributes", attributes),
        ):
            columns[name].append(value)
        self._bytes["dialogues"] += len(dialogue.id) + len(dialogue.title or "") + len(attributes) + 64

    def _write_utterances(self, dialogue: Dialogue) -> None:
        columns = self._columns["utterances"]
        size = 0
        for utterance in dialogue.utterances:
            columns["dialogue_id"].append(dialogue.id)
            columns["position"].append(utterance.position)
            columns["turn"].append(utterance.turn)
            columns["speaker"].append(utterance.speaker)
            columns["role"].append(utterance.role)
            columns["text"].append(utterance.text)
            columns["sent_at"].append(_to_utc(utterance.sent_at))
            columns["id"].append(utterance.id)
            attributes = canonical_json(utterance.attributes) if utterance.attributes else "{}"
            columns["attributes"].append(attributes)
            size += len(utterance.text) + len(attributes) + 48
        self._bytes["utterances"] += size

    def _write_annotations(self, record: Record) -> None:
        columns = self._columns["annotations"]
        for annotation in sorted(record.annotations, key=_annotation_order):
            columns["dialogue_id"].append(record.dialogue.id)
            for name in ("position", "start", "end", "layer", "annotator", "label", "value"):
                columns[name].append(getattr(annotation, name))
            attributes = canonical_json(annotation.attributes)
            columns["attributes"].append(attributes)
            self._bytes["annotations"] += len(annotation.label or "") + len(attributes) + 96

    def _flush(self, name: str) -> None:
        columns = self._columns[name]
        try:
            table = pa.table(columns, schema=SCHEMAS[name])
        except UnicodeEncodeError:
            raise InputError(
                f"a dialogue from {columns[SCHEMAS[name].names[0]][0]!r} on has a text with half of a surrogate pair, "
                "which is not Unicode text"
            ) from None
        self._writers[name].write_table(table, row_group_size=max(1, table.num_rows))
        self._columns[name] = _empty(name)
        self._bytes[name] = 0

    def close(self) -> None:
        """Write what is left and close the files."""
        for name in TABLES:
            if self._columns[name]["attributes"]:
                self._flush(name)
        self.abandon()

    def abandon(self) -> None:
        """Close the files and forget what is not written yet."""
        for writer in self._writers.values():
            writer.close()


def _empty(table: str) -> dict[str, list[Any]]:
    return {column: [] for column in SCHEMAS[table].names}


def _to_utc(time: datetime | None) -> datetime | None:
    return None if time is None else as_utc(time)


def _annotation_order(annotation: Annotation) -> tuple[Any, ...]:
    return (
        -1 if annotation.position is None else annotation.position,
        annotation.layer,
        -1 if annotation.start is None else annotation.start,
        -1 if annotation.end is None else annotation.end,
        annotation.annotator,
        annotation.label or "",
        0.0 if annotation.value is None else annotation.value,
        canonical_json(annotation.attributes),
    )


def footer_digest(path: Path) -> str:
    """The SHA-256 (hexadecimal) of the footer of a Parquet file, where its schema, row groups and statistics stand."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - 8 - length))
        return hashlib.sha256(file.read()).hexdigest()


class TableReader:
    """Reads the three tables of a directory as records, streaming or one by its dialogue id.

    Pages carry checksums, so that damage is met as an error also where nobody has checked the digests of the files.
    A footer carries none, and Arrow ends the process over some damaged ones: ``footers`` maps a table to its
    ``footer_digest``, and a table whose footer has another is not opened.
    """

    def __init__(self, directory: Path, footers: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._footers = footers or {}
        self._files: dict[str, pq.ParquetFile] = {}

    def _path(self, table: str) -> Path:
        return self._directory / f"{table}.parquet"

    @contextmanager
    def _reading(self, table: str, what: str) -> Iterator[None]:
        """Whatever Arrow and Python say of damaged bytes becomes one clear error."""
        try:
            yield
        except FileNotFoundError:
            raise ArtefactError("is not there", where=self._path(table), hint="import the corpus again") from None
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, AttributeError) as error:
            raise ArtefactError(f"{what}: {error}", where=self._path(table), hint="import the corpus again") from None

    def file(self, table: str) -> pq.ParquetFile:
        """The open Parquet file of a table."""
        if table not in self._files:
            with self._reading(table, "is not a Parquet file"):
                expected = self._footers.get(table)
                if expected is not None and footer_digest(self._path(table)) != expected:
                    raise ValueError("its footer is damaged")
                # Mapped memory is the page cache's: a scan holds one row group, and many readers share the pages.
                opened = pq.ParquetFile(self._path(table), memory_map=True, page_checksum_verification=True)
                schema = opened.schema_arrow
            for field in SCHEMAS[table]:
                index = schema.get_field_index(field.name)
                if index < 0:
                    raise ArtefactError(f"has no column {field.name}", where=self._path(table))
                if schema.field(index).type != field.type:
                    found = schema.field(index).type
                    raise ArtefactError(
                        f"has {found} in the column {field.name}; expected {field.type}", where=self._path(table)
                    )
            self._files[table] = opened
        return self._files[table]

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _group(self, table: str, group: int, key: str | None = None) -> list[tuple[Any, ...]]:
        """The rows of a row group in the order of the columns of ``SCHEMAS``; with ``key`` those of that dialogue."""
        file = self.file(table)
        names = SCHEMAS[table].names
        with self._reading(table, f"row group {group} is damaged"):
            batch = file.read_row_group(group, columns=names, use_threads=False)
            if key is not None:
                batch = batch.filter(pc.equal(batch.column(names[0]), key))
            for name in _FILLED[table]:
                if batch.column(name).null_count:
                    raise ValueError(f"a row has no {name}")
            return list(zip(*(_values(batch.column(name)) for name in names), strict=True))

    def rows(self, table: str) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a table, a list of tuples a row group."""
        for group in range(self.file(table).num_row_groups):
            yield self._group(table, group)

    def records(self) -> Iterator[Record]:
        """Every record in order of dialogue id; memory holds one row group of each table."""
        utterances = _Group(self.rows("utterances"))
        annotations = _Group(self.rows("annotations"))
        for rows in self.rows("dialogues"):
            for row in rows:
                yield self._record(row, utterances.take(row[0]), annotations.take(row[0]))
        for name, group in (("utterances", utterances), ("annotations", annotations)):
            if not group.exhausted():
                raise ArtefactError(
                    "has rows of a dialogue that dialogues.parquet does not hold", where=self._path(name)
                )

    def get(self, dialogue_id: str) -> Record | None:
        """The record of one dialogue, reading only the row groups that hold it; ``None`` where there is none."""
        try:
            key = dialogue_id.encode()
        except UnicodeEncodeError:
            return None
        found = self._find("dialogues", dialogue_id, key)
        if not found:
            return None
        return self._record(
            found[0], self._find("utterances", dialogue_id, key), self._find("annotations", dialogue_id, key)
        )

    def _record(
        self, row: tuple[Any, ...], utterances: list[tuple[Any, ...]], annotations: list[tuple[Any, ...]]
    ) -> Record:
        try:
            return _record(row, utterances, annotations)
        except (ValueError, RecursionError) as error:
            raise ArtefactError(f"dialogue {row[0]!r} does not hold together: {error}", where=self._directory) from None

    def _find(self, table: str, dialogue_id: str, key: bytes) -> list[tuple[Any, ...]]:
        group = self._group_of(table, key)
        return [] if group is None else self._group(table, group, dialogue_id)

    def _group_of(self, table: str, key: bytes) -> int | None:
        """The row group that can hold the dialogue ``key``, by bisection."""
        low, high = 0, int(self.file(table).num_row_groups)
        while low < high:
            middle = (low + high) // 2
            first, last = self._bounds(table, middle)
            if last < key:
                low = middle + 1
            elif first > key:
                high = middle
            else:
                return middle
        return None

    def _bounds(self, table: str, group: int) -> tuple[bytes, bytes]:
        """The first and last dialogue id of a row group, from its statistics where it has them (ids may be too long)."""
        file = self.file(table)
        name = SCHEMAS[table].names[0]
        with self._reading(table, f"row group {group} is damaged"):
            statistics = file.metadata.row_group(group).column(SCHEMAS[table].names.index(name)).statistics
            if statistics is not None and statistics.has_min_max:
                return str(statistics.min).encode(), str(statistics.max).encode()
            ids = file.read_row_group(group, columns=[name], use_threads=False).column(name)
            return str(ids[0]).encode(), str(ids[-1]).encode()


class _Group:
    """Hands out consecutive rows by dialogue id from a stream of row groups."""

    def __init__(self, groups: Iterator[list[tuple[Any, ...]]]) -> None:
        self._groups = groups
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0

    def _ready(self) -> bool:
        while self._next >= len(self._rows):
            rows = next(self._groups, None)
            if rows is None:
                return False
            self._rows, self._next = rows, 0
        return True

    def take(self, dialogue_id: str) -> list[tuple[Any, ...]]:
        """The rows of this dialogue, which must come next if there are any."""
        taken: list[tuple[Any, ...]] = []
        while self._ready() and self._rows[self._next][0] == dialogue_id:
            taken.append(self._rows[self._next])
            self._next += 1
        return taken

    def exhausted(self) -> bool:
        """Whether all rows have been taken."""
        return not self._ready()


def _values(column: Any) -> list[Any]:
    """A column as Python values; a column without any value costs nothing."""
    if column.null_count == len(column):
        return [None] * len(column)
    values: list[Any] = column.to_pylist()
    return values


def _attributes(text: str | None) -> dict[str, Any]:
    if text is None or text == "{}":
        return {}
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"attributes hold {text[:40]!r}; expected a JSON object")
    return value


def _record(row: tuple[Any, ...], utterances: list[tuple[Any, ...]], annotations: list[tuple[Any, ...]]) -> Record:
    identifier, domain, split, title, started_at, count, attributes = row
    if count != len(utterances):
        raise ValueError(f"it has {len(utterances)} utterances; its row says {count}")
    dialogue = Dialogue(
        identifier,
        [
            Utterance(position, turn, speaker, text, role, sent_at, own_id, _attributes(extra))
            for _, position, turn, speaker, role, text, sent_at, own_id, extra in utterances
        ],
        domain,
        split,
        title,
        started_at,
        _attributes(attributes),
    )
    return Record(
        dialogue,
        [
            Annotation(identifier, layer, annotator, position, start, end, label, value, _attributes(extra))
            for _, position, start, end, layer, annotator, label, value, extra in annotations
        ],
    )
