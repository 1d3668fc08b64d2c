"""The three Parquet tables of a corpus: their columns, and how a record stands in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tertulia.artefact import canonical_json
from tertulia.corpus.grouped import GroupedReader, Layout, Rows, attributes_of
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.corpus.times import as_utc

__all__ = ["RECORDS", "SCHEMAS", "TABLES", "TableReader", "annotation_order"]

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
    "dialogues": frozenset({"id", "utterances"}),
    "utterances": frozenset({"dialogue_id", "position", "turn", "speaker", "text"}),
    "annotations": frozenset({"dialogue_id", "layer", "annotator"}),
}
_DICTIONARY = frozenset(
    {"domain", "split", "dialogue_id", "speaker", "role", "layer", "annotator", "label", "attributes"}
)


def _rows(record: Record) -> list[tuple[Rows, int]]:
    dialogue = record.dialogue
    return [_dialogue_row(dialogue), _utterance_rows(dialogue), _annotation_rows(record)]


def _dialogue_row(dialogue: Dialogue) -> tuple[Rows, int]:
    attributes = _json(dialogue.attributes)
    row = (
        dialogue.id,
        dialogue.domain,
        dialogue.split,
        dialogue.title,
        _to_utc(dialogue.started_at),
        len(dialogue.utterances),
        attributes,
    )
    return [row], len(dialogue.id) + len(dialogue.title or "") + len(attributes) + 64


def _utterance_rows(dialogue: Dialogue) -> tuple[Rows, int]:
    rows: Rows = []
    size = 0
    for utterance in dialogue.utterances:
        attributes = _json(utterance.attributes)
        rows.append(
            (
                dialogue.id,
                utterance.position,
                utterance.turn,
                utterance.speaker,
                utterance.role,
                utterance.text,
                _to_utc(utterance.sent_at),
                utterance.id,
                attributes,
            )
        )
        size += len(utterance.text) + len(attributes) + 48
    return rows, size


def _annotation_rows(record: Record) -> tuple[Rows, int]:
    rows: Rows = []
    size = 0
    for note in sorted(record.annotations, key=annotation_order) if record.annotations else ():
        attributes = _json(note.attributes)
        rows.append(
            (
                record.dialogue.id,
                note.position,
                note.start,
                note.end,
                note.layer,
                note.annotator,
                note.label,
                note.value,
                attributes,
            )
        )
        size += len(note.label or "") + len(attributes) + 96
    return rows, size


def _json(attributes: dict[str, Any]) -> str:
    return canonical_json(attributes) if attributes else "{}"


def _to_utc(time: datetime | None) -> datetime | None:
    return None if time is None else as_utc(time)


def annotation_order(annotation: Annotation) -> tuple[Any, ...]:
    """By what annotations of a dialogue are sorted: their place, then who says what."""
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


def _record(row: tuple[Any, ...], others: Sequence[Rows]) -> Record:
    utterances, annotations = others
    identifier, domain, split, title, started_at, count, attributes = row
    if count != len(utterances):
        raise ValueError(f"it has {len(utterances)} utterances; its row says {count}")
    dialogue = Dialogue(
        identifier,
        [
            Utterance(
                position, turn, speaker, text, role, sent_at, own_id, {} if extra == "{}" else attributes_of(extra)
            )
            for _, position, turn, speaker, role, text, sent_at, own_id, extra in utterances
        ],
        domain,
        split,
        title,
        started_at,
        attributes_of(attributes),
    )
    return Record(
        dialogue,
        [
            Annotation(identifier, layer, annotator, position, start, end, label, value, attributes_of(extra))
            for _, position, start, end, layer, annotator, label, value, extra in annotations
        ],
    )


RECORDS: Layout[Record] = Layout(
    "dialogue",
    SCHEMAS,
    _FILLED,
    _DICTIONARY,
    lambda record: record.dialogue.id,
    _rows,
    _record,
)
"""How the records of a corpus stand in its tables."""


class TableReader(GroupedReader[Record]):
    """Reads the three tables of a corpus in a directory."""

    def __init__(self, directory: Path, footers: Mapping[str, str] | None = None) -> None:
        super().__init__(RECORDS, directory, footers)
