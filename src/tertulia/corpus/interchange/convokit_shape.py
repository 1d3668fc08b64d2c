"""A dialogue in the shape of ConvoKit and back: rows of utterances, and metadata of conversations and of speakers.

What ConvoKit has no field for stands under the key ``tertulia`` of the metadata, and only where it cannot be told from the rest,
so that a corpus of ConvoKit's own comes back as it was, and a corpus of ours too. The data model is described at
https://convokit.cornell.edu/documentation/data_format.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tertulia.artefact import canonical_json
from tertulia.corpus.interchange.convokit_rows import OWN, Row, own_of, reading_order, time_of, timestamp_of
from tertulia.corpus.model import Annotation, Dialogue, Record, Role, Utterance, number_turns
from tertulia.corpus.times import as_utc, utc_text
from tertulia.errors import InputError

__all__ = ["Conversation", "annotations_of", "conversation_of", "dialogue_of"]

KIT = "convokit"
"""The attribute under which stands what the model has no field for."""
_REPLY = "reply_to"
_RESERVED = (OWN, KIT, _REPLY)


@dataclass(slots=True)
class Conversation:
    """A conversation as ConvoKit has it: ``rows`` in reading order, ``speakers`` with the metadata that they have."""

    id: str
    rows: list[Row]
    meta: dict[str, Any] = field(default_factory=dict)
    speakers: dict[str, dict[str, Any]] = field(default_factory=dict)


# -------------------------------------------------------------------------------------------------------------- reading


def dialogue_of(conversation: Conversation) -> Dialogue:
    """The dialogue that a conversation is; its annotations are what ``annotations_of`` finds.

    Raises
    ------
    InputError
        What stands under ``tertulia`` does not hold.
    """
    turns = number_turns([row.speaker for row in conversation.rows])
    utterances = []
    previous: str | None = None
    for position, (row, turn) in enumerate(zip(conversation.rows, turns, strict=True)):
        utterances.append(_utterance(row, position, turn, previous, conversation.id))
        previous = row.id
    own = own_of(conversation.meta, of_conversation=True)
    dialogue = Dialogue(
        conversation.id,
        utterances,
        started_at=_earliest(utterances),
        attributes=_attributes_of_conversation(conversation, own is not None),
    )
    if own:
        dialogue.domain, dialogue.split, dialogue.title = (_text(own, name) for name in ("domain", "split", "title"))
        dialogue.started_at = _time(own, "started_at") if "started_at" in own else dialogue.started_at
        dialogue.attributes = _verbatim(own, dialogue.attributes)
    return dialogue


def _utterance(row: Row, position: int, turn: int, previous: str | None, conversation_id: str) -> Utterance:
    own = own_of(row.meta)
    sent_at = time_of(row.timestamp)
    identifier = None if row.id == f"{conversation_id}#{position}" else row.id
    attributes = dict(row.meta)
    kit: dict[str, Any] = {}
    if attributes:
        if own is not None:
            del attributes[OWN]
        _set_apart(attributes, kit)
    if row.reply_to != previous:
        attributes[_REPLY] = row.reply_to
    # Of a time, a whole number is always what is written again.
    is_spelled_so = type(row.timestamp) is int and sent_at is not None
    if row.timestamp is not None and not is_spelled_so and not _same(timestamp_of(sent_at), row.timestamp):
        kit["timestamp"] = row.timestamp
    if kit:
        attributes[KIT] = kit
    utterance = Utterance(position, turn, row.speaker, row.text, None, sent_at, identifier, attributes)
    if own:
        utterance.role = _role(own)
        utterance.turn = _turn(own, turn)
        utterance.id = _text(own, "id") if "id" in own else identifier
        utterance.sent_at = _time(own, "sent_at") if "sent_at" in own else sent_at
        utterance.attributes = _verbatim(own, attributes)
    return utterance


def _attributes_of_conversation(conversation: Conversation, without_own: bool) -> dict[str, Any]:
    attributes = dict(conversation.meta)
    kit: dict[str, Any] = {}
    if without_own:
        del attributes[OWN]
    _set_apart(attributes, kit)
    speakers = {name: meta for name, meta in conversation.speakers.items() if meta}
    if speakers:
        kit["speakers"] = speakers
    if kit:
        attributes[KIT] = kit
    return attributes


def _set_apart(attributes: dict[str, Any], kit: dict[str, Any]) -> None:
    """Metadata of a name that is ours goes under ``convokit.meta``."""
    apart = {name: attributes.pop(name) for name in _RESERVED if name in attributes}
    if apart:
        kit["meta"] = apart


def _earliest(utterances: list[Utterance]) -> datetime | None:
    return min((u.sent_at for u in utterances if u.sent_at is not None), default=None)


def _text(own: dict[str, Any], name: str) -> str | None:
    value = own.get(name)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{OWN}.{name} in the metadata is not a text")
    return value


def _time(own: dict[str, Any], name: str) -> datetime | None:
    value = _text(own, name)
    try:
        return None if value is None else as_utc(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise InputError(f"{OWN}.{name} in the metadata is not a time such as 2017-06-21T18:19:15Z") from None


def _role(own: dict[str, Any]) -> Role | None:
    role = own.get("role")
    if role is None or role == "user" or role == "agent":
        return role
    raise InputError(f"{OWN}.role in the metadata is neither user nor agent")


def _turn(own: dict[str, Any], default: int) -> int:
    turn = own.get("turn", default)
    if not isinstance(turn, int) or isinstance(turn, bool) or not 0 <= turn < 2**31:
        raise InputError(f"{OWN}.turn in the metadata is not a whole number from 0")
    return turn


def _verbatim(own: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    value = own.get("attributes", attributes)
    if not isinstance(value, dict):
        raise InputError(f"{OWN}.attributes in the metadata is not an object")
    return value


def annotations_of(conversation: Conversation) -> list[Any]:
    """The annotations that stand under ``tertulia``, as values that have not been checked, positions put in."""
    found: list[Any] = []
    for position, row in enumerate(conversation.rows):
        own = own_of(row.meta)
        if own and "annotations" in own:
            notes = own["annotations"]
            if not isinstance(notes, list) or not all(isinstance(note, dict) for note in notes):
                raise InputError(f"{OWN}.annotations in the metadata is not a list of objects")
            found += [{**note, "position": position} for note in notes]
    own = own_of(conversation.meta, of_conversation=True)
    if own and "annotations" in own:
        if not isinstance(own["annotations"], list):
            raise InputError(f"{OWN}.annotations in the metadata is not a list of objects")
        found += own["annotations"]
    return found


# -------------------------------------------------------------------------------------------------------------- writing


def conversation_of(
    record: Record,
    claim: Callable[[str], bool],
    speaker_meta: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> Conversation:
    """The conversation that a record is. Reading it gives the record again: what would not come back stands under ``tertulia``.

    Parameters
    ----------
    record:
        The dialogue and its annotations.
    claim:
        Takes an id for an utterance of the corpus; false where another utterance has it, for ConvoKit's ids are unique.
    speaker_meta:
        Takes a speaker's name and the metadata that this dialogue has of it, and gives the metadata that the corpus has:
        that of the first dialogue of the speaker.
    """
    dialogue = record.dialogue
    kit = _part(dialogue.attributes, KIT)
    speakers = _part(kit, "speakers")
    conversation = Conversation(dialogue.id, _rows(dialogue, claim))
    for row in conversation.rows:
        if row.speaker not in conversation.speakers:
            conversation.speakers[row.speaker] = speaker_meta(row.speaker, _part(speakers, row.speaker))
    conversation.meta = _plain(dialogue.attributes, kit)
    if reading_order(conversation.rows) != list(range(len(conversation.rows))):
        for position, row in enumerate(conversation.rows):
            _make_own(row.meta)["position"] = position
    _make_exact(conversation, dialogue)
    for note in record.annotations:
        own_position = note.position is not None and note.position < len(conversation.rows)
        target = conversation.rows[note.position or 0].meta if own_position else conversation.meta
        _make_own(target).setdefault("annotations", []).append(_note(note, with_position=not own_position))
    return conversation


def _rows(dialogue: Dialogue, claim: Callable[[str], bool]) -> list[Row]:
    ids = []
    for utterance in dialogue.utterances:
        identifier = utterance.id
        if not identifier or not claim(identifier):
            identifier = f"{dialogue.id}#{utterance.position}"
            again = 0
            while not claim(identifier):
                again += 1
                identifier = f"{dialogue.id}#{utterance.position}#{again}"
        ids.append(identifier)
    renamed: dict[str, str] = {}
    for utterance, identifier in zip(dialogue.utterances, ids, strict=True):
        renamed.setdefault(utterance.id or identifier, identifier)
    rows: list[Row] = []
    for utterance, identifier in zip(dialogue.utterances, ids, strict=True):
        attributes = utterance.attributes
        kit = _part(attributes, KIT)
        previous = rows[-1].id if rows else None
        reply = previous
        if _REPLY in attributes:
            given = attributes[_REPLY]
            reply = renamed.get(given, given) if isinstance(given, str) else None
        timestamp = kit.get("timestamp")
        if timestamp is None or not isinstance(timestamp, int | float | str) or isinstance(timestamp, bool):
            timestamp = timestamp_of(utterance.sent_at)
        rows.append(Row(identifier, utterance.speaker, utterance.text, reply, timestamp, _plain(attributes, kit)))
    return rows


def _part(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _plain(attributes: dict[str, Any], kit: dict[str, Any]) -> dict[str, Any]:
    """Attributes as metadata, each under its name but those that have a meaning here."""
    meta = {name: value for name, value in attributes.items() if name not in _RESERVED}
    meta.update((name, value) for name, value in _part(kit, "meta").items() if name in (KIT, _REPLY))
    return meta


def _make_own(meta: dict[str, Any]) -> dict[str, Any]:
    """Our part of metadata, made where it is not there yet."""
    own: dict[str, Any] = meta.setdefault(OWN, {})
    return own


def _make_exact(conversation: Conversation, dialogue: Dialogue) -> None:
    """Put under ``tertulia`` what reading the conversation would give otherwise."""
    for utterance, row in zip(dialogue.utterances, conversation.rows, strict=True):
        if utterance.role is not None:
            _make_own(row.meta)["role"] = utterance.role
    back = dialogue_of(conversation)
    for utterance, found, row in zip(dialogue.utterances, back.utterances, conversation.rows, strict=True):
        if found.turn != utterance.turn:
            _make_own(row.meta)["turn"] = utterance.turn
        if found.id != utterance.id:
            _make_own(row.meta)["id"] = utterance.id
        if found.sent_at != utterance.sent_at:
            _make_own(row.meta)["sent_at"] = None if utterance.sent_at is None else utc_text(utterance.sent_at)
        if not _same(found.attributes, utterance.attributes):
            _make_own(row.meta)["attributes"] = utterance.attributes
    for name in ("domain", "split", "title"):
        if (value := getattr(dialogue, name)) is not None:
            _make_own(conversation.meta)[name] = value
    earliest = _earliest(dialogue.utterances)
    if dialogue.started_at != earliest:
        _make_own(conversation.meta)["started_at"] = (
            None if dialogue.started_at is None else utc_text(dialogue.started_at)
        )
    if not _same(back.attributes, dialogue.attributes):
        _make_own(conversation.meta)["attributes"] = dialogue.attributes


def _note(note: Annotation, *, with_position: bool) -> dict[str, Any]:
    fields = ("start", "end", "label", "value", "attributes")
    values: dict[str, Any] = {"position": note.position} if with_position else {}
    values |= {name: getattr(note, name) for name in fields}
    kept = {name: value for name, value in values.items() if value is not None and value != {}}
    return {"layer": note.layer, "annotator": note.annotator, **kept}


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are written alike: 1, 1.0 and true are not the same."""
    if type(one) is type(other) and (isinstance(one, int | str) or not one):
        return bool(one == other)
    return canonical_json(one) == canonical_json(other)
