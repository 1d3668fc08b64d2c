"""``dialeval-submission``: what a system predicts of every dialogue, as distributions over nugget types and grades.

A JSON list of ``{id, nugget: [{type: probability}, one a turn], quality: {A: {"2": probability, ...}, S, E}}``, as the scorers of
STC-3 and DialEval take it. In a corpus a probability is the ``value`` of an annotation by the system, its nugget type or grade the
``label``, and ``attributes.distribution`` is true; a corpus that people annotated is written as the shares of its annotators.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tertulia.corpus.exchange import Holds, Place, ReadOptions, Report
from tertulia.corpus.model import Annotation, Dialogue, Record, Utterance
from tertulia.errors import InputError
from tertulia.formats.dialeval.labels import NUGGETS, QUALITIES, ROLES, SCALE
from tertulia.formats.dialeval.writing import senders_of, turns_of
from tertulia.formats.files.fields import found, number, objects, text
from tertulia.formats.files.file_order import FileOrder
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.json_writing import NUMBER, RecordFile, place_in_source
from tertulia.formats.files.sources import SourceFile, source_files

__all__ = ["DialEvalSubmissionFormat", "Submission", "read_submission", "write_submission"]

_TOLERANCE = 1e-6
_GRADES = {str(grade): grade for grade in SCALE}
_DISTRIBUTION = {"distribution": True}
_FIELDS = {"id", "nugget", "quality"}
_EXPECTED = "one submission, a list of objects with id, nugget and quality"


@dataclass(slots=True)
class Submission:
    """What a system predicts of one dialogue.

    ``nugget`` has one distribution a turn, from nugget type to probability, or is ``None`` where the system predicts none; the
    types of a turn are all of one sender. ``quality`` maps A, S and E (those that are predicted) to a distribution over the
    grades from 2 to -2. Probabilities are finite and from 0, not all 0, and need not sum to one: the scorers normalise them.
    """

    id: str
    nugget: list[dict[str, float]] | None
    quality: dict[str, dict[int, float]]

    @property
    def senders(self) -> list[str]:
        """Who sends each turn, told by the nugget types: ``customer`` or ``helpdesk``."""
        return [_sender(types) for types in self.nugget or []]


class DialEvalSubmissionFormat:
    """Reads and writes submission files."""

    name = "dialeval-submission"
    summary = "a system's distributions over nuggets and qualities, as the DialEval / STC-3 scorers take them"
    writes = True
    holds: Holds = "corpus"
    options: Mapping[str, str] = MappingProxyType({"system": "the system's name, by default that of the file"})
    licence = None
    citation = None

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The dialogues of one file, without text: their turns, and the system's distributions as annotations."""
        file = _file(source, options)
        system = options.values.get("system") or _stem(file)
        order = FileOrder()
        for submission, _ in _submissions(file, report, options):
            record = _record(submission, system)
            order.keep(record.dialogue)
            yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:
        """Write one file; what the layout has no place for is counted.

        A corpus with the distributions of one system is written as these, any other as the shares of its annotators.

        Raises
        ------
        InputError
            There are distributions of several systems, or of some dialogues only while people annotated the others.
        """
        writer = _Writer(report)
        submissions = (
            (place_in_source(r.dialogue.attributes), s) for r in records if (s := writer.submission(r)) is not None
        )
        _write(submissions, Path(path))


def read_submission(path: str | Path, report: Report | None = None) -> Iterator[Submission]:
    """The predictions of a submission file (gzip, zstd and zip are read as they are), in its order.

    Raises
    ------
    InputError
        Naming the file and the record, what was found and what was expected.
    """
    options = ReadOptions()
    for submission, _ in _submissions(_file(str(path), options), report or Report(), options):
        yield submission


def write_submission(path: str | Path, submissions: Iterable[Submission]) -> None:
    """Write a submission file that does not exist yet, in the order given.

    Raises
    ------
    InputError
        A prediction does not hold: a wrong nugget type, quality or grade, a negative or infinite probability.
    """
    target = Path(path)
    if target.exists():
        raise InputError("exists already", where=target)
    _write(((None, submission) for submission in submissions), target)


def _write(submissions: Iterable[tuple[int | None, Submission]], path: Path) -> None:
    with RecordFile(path, named=False) as file:
        for place, submission in submissions:
            file.add(_value(submission), number=place)


def _value(submission: Submission) -> dict[str, Any]:
    """A submission as JSON in the official order of labels, held to what a reader demands."""
    quality = {name: {str(grade): share for grade, share in d.items()} for name, d in submission.quality.items()}
    value: dict[str, Any] = {"id": submission.id}
    if quality:
        value["quality"] = quality
    if submission.nugget is not None:
        value["nugget"] = submission.nugget
    try:
        _parsed(value)
    except InputError as error:
        raise InputError(error.message, where=f"dialogue {submission.id!r}") from None
    if quality:
        value["quality"] = {
            name: {grade: quality[name][grade] for grade in _GRADES if grade in quality[name]}
            for name in QUALITIES
            if name in quality
        }
    if submission.nugget is not None:
        value["nugget"] = [
            {label: types[label] for label in NUGGETS[_sender(types)] if label in types} for types in submission.nugget
        ]
    return value


def _file(source: str, options: ReadOptions) -> SourceFile:
    files = source_files(source, "*.json", expected=_EXPECTED, options=options)
    if len(files) > 1:
        raise InputError(f"holds {len(files)} JSON files; expected {_EXPECTED}", where=source, hint="name one of them")
    return files[0]


def _stem(file: SourceFile) -> str:
    return os.path.splitext(file.name.rpartition("/")[2])[0] or "submission"


def _submissions(file: SourceFile, report: Report, options: ReadOptions) -> Iterator[tuple[Submission, Place]]:
    ids: set[str] = set()
    for key, value, place in json_elements(file, options):
        if isinstance(key, str):
            raise InputError("holds an object; expected a list of predictions", where=file.where)
        submission = None
        with report.catching(options, place):
            parsed = _parsed(value)
            if parsed.id in ids:
                raise InputError(f"the id {parsed.id!r} stands here again; expected every id once")
            ids.add(parsed.id)
            submission = parsed
        if submission is None:
            continue
        sums = [sum(types.values()) for types in submission.nugget or []]
        sums += [sum(grades.values()) for grades in submission.quality.values()]
        off = sum(abs(total - 1) > _TOLERANCE for total in sums)
        report.note("distributions that do not sum to one (scorers normalise them)", place.shown, off)
        yield submission, place


def _parsed(value: Any) -> Submission:
    if not isinstance(value, dict):
        raise InputError(f"holds {found(value)}; expected an object with id, nugget and quality")
    identifier = text(value, "id", required=True)
    if not identifier:
        raise InputError("the id is empty; expected a text")
    unknown = sorted(value.keys() - _FIELDS)
    if unknown:
        raise InputError(f"has the unknown field {found(unknown[0])}; expected id, nugget and quality")
    nugget = None
    if "nugget" in value:
        turns = objects(value, "nugget", of="distributions, one a turn")
        if not turns:
            raise InputError("nugget is empty; expected one distribution a turn")
        nugget = [_types(types, turn) for turn, types in enumerate(turns)]
    quality: dict[str, dict[int, float]] = {}
    if "quality" in value:
        given = value["quality"]
        if not isinstance(given, dict) or not given:
            raise InputError(f"quality holds {found(given)}; expected an object with A, S and E")
        for name, grades in given.items():
            if name not in QUALITIES:
                raise InputError(f"quality has {found(name)}; expected A, S and E")
            shares = _shares(grades, f"the quality {name}")
            wrong = [grade for grade in shares if grade not in _GRADES]
            if wrong:
                raise InputError(f"the quality {name} has the grade {found(wrong[0])}; expected 2, 1, 0, -1 and -2")
            quality[name] = {_GRADES[grade]: share for grade, share in shares.items()}
    if nugget is None and not quality:
        raise InputError("has neither nugget nor quality; expected a system's distributions")
    return Submission(identifier, nugget, quality)


def _types(value: dict[str, Any], turn: int) -> dict[str, float]:
    what = f"the nugget of turn {turn}"
    shares = _shares(value, what)
    expected = NUGGETS[_sender(shares)]
    wrong = [label for label in shares if label not in expected]
    if wrong:
        raise InputError(
            f"{what} has the type {found(wrong[0])}; expected those of one side, such as {', '.join(expected)}"
        )
    return shares


def _sender(types: Mapping[str, float]) -> str:
    """The sender that the nugget types belong to, told by the first."""
    first = next(iter(types), "")
    return next((sender for sender, labels in NUGGETS.items() if first in labels), "customer")


def _shares(value: Any, what: str) -> dict[str, float]:
    if not isinstance(value, dict) or not value:
        raise InputError(f"{what} holds {found(value)}; expected an object of probabilities")
    shares: dict[str, float] = {}
    for name in value:
        try:
            share = number(value, name, None)
        except InputError:
            share = None
        if share is None or share < 0:
            raise InputError(
                f"{what} has the probability {found(value[name])} for {found(name)}; expected a number from 0"
            )
        shares[name] = share
    if not any(shares.values()):
        raise InputError(f"{what} has no probability above 0")
    return shares


def _record(submission: Submission, system: str) -> Record:
    identifier = submission.id
    utterances = [
        Utterance(position, position, sender, "", ROLES[sender]) for position, sender in enumerate(submission.senders)
    ]
    annotations = [
        Annotation(identifier, "nugget", system, position, label=label, value=share, attributes=dict(_DISTRIBUTION))
        for position, types in enumerate(submission.nugget or [])
        for label, share in types.items()
    ]
    annotations += [
        Annotation(
            identifier, f"quality.{quality}", system, label=str(grade), value=share, attributes=dict(_DISTRIBUTION)
        )
        for quality, grades in submission.quality.items()
        for grade, share in grades.items()
    ]
    return Record(Dialogue(identifier, utterances), annotations)


class _Writer:
    """Makes submissions of records: all of one system's distributions, or all of people's shares."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._system: str | None = None
        self._started = False

    def submission(self, record: Record) -> Submission | None:
        """The record as a submission; ``None``, and counted, where it has no labels."""
        dialogue = record.dialogue
        predicted = [note for note in record.annotations if note.attributes.get("distribution") is True]
        self._check(dialogue, {note.annotator for note in predicted})
        notes = predicted if self._system is not None else record.annotations
        senders = senders_of(dialogue, self._report)
        turns = turns_of(dialogue.utterances, senders)
        distributions = _Distributions(turns, counted=self._system is None)
        lost = Counter(
            {
                "annotations that are not of this submission": len(record.annotations) - len(notes),
                "annotations other than nuggets of a turn and grades of a quality": sum(
                    not distributions.add(note) for note in notes
                ),
                "texts of utterances": sum(bool(utterance.text) for utterance in dialogue.utterances),
                "splits": int(dialogue.split is not None),
                "attributes of dialogues": len(dialogue.attributes.keys() - {NUMBER}),
            }
        )
        for what, count in lost.items():
            self._report.skip(f"{what}, which this format does not hold", dialogue.id, count)
        nugget = distributions.nugget()
        if nugget is None and distributions.any_nugget():
            self._report.skip("nuggets of dialogues in which a turn has none", dialogue.id)
        quality = distributions.quality()
        if nugget is None and not quality:
            self._report.skip("dialogues without labels", dialogue.id)
            return None
        if self._system is None:
            self._report.note("dialogues whose labels are written as the shares of their annotators", dialogue.id)
        return Submission(dialogue.id, nugget, quality)

    def _check(self, dialogue: Dialogue, systems: set[str]) -> None:
        known = {self._system} if self._system is not None else set()
        if len(systems | known) > 1:
            one, other = sorted(systems | known)[:2]
            raise InputError(
                f"dialogue {dialogue.id!r}: there are distributions of the systems {one!r} and {other!r}; "
                "expected those of one system"
            )
        if systems and self._started and self._system is None:
            raise InputError(
                f"dialogue {dialogue.id!r} has distributions of the system {min(systems)!r}, those before it have none; "
                "expected them for all dialogues or for none"
            )
        if not self._started and systems:
            self._system = min(systems)
        self._started = True


class _Distributions:
    """Gathers the distributions of one dialogue from annotations: probabilities, or labels that are counted."""

    def __init__(self, turns: Sequence[tuple[str, list[Utterance]]], *, counted: bool) -> None:
        self._turn_at = {rows[0].position: turn for turn, (_, rows) in enumerate(turns)}
        self._senders = [sender for sender, _ in turns]
        self._counted = counted
        self._types: list[dict[str, float]] = [{} for _ in turns]
        self._grades: dict[str, dict[int, float]] = {}

    def add(self, note: Annotation) -> bool:
        """Take an annotation, unless it is of another kind."""
        if note.start is not None:
            return False
        if note.layer == "nugget":
            turn = None if note.position is None else self._turn_at.get(note.position)
            if turn is None or note.label not in NUGGETS[self._senders[turn]]:
                return False
            return self._put(self._types[turn], note.label, note.value)
        quality = note.layer.removeprefix("quality.")
        if note.layer == quality or quality not in QUALITIES or note.position is not None:
            return False
        if self._counted:
            grade = int(note.value) if note.label is None and note.value in SCALE else None
        else:
            grade = _GRADES.get(note.label or "")
        if grade is None:
            return False
        return self._put(self._grades.setdefault(quality, {}), grade, note.value)

    def _put(self, shares: dict[Any, float], key: object, value: float | None) -> bool:
        if self._counted:
            shares[key] = shares.get(key, 0) + 1
            return True
        if value is None or key in shares:
            return False
        shares[key] = value
        return True

    def any_nugget(self) -> bool:
        """Whether any turn has a label."""
        return any(self._types)

    def nugget(self) -> list[dict[str, float]] | None:
        """One distribution a turn; ``None`` unless every turn has one."""
        if not self._types or not all(self._types):
            return None
        if not self._counted:
            return self._types
        return [
            {label: types.get(label, 0) / sum(types.values()) for label in NUGGETS[sender]}
            for types, sender in zip(self._types, self._senders, strict=True)
        ]

    def quality(self) -> dict[str, dict[int, float]]:
        """The distribution over the grades of each quality that has any."""
        if not self._counted:
            return {quality: grades for quality, grades in self._grades.items() if grades}
        return {
            quality: {grade: grades.get(grade, 0) / sum(grades.values()) for grade in SCALE}
            for quality, grades in self._grades.items()
            if grades
        }
