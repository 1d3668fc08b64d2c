"""``dialeval``: customer-helpdesk dialogues with what each of several annotators says of every turn and of the whole.

A JSON list of ``{id, turns: [{sender, utterances: [...]}], annotations: [{nugget: [one a turn], quality: {A, S, E}}]}``, or
the same without text, ``{id, senders: [...], annotations}``. A row of the corpus is an utterance; a turn without any text is
one row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tertulia.corpus.exchange import Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.dialeval.joins import Shelf, attach, labelled, translate
from tertulia.formats.dialeval.labels import NUGGETS, QUALITIES, ROLES, SCALE
from tertulia.formats.dialeval.writing import DEFAULT_ANNOTATOR, OWN, PRIVATE, TAKEN, in_order, value_of
from tertulia.formats.files.fields import found, objects, text, texts
from tertulia.formats.files.file_order import FileOrder
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.json_writing import RecordFile, kept_fields, place_in_source
from tertulia.formats.files.sources import SourceFile, source_files

__all__ = ["DialEvalFormat"]

_EXPECTED = "lists of dialogues such as train_data_cn.json"
_ENGLISH = {"en", "eng", "english"}
_SPLITS = {"train": "train", "training": "train", "dev": "dev", "valid": "dev", "validation": "dev", "test": "test"}
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060\ufeff]")


@dataclass(slots=True)
class _Turn:
    """A turn as the file has it; ``utterances`` is ``None`` where the file holds labels only."""

    sender: str
    utterances: list[str] | None
    english: list[str | None]


class DialEvalFormat:
    """Reads and writes the dialogues of DialEval and STC-3."""

    name = "dialeval"
    summary = "customer-helpdesk dialogues of DialEval / STC-3 as JSON, every annotator's nuggets and qualities"
    writes = True
    holds: Holds = "corpus"
    options: Mapping[str, str] = MappingProxyType(
        {
            "english": "the English translations: a file, folder or archive; joined by id, as attributes.english",
            "labels": "the labels of dialogues that have none: a file such as labels_only.json; joined by id",
            "split": "the split of the dialogues that name none, such as train",
        }
    )
    path_options = frozenset({"english", "labels"})
    licence = "research only (the text); CC BY 4.0 (the labels)"
    citation = (
        "Zeng, Z., Luo, C., Shang, L., Li, H., Sakai, T. (2017). "
        "Test Collections and Measures for Evaluating Customer-Helpdesk Dialogues. EVIA 2017"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The dialogues of a file, or of all ``*.json`` files of a folder or archive that hold dialogues.

        Of several files those whose name says that they are English are translations of the others, joined by id.
        """
        given = options.values.get("split")
        if given is not None and not given.strip():
            raise InputError("--option split names no split; expected a name such as train")
        files = source_files(source, "*.json", expected=_EXPECTED, options=options)
        # Progress is that of the source; what is joined to it from elsewhere is no part of it.
        quiet = replace(options, progress=lambda _done, _total: None)
        english, own = _by_language(files)
        reading_english = options
        if "english" in options.values:
            others = source_files(options.values["english"], "*.json", expected=_EXPECTED, options=quiet)
            english, reading_english = _by_language(others)[0] or others, quiet
        elif not own:
            english, own = [], english
        with Shelf() as translations, Shelf() as labels:
            for _, value, place in _dialogues(english, len(files) > 1, report, reading_english):
                with report.catching(options, place):
                    _put_translation(value, translations)
            if "labels" in options.values:
                others = source_files(options.values["labels"], "*.json", expected=_EXPECTED, options=quiet)
                for _, value, place in _dialogues(others, len(others) > 1, report, quiet):
                    with report.catching(options, place):
                        _put_labels(value, labels)
            yield from self._joined(own, len(files) > 1, translations, labels, report, options)
            report.skip("translations of dialogues that are not there", None, translations.left)
            report.skip("labels of dialogues that are not there", None, labels.left)

    def _joined(
        self,
        files: list[SourceFile],
        several: bool,
        translations: Shelf,
        labels: Shelf,
        report: Report,
        options: ReadOptions,
    ) -> Iterator[Record]:
        order, seen, ids = FileOrder(), SeenTexts(), set[str]()
        for file, value, place in _dialogues(files, several, report, options):
            record = None
            with report.catching(options, place):
                parsed, turns = _record(value)
                _refuse_again(parsed.dialogue.id, ids)
                record = parsed
            if record is None:
                continue
            dialogue = record.dialogue
            if labels:
                value = labelled(value, [turn.sender for turn in turns], labels.take(dialogue.id), report, place)
                record, turns = _record(value)
                dialogue = record.dialogue
            if dialogue.split is None:
                dialogue.split = options.values.get("split") or (_split(file) if several else None)
            _note_oddities(record, turns, value, report, place.shown)
            if translations:
                translate(dialogue, value.get("annotations"), translations.take(dialogue.id), report, place)
            if any(dialogue.texts) and report.is_duplicate(dialogue.texts, seen, options, place.shown):
                continue
            order.keep(dialogue)
            yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one JSON list, a dialogue a line; what the layout has no place for is counted."""
        with RecordFile(Path(path), named=False) as file:
            for record in records:
                file.add(value_of(record, report), number=place_in_source(record.dialogue.attributes))


def _refuse_again(identifier: str, ids: set[str]) -> None:
    if identifier in ids:
        raise InputError(f"the id {identifier!r} stands here again; expected every id once")
    ids.add(identifier)


def _words(file: SourceFile) -> list[str]:
    return re.split(r"[^a-z]+", file.name.lower())


def _by_language(files: list[SourceFile]) -> tuple[list[SourceFile], list[SourceFile]]:
    """The files whose name says that they are English, and the others."""
    return (
        [file for file in files if _ENGLISH.intersection(_words(file))],
        [file for file in files if not _ENGLISH.intersection(_words(file))],
    )


def _split(file: SourceFile) -> str | None:
    """The split that the name of a file tells."""
    return next((_SPLITS[word] for word in _words(file) if word in _SPLITS), None)


def _dialogues(
    files: list[SourceFile], several: bool, report: Report, options: ReadOptions
) -> Iterator[tuple[SourceFile, dict[str, Any], Place]]:
    """The objects of each list. Of several files those that are submissions or no lists at all are passed over."""
    passed_over = 0
    for file in files:
        for key, value, place in json_elements(file, options):
            if several and (isinstance(key, str) or (key == 0 and _is_prediction(value))):
                report.skip("files that are no lists of dialogues", file.name)
                passed_over += 1
                break
            if isinstance(key, str):
                raise InputError("holds an object; expected a list of dialogues", where=file.where)
            item = None
            with report.catching(options, place):
                item = _object(value)
            if item is not None:
                yield file, item, place
    if files and passed_over == len(files):
        raise InputError("holds no dialogues", where=files[0].where, hint=f"expected {_EXPECTED}")


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"holds {found(value)}; expected an object with id and turns")
    return value


def _is_prediction(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return not value.keys() & {"turns", "senders"} and bool(value.keys() & {"nugget", "quality"})


def _put_translation(value: dict[str, Any], shelf: Shelf) -> None:
    record, turns = _record(value)
    said = [(turn.sender, turn.utterances or []) for turn in turns]
    shelf.put(record.dialogue.id, {"turns": said, "annotations": value.get("annotations")})


def _put_labels(value: dict[str, Any], shelf: Shelf) -> None:
    record, turns = _record(value)
    if not record.annotations:
        raise InputError("has no annotations; expected labels")
    senders = [turn.sender for turn in turns]
    kept = {"senders": senders, "annotations": value["annotations"], "split": record.dialogue.split}
    shelf.put(record.dialogue.id, kept)


def _record(value: dict[str, Any]) -> tuple[Record, list[_Turn]]:
    identifier = text(value, "id", required=True)
    if not identifier:
        raise InputError("the id is empty; expected a text")
    turns = _turns(value)
    kept = kept_fields(value, TAKEN, OWN)
    utterances: list[Utterance] = []
    starts: list[int] = []
    for number, turn in enumerate(turns):
        starts.append(len(utterances))
        rows = _rows(number, turn, len(utterances))
        if turn.english:
            attach(rows, turn.english)
        utterances += rows
    private: dict[str, Any] = {} if "turns" in value else {"labels_only": True}
    annotations = _annotations(value, identifier, turns, starts, private)
    if private:
        kept[PRIVATE] = private
    dialogue = Dialogue(identifier, utterances, split=text(value, "split"), attributes=kept)
    return Record(dialogue, annotations), turns


def _turns(value: dict[str, Any]) -> list[_Turn]:
    if "turns" in value and "senders" in value:
        raise InputError("has both turns and senders; expected one of them")
    if "senders" in value:
        turns = [_Turn(sender, None, []) for sender in texts(value, "senders")]
    elif "turns" in value:
        turns = [_turn(number, item) for number, item in enumerate(objects(value, "turns"))]
    elif _is_prediction(value):
        raise InputError(
            "is a prediction, not a dialogue: it has no turns", hint="submissions are the format dialeval-submission"
        )
    else:
        raise InputError("has no turns; expected an object with id and turns")
    for number, turn in enumerate(turns):
        if turn.sender not in ROLES:
            raise InputError(f"turn {number} is sent by {found(turn.sender)}; expected customer or helpdesk")
    return turns


def _turn(number: int, item: dict[str, Any]) -> _Turn:
    unknown = sorted(item.keys() - {"sender", "utterances", "english"})
    if unknown:
        raise InputError(f"turn {number} has the unknown field {found(unknown[0])}; expected sender and utterances")
    english: list[str | None] = []
    if "english" in item:
        pieces = item["english"]
        if not isinstance(pieces, list):
            raise InputError(f"english holds {found(pieces)}; expected a list of texts")
        english = [text({"english": piece}, "english") for piece in pieces]
    return _Turn(text(item, "sender", required=True) or "", texts(item, "utterances"), english)


def _rows(number: int, turn: _Turn, position: int) -> list[Utterance]:
    """The rows of a turn: one for each utterance, and one where there is no text at all."""
    role = ROLES[turn.sender]
    said = turn.utterances or []
    if any(said):
        return [Utterance(position + i, number, turn.sender, piece, role) for i, piece in enumerate(said)]
    # How many empty utterances there were, so that the same can be written.
    kept = {} if turn.utterances is None or len(said) == 1 else {"utterances": len(said)}
    return [Utterance(position, number, turn.sender, "", role, attributes=kept)]


def _annotations(
    value: dict[str, Any], dialogue: str, turns: list[_Turn], starts: list[int], private: dict[str, Any]
) -> list[Annotation]:
    """What each annotator says; what the corpus has no place for goes into ``private``."""
    if "annotations" not in value:
        return []
    items = objects(value, "annotations")
    if not items:
        private["annotations"] = []
        return []
    names = _annotators(items, private)
    result: list[Annotation] = []
    allowed = [(None, *NUGGETS[turn.sender]) for turn in turns]
    for name, item in zip(names, items, strict=True):
        unknown = sorted(item.keys() - {"nugget", "quality", "annotator"})
        if unknown:
            raise InputError(f"{name} has the unknown field {found(unknown[0])}; expected nugget and quality")
        if "nugget" not in item and "quality" not in item:
            raise InputError(f"{name} says nothing; expected nugget and quality")
        if "nugget" in item:
            labels = _nuggets(item["nugget"], name, turns, allowed)
            result += [
                Annotation(dialogue, "nugget", name, start, label=label)
                for start, label in zip(starts, labels, strict=True)
                if label is not None
            ]
        if "quality" in item:
            result += [
                Annotation(dialogue, f"quality.{quality}", name, value=float(grade))
                for quality, grade in _grades(item["quality"], name)
            ]
    return result


def _annotators(items: list[dict[str, Any]], private: dict[str, Any]) -> list[str]:
    """The annotators' names: those that the file gives, or their numbers."""
    named = [item for item in items if "annotator" in item]
    numbered = [DEFAULT_ANNOTATOR.format(number) for number in range(1, len(items) + 1)]
    if not named:
        return numbered
    names = [text(item, "annotator", required=True) or "" for item in named]
    if len(named) < len(items) or "" in names:
        raise InputError("some annotations name their annotator and some do not; expected all or none")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"the annotator {found(twice[0])} stands here twice")
    if names == numbered or names != in_order(names):
        private["annotators"] = names
    return names


def _nuggets(value: Any, name: str, turns: list[_Turn], allowed: list[tuple[Any, ...]]) -> list[str | None]:
    if not isinstance(value, list):
        raise InputError(f"the nuggets of {name} hold {found(value)}; expected a list of labels, one a turn")
    if len(value) != len(turns):
        raise InputError(f"{name} has {len(value)} nuggets; expected one for each of the {len(turns)} turns")
    for number, (label, labels) in enumerate(zip(value, allowed, strict=True)):
        if label not in labels:
            turn = turns[number]
            expected = ", ".join(NUGGETS[turn.sender])
            raise InputError(
                f"{name} has the nugget {found(label)} on turn {number} of the {turn.sender}; expected one of {expected}"
            )
    if turns and value.count(None) == len(value):
        raise InputError(f"{name} has no nugget on any turn; expected a label for each")
    return value


def _grades(value: Any, name: str) -> list[tuple[str, int]]:
    if not isinstance(value, dict) or not value:
        raise InputError(f"the quality of {name} holds {found(value)}; expected an object with A, S and E")
    for quality, grade in value.items():
        if quality not in QUALITIES:
            raise InputError(f"{name} has the quality {found(quality)}; expected A, S and E")
        if type(grade) is not int or grade not in SCALE:
            raise InputError(f"{name} has {found(grade)} for {quality}; expected one of 2, 1, 0, -1, -2")
    return list(value.items())


def _note_oddities(record: Record, turns: Sequence[_Turn], value: dict[str, Any], report: Report, where: str) -> None:
    """Count what is odd and yet kept. None of it is an error: real annotators do all of this."""
    senders = [turn.sender for turn in turns]
    report.note("dialogues that the helpdesk opens", where, int(senders[:1] == ["helpdesk"]))
    again = sum(one == other for one, other in pairwise(senders))
    report.note("turns of the sender of the turn before", where, again)
    if all(turn.utterances is None for turn in turns):
        report.note("dialogues without text (labels only)", where)
    else:
        silent = sum(not any(turn.utterances or []) for turn in turns)
        report.note("turns without text", where, silent)
        report.note(
            "empty utterances in turns with text",
            where,
            sum((turn.utterances or []).count("") for turn in turns if any(turn.utterances or [])),
        )
        odd = sum(bool(_ZERO_WIDTH.search(said)) for said in record.dialogue.texts if not said.isascii())
        report.note("utterances with zero-width characters", where, odd)
    annotators = value.get("annotations") or []
    report.note("dialogues without annotations", where, int(not annotators))
    nuggets = [item["nugget"] for item in annotators if "nugget" in item]
    triggers = [labels.count("CNUG0") for labels in nuggets]
    report.note("annotators' records of a dialogue's nuggets", where, len(nuggets))
    report.note("annotators' records without a trigger (CNUG0)", where, triggers.count(0))
    report.note("annotators' records with several triggers (CNUG0)", where, sum(count > 1 for count in triggers))
    for side, goal in (("customer", "CNUG*"), ("helpdesk", "HNUG*")):
        several = sum(labels.count(goal) > 1 for labels in nuggets)
        report.note(f"annotators' records with several {side} goals ({goal})", where, several)
