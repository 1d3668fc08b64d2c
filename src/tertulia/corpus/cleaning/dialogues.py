"""Cleaning one dialogue: what the filters find becomes marks, placeholders, or the end of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tertulia.corpus.cleaning.filter import Filter, Hit
from tertulia.corpus.cleaning.masking import Masking, placeholder
from tertulia.corpus.cleaning.plan import Step
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.cleaning.review import annotator_of, is_mark, layer_of
from tertulia.corpus.model import Annotation, Dialogue, Record

__all__ = ["TITLE", "Masks", "Place", "clean_dialogue", "mask_record", "place_of"]

# Where the title stands among the positions of the utterances.
TITLE = -1
Place = int | None
Masks = dict[int, list[tuple[int, int, str]]]


def place_of(identifier: str, position: Place) -> str:
    """A place in a corpus, for people."""
    if position is None:
        return identifier
    return f"{identifier}, title" if position == TITLE else f"{identifier}, utterance {position}"


def clean_dialogue(record: Record, number: int, steps: Sequence[Step], report: CleaningReport) -> Record | None:
    """The record as it is after the filters, or ``None`` where one of them drops it; the given record stays as it is.

    Marks that the same filters have left in an earlier run are replaced. Filters after one that drops the dialogue do not see it.
    """
    dialogue = record.dialogue
    texts = dialogue.texts
    earlier = {annotator_of(step.filter.name) for step in steps}
    notes = [note for note in record.annotations if not (is_mark(note) and note.annotator in earlier)]
    marks: list[Annotation] = []
    masks: Masks = {}
    for step in steps:
        name, found = step.filter.name, False
        for position, hit in _hits(step.filter, number, dialogue, texts):
            found = True
            report.count(name, step.action, hit.kind, place_of(dialogue.id, position))
            if step.action == "mark":
                marks.append(_mark(dialogue.id, name, position, hit))
            elif step.action == "mask" and position is not None:
                whole = len((dialogue.title or "") if position == TITLE else texts[position])
                span = (hit.start or 0, whole if hit.end is None else hit.end, placeholder(hit.kind))
                masks.setdefault(position, []).append(span)
        if found and step.action == "drop":
            report.drop(name)
            return None
    changed = Record(dialogue, notes + marks)
    return mask_record(changed, masks, report, uncounted=earlier) if masks else changed


def _hits(filter_: Filter, number: int, dialogue: Dialogue, texts: Sequence[str]) -> Iterator[tuple[int | None, Hit]]:
    """What a filter finds, with places: the index of an utterance, ``TITLE``, or ``None`` for the dialogue."""
    for hit in filter_.in_dialogue(number, dialogue.id, texts):
        yield None, hit
    if dialogue.title and filter_.maskable:
        for hit in filter_.in_text(dialogue.title):
            yield TITLE, hit
    for index, utterance in enumerate(dialogue.utterances):
        if filter_.prompts_only and utterance.role == "agent":
            continue
        for hit in filter_.in_text(utterance.text):
            yield index, hit


def _mark(identifier: str, name: str, position: Place, hit: Hit) -> Annotation:
    attributes: dict[str, Any] = dict(hit.attributes)
    start, end = hit.start, hit.end
    if position == TITLE:
        # The model has no spans of a title, so they stand in the attributes.
        attributes |= {"in": "title", "start": start, "end": end}
        position = start = end = None
    return Annotation(
        identifier, layer_of(name), annotator_of(name), position, start, end, hit.kind, hit.value, attributes
    )


def mask_record(
    record: Record, masks: Mapping[int, list[tuple[int, int, str]]], report: CleaningReport, *, uncounted: set[str]
) -> Record:
    """The record with spans of its texts replaced, by the index of the utterance; other spans on them move along.

    Spans by ``uncounted`` annotators move too, but are not counted.
    """
    dialogue = record.dialogue
    utterances = list(dialogue.utterances)
    title = dialogue.title
    done: dict[int, Masking] = {}
    for index, spans in masks.items():
        report.masked += len(spans)
        if index == TITLE:
            title = Masking(title or "", spans).text
            continue
        masking = Masking(utterances[index].text, spans)
        utterances[index] = replace(utterances[index], text=masking.text)
        done[utterances[index].position] = masking
    notes: list[Annotation] = []
    for note in record.annotations:
        found = None if note.position is None else done.get(note.position)
        if found is None or note.start is None or note.end is None:
            notes.append(note)
            continue
        moved = found.move(note.start, note.end)
        if note.annotator not in uncounted:
            report.clipped += moved.clipped
            report.moved += not moved.clipped and (moved.start, moved.end) != (note.start, note.end)
        notes.append(replace(note, start=moved.start, end=moved.end))
    return Record(replace(dialogue, utterances=utterances, title=title), notes)
