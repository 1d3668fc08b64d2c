"""Dialogues as MANtIS files: one, or one a split where there are several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Dialogue, Record, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.json_writing import RecordFile, is_named, place_in_source, written_fields
from tertulia.formats.mantis.fields import (
    DIALOGUE,
    DIALOGUE_OWN,
    FILE,
    KEY,
    LAYER,
    UTTERANCE,
    UTTERANCE_OWN,
    file_of_split,
    intents_to_json,
    labels_of,
    split_of_file,
    time_of,
    time_to_json,
)

__all__ = ["write_dialogues"]

_ROLES = ("user", "agent")
_OPEN_FILES = 64
_LONGEST_NAME = 200


def write_dialogues(records: Iterator[Record], path: str, report: Report) -> None:
    """Write a file at ``path``, or a folder of files where dialogues have several splits or come from several files."""
    root = Path(path)
    root.mkdir()
    files: dict[str, _File] = {}
    splits = 0
    try:
        for record in records:
            dialogue = record.dialogue
            value = _dialogue(record, report)
            name = _file_name(dialogue)
            if name not in files:
                files[name] = _File(root / name, named=place_in_source(dialogue.attributes) is None)
                if len(files) % _OPEN_FILES == 0:
                    for other in files.values():
                        other.lines.pause()
            files[name].add(dialogue, value)
            splits += dialogue.split is not None
            if len(files) > 1 and dialogue.split is not None and split_of_file(name) != dialogue.split:
                report.note("splits of a name that a file's name does not say", dialogue.id)
        if not files:
            name = file_of_split(None)
            files[name] = _File(root / name, named=True)
        for file in files.values():
            file.lines.close()
    finally:
        for file in files.values():
            file.lines.pause()
    if len(files) == 1:
        [file] = files.values()
        _put_alone(root, file.lines.path)
        report.skip("splits, which the name of the file has to say", None, splits)


def _put_alone(root: Path, file: Path) -> None:
    """The one file in the place of its folder."""
    alone = root.with_name(root.name + ".alone")
    file.rename(alone)
    for folder in [folder for folder in file.parents if folder.is_relative_to(root)]:
        folder.rmdir()
    alone.rename(root)


class _File:
    """One file of dialogues, whose names or ``dialog_id``s each stand once."""

    def __init__(self, path: Path, *, named: bool) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise InputError(
                f"two files are to be written of which one is a folder of the other: {path.name!r}"
            ) from None
        self.lines = RecordFile(path, named=named)
        self._named = named
        self._names: set[str] = set()

    def add(self, dialogue: Dialogue, value: dict[str, Any]) -> None:
        attributes = dialogue.attributes
        name: Any = attributes.get(KEY, dialogue.id)
        if not self._named:
            own = attributes.get("dialog_id")
            name = own if str(own) in (dialogue.id, attributes.get(KEY)) else dialogue.id
        if not isinstance(name, str | int) or str(name) in self._names:
            name = dialogue.id
        if str(name) in self._names:
            raise InputError(
                f"two dialogues would have the name {name!r} in {self.lines.path.name}; expected each once"
            )
        self._names.add(str(name))
        if self._named:
            if "dialog_id" in attributes:
                value = {"dialog_id": attributes["dialog_id"], **value}
            self.lines.add(value, name=str(name))
        else:
            self.lines.add({"dialog_id": name, **value}, number=place_in_source(attributes))


def _file_name(dialogue: Dialogue) -> str:
    given = dialogue.attributes.get(FILE)
    if isinstance(given, str) and given.endswith(".json") and _is_path(given):
        return given
    name = file_of_split(dialogue.split)
    if "/" in name or not _is_path(name):
        raise InputError(
            f"the split of dialogue {dialogue.id!r} is {dialogue.split!r}, which cannot be the name of a file"
        )
    return name


def _is_path(name: str) -> bool:
    return "\0" not in name and all(
        part.strip(". ") and len(part.encode(errors="replace")) <= _LONGEST_NAME for part in name.split("/")
    )


def _dialogue(record: Record, report: Report) -> dict[str, Any]:
    dialogue = record.dialogue
    attributes = dialogue.attributes
    intents: dict[int, list[tuple[str, str]]] = {}
    for note in record.annotations:
        if note.layer == LAYER and note.position is not None and note.label is not None:
            intents.setdefault(note.position, []).append((note.annotator, note.label))
    value: dict[str, Any] = {
        name: held
        for name, held in (("category", dialogue.domain), ("title", dialogue.title))
        if held is not None or (name in attributes and attributes[name] is None)
    }
    _put_time(value, "dialog_time", dialogue.started_at, attributes)
    fields, lost = written_fields(attributes, DIALOGUE, DIALOGUE_OWN)
    lost += _unused(attributes, value, ("category", "title", "dialog_time"))
    value["utterances"] = utterances = []
    for utterance in dialogue.utterances:
        item, lost_here = _utterance(utterance, intents.get(utterance.position, []), dialogue.id)
        utterances.append(item)
        lost += lost_here
    for what, count in _losses(record).items():
        report.skip(f"{what}, which this format does not hold", dialogue.id, count)
    report.skip("attributes with the name of a field of this format", dialogue.id, lost)
    return value | fields


def _put_time(value: dict[str, Any], name: str, moment: Any, attributes: dict[str, Any]) -> None:
    """The time as the source spelled it where that still says this time."""
    if name in attributes and time_of(attributes[name]) == moment:
        value[name] = attributes[name]
    elif moment is not None:
        value[name] = time_to_json(moment)


def _unused(attributes: dict[str, Any], value: dict[str, Any], names: tuple[str, ...]) -> int:
    """How many attributes have the name of a field that holds something else."""
    return sum(name in attributes and value.get(name, value) is not attributes[name] for name in names)


def _utterance(utterance: Utterance, labels: list[tuple[str, str]], dialogue_id: str) -> tuple[dict[str, Any], int]:
    role = utterance.role or utterance.speaker
    if role not in _ROLES:
        raise InputError(
            f"in dialogue {dialogue_id!r} utterance {utterance.position} is by {utterance.speaker!r}, who is neither user "
            "nor agent; this format has no others"
        )
    attributes = utterance.attributes
    place = attributes.get("utterance_pos")
    value: dict[str, Any] = {
        "actor_type": role,
        "utterance_pos": place if type(place) is int else utterance.position + 1,
        "utterance": utterance.text,
    }
    _put_time(value, "utterance_time", utterance.sent_at, attributes)
    if "id" in attributes and (utterance.id is None or str(attributes["id"]) == utterance.id):
        value["id"] = attributes["id"]
    elif utterance.id is not None:
        value["id"] = utterance.id
    name, intents = _intents(attributes, labels)
    if name is not None:
        value[name] = intents
    fields, lost = written_fields(attributes, UTTERANCE, UTTERANCE_OWN)
    return value | fields, lost + _unused(attributes, value, ("utterance_pos", "utterance_time", "id"))


def _intents(attributes: dict[str, Any], labels: list[tuple[str, str]]) -> tuple[str | None, Any]:
    """The field and value of an utterance's intents, as the source spelled them where that still says these labels."""
    for name in ("intent", "intents"):
        if name in attributes:
            try:
                same = sorted(labels_of(attributes[name], name)) == sorted(labels)
            except InputError:
                continue
            if same:
                return name, attributes[name]
    return ("intent", intents_to_json(labels)) if labels else (None, None)


def _losses(record: Record) -> dict[str, int]:
    """What of a record the format has no field for, and how many of each."""
    dialogue = record.dialogue
    utterances = dialogue.utterances
    ours = [note for note in record.annotations if note.layer == LAYER]
    turns = number_turns([utterance.speaker for utterance in utterances])
    return {
        f"annotations of other layers than {LAYER}": len(record.annotations) - len(ours),
        f"annotations of the layer {LAYER} without an utterance or a label": sum(
            note.position is None or note.label is None for note in ours
        ),
        "spans, values and attributes of annotations": sum(
            note.start is not None or note.value is not None or bool(note.attributes) for note in ours
        ),
        "names of speakers": sum(is_named(utterance) for utterance in utterances),
        "turns of its own counting": sum(u.turn != turn for u, turn in zip(utterances, turns, strict=True)),
    }
