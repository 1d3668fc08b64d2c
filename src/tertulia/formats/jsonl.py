"""``jsonl``: one dialogue a line, the model as JSON: nothing is lost on the way out or in.

A line is an object with ``id`` and ``utterances`` (each with ``speaker`` and ``text``) and whatever else the model has;
``position`` and ``turn`` are counted where they are left out. The source is a file, or a folder of ``*.jsonl`` files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import NO_OPTIONS, Holds, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.fields import (
    attributes,
    number,
    objects,
    refuse_unknown,
    text,
    time,
    time_text,
    whole_number,
    without_empty,
)
from tertulia.formats.files.json_reading import json_lines
from tertulia.formats.files.sources import source_files

__all__ = ["JsonLinesFormat", "record_from_json", "record_to_json"]


_OF_DIALOGUE = frozenset(Dialogue.__dataclass_fields__) | {"annotations"}
_OF_UTTERANCE = frozenset(Utterance.__dataclass_fields__)
_OF_ANNOTATION = frozenset(Annotation.__dataclass_fields__) - {"dialogue_id"}


class JsonLinesFormat:
    """Reads and writes the data model as JSON lines."""

    name = "jsonl"
    summary = "one dialogue a line, the data model as JSON"
    writes = True
    holds: Holds = "corpus"
    options = NO_OPTIONS
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The records of a file, or of all ``*.jsonl`` files of a folder or archive in order of name."""
        files = source_files(source, "*.jsonl", expected="one dialogue a line", options=options)
        ids: set[str] = set()
        texts = SeenTexts()
        for place, value in json_lines(files, report, options):
            record = None
            with report.catching(options, place):
                record = _new(record_from_json(value), ids)
            if record is not None and not report.is_duplicate(record.dialogue.texts, texts, options, place.shown):
                yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:  # noqa: ARG002 - it holds all
        """Write one file, a line a record, keys sorted."""
        with Path(path).open("wb") as stream:
            for record in records:
                stream.write(_line(record_to_json(record)))


def _line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # Whole numbers beyond 64 bits, nesting beyond some hundred levels.
        return canonical_json(value).encode() + b"\n"


def _new(record: Record, ids: set[str]) -> Record:
    if record.dialogue.id in ids:
        raise InputError(f"the id {record.dialogue.id!r} stands here again; expected every id once")
    ids.add(record.dialogue.id)
    return record


def record_to_json(record: Record) -> dict[str, Any]:
    """A record as plain JSON values; what is ``None`` or empty is left out."""
    dialogue = record.dialogue
    value = without_empty(
        {
            "id": dialogue.id,
            "domain": dialogue.domain,
            "split": dialogue.split,
            "title": dialogue.title,
            "started_at": time_text(dialogue.started_at),
            "attributes": dialogue.attributes,
        }
    )
    value["utterances"] = [_utterance_to_json(utterance) for utterance in dialogue.utterances]
    if record.annotations:
        value["annotations"] = [_annotation_to_json(note, dialogue.id) for note in record.annotations]
    return value


def _utterance_to_json(utterance: Utterance) -> dict[str, Any]:
    value: dict[str, Any] = {
        "position": utterance.position,
        "turn": utterance.turn,
        "speaker": utterance.speaker,
        "text": utterance.text,
    }
    if utterance.role is not None:
        value["role"] = utterance.role
    if utterance.sent_at is not None:
        value["sent_at"] = time_text(utterance.sent_at)
    if utterance.id is not None:
        value["id"] = utterance.id
    if utterance.attributes:
        value["attributes"] = utterance.attributes
    return value


def _annotation_to_json(note: Annotation, dialogue_id: str) -> dict[str, Any]:
    if note.value is not None and not math.isfinite(note.value):
        raise InputError(f"an annotation of dialogue {dialogue_id!r} has the value {note.value}, which JSON has not")
    fields = ("position", "start", "end", "label", "value", "attributes")
    return {
        "layer": note.layer,
        "annotator": note.annotator,
        **without_empty({name: getattr(note, name) for name in fields}),
    }


def record_from_json(value: dict[str, Any]) -> Record:
    """A record from plain JSON values.

    Raises
    ------
    InputError
        A field is missing or has another type than the model's, named with what was found.
    """
    refuse_unknown(value, "the dialogue", _OF_DIALOGUE)
    identifier = text(value, "id", required=True)
    if not identifier:
        raise InputError("the id is empty; expected a text")
    raw = objects(value, "utterances", of="objects with speaker and text")
    speakers = [text(item, "speaker", required=True) or "" for item in raw]
    counted = number_turns(speakers)
    utterances = [_utterance(item, index, speakers[index], counted[index]) for index, item in enumerate(raw)]
    dialogue = Dialogue(
        identifier,
        utterances,
        text(value, "domain"),
        text(value, "split"),
        text(value, "title"),
        time(value, "started_at"),
        attributes(value),
    )
    notes = objects(value, "annotations") if "annotations" in value else []
    return Record(dialogue, [_annotation(item, dialogue) for item in notes])


def _utterance(item: dict[str, Any], index: int, speaker: str, turn: int) -> Utterance:
    if len(item) == 2 and isinstance(item.get("text"), str):
        # Most of many files: a speaker and a text, nothing else.
        return Utterance(index, turn, speaker, text(item, "text", required=True) or "")
    refuse_unknown(item, f"utterance {index}", _OF_UTTERANCE)
    position = whole_number(item, "position", index)
    if position != index:
        raise InputError(f"utterance {index} has the position {position}; expected positions from 0 without gaps")
    role = text(item, "role")
    if role not in (None, "user", "agent"):
        raise InputError(f"utterance {index} has the role {role!r}; expected user or agent")
    return Utterance(
        index,
        whole_number(item, "turn", turn),
        speaker,
        text(item, "text", required=True) or "",
        role,  # type: ignore[arg-type]  # held to the two roles just above
        time(item, "sent_at"),
        text(item, "id"),
        attributes(item),
    )


def _annotation(item: dict[str, Any], dialogue: Dialogue) -> Annotation:
    refuse_unknown(item, "an annotation", _OF_ANNOTATION)
    position = whole_number(item, "position", None)
    start, end = whole_number(item, "start", None), whole_number(item, "end", None)
    if position is not None and not 0 <= position < len(dialogue.utterances):
        raise InputError(
            f"an annotation stands on position {position}; there are {len(dialogue.utterances)} utterances"
        )
    if (start is None) != (end is None) or (start is not None and position is None):
        raise InputError("an annotation has a part of a span; expected position, start and end together")
    if start is not None and end is not None and position is not None:
        length = len(dialogue.utterances[position].text)
        if not 0 <= start <= end <= length:
            raise InputError(f"an annotation spans {start} to {end} of an utterance of {length} characters")
    return Annotation(
        dialogue.id,
        text(item, "layer", required=True) or "",
        text(item, "annotator", required=True) or "",
        position,
        start,
        end,
        text(item, "label"),
        number(item, "value", None),
        attributes(item),
    )
