"""``chat-jsonl``: a conversation a line as ``{"messages": [{"role": ..., "content": ...}]}``, as chat models are trained on.

Roles are user, assistant, system, developer, tool and function; content is a text, a list of parts or none. Whatever else
stands in a line or a message is kept as attributes and written again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tertulia.corpus.exchange import NO_OPTIONS, Holds, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Dialogue, Record, Role, Utterance, number_turns
from tertulia.errors import InputError
from tertulia.formats.files.fields import attributes, found, objects, text
from tertulia.formats.files.file_order import FileOrder, in_file_order
from tertulia.formats.files.json_reading import json_lines
from tertulia.formats.files.json_writing import NUMBER, kept_fields, place_in_source, written_fields
from tertulia.formats.files.sources import source_files

__all__ = ["ChatJsonLinesFormat"]

_ROLES: Mapping[str, Role | None] = {
    "user": "user",
    "assistant": "agent",
    "system": None,
    "developer": None,
    "tool": None,
    "function": None,
}
_SIDES = ("user", "assistant")
_OTHERS = tuple(role for role, ours in _ROLES.items() if ours is None)
# Who may instruct the model before the conversation begins; what is said then is no utterance of it.
_INSTRUCTORS = ("system", "developer")
_TAKEN = frozenset({"id", "messages"})
_OWN = frozenset({"id", NUMBER})
_TEXT_PARTS = ("text", "input_text", "output_text")
_ABSENT, _NULL = "absent", "null"


class ChatJsonLinesFormat:
    """Reads and writes lines of chat messages."""

    name = "chat-jsonl"
    summary = 'chat messages, {"messages": [{"role", "content"}]} a line'
    writes = True
    holds: Holds = "corpus"
    options = NO_OPTIONS
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The conversations of a file, or of all ``*.jsonl`` files of a folder or archive in order of name."""
        files = source_files(source, "*.jsonl", expected="one object with messages a line", options=options)
        order, seen, ids = FileOrder(), SeenTexts(), set[str]()
        for place, value in json_lines(files, report, options):
            name, _, line = place.shown.rpartition(":")
            dialogue = None
            with report.catching(options, place):
                parsed = _dialogue(value, _line_id(int(line), name if len(files) > 1 else None))
                if parsed.id in ids:
                    raise InputError(f"the id {parsed.id!r} stands here again; expected every id once")
                ids.add(parsed.id)
                dialogue = parsed
            if dialogue is None:
                continue
            _note_oddities(dialogue, report, place.shown)
            if report.is_duplicate(dialogue.texts, seen, options, place.shown):
                continue
            order.keep(dialogue)
            yield Record(dialogue)

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one file, a line a conversation; what the format has no place for is counted."""
        lines = in_file_order((place_in_source(r.dialogue.attributes), _line(r, report)) for r in records)
        with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
            for number, line in enumerate(lines, 1):
                identifier, _, rest = line.partition("\n")
                # An id that a reader would give the line anyway is left out, as it was where it came from.
                is_own = identifier != json.dumps(_line_id(number, None))
                stream.write(f'{{"id": {identifier}, {rest[1:]}\n' if is_own else f"{rest}\n")


def _line_id(line: int, file: str | None) -> str:
    """The id of a line that has none: its number, such that ids sort as lines; with the file's name where there are several."""
    return f"line-{line:09d}" if file is None else f"{file}:{line:09d}"


def _dialogue(value: dict[str, Any], line_id: str) -> Dialogue:
    messages = objects(value, "messages", of="objects with role and content")
    kept = kept_fields(value, _TAKEN, _OWN)
    given = value.get("id")
    if isinstance(given, int) and not isinstance(given, bool):
        kept["id"], given = given, str(given)
    elif given is not None:
        given = text(value, "id")
        if not given:
            raise InputError("the id is empty; expected a text")
    instructs = messages[:1] and _is_instruction(messages[0]) and kept.keys().isdisjoint(_INSTRUCTORS)
    if instructs:
        kept[messages[0]["role"]] = text(messages[0], "content")
    said = messages[1:] if instructs else messages
    first = 1 if instructs else 0
    utterances = [_utterance(message, position, first + position) for position, message in enumerate(said)]
    for utterance, turn in zip(utterances, number_turns([u.speaker for u in utterances]), strict=True):
        utterance.turn = turn
    return Dialogue(given or line_id, utterances, attributes=kept)


def _is_instruction(message: dict[str, Any]) -> bool:
    """Whether a first message is nothing but what the system or developer asks of the model."""
    return (
        message.keys() == {"role", "content"}
        and message["role"] in _INSTRUCTORS
        and isinstance(message["content"], str)
    )


def _utterance(message: dict[str, Any], position: int, number: int) -> Utterance:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InputError(f"message {number} has the role {found(role)}; expected one of {', '.join(_ROLES)}")
    try:
        name = text(message, "name")
        kept = attributes({"the other fields": _other_fields(message)}, "the other fields")
        said, content = _content(message)
    except InputError as error:
        raise InputError(f"in message {number} {error.message}") from None
    own: dict[str, Any] = {"message": kept} if kept else {}
    if content is not None:
        own["content"] = content
    speaker = role if name is None else name
    if name == role:
        own["name"] = name
    if _ROLES[role] is None and speaker != role:
        own["role"] = role
    return Utterance(position, 0, speaker, said, _ROLES[role], attributes=own)


def _other_fields(message: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message that the model has no place for; a name that is null among them."""
    own = {"role", "content"} if message.get("name") is None else {"role", "content", "name"}
    return {name: value for name, value in message.items() if name not in own}


def _content(message: dict[str, Any]) -> tuple[str, Any]:
    """The text of a message, and its content as it stands there where that is no text."""
    if "content" not in message:
        return "", _ABSENT
    content = message["content"]
    if content is None:
        return "", _NULL
    if isinstance(content, str):
        return text(message, "content") or "", None
    if not isinstance(content, list):
        raise InputError(f"content holds {found(content)}; expected a text, a list of parts or null")
    parts = objects(message, "content", of="parts with a type")
    for part in parts:
        kind = text(part, "type", required=True)
        if kind in _TEXT_PARTS:
            text(part, "text", required=True)
    attributes({"content": {"parts": parts}}, "content")
    return _text_of(parts), parts


def _text_of(parts: list[Any]) -> str:
    """The text of a content in parts, a line each; parts of other kinds (pictures, sounds) have none."""
    return "\n".join(part["text"] for part in parts if _is_text(part))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str)


def _note_oddities(dialogue: Dialogue, report: Report, where: str) -> None:
    report.note("conversations without messages", where, int(not dialogue.utterances))
    for utterance in dialogue.utterances:
        content = utterance.attributes.get("content")
        if isinstance(content, list):
            other = sum(not _is_text(part) for part in content)
            report.note("parts of messages that are no text", where, other)
        report.note("messages without text", where, int(not utterance.text))
        report.note("messages of neither user nor assistant in the conversation", where, int(utterance.role is None))


def _line(record: Record, report: Report) -> str:
    """The id and the rest of a line, each as JSON, with a line break between them."""
    dialogue = record.dialogue
    lost: Counter[str] = Counter()
    fields, lost["attributes of dialogues whose names are this format's own"] = written_fields(
        dialogue.attributes, _TAKEN, _OWN
    )
    identifier: str | int = dialogue.id
    number = dialogue.attributes.get("id")
    if isinstance(number, int) and not isinstance(number, bool) and str(number) == dialogue.id:
        identifier = number
    elif "id" in dialogue.attributes:
        lost["attributes of dialogues whose names are this format's own"] += 1
    messages = []
    for instructor in _INSTRUCTORS:
        if isinstance(fields.get(instructor), str):
            messages.append({"role": instructor, "content": fields.pop(instructor)})
            break
    roles = _roles(dialogue, report)
    first = dialogue.utterances[:1]
    if not messages and first and _is_instruction(_message(first[0], roles[0], Counter())):
        report.note("first utterances that are read again as attributes.system or .developer", dialogue.id)
    messages += [_message(u, role, lost) for u, role in zip(dialogue.utterances, roles, strict=True)]
    _count_losses(record, lost)
    for what, count in lost.items():
        report.skip(f"{what}, which this format does not hold", dialogue.id, count)
    # The id is compared with that of the line, which is known when the lines stand in order.
    return f"{json.dumps(identifier)}\n{json.dumps({'messages': messages, **fields}, ensure_ascii=False)}"


def _roles(dialogue: Dialogue, report: Report) -> list[str]:
    """The role of each message. Sides without one are the user and the assistant in the order in which they speak."""
    by_role = {ours: role for role, ours in _ROLES.items() if ours is not None}
    sides: dict[str, str] = {}
    roles = []
    for utterance in dialogue.utterances:
        given = utterance.attributes.get("role")
        if utterance.role is not None:
            roles.append(by_role[utterance.role])
        elif isinstance(given, str) and given in _OTHERS:
            roles.append(given)
        elif utterance.speaker in _OTHERS:
            roles.append(utterance.speaker)
        else:
            sides.setdefault(utterance.speaker, _SIDES[min(len(sides), 1)])
            roles.append(sides[utterance.speaker])
    if sides:
        report.note(
            "conversations without roles: who speaks first is written as user, the other as assistant", dialogue.id
        )
    if len(sides) > len(_SIDES):
        report.note("conversations of more than two sides: all but the first are written as assistant", dialogue.id)
    return roles


def _message(utterance: Utterance, role: str, lost: Counter[str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role}
    kept = utterance.attributes
    held = set()
    if utterance.speaker != role:
        message["name"] = utterance.speaker
        held |= {"role"} if kept.get("role") == role and utterance.role is None else set()
    elif kept.get("name") == role:
        message["name"] = role
        held.add("name")
    content = kept.get("content")
    if content is None or not _is_content(content, utterance.text):
        message["content"] = utterance.text
    else:
        held.add("content")
        if content != _ABSENT:
            message["content"] = None if content == _NULL else content
    others = kept.get("message")
    if isinstance(others, dict) and others.keys().isdisjoint(message.keys() | {"content"}):
        message |= others
        held.add("message")
    lost["other attributes of utterances"] += len(kept.keys() - held)
    return message


def _is_content(content: object, said: str) -> bool:
    """Whether a content that is no text still says what the utterance says, which may have been masked since."""
    if isinstance(content, list):
        return _text_of(content) == said
    return content in (_ABSENT, _NULL) and not said


def _count_losses(record: Record, lost: Counter[str]) -> None:
    dialogue = record.dialogue
    lost["annotations"] += len(record.annotations)
    for what in ("domain", "split", "title", "started_at"):
        lost[f"{what} of dialogues"] += int(getattr(dialogue, what) is not None)
    turns = number_turns([utterance.speaker for utterance in dialogue.utterances])
    for utterance, turn in zip(dialogue.utterances, turns, strict=True):
        lost["times of utterances"] += int(utterance.sent_at is not None)
        lost["ids of utterances"] += int(utterance.id is not None)
        lost["turns of its own counting"] += int(utterance.turn != turn)
