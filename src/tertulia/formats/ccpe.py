"""``ccpe``: CCPE-M, a JSON array of conversations whose utterances carry annotated segments.

A segment is a stretch of its utterance with one or more annotations (``annotationType``, ``entityType``); each becomes a row of
the layer ``preference``. Segments nest, overlap and come in any order, and all of it can be written again.

An annotation's ``attributes``: ``entity_type``; ``segment`` (its number in the utterance) and ``order`` (its number in the
segment) only where sorting would lose the order; ``text`` and ``offsets`` as the source states them where the utterance has
another text there or its code points other offsets; ``segment_fields`` what else the segment holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeGuard

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import NO_OPTIONS, Holds, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Role, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.fields import found, objects, text, whole_number
from tertulia.formats.files.file_order import FileOrder
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.json_writing import (
    NUMBER,
    RecordFile,
    is_named,
    kept_fields,
    place_in_source,
    written_fields,
)
from tertulia.formats.files.sources import source_files

__all__ = ["ANNOTATOR", "LAYER", "CcpeFormat"]

LAYER = "preference"
ANNOTATOR = "ccpe"
"""The one annotator: the data does not say who annotated what."""

_ROLES: dict[str, Role] = {"USER": "user", "ASSISTANT": "agent"}
_SPEAKERS = {role: speaker for speaker, role in _ROLES.items()}
# Of each object the fields that the model has a place for, and the attributes with a meaning of their own.
_DIALOGUE, _DIALOGUE_OWN = {"conversationId", "utterances"}, {NUMBER}
_UTTERANCE, _UTTERANCE_OWN = {"index", "speaker", "text", "segments"}, {"index", "segments"}
_SEGMENT = {"startIndex", "endIndex", "text", "annotations"}
_ANNOTATION = {"annotationType", "entityType"}
_ANNOTATION_OWN = {"entity_type", "segment", "order", "text", "offsets", "segment_fields"}
# What offsets count where they do not count code points, with its encoding and width in bytes.
_UNITS = (("UTF-8 bytes", "utf-8", 1), ("UTF-16 units", "utf-16-le", 2))


class CcpeFormat:
    """Reads and writes the JSON of CCPE-M."""

    name = "ccpe"
    summary = "CCPE-M: conversations about preferences, with annotated segments"
    writes = True
    holds: Holds = "corpus"
    options: Mapping[str, str] = NO_OPTIONS
    licence = "CC-BY-4.0"
    citation = (
        "Filip Radlinski, Krisztian Balog, Bill Byrne, Karthik Krishnamoorthi (2019). Coached Conversational Preference "
        "Elicitation: A Case Study in Understanding Movie Preferences. SIGDIAL 2019."
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The conversations of a JSON file, or of all ``*.json`` files of a folder or archive in order of name."""
        files = source_files(source, "*.json", expected="a JSON array of conversations", options=options)
        ids: set[str] = set()
        texts = SeenTexts()
        order = FileOrder()
        for file in files:
            for key, value, place in json_elements(file, options):
                if isinstance(key, str):
                    raise InputError("is a JSON object; expected an array of conversations", where=file.where)
                record, findings = None, Report()
                with report.catching(options, place):
                    parsed = _record(value, findings, place.shown)
                    if parsed.dialogue.id in ids:
                        raise InputError(f"the id {parsed.dialogue.id!r} stands here again; expected every id once")
                    record = parsed
                if record is None:
                    continue
                dialogue = record.dialogue
                ids.add(dialogue.id)
                order.keep(dialogue)
                if not report.is_duplicate(dialogue.texts, texts, options, place.shown):
                    for reason, finding in findings.noted.items():
                        report.note(reason, finding.first, finding.count)
                    yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one JSON array, a conversation a line; what the format cannot hold is counted."""
        with RecordFile(Path(path), named=False) as file:
            for record in records:
                file.add(_to_json(record, report), number=place_in_source(record.dialogue.attributes))


def _record(value: Any, report: Report, where: str) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"holds {found(value)}; expected a conversation: an object with conversationId and utterances")
    identifier = text(value, "conversationId", required=True)
    if not identifier:
        raise InputError("conversationId is empty; expected a text")
    items = objects(value, "utterances", of="objects with index, speaker and text")
    attributes = kept_fields(value, _DIALOGUE, _DIALOGUE_OWN)
    utterances: list[Utterance] = []
    annotations: list[Annotation] = []
    for position, item in enumerate(items):
        try:
            utterance = _utterance(item, position)
            utterances.append(utterance)
            annotations += _annotations(item, identifier, utterance, report, f"{where}, utterance {position}")
        except InputError as error:
            raise InputError(f"utterance {position}: {error.message}") from None
        report.note("utterances whose index is not their place", where, int("index" in utterance.attributes))
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    report.note("conversations without an utterance", where, int(not utterances))
    return Record(Dialogue(identifier, utterances, attributes=attributes), annotations)


def _utterance(item: dict[str, Any], position: int) -> Utterance:
    speaker = text(item, "speaker", required=True) or ""
    role = _ROLES.get(speaker)
    if role is None:
        raise InputError(f"speaker holds {speaker!r}; expected USER or ASSISTANT")
    index = whole_number(item, "index", None)
    if index is None:
        raise InputError("there is no index; expected a whole number from 0")
    attributes = kept_fields(item, _UTTERANCE, _UTTERANCE_OWN)
    if index != position:
        attributes["index"] = index
    if "segments" in item and not item["segments"]:
        attributes["segments"] = item["segments"]
    return Utterance(position, 0, speaker, text(item, "text", required=True) or "", role, attributes=attributes)


def _annotations(
    item: dict[str, Any], dialogue_id: str, utterance: Utterance, report: Report, where: str
) -> list[Annotation]:
    """The rows of an utterance's segments, numbered only where they would not be written again as they were."""
    if item.get("segments") is None:
        return []
    segments = objects(item, "segments", of="objects with startIndex, endIndex, text and annotations")
    rows: list[Annotation] = []
    for number, segment in enumerate(segments):
        try:
            rows += _rows(segment, dialogue_id, utterance, report, where)
        except InputError as error:
            raise InputError(f"segment {number}: {error.message}") from None
    as_given = canonical_json(segments)
    for attribute in ("segment", "order"):
        # As text, since 1, 1.0 and true are equal in Python.
        if canonical_json(_segments(utterance.text, rows)) == as_given:
            break
        counted = iter(rows)
        for number, segment in enumerate(segments):
            parts = max(1, len(segment["annotations"]))
            for order, row in enumerate(islice(counted, parts)):
                if attribute == "segment":
                    row.attributes[attribute] = number
                elif parts > 1:
                    row.attributes[attribute] = order
    return rows


def _rows(
    segment: dict[str, Any], dialogue_id: str, utterance: Utterance, report: Report, where: str
) -> list[Annotation]:
    """A row for each annotation of a segment; one without a label where it has none."""
    stated = text(segment, "text", required=True) or ""
    offsets = [whole_number(segment, name, None) for name in ("startIndex", "endIndex")]
    first, last = offsets
    if first is None or last is None or first > last:
        raise InputError(
            f"startIndex and endIndex hold {found(first)} and {found(last)}; expected the first not greater"
        )
    start, end, finding = _span(utterance.text, first, last, stated)
    if finding:
        report.note(finding, where)
    shared: dict[str, Any] = {}
    if (start, end) != (first, last):
        shared["offsets"] = offsets
    if utterance.text[start:end] != stated:
        shared["text"] = stated
    others = kept_fields(segment, _SEGMENT, set())
    if others:
        shared["segment_fields"] = others
    position = utterance.position
    rows = []
    for annotation in objects(segment, "annotations", of="objects with annotationType and entityType"):
        label = text(annotation, "annotationType", required=True)
        attributes = kept_fields(annotation, _ANNOTATION, _ANNOTATION_OWN) | shared
        if "entityType" in annotation:
            attributes["entity_type"] = text(annotation, "entityType")
        rows.append(Annotation(dialogue_id, LAYER, ANNOTATOR, position, start, end, label, attributes=attributes))
    return rows or [Annotation(dialogue_id, LAYER, ANNOTATOR, position, start, end, attributes=shared)]


def _span(whole: str, first: int, last: int, stated: str) -> tuple[int, int, str | None]:
    """The span in code points, and what is odd about the offsets, which may count other units or not fit the text."""
    if last <= len(whole) and whole[first:last] == stated:
        return first, last, None
    if stated and not whole.isascii():
        for unit, encoding, width in _UNITS:
            data = whole.encode(encoding)
            if data[first * width : last * width] == stated.encode(encoding):
                start = len(data[: first * width].decode(encoding))
                return start, start + len(stated), f"segments whose offsets count {unit}, moved to code points"
    if last > len(whole):
        end = len(whole)
        return min(first, end), end, "segments that reach beyond their utterance, cut off at its end"
    return first, last, "segments whose text is not what their utterance has there"


def _to_json(record: Record, report: Report) -> dict[str, Any]:
    dialogue = record.dialogue
    by_position: dict[int, list[Annotation]] = {}
    for note in record.annotations:
        if note.layer == LAYER and note.position is not None and note.start is not None and note.end is not None:
            by_position.setdefault(note.position, []).append(note)
    fields, lost = written_fields(dialogue.attributes, _DIALOGUE, _DIALOGUE_OWN)
    utterances = []
    for utterance in dialogue.utterances:
        value, lost_here = _utterance_to_json(utterance, by_position.get(utterance.position, []), dialogue.id)
        utterances.append(value)
        lost += lost_here
    for what, count in _losses(record).items():
        report.skip(f"{what}, which this format does not hold", dialogue.id, count)
    report.skip("attributes with the name of a field of this format", dialogue.id, lost)
    return {"conversationId": dialogue.id, "utterances": utterances, **fields}


def _utterance_to_json(utterance: Utterance, rows: list[Annotation], dialogue_id: str) -> tuple[dict[str, Any], int]:
    speaker = _SPEAKERS.get(utterance.role) if utterance.role else utterance.speaker
    if speaker not in _ROLES:
        raise InputError(
            f"in dialogue {dialogue_id!r} utterance {utterance.position} is by {utterance.speaker!r}, who is neither user "
            "nor agent; this format has a USER and an ASSISTANT"
        )
    index = utterance.attributes.get("index")
    value: dict[str, Any] = {
        "index": index if _is_count(index) else utterance.position,
        "speaker": speaker,
        "text": utterance.text,
    }
    segments = _segments(utterance.text, rows)
    if segments:
        value["segments"] = segments
    elif "segments" in utterance.attributes and utterance.attributes["segments"] in ([], None):
        value["segments"] = utterance.attributes["segments"]
    fields, lost = written_fields(utterance.attributes, _UTTERANCE, _UTTERANCE_OWN)
    return value | fields, lost


def _segments(whole: str, rows: list[Annotation]) -> list[dict[str, Any]]:
    """The segments that rows came from, in their order: by number, where they have none by offsets."""
    keyed = sorted(((_segment_key(row), row) for row in rows), key=lambda pair: (pair[0], _row_key(pair[1])))
    segments = []
    for _, group in groupby(keyed, key=lambda pair: pair[0]):
        members = [row for _, row in group]
        # An annotation without a label stands for a segment without annotations.
        labelled = [row for row in members if row.label is not None]
        parts = [labelled] if labelled else []
        parts += [[row] for row in members if row.label is None]
        segments += [_segment(whole, part) for part in parts]
    return segments


def _segment_key(row: Annotation) -> tuple[int, int, int, int, str]:
    """What rows of one segment have in common; the numbered ones come first, in order."""
    number = row.attributes.get("segment")
    if _is_count(number):
        return 0, number, 0, 0, ""
    own = {name: row.attributes[name] for name in ("offsets", "text", "segment_fields") if name in row.attributes}
    return 1, 0, row.start or 0, row.end or 0, canonical_json(own) if own else ""


def _row_key(row: Annotation) -> tuple[int, str, str, str]:
    order = row.attributes.get("order")
    return (order if _is_count(order) else 0, row.label or "", canonical_json(row.attributes), row.annotator)


def _segment(whole: str, rows: list[Annotation]) -> dict[str, Any]:
    row = rows[0]
    offsets = row.attributes.get("offsets")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(map(_is_count, offsets))):
        offsets = [row.start, row.end]
    stated = row.attributes.get("text")
    others = row.attributes.get("segment_fields")
    return {
        "startIndex": offsets[0],
        "endIndex": offsets[1],
        "text": stated if isinstance(stated, str) else whole[row.start : row.end],
        "annotations": [_annotation(row) for row in rows if row.label is not None],
        **(written_fields(others, _SEGMENT, frozenset())[0] if isinstance(others, dict) else {}),
    }


def _annotation(row: Annotation) -> dict[str, Any]:
    value: dict[str, Any] = {"annotationType": row.label}
    if "entity_type" in row.attributes:
        value["entityType"] = row.attributes["entity_type"]
    return value | written_fields(row.attributes, _ANNOTATION, _ANNOTATION_OWN)[0]


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**31


def _losses(record: Record) -> dict[str, int]:
    """What of a record the format has no field for, and how many of each."""
    dialogue, notes = record.dialogue, record.annotations
    utterances = dialogue.utterances
    ours = [note for note in notes if note.layer == LAYER]
    turns = number_turns([utterance.speaker for utterance in utterances])
    return {
        f"annotations of other layers than {LAYER}": len(notes) - len(ours),
        f"annotations of the layer {LAYER} without a span": sum(
            note.position is None or note.start is None or note.end is None for note in ours
        ),
        "values of annotations": sum(note.value is not None for note in ours),
        "names of annotators": sum(note.annotator != ANNOTATOR for note in ours),
        "domains": int(dialogue.domain is not None),
        "splits": int(dialogue.split is not None),
        "titles": int(dialogue.title is not None),
        "times": int(dialogue.started_at is not None) + sum(u.sent_at is not None for u in utterances),
        "ids of utterances": sum(utterance.id is not None for utterance in utterances),
        "names of speakers": sum(is_named(utterance) for utterance in utterances),
        "turns of its own counting": sum(u.turn != turn for u, turn in zip(utterances, turns, strict=True)),
    }
