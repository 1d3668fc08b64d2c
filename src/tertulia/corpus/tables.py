"""The three Parquet tables of a corpus: their columns, a writer of sorted records, a streaming reader.

Rows are sorted by dialogue id and position, and a dialogue never straddles two row groups, so that the statistics of the row
groups lead to one dialogue without reading the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tertulia.artefact import canonical_json
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import ArtefactError, InputError

__all__ = ["SCHEMAS", "TABLES", "TableReader", "TableWriter"]

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
# A row group closes at the first of these. Small groups make one dialogue cheap to reach, large ones compress better and
# keep the footer small: 8 MB gives some 2,500 groups in a corpus of 20 GB, whose footer parses in milliseconds.
_GROUP_ROWS = 32_768
_GROUP_BYTES = 8 << 20
# Columns of few distinct values or of long runs; the rest is cheaper written as it is.
_DICTIONARY = ["domain", "split", "dialogue_id", "speaker", "role", "layer", "annotator", "label", "attributes"]


class TableWriter:
    """Writes records, given in ascending order of dialogue id, to the three tables in a directory."""

    def __init__(self, directory: Path) -> None:
        self._writers = {
            name: pq.ParquetWriter(
                directory / f"{name}.parquet",
                schema,
                compression="zstd",
                compression_level=3,
                use_dictionary=[column for column in _DICTIONARY if column in schema.names],
                version="2.6",
            )
            for name, schema in SCHEMAS.items()
        }
        self._columns: dict[str, dict[str, list[Any]]] = {name: _empty(name) for name in TABLES}
        self._bytes = dict.fromkeys(TABLES, 0)

    def write(self, record: Record) -> None:
        """Append one record."""
        dialogue = record.dialogue
        columns = self._columns["dialogues"]
        for name, value in (
            ("id", dialogue.id),
            ("domain", dialogue.domain),
            ("split", dialogue.split),
            ("title", dialogue.title),
            ("started_at", _to_utc(dialogue.started_at)),
            ("utterances", len(dialogue.utterances)),
            ("attributes", canonical_json(dialogue.attributes)),
        ):
            columns[name].append(value)
        self._bytes["dialogues"] += len(dialogue.id) + len(dialogue.title or "") + 64
        self._write_utterances(dialogue)
        self._write_annotations(record)
        for name in TABLES:
            if self._bytes[name] >= _GROUP_BYTES or len(self._columns[name]["attributes"]) >= _GROUP_ROWS:
                self._flush(name)

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
            columns["attributes"].append(canonical_json(annotation.attributes))
            self._bytes["annotations"] += 96

    def _flush(self, name: str) -> None:
        columns = self._columns[name]
        try:
            table = pa.table(columns, schema=SCHEMAS[name])
        except UnicodeEncodeError:
            raise InputError(
                "a text holds half of a surrogate pair, which is not Unicode text", hint="--skip-bad leaves it out"
            ) from None
        self._writers[name].write_table(table, row_group_size=max(1, table.num_rows))
        self._columns[name] = _empty(name)
        self._bytes[name] = 0

    def close(self) -> None:
        """Write what is left and close the files."""
        for name in TABLES:
            if self._columns[name]["attributes"]:
                self._flush(name)
            self._writers[name].close()


def _empty(table: str) -> dict[str, list[Any]]:
    return {column: [] for column in SCHEMAS[table].names}


def _to_utc(time: datetime | None) -> datetime | None:
    """A time in UTC; one without a zone is taken to be in UTC already."""
    if time is None:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


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


class TableReader:
    """Reads the three tables of a directory as records, streaming or one by its dialogue id."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, pq.ParquetFile] = {}

    def file(self, table: str) -> pq.ParquetFile:
        """The open Parquet file of a table."""
        if table not in self._files:
            path = self._directory / f"{table}.parquet"
            try:
                # A buffered stream keeps the memory of a scan at a few pages of a column instead of a whole row group.
                opened = pq.ParquetFile(path, memory_map=True)
            except FileNotFoundError:
                raise ArtefactError("is not there", where=path, hint="import the corpus again") from None
            except (pa.ArrowInvalid, OSError) as error:
                raise ArtefactError(f"is not a Parquet file: {error}", where=path) from None
            missing = [name for name in SCHEMAS[table].names if name not in opened.schema_arrow.names]
            if missing:
                raise ArtefactError(f"lacks the columns {', '.join(missing)}", where=path)
            self._files[table] = opened
        return self._files[table]

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def rows(self, table: str, groups: range | None = None) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a table, a list of tuples a row group, in the order of the columns of ``SCHEMAS``."""
        file = self.file(table)
        columns = SCHEMAS[table].names
        for group in range(file.num_row_groups) if groups is None else groups:
            try:
                batch = file.read_row_group(group, columns=columns, use_threads=False)
            except (pa.ArrowInvalid, OSError) as error:
                path = self._directory / f"{table}.parquet"
                raise ArtefactError(f"row group {group} is damaged: {error}", where=path) from None
            yield list(zip(*(_values(batch.column(name)) for name in columns), strict=True))

    def records(self) -> Iterator[Record]:
        """Every record in order of dialogue id; memory holds one row group of each table."""
        utterances = _Group(self.rows("utterances"))
        annotations = _Group(self.rows("annotations"))
        for rows in self.rows("dialogues"):
            for row in rows:
                yield _record(row, utterances.take(row[0]), annotations.take(row[0]))
        for name, group in (("utterances", utterances), ("annotations", annotations)):
            if not group.exhausted():
                path = self._directory / f"{name}.parquet"
                raise ArtefactError("has rows of a dialogue that dialogues.parquet does not hold", where=path)

    def get(self, dialogue_id: str) -> Record | None:
        """The record of one dialogue, reading only the row groups that hold it; ``None`` where there is none."""
        found = self._find("dialogues", "id", dialogue_id)
        if not found:
            return None
        utterances = self._find("utterances", "dialogue_id", dialogue_id)
        annotations = self._find("annotations", "dialogue_id", dialogue_id)
        return _record(found[0], utterances, annotations)

    def _find(self, table: str, column: str, key: str) -> list[tuple[Any, ...]]:
        group = self._group_of(table, column, key)
        if group is None:
            return []
        file = self.file(table)
        batch = file.read_row_group(group, columns=SCHEMAS[table].names, use_threads=False)
        ids = batch.column(column).combine_chunks()
        matches = pc.equal(ids, key)
        chosen = batch.filter(matches)
        return list(zip(*(_values(chosen.column(name)) for name in SCHEMAS[table].names), strict=True))

    def _group_of(self, table: str, column: str, key: str) -> int | None:
        """The row group that can hold ``key``, by bisection of the groups' statistics."""
        metadata = self.file(table).metadata
        index = SCHEMAS[table].names.index(column)
        low, high = 0, metadata.num_row_groups
        wanted = key.encode()
        while low < high:
            middle = (low + high) // 2
            statistics = metadata.row_group(middle).column(index).statistics
            if statistics is None or not statistics.has_min_max:
                path = self._directory / f"{table}.parquet"
                raise ArtefactError("has no statistics, so one dialogue cannot be found in it", where=path)
            if str(statistics.max).encode() < wanted:
                low = middle + 1
            elif str(statistics.min).encode() > wanted:
                high = middle
            else:
                return int(middle)
        return None


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
        raise ArtefactError(f"attributes hold {text[:40]!r}; expected a JSON object")
    return value


def _record(row: tuple[Any, ...], utterances: list[tuple[Any, ...]], annotations: list[tuple[Any, ...]]) -> Record:
    identifier, domain, split, title, started_at, count, attributes = row
    if count != len(utterances):
        raise ArtefactError(f"dialogue {identifier!r} has {len(utterances)} utterances; its row says {count}")
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
