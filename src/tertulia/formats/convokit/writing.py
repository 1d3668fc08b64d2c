"""Writing a corpus folder that ConvoKit loads: its five files, streaming."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tertulia.artefact import canonical_json
from tertulia.corpus.interchange.convokit_rows import Row
from tertulia.corpus.interchange.convokit_shape import conversation_of
from tertulia.corpus.model import Record
from tertulia.errors import InputError
from tertulia.formats.files.spill import SpilledTexts

__all__ = ["CONVERSATIONS", "CORPUS", "INDEX", "SPEAKERS", "UTTERANCES", "write_folder"]

UTTERANCES, SPEAKERS, CONVERSATIONS = "utterances.jsonl", "speakers.json", "conversations.json"
CORPUS, INDEX = "corpus.json", "index.json"
# ConvoKit opens files in the encoding of the machine, so they are ASCII.
_json = json.JSONEncoder(sort_keys=True, allow_nan=False).encode


def write_folder(records: Iterator[Record], root: Path) -> None:
    """Write the folder ``root``, which is not there yet.

    Raises
    ------
    InputError
        A record holds a value that is not JSON.
    """
    root.mkdir()
    index = _Index()
    with (
        SpilledTexts() as ids,
        SpilledTexts() as speakers,
        _open(root / UTTERANCES) as utterances,
        _open(root / CONVERSATIONS) as conversations,
    ):
        table = _Speakers(speakers)
        members = _Members(conversations)
        for record in records:
            try:
                conversation = conversation_of(record, ids.add, table.meta)
                utterances.writelines(_json(_utterance(row, conversation.id)) + "\n" for row in conversation.rows)
                members.add(conversation.id, {"meta": conversation.meta, "vectors": []})
            except (ValueError, RecursionError) as error:
                raise InputError(f"dialogue {record.dialogue.id!r} holds a value that is not JSON: {error}") from None
            else:
                index.learn("utterances", (row.meta for row in conversation.rows))
                index.learn("conversations", [conversation.meta])
                index.learn("speakers", conversation.speakers.values())
        members.close()
        with _open(root / SPEAKERS) as stream:
            members = _Members(stream)
            for name, meta in speakers.items():
                members.add(name, {"meta": json.loads(meta), "vectors": []})
            members.close()
    for name, value in ((CORPUS, {}), (INDEX, index.to_json())):
        with _open(root / name) as stream:
            stream.write(_json(value) + "\n")


class _Index:
    """The kinds of values that each piece of metadata has, as ConvoKit's index tells them."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, list[str]]] = {"utterances": {}, "speakers": {}, "conversations": {}}

    def learn(self, what: str, metas: Iterable[Mapping[str, Any]]) -> None:
        kinds = self._kinds[what]
        for meta in metas:
            for name, value in meta.items():
                known = kinds.setdefault(name, [])
                if value is not None and (kind := str(type(value))) not in known:
                    known.append(kind)

    def to_json(self) -> dict[str, Any]:
        index: dict[str, Any] = {f"{what}-index": kinds for what, kinds in self._kinds.items()}
        return index | {"overall-index": {}, "version": 1, "vectors": []}


class _Speakers:
    """The metadata of speakers: ConvoKit has one for the whole corpus, so that of a speaker's first dialogue."""

    def __init__(self, table: SpilledTexts) -> None:
        self._table = table

    def meta(self, name: str, meta: dict[str, Any]) -> dict[str, Any]:
        if self._table.add(name, canonical_json(meta)):
            return meta
        known: dict[str, Any] = json.loads(self._table.get(name) or "{}")
        return known


class _Members:
    """Writes the members of one JSON object, a line each."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._between = "{"

    def add(self, name: str, value: Any) -> None:
        self._stream.write(f"{self._between}\n{_json(name)}: {_json(value)}")
        self._between = ","

    def close(self) -> None:
        self._stream.write("{}\n" if self._between == "{" else "\n}\n")


def _open(path: Path) -> IO[str]:
    return path.open("w", encoding="ascii", newline="\n")


def _utterance(row: Row, conversation_id: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "conversation_id": conversation_id,
        "text": row.text,
        "speaker": row.speaker,
        "meta": row.meta,
        "reply-to": row.reply_to,
        "timestamp": row.timestamp,
        "vectors": [],
    }
