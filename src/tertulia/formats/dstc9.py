"""``dstc9``: dialogues of people with systems, rated as a whole (interactive evaluation track of DSTC9, 2020).

A file is a system's. An element of its JSON list is what one person said of one dialogue: the dialogue as a single string, with
``User: …`` and ``System: …`` a line, and a number for each question. The elements of one dialogue follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tertulia.corpus.exchange import NO_OPTIONS, Holds, Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Annotation, Dialogue, Record, Role, Utterance, number_turns
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files import fields
from tertulia.formats.files.json_reading import json_elements
from tertulia.formats.files.sources import SourceFile, source_files

__all__ = ["Dstc9Format"]

_SPEAKERS: dict[str, Role] = {"User": "user", "System": "agent"}
_OVERALL = "human (overall)"
_NO_ANSWER = "N/A"
_MOST_RATERS = 1_000


class Dstc9Format:
    """Reads rated dialogues with systems."""

    name = "dstc9"
    summary = "JSON of a system's dialogues with dialogue-level human ratings (DSTC9 interactive evaluation)"
    writes = False
    holds: Holds = "corpus"
    options = NO_OPTIONS
    licence = None
    citation = (
        "Mehri, S., Feng, Y., Gordon, C., Alavi, S. H., Traum, D., Eskenazi, M. (2022). Interactive Evaluation of Dialog Track "
        "at DSTC9. arXiv:2207.14403"
    )

    def read(self, source: str, report: Report, options: ReadOptions) -> Iterator[Record]:
        """The dialogues of a file, or of all ``*.json`` files of a folder or zip archive; the file's name is the system's."""
        texts = SeenTexts()
        systems: set[str] = set()
        for file in source_files(source, "*.json", expected="JSON lists of rated dialogues", options=options):
            system = file.name.removesuffix(".json")
            if system in systems:
                raise InputError(f"is a second file of the system {system!r}", where=file.where)
            systems.add(system)
            for number, (place, context, answers) in enumerate(_dialogues(file, report, options), 1):
                record = _record(f"{system}-{number:05d}", system, context, answers, report, place)
                if not report.is_duplicate(record.dialogue.texts, texts, options, place.shown):
                    yield record

    def write(self, records: Iterator[Record], path: str, report: Report) -> None:  # noqa: ARG002 - it refuses
        """This format is only read."""
        raise ConfigurationError("the format 'dstc9' is read, not written")


def _dialogues(
    file: SourceFile, report: Report, options: ReadOptions
) -> Iterator[tuple[Place, str, list[dict[str, Any]]]]:
    """The text of each dialogue with what each of its raters said."""
    context: str | None = None
    answers: list[dict[str, Any]] = []
    start = file.place(1)
    for _, value, place in json_elements(file, options):
        found = None
        with report.catching(options, place):
            found = _element(value)
        if found is None:
            continue
        if context is not None and found[0] != context:
            yield start, context, answers
            answers = []
        if not answers:
            context, start = found[0], place
        answers.append(found[1])
        if len(answers) > _MOST_RATERS:
            raise InputError(f"a dialogue is rated more than {_MOST_RATERS:,} times", where=place.full)
    if context is not None:
        yield start, context, answers


def _element(value: Any) -> tuple[str, dict[str, Any]]:
    """The text of an element and its answers, all of which are checked."""
    if not isinstance(value, dict):
        raise InputError(f"holds {fields.found(value)}; expected an object with context and ratings")
    context = fields.text(value, "context", required=True) or ""
    _turns(context)
    answers = fields.attributes({"attributes": {name: item for name, item in value.items() if name != "context"}})
    for question, answer in answers.items():
        if answer != _NO_ANSWER and fields.number(answers, question, None) is None:
            raise InputError(f"{question} holds {fields.found(answer)}; expected a number or N/A")
    return context, answers


def _turns(context: str) -> list[tuple[str, str]]:
    """Speaker and text of each turn; a line that begins with neither speaker goes on with the turn before."""
    turns: list[tuple[str, str]] = []
    for line in context.removesuffix("\n").split("\n"):
        speaker, colon, text = line.partition(":")
        if colon and speaker in _SPEAKERS:
            turns.append((speaker, text.removeprefix(" ")))
        elif turns:
            turns[-1] = (turns[-1][0], turns[-1][1] + "\n" + line)
        elif line.strip():
            raise InputError(f"context begins with {fields.found(line)}; expected 'User: ' or 'System: '")
    return turns


def _record(
    identifier: str, system: str, context: str, answers: list[dict[str, Any]], report: Report, place: Place
) -> Record:
    turns = [(speaker, text.strip()) for speaker, text in _turns(context)]
    numbers = number_turns([speaker for speaker, _ in turns])
    utterances = [
        Utterance(position, numbers[position], speaker, text, _SPEAKERS[speaker])
        for position, (speaker, text) in enumerate(turns)
    ]
    report.note("utterances without text", place.shown, sum(not text for _, text in turns))
    report.note("utterances of several lines", place.shown, sum("\n" in text for _, text in turns))
    report.note("dialogues without a turn", place.shown, int(not turns))
    annotations = []
    for rater, said in enumerate(answers, 1):
        for question, answer in said.items():
            layer = "rating." + ("overall" if question == _OVERALL else question.replace(" ", "_"))
            if answer == _NO_ANSWER:
                report.skip("answers that are N/A", place.shown)
            else:
                annotations.append(Annotation(identifier, layer, f"human-{rater}", value=float(answer)))
    report.note("elements read, each what one person says of a dialogue", place.shown, len(answers))
    return Record(Dialogue(identifier, utterances, attributes={"system": system}), annotations)
