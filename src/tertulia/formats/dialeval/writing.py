"""A dialogue of the corpus as a DialEval object, and what that layout has no place for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.dialeval.joins import ENGLISH, attached
from tertulia.formats.dialeval.labels import NUGGETS, QUALITIES, ROLES, SCALE
from tertulia.formats.files.json_writing import NUMBER, place_in_source, written_fields

__all__ = ["DEFAULT_ANNOTATOR", "OWN", "PRIVATE", "TAKEN", "in_order", "senders_of", "turns_of", "value_of"]

DEFAULT_ANNOTATOR = "annotator-{:02d}"
"""An annotator whom the file gives no name, by number from 1."""
PRIVATE = "dialeval"
"""The attribute of a dialogue that holds what only this format needs to write the same again."""
TAKEN = frozenset({"id", "turns", "senders", "annotations", "split"})
"""The fields of a dialogue that the model has a place for."""
OWN = frozenset({PRIVATE, NUMBER})
"""The attributes of a dialogue with a meaning of their own."""
_NUMBERED = re.compile(r"annotator-([0-9]{2,9})")
_MOST_EMPTY = 16_000_000


def in_order(names: Sequence[str]) -> list[str]:
    """Annotators' names in order: numbered ones by number, before all others."""
    return sorted(names, key=_place)


def _place(name: str) -> tuple[int, int, str]:
    match = _NUMBERED.fullmatch(name)
    return (0, int(match[1]), name) if match else (1, 0, name)


def value_of(record: Record, report: Report) -> dict[str, Any]:
    """A record as an object of the format; what the format cannot hold is counted as skipped.

    Raises
    ------
    InputError
        The dialogue has more than two sides.
    """
    dialogue = record.dialogue
    lost: Counter[str] = Counter()
    given = dialogue.attributes.get(PRIVATE)
    private = given if isinstance(given, dict) else {}
    fields, lost["attributes of dialogues whose names are this format's own"] = written_fields(
        dialogue.attributes, TAKEN, OWN
    )
    odd = [PRIVATE in dialogue.attributes and not isinstance(given, dict)]
    odd.append(NUMBER in dialogue.attributes and place_in_source(dialogue.attributes) is None)
    lost["attributes of dialogues whose names are this format's own"] += sum(odd)
    senders = senders_of(dialogue, report)
    turns = turns_of(dialogue.utterances, senders)
    value: dict[str, Any] = {"id": dialogue.id}
    if private.get("labels_only") is True and all(len(rows) == 1 and not rows[0].text for _, rows in turns):
        value["senders"] = [sender for sender, _ in turns]
    else:
        value["turns"] = [_turn(sender, rows, lost) for sender, rows in turns]
    annotations = _annotations(record.annotations, turns, private, lost)
    if annotations or private.get("annotations") == []:
        value["annotations"] = annotations
    if dialogue.split is not None:
        value["split"] = dialogue.split
    value |= fields
    _count_losses(dialogue, turns, senders, lost)
    for what, count in lost.items():
        report.skip(f"{what}, which this format does not hold", dialogue.id, count)
    return value


def senders_of(dialogue: Dialogue, report: Report) -> list[str]:
    """Who sends each utterance: customer or helpdesk, by role; sides without a role in the order in which they speak.

    Raises
    ------
    InputError
        The dialogue has more than two sides.
    """
    by_role = {role: sender for sender, role in ROLES.items()}
    sides: dict[str, str] = {}
    result = []
    for utterance in dialogue.utterances:
        if utterance.role is not None:
            result.append(by_role[utterance.role])
        elif utterance.speaker in ROLES:
            result.append(utterance.speaker)
        else:
            if utterance.speaker not in sides:
                if len(sides) == len(ROLES):
                    raise InputError(
                        f"dialogue {dialogue.id!r} has more than two sides without a role; "
                        "this format has a customer and a helpdesk"
                    )
                sides[utterance.speaker] = list(ROLES)[len(sides)]
            result.append(sides[utterance.speaker])
    if any(utterance.role is None for utterance in dialogue.utterances):
        report.note("dialogues without roles: who speaks first is written as the customer", dialogue.id)
    return result


def turns_of(utterances: Sequence[Utterance], senders: Sequence[str]) -> list[tuple[str, list[Utterance]]]:
    """The turns: the sender of each, and its utterances."""
    turns: list[tuple[str, list[Utterance]]] = []
    last = None
    for utterance, sender in zip(utterances, senders, strict=True):
        if last != (utterance.turn, sender):
            turns.append((sender, []))
            last = (utterance.turn, sender)
        turns[-1][1].append(utterance)
    return turns


def _turn(sender: str, rows: list[Utterance], lost: Counter[str]) -> dict[str, Any]:
    said = [row.text for row in rows]
    if not any(said):
        lost["empty utterances of turns without text but one"] += len(rows) - 1
        number = rows[0].attributes.get("utterances")
        if len(rows) == 1 and isinstance(number, int) and _is_number(number):
            said = [""] * number
    value: dict[str, Any] = {"sender": sender, "utterances": said}
    english = attached(rows)
    if english:
        value["english"] = english
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_EMPTY


def _annotations(
    annotations: Sequence[Annotation],
    turns: Sequence[tuple[str, list[Utterance]]],
    private: dict[str, Any],
    lost: Counter[str],
) -> list[dict[str, Any]]:
    turn_at = {rows[0].position: number for number, (_, rows) in enumerate(turns)}
    nuggets: dict[str, list[str | None]] = {}
    grades: dict[str, dict[str, int]] = {}
    for note in annotations:
        number = turn_at.get(-1 if note.position is None else note.position)
        quality = note.layer.removeprefix("quality.")
        if note.start is not None or note.attributes:
            pass
        elif note.layer == "nugget":
            if number is not None and note.value is None and note.label in NUGGETS[turns[number][0]]:
                labels = nuggets.setdefault(note.annotator, [None] * len(turns))
                if labels[number] is None:
                    labels[number] = note.label
                    continue
        elif note.layer != quality and quality in QUALITIES:
            given = grades.get(note.annotator, {})
            if note.position is None and note.label is None and note.value in SCALE and quality not in given:
                grades.setdefault(note.annotator, {})[quality] = int(note.value or 0)
                continue
        lost["annotations other than a nugget for each turn and a grade for each quality"] += 1
    names, named = _names(nuggets.keys() | grades.keys(), private)
    result = []
    for name in names:
        item: dict[str, Any] = {"annotator": name} if named else {}
        if name in nuggets or not turns:
            item["nugget"] = nuggets.get(name, [])
        if name in grades:
            item["quality"] = {quality: grades[name][quality] for quality in QUALITIES if quality in grades[name]}
        result.append(item)
    return result


def _names(names: set[str], private: dict[str, Any]) -> tuple[list[str], bool]:
    """The annotators in the order in which they are written, and whether by name."""
    given = private.get("annotators")
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        kept = [name for name in dict.fromkeys(given) if name in names]
        if len(kept) == len(names):
            return kept, True
    ordered = in_order(list(names))
    return ordered, ordered != [DEFAULT_ANNOTATOR.format(number) for number in range(1, len(ordered) + 1)]


def _count_losses(
    dialogue: Dialogue, turns: Sequence[tuple[str, list[Utterance]]], senders: Sequence[str], lost: Counter[str]
) -> None:
    for what in ("domain", "title", "started_at"):
        lost[f"{what} of dialogues"] += int(getattr(dialogue, what) is not None)
    for utterance, sender in zip(dialogue.utterances, senders, strict=True):
        lost["names of speakers"] += int(utterance.speaker != sender)
        lost["times of utterances"] += int(utterance.sent_at is not None)
        lost["ids of utterances"] += int(utterance.id is not None)
        held = {ENGLISH} if isinstance(utterance.attributes.get(ENGLISH), str) else set()
        if not utterance.text and _is_number(utterance.attributes.get("utterances")):
            held.add("utterances")
        lost["other attributes of utterances"] += len(utterance.attributes.keys() - held)
    lost["turns of its own counting"] += sum(
        utterance.turn != number for number, (_, rows) in enumerate(turns) for utterance in rows
    )
