"""``mantis``: MANtIS, information-seeking dialogues of Stack Exchange as JSON, with intents; its annotation sheets are read too.

A file is an object of dialogues by their id, as released, or an array of dialogues that have a ``dialog_id``. A field that the
model has no place for is an attribute of the same name; so is one whose value the model cannot hold as it is spelled (a time of
another form, ``null``), so that reading and writing gives the same JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tertulia.corpus.exchange import Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Role, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.fields import found, objects, text
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.json_writing import NUMBER, kept_fields
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.mantis.fields import (
    ANNOTATOR,
    DIALOGUE,
    DIALOGUE_OWN,
    FILE,
    INTENTS,
    KEY,
    LAYER,
    UTTERANCE,
    UTTERANCE_OWN,
    file_of_split,
    intents_to_json,
    labels_of,
    spelled_time,
    split_of_file,
)
from tertulia.formats.mantis.intents import IntentTable
from tertulia.formats.mantis.sheets import sheet_records
from tertulia.formats.mantis.writing import write_dialogues

__all__ = ["ANNOTATOR", "INTENTS", "LAYER", "MantisFormat"]

_EXPECTED = "a JSON file of MANtIS dialogues, or an annotation sheet"
_PLACEHOLDER = "<Placeholder Response>"
_ROLES: dict[str, Role] = {"user": "user", "agent": "agent"}


class MantisFormat:
    """Reads and writes MANtIS JSON, and reads its annotation sheets."""

    name = "mantis"
    summary = "MANtIS: information-seeking dialogues of Stack Exchange, with intents"
    writes = True
    holds: Holds = "corpus"
    options: Mapping[str, str] = {
        "intents": "a CSV file of intents to join: allocation, conversation_id, comment_pos, annotations"
    }
    path_options = frozenset({"intents"})
    licence = "CC-BY-SA"
    citation = (
        "Gustavo Penha, Alexandru Balan, Claudia Hauff (2019). Introducing MANtIS: a novel Multi-Domain Information Seeking "
        "Dialogues Dataset. arXiv:1912.04639."
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The dialogues of a file, or of all ``*.json`` files of a folder or archive (``*.txt`` where there are none)."""
        try:
            files = source_files(source, "*.json", expected=_EXPECTED, options=options)
        except InputError:
            files = source_files(source, "*.json", "*.txt", expected=_EXPECTED, options=options)
        intents = IntentTable(options.values["intents"], report, options) if "intents" in options.values else None
        ids: set[str] = set()
        texts = SeenTexts()
        for file in files:
            is_sheet = file.name.lower().endswith(".txt")
            parts = sheet_records(file, report, options) if is_sheet else _elements(file, report, options)
            for record, place in parts:
                if intents is not None:
                    intents.label(record, place)
                if len(files) > 1:
                    _tell_apart(record, file, is_sheet)
                fresh = False
                with report.catching(options, place):
                    if record.dialogue.id in ids:
                        raise InputError(f"the id {record.dialogue.id!r} stands here again; expected every id once")
                    fresh = True
                if not fresh:
                    continue
                ids.add(record.dialogue.id)
                if not report.is_duplicate(record.dialogue.texts, texts, options, place.shown):
                    _note(record, report, place.shown)
                    yield record
        if intents is not None:
            intents.finish()

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one JSON file, or where there are several splits or files a folder of them, a dialogue a line."""
        write_dialogues(records, path, report)


def _elements(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Record, Place]]:
    split = split_of_file(file.name)
    for key, value, place in json_elements(file, options):
        record = None
        with report.catching(options, place):
            record = _record(key, value, split)
        if record is not None:
            yield record, place


def _tell_apart(record: Record, file: SourceFile, is_sheet: bool) -> None:
    """Numbers begin again in every file: among several files they carry the name of theirs."""
    dialogue = record.dialogue
    if dialogue.id.isdecimal():
        identifier = f"{file.name.rpartition('.')[0]}-{dialogue.id}"
        if not is_sheet:
            dialogue.attributes[KEY] = dialogue.id
        dialogue.id = identifier
        for note in record.annotations:
            note.dialogue_id = identifier
    if not is_sheet and file.name != file_of_split(dialogue.split):
        dialogue.attributes[FILE] = file.name


def _note(record: Record, report: Report, where: str) -> None:
    dialogue = record.dialogue
    report.note("dialogues without an utterance", where, int(not dialogue.utterances))
    timeless = int(dialogue.started_at is None and "dialog_time" in dialogue.attributes)
    for utterance in dialogue.utterances:
        if utterance.text == _PLACEHOLDER:
            report.note("utterances that are only a placeholder", where)
        elif not utterance.text or utterance.text.isspace():
            report.note("empty utterances", where)
        timeless += utterance.sent_at is None and "utterance_time" in utterance.attributes
        if "utterance_pos" in utterance.attributes:
            report.note("utterances whose utterance_pos is not their place", where)
    report.note("times of an unknown form", where, timeless)


def _record(key: str | int, value: Any, split: str | None) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"holds {found(value)}; expected a dialogue: an object with utterances")
    items = objects(value, "utterances", of="objects with actor_type and utterance")
    attributes = kept_fields(value, DIALOGUE, DIALOGUE_OWN)
    identifier = _identifier(key, value)
    if isinstance(key, int):
        attributes[NUMBER] = key
    if "dialog_id" in value:
        attributes.update(kept_fields({"dialog_id": value["dialog_id"]}, set(), set()))
    domain, title = _held(value, "category", attributes), _held(value, "title", attributes)
    started_at = _time(value, "dialog_time", attributes)
    utterances: list[Utterance] = []
    annotations: list[Annotation] = []
    for position, item in enumerate(items):
        try:
            utterance = _utterance(item, position)
            if "intent" in item or "intents" in item:
                annotations += _intents(item, identifier, utterance)
        except InputError as error:
            raise InputError(f"utterance {position + 1}: {error.message}") from None
        utterances.append(utterance)
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    return Record(Dialogue(identifier, utterances, domain, split, title, started_at, attributes), annotations)


def _identifier(key: str | int, value: dict[str, Any]) -> str:
    """The name of a member of an object; of an element of an array the ``dialog_id``."""
    own = value.get("dialog_id")
    if "dialog_id" in value and (isinstance(own, bool) or not isinstance(own, int | str)):
        raise InputError(f"dialog_id holds {found(own)}; expected a number or a text")
    if isinstance(key, int):
        if own is None:
            raise InputError("there is no dialog_id, which a dialogue of an array needs")
        key = str(own)
    identifier = text({"the id": key}, "the id", required=True)
    if not identifier:
        raise InputError("the id is empty; expected a number or a text")
    return identifier


def _held(item: dict[str, Any], name: str, attributes: dict[str, Any]) -> str | None:
    """A text; ``null`` is kept as an attribute, since a field that is not there is something else."""
    value = text(item, name)
    if value is None and name in item:
        attributes[name] = None
    return value


def _time(item: dict[str, Any], name: str, attributes: dict[str, Any]) -> datetime | None:
    """A time; one that is spelled another way than Stack Exchange does, or is none, is kept as an attribute besides."""
    if name not in item:
        return None
    moment, as_written = spelled_time(item[name])
    if not as_written:
        attributes.update(kept_fields({name: item[name]}, set(), set()))
    return moment


def _utterance(item: dict[str, Any], position: int) -> Utterance:
    role = _ROLES.get(text(item, "actor_type", required=True) or "")
    if role is None:
        raise InputError(f"actor_type holds {found(item['actor_type'])}; expected user or agent")
    attributes = kept_fields(item, UTTERANCE, UTTERANCE_OWN)
    place = item.get("utterance_pos")
    if type(place) is not int:
        raise InputError(f"utterance_pos holds {found(place)}; expected a whole number from 1")
    if place != position + 1:
        attributes["utterance_pos"] = place
    identifier = item.get("id")
    if isinstance(identifier, str):
        identifier = text(item, "id")
    elif "id" in item:
        attributes.update(kept_fields({"id": identifier}, set(), set()))
        identifier = str(identifier) if type(identifier) is int else None
    return Utterance(
        position,
        0,
        role,
        text(item, "utterance", required=True) or "",
        role,
        _time(item, "utterance_time", attributes),
        identifier,
        attributes,
    )


def _intents(item: dict[str, Any], dialogue_id: str, utterance: Utterance) -> list[Annotation]:
    """A row for each annotator and label; what would not be written again as it is stands in the attributes as well."""
    if "intent" in item and "intents" in item:
        raise InputError("there are both intent and intents; expected one of them")
    name = "intent" if "intent" in item else "intents"
    value = item[name]
    labels = labels_of(value, name)
    if name != "intent" or not labels or intents_to_json(labels) != value:
        utterance.attributes.update(kept_fields({name: value}, set(), set()))
    return [
        Annotation(dialogue_id, LAYER, annotator, utterance.position, label=label)
        for annotator, label in sorted(labels)
    ]
