"""``jsonl``: one dialogue a line, the model as JSON: nothing is lost on the way out or in.

A line is an object with ``id`` and ``utterances`` (each with ``speaker`` and ``text``) and whatever else the model has;
``position`` and ``turn`` are counted where they are left out. The source is a file, or a folder of ``*.jsonl`` files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tertulia.artefact import canonical_json
from tertulia.corpus.exchange import ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance, number_turns
from tertulia.corpus.times import as_utc, utc_text
from tertulia.errors import InputError
from tertulia.formats.lines import Lines

__all__ = ["JsonLinesFormat", "record_from_json", "record_to_json"]


class JsonLinesFormat:
    """Reads and writes the data model as JSON lines."""

    name = "jsonl"
    summary = "one dialogue a line, the data model as JSON"
    writes = True
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The records of a file, or of all ``*.jsonl`` files of a folder in order of name."""
        root = Path(source)
        if not root.exists():
            raise InputError("there is nothing at this path", where=root)
        files = sorted(path for path in root.rglob("*.jsonl") if path.is_file()) if root.is_dir() else [root]
        if not files:
            raise InputError("holds no *.jsonl file; expected one dialogue a line", where=root)
        total = sum(file.stat().st_size for file in files)
        ids: set[str] = set()
        texts = SeenTexts()
        for file in files:
            shown = file.name if file == root else file.relative_to(root).as_posix()
            with file.open("rb") as stream:
                lines = Lines(stream)
                while True:
                    try:
                        raw = next(lines, None)
                        if raw is None:
                            break
                        options.progress(len(raw), total)
                        if not raw.strip():
                            continue
                        record = record_from_json(_object(raw))
                        if record.dialogue.id in ids:
                            raise InputError(f"the id {record.dialogue.id!r} stands here again; expected every id once")
                    except InputError as error:
                        found = InputError(error.message, where=f"{file}:{lines.number}", hint=error.hint)
                        report.bad(found, options, f"{shown}:{lines.number}")
                        continue
                    ids.add(record.dialogue.id)
                    if not report.is_duplicate(record.dialogue.texts, texts, options, f"{shown}:{lines.number}"):
                        yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:  # noqa: ARG002 - it holds all
        """Write one file, a line a record, keys sorted."""
        with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
            for record in records:
                stream.write(canonical_json(record_to_json(record)) + "\n")


def record_to_json(record: Record) -> dict[str, Any]:
    """A record as plain JSON values; what is ``None`` or empty is left out."""
    dialogue = record.dialogue
    value = _without_empty(
        {
            "id": dialogue.id,
            "domain": dialogue.domain,
            "split": dialogue.split,
            "title": dialogue.title,
            "started_at": _time_to_json(dialogue.started_at),
            "attributes": dialogue.attributes,
        }
    )
    value["utterances"] = [
        {
            "position": utterance.position,
            "turn": utterance.turn,
            "speaker": utterance.speaker,
            "text": utterance.text,
            **_without_empty(
                {
                    "role": utterance.role,
                    "sent_at": _time_to_json(utterance.sent_at),
                    "id": utterance.id,
                    "attributes": utterance.attributes,
                }
            ),
        }
        for utterance in dialogue.utterances
    ]
    if record.annotations:
        fields = ("position", "start", "end", "label", "value", "attributes")
        value["annotations"] = [
            {"layer": a.layer, "annotator": a.annotator, **_without_empty({f: getattr(a, f) for f in fields})}
            for a in record.annotations
        ]
    return value


def record_from_json(value: dict[str, Any]) -> Record:
    """A record from plain JSON values.

    Raises
    ------
    InputError
        A field is missing or has another type than the model's, named with what was found.
    """
    _known(
        value,
        "the dialogue",
        {"id", "domain", "split", "title", "started_at", "attributes", "utterances", "annotations"},
    )
    identifier = _text(value, "id", required=True)
    if not identifier:
        raise InputError("the id is empty; expected a text")
    raw = value.get("utterances")
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise InputError(f"utterances holds {_found(raw)}; expected a list of objects with speaker and text")
    speakers = [_text(item, "speaker", required=True) or "" for item in raw]
    counted = number_turns(speakers)
    utterances = [_utterance(item, index, speakers[index], counted[index]) for index, item in enumerate(raw)]
    dialogue = Dialogue(
        identifier,
        utterances,
        _text(value, "domain"),
        _text(value, "split"),
        _text(value, "title"),
        _time(value, "started_at"),
        _attributes(value),
    )
    notes = value.get("annotations", [])
    if not isinstance(notes, list) or not all(isinstance(item, dict) for item in notes):
        raise InputError(f"annotations holds {_found(notes)}; expected a list of objects")
    return Record(dialogue, [_annotation(item, dialogue) for item in notes])


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start} of the line)") from None
    except RecursionError:
        raise InputError("is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"holds {_found(value)}; expected an object with id and utterances")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _utterance(item: dict[str, Any], index: int, speaker: str, turn: int) -> Utterance:
    _known(item, f"utterance {index}", {"position", "turn", "speaker", "text", "role", "sent_at", "id", "attributes"})
    position = _number(item, "position", index)
    if position != index:
        raise InputError(f"utterance {index} has the position {position}; expected positions from 0 without gaps")
    role = _text(item, "role")
    if role not in (None, "user", "agent"):
        raise InputError(f"utterance {index} has the role {role!r}; expected user or agent")
    return Utterance(
        index,
        _number(item, "turn", turn),
        speaker,
        _text(item, "text", required=True) or "",
        role,  # type: ignore[arg-type]  # held to the two roles just above
        _time(item, "sent_at"),
        _text(item, "id"),
        _attributes(item),
    )


def _annotation(item: dict[str, Any], dialogue: Dialogue) -> Annotation:
    _known(item, "an annotation", {f for f in Annotation.__dataclass_fields__ if f != "dialogue_id"})
    position = _number(item, "position", None)
    start, end = _number(item, "start", None), _number(item, "end", None)
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
    value = item.get("value")
    if value is not None and not _is_finite_number(value):
        raise InputError(f"value holds {_found(value)}; expected a finite number")
    return Annotation(
        dialogue.id,
        _text(item, "layer", required=True) or "",
        _text(item, "annotator", required=True) or "",
        position,
        start,
        end,
        _text(item, "label"),
        None if value is None else float(value),
        _attributes(item),
    )


def _is_finite_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _known(item: dict[str, Any], what: str, fields: set[str]) -> None:
    unknown = sorted(set(item) - fields)
    if unknown:
        raise InputError(
            f"{what} has the unknown field {unknown[0]!r}; what the model has no field for goes in attributes"
        )


def _text(item: dict[str, Any], name: str, *, required: bool = False) -> str | None:
    value = item.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name} holds {_found(value)}; expected a text")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{name} holds half of a surrogate pair, which is not Unicode text")
    return value


def _number(item: dict[str, Any], name: str, default: Any) -> Any:
    value = item.get(name, default)
    if value is default:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise InputError(f"{name} holds {_found(value)}; expected a whole number from 0")
    return value


def _time(item: dict[str, Any], name: str) -> datetime | None:
    text = _text(item, name)
    if text is None:
        return None
    try:
        return as_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise InputError(f"{name} holds {text!r}; expected a time such as 2017-06-21T18:19:15Z") from None


def _time_to_json(time: datetime | None) -> str | None:
    return None if time is None else utc_text(time)


def _attributes(item: dict[str, Any]) -> dict[str, Any]:
    value = item.get("attributes", {})
    if not isinstance(value, dict):
        raise InputError(f"attributes holds {_found(value)}; expected an object")
    if value:
        # What JSON takes but a corpus cannot hold: numbers beyond all bounds, halves of surrogate pairs.
        try:
            canonical_json(value).encode()
        except UnicodeEncodeError:
            raise InputError("attributes hold half of a surrogate pair, which is not Unicode text") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"attributes cannot be kept: {error}") from None
    return value


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None and item != {}}


def _found(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    shown = json.dumps(value[:40] if isinstance(value, str) else value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
