"""``convokit``: a corpus folder of ConvoKit, or the zip archive that one comes in.

The folder has ``utterances.jsonl`` (or ``utterances.json``), ``conversations.json``, ``speakers.json``, ``corpus.json`` and
``index.json``; in old ones fields and files have other names (``user``, ``root``, ``users.json``). The utterances of a
conversation may lie anywhere in the file: they are brought together on disk. Published with Chang et al. 2020, "ConvoKit: A
Toolkit for the Analysis of Conversations".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import NO_OPTIONS, Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.interchange.convokit_rows import Row, in_a_circle, reading_order
from tertulia.corpus.interchange.convokit_shape import Conversation, annotations_of, dialogue_of
from tertulia.corpus.model import Annotation, Dialogue, Record
from tertulia.errors import InputError
from tertulia.formats.convokit.writing import CONVERSATIONS, CORPUS, INDEX, SPEAKERS, UTTERANCES, write_folder
from tertulia.formats.files.fields import attributes, found, number, text
from tertulia.formats.files.json_reading import json_elements, json_lines
from tertulia.formats.files.sources import SourceFile, source_files
from tertulia.formats.files.spill import SpilledRows, SpilledTexts
from tertulia.formats.jsonl import record_from_json

__all__ = ["ConvoKitFormat"]

_UTTERANCES = (UTTERANCES, "utterances.json")
_SPEAKERS = (SPEAKERS, "users.json")
_FIELDS = {
    *("id", "conversation_id", "root", "text", "speaker", "user", "reply-to", "reply_to"),
    *("timestamp", "meta", "vectors"),
}
# Utterances that stand together wait together, up to so many characters.
_CHUNK_CHARACTERS = 100_000
# A conversation is one record, so it must not fill the memory.
_MOST_UTTERANCES, _MOST_CHARACTERS = 1_000_000, 128_000_000
_MOST_AT_HAND = 10_000
# What ConvoKit gives a conversation that has no id.
_NO_CONVERSATION = "__default_conversation__"
_META, _ROWS = 0, 1


class ConvoKitFormat:
    """Reads and writes corpus folders of ConvoKit."""

    name = "convokit"
    summary = "a corpus folder of ConvoKit: utterances.jsonl, conversations.json, speakers.json"
    writes = True
    holds: Holds = "corpus"
    options: Mapping[str, str] = NO_OPTIONS
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The conversations in order of id."""
        files = _Files(source, options)
        _read_index(files, report, options)
        with SpilledTexts() as speakers, SpilledRows() as rows:
            _read_speakers(files, speakers, report, options)
            _read_conversations(files, rows, report, options)
            _read_utterances(files.utterances, rows, report, options)
            known, texts = _Known(speakers), SeenTexts()
            for identifier, group in rows.groups():
                conversation, place = _gather(identifier, group, files, report, options)
                record = None
                with report.catching(options, place):
                    record = _record(conversation, known, report, place)
                if record is None:
                    continue
                if not report.is_duplicate(record.dialogue.texts, texts, options, place.shown):
                    yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:  # noqa: ARG002 - it holds all
        """Write a folder that ConvoKit loads; what it has no field for stands under ``tertulia`` of the metadata."""
        write_folder(records, Path(path))


class _Files:
    """The files of the one corpus that a source holds."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        names = (*_UTTERANCES, *_SPEAKERS, CONVERSATIONS, CORPUS, INDEX)
        missing = f"holds no {' or '.join(_UTTERANCES)}; expected a corpus folder of ConvoKit"
        try:
            found_files = source_files(source, *names, expected="a corpus folder of ConvoKit", options=options)
        except InputError as error:
            # That it lacks any of seven names says less than that it lacks the one that matters.
            raise InputError(missing, where=source) if error.message.startswith("holds no") else error from None
        by_name = {file.name: file for file in found_files}
        folders = {file.name.rpartition("/")[0] for file in found_files if _last(file.name) in _UTTERANCES}
        if len(folders) > 1:
            first, second, *_ = sorted(folders)
            raise InputError(
                f"holds {len(folders)} corpora, {first or '.'!r} and {second!r} among them; expected one", where=source
            )
        if folders:
            [folder] = folders
            self._by_name = {_last(name): file for name, file in by_name.items() if name.rpartition("/")[0] == folder}
            # ConvoKit too takes the lines where there are both.
            self.utterances = self._by_name.get(_UTTERANCES[0]) or self._by_name[_UTTERANCES[1]]
        elif len(found_files) == 1 and _last(found_files[0].name) not in names:
            self._by_name, self.utterances = {}, found_files[0]
        else:
            raise InputError(missing, where=source)

    def get(self, *names: str) -> SourceFile | None:
        """The file of the first of these names that there is."""
        return next((self._by_name[name] for name in names if name in self._by_name), None)

    def place(self, name: str, at: str) -> Place:
        """The place of a record of one of the files."""
        file = self.utterances if name == self.utterances.name else self._by_name[name]
        return file.place(at)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _members_of(file: SourceFile, what: str, options: ReadOptions) -> Iterator[tuple[str, Any, Place]]:
    for key, value, place in json_elements(file, options):
        if isinstance(key, int):
            raise InputError(f"holds a list; expected an object with {what} by their ids", where=file.where)
        yield key, value, place


def _read_index(files: _Files, report: Report, options: ReadOptions) -> None:
    """Binary metadata is pickled, and a pickle from outside may do anything: it is never read."""
    file = files.get(INDEX)
    if file is not None:
        for _part, kinds, place in _members_of(file, "the kinds of metadata", options):
            if isinstance(kinds, dict):
                binary = sum(kind in ("bin", ["bin"]) for kind in kinds.values())
                report.skip("metadata in pickles, which are not read", place.shown, binary)
    file = files.get(CORPUS)
    if file is not None:
        for _name, _value, place in _members_of(file, "metadata", options):
            report.skip("metadata of the corpus as a whole", place.shown)


def _read_speakers(files: _Files, speakers: SpilledTexts, report: Report, options: ReadOptions) -> None:
    file = files.get(*_SPEAKERS)
    if file is None:
        return
    for name, value, place in _members_of(file, "speakers", options):
        with report.catching(options, place):
            text({"the id": name}, "the id")
            meta = _meta_of(value, "the speaker", report, place)
            if meta and not speakers.add(name, canonical_json(meta)):
                raise InputError(f"the speaker {name!r} stands here again; expected every id once")


def _read_conversations(files: _Files, rows: SpilledRows, report: Report, options: ReadOptions) -> None:
    file = files.get(CONVERSATIONS)
    if file is None:
        return
    for name, value, place in _members_of(file, "conversations", options):
        with report.catching(options, place):
            if not text({"the id": name}, "the id"):
                raise InputError("the id is empty; expected a text")
            rows.add(name, (_META, _meta_of(value, "the conversation", report, place), _at(place, file)))


def _meta_of(value: Any, what: str, report: Report, place: Place) -> dict[str, Any]:
    """The metadata of a speaker or conversation, which older corpora have without a ``meta`` around it."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is {found(value)}; expected an object")
    if isinstance(value.get("vectors"), list):
        report.skip("vectors", place.shown, len(value["vectors"]))
    return attributes(value, "meta") if "meta" in value else attributes({"meta": value}, "meta")


def _at(place: Place, file: SourceFile) -> str:
    return place.shown[len(file.name) + 1 :]


def _read_utterances(file: SourceFile, rows: SpilledRows, report: Report, options: ReadOptions) -> None:
    known: dict[str, str] = {}
    waiting: list[Any] = []
    of: str | None = None
    characters = 0
    for place, item in _utterance_items(file, report, options):
        try:
            row = _checked(item, report, place)
            conversation = _conversation_id(item, row, known)
        except InputError:
            with report.catching(options, place):
                raise
            continue
        if conversation != of or characters >= _CHUNK_CHARACTERS:
            if waiting and of is not None:
                rows.add(of, (_ROWS, waiting))
            waiting, of, characters = [], conversation, 0
        waiting.append((*row, _at(place, file)))
        characters += len(row[2])
    if waiting and of is not None:
        rows.add(of, (_ROWS, waiting))


def _utterance_items(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Place, dict[str, Any]]]:
    if not file.name.lower().endswith(".json"):
        yield from json_lines([file], report, options)
        return
    for key, value, place in json_elements(file, options):
        if not isinstance(key, int):
            raise InputError("holds an object; expected a list of utterances", where=file.where)
        with report.catching(options, place):
            if not isinstance(value, dict):
                raise InputError(f"holds {found(value)}; expected an object")
        if isinstance(value, dict):
            yield place, value


_Checked = tuple[str, str, str, str | None, Any, dict[str, Any]]


def _checked(item: dict[str, Any], report: Report, place: Place) -> _Checked:
    """Id, speaker, text, what it replies to, timestamp and metadata of an utterance."""
    identifier = _identifier(item, "id", report, place)
    speaker = _identifier(item, "speaker" if "speaker" in item else "user", report, place)
    if identifier is None or speaker is None:
        missing = "id" if identifier is None else "speaker"
        raise InputError(f"{missing} holds null; expected a text")
    said = text(item, "text")
    if said is None:
        report.note("utterances without a text", place.shown)
        said = ""
    reply = _identifier(item, "reply_to" if "reply_to" in item else "reply-to", report, place)
    timestamp = item.get("timestamp")
    if timestamp is not None and type(timestamp) is not int:
        if isinstance(timestamp, bool) or not isinstance(timestamp, float | str):
            raise InputError(f"timestamp holds {found(timestamp)}; expected a number or a text")
        timestamp = text(item, "timestamp") if isinstance(timestamp, str) else number(item, "timestamp", None)
    meta = item.get("meta")
    meta = {} if meta is None else meta if _is_plain(meta) else attributes(item, "meta")
    if not item.keys() <= _FIELDS:
        report.skip("fields that ConvoKit does not have", place.shown, len(item.keys() - _FIELDS))
    if isinstance(item.get("vectors"), list):
        report.skip("vectors", place.shown, len(item["vectors"]))
    return identifier, speaker, said, reply, timestamp, meta


def _is_plain(meta: Any) -> bool:
    """Whether metadata is so simple that a corpus can surely keep it: most is, and this is quick."""
    return (
        type(meta) is dict
        and all(
            kind is int or kind is bool or value is None or (kind is str and value.isascii())
            for value in meta.values()
            for kind in (type(value),)
        )
        and all(map(str.isascii, meta))
    )


def _identifier(item: dict[str, Any], name: str, report: Report, place: Place) -> str | None:
    """A text, or a number, which then becomes one."""
    value = item.get(name)
    if value is None or (type(value) is str and value.isascii()):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        report.note("ids that are numbers, taken as texts", place.shown)
        return str(value)
    return text(item, name)


def _conversation_id(item: dict[str, Any], row: _Checked, known: dict[str, str]) -> str:
    """The conversation of an utterance; where it names none, that of what it replies to."""
    name = "conversation_id" if "conversation_id" in item else "root"
    value = item.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is not None:
        conversation = text({name: value}, name, required=True)
        if not conversation:
            raise InputError(f"{name} is empty; expected the id of a conversation")
        return conversation
    identifier, reply = row[0], row[3]
    if reply is not None and reply not in known:
        raise InputError(f"has no conversation_id, and replies to {reply[:60]!r}, which has not come before")
    conversation = f"{_NO_CONVERSATION}{identifier}" if reply is None else known[reply]
    known[identifier] = conversation
    return conversation


def _gather(
    identifier: str, group: Iterable[Any], files: _Files, report: Report, options: ReadOptions
) -> tuple[Conversation, Place]:
    """The conversation of one id, its utterances in reading order, and where it begins."""
    conversation = Conversation(identifier, [])
    place: Place | None = None
    ids: set[str] = set()
    characters, has_meta = 0, False
    for kind, *payload in group:
        if kind == _META:
            here = files.place(CONVERSATIONS, payload[1])
            with report.catching(options, here):
                if has_meta:
                    raise InputError(f"the conversation {identifier!r} stands here again; expected every id once")
                conversation.meta, has_meta, place = payload[0], True, here
            continue
        for own_id, speaker, said, reply, timestamp, meta, at in payload[0]:
            if not conversation.rows:
                place = files.utterances.place(at)
            characters += len(said)
            is_too_much = len(conversation.rows) >= _MOST_UTTERANCES or characters > _MOST_CHARACTERS
            if own_id in ids or is_too_much:
                with report.catching(options, files.utterances.place(at)):
                    if own_id in ids:
                        raise InputError(
                            f"the utterance {own_id!r} stands here again in its conversation; expected every id once"
                        )
                    raise InputError(
                        f"the conversation {identifier!r} has more than {_MOST_UTTERANCES:,} utterances or "
                        f"{_MOST_CHARACTERS:,} characters"
                    )
                continue
            ids.add(own_id)
            conversation.rows.append(Row(own_id, speaker, said, reply, timestamp, meta))
    order = reading_order(conversation.rows)
    conversation.rows = [conversation.rows[index] for index in order]
    return conversation, place or files.utterances.place(1)


class _Known:
    """The metadata of speakers by name; those met lately are at hand."""

    def __init__(self, speakers: SpilledTexts) -> None:
        self._speakers = speakers
        self._lately: dict[str, dict[str, Any]] = {}

    def get(self, name: str) -> dict[str, Any]:
        meta = self._lately.get(name)
        if meta is None:
            if len(self._lately) >= _MOST_AT_HAND:
                self._lately.clear()
            meta = self._lately[name] = json.loads(self._speakers.get(name) or "{}")
        return meta


def _record(conversation: Conversation, speakers: _Known, report: Report, place: Place) -> Record:
    if not conversation.rows:
        report.note("conversations without an utterance", place.shown)
    if in_a_circle(conversation.rows):
        report.note("conversations with replies in a circle", place.shown)
    for name in {row.speaker for row in conversation.rows}:
        if meta := speakers.get(name):
            conversation.speakers[name] = dict(meta)
    dialogue = dialogue_of(conversation)
    notes = annotations_of(conversation)
    return Record(dialogue, _annotations(dialogue, notes) if notes else [])


def _annotations(dialogue: Dialogue, notes: list[Any]) -> list[Annotation]:
    """Held to what the data model says of annotations, as the format ``jsonl`` does."""
    plain = [{"speaker": utterance.speaker, "text": utterance.text} for utterance in dialogue.utterances]
    return record_from_json({"id": dialogue.id, "utterances": plain, "annotations": notes}).annotations
