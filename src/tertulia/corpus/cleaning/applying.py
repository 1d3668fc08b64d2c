"""Acting upon the marks of a corpus, after people have looked at them or as they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

from tertulia.corpus.cleaning.contexts import ATTRIBUTE, renumbered, with_marks, without_candidates
from tertulia.corpus.cleaning.dialogues import TITLE, Masks, mask_record, place_of
from tertulia.corpus.cleaning.masking import Masking, placeholder
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.cleaning.review import KEEP, REMOVE, Reviews, filter_of, is_mark, majority
from tertulia.corpus.model import Annotation, Candidate, Context, RankingRecord, Record

__all__ = ["apply_to_context", "apply_to_dialogue"]

_Action = Literal["drop", "mask"]
_Span = tuple[int, int, str]


def _acts(decision: str | None, reviewed: bool) -> bool:
    """Whether a mark is acted upon: unless people keep it or, of ``reviewed`` ones only, where they remove it."""
    return decision == REMOVE if reviewed else decision != KEEP


def apply_to_dialogue(
    record: Record, action: _Action, filters: Collection[str], report: CleaningReport, *, reviewed: bool = False
) -> Record | None:
    """The record after the marks of these filters (none: all) have been acted upon; ``None`` where it is dropped.

    A mark that has been acted upon is gone; one that people keep stays, and so do all reviews.
    """
    dialogue = record.dialogue
    reviews = Reviews(record.annotations)
    report.notes.note("reviews with a label other than keep and remove", dialogue.id, reviews.unknown)
    at = {utterance.position: index for index, utterance in enumerate(dialogue.utterances)}
    masks: Masks = {}
    rest: list[Annotation] = []
    dropped: str | None = None
    for note in record.annotations:
        name = filter_of(note) if is_mark(note) else ""
        if not name or (filters and name not in filters):
            rest.append(note)
            continue
        decision = reviews.decision(note)
        if not _acts(decision, reviewed):
            report.notes.note(f"marks kept: {name}", _place(note))
            rest.append(note)
            continue
        kind = note.label or name
        if action == "drop":
            report.count(name, action, kind, _place(note))
            dropped = dropped or name
            continue
        span = _span(note, record, at)
        if span is None:
            report.notes.note(f"marks that cannot be masked, for they are on no text: {name}", _place(note))
            rest.append(note)
            continue
        report.count(name, action, kind, _place(note))
        masks.setdefault(span[0], []).append((span[1], span[2], placeholder(kind)))
    if dropped is not None:
        report.drop(dropped)
        return None
    changed = Record(dialogue, rest)
    return mask_record(changed, masks, report, uncounted=set()) if masks else changed


def _place(note: Annotation) -> str:
    return place_of(note.dialogue_id, TITLE if note.attributes.get("in") == "title" else note.position)


def _span(note: Annotation, record: Record, at: dict[int, int]) -> tuple[int, int, int] | None:
    """The index of the utterance (or ``TITLE``) and the span that a mark stands for; ``None`` for one on the whole dialogue."""
    title = record.dialogue.title
    if note.position is None:
        start, end = note.attributes.get("start"), note.attributes.get("end")
        if note.attributes.get("in") != "title" or title is None:
            return None
        return (TITLE, *_within(start, end, len(title)))
    if note.position not in at:
        return None
    index = at[note.position]
    return (index, *_within(note.start, note.end, len(record.dialogue.utterances[index].text)))


def _within(start: Any, end: Any, length: int) -> tuple[int, int]:
    """A span as it is, or the whole text where it is none that lies within."""
    if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= length:
        return start, end
    return 0, length


def apply_to_context(
    record: RankingRecord, action: _Action, filters: Collection[str], report: CleaningReport, *, reviewed: bool = False
) -> RankingRecord | None:
    """The same for a ranking set, where a mark may hold its reviews: ``"review": {"ann": "keep", "bob": "remove"}``."""
    context, identifier = record.context, record.context.id
    acted = _acted(context, filters, report, identifier, action, reviewed)
    if acted and action == "drop":
        report.drop(str(acted[0].get("filter")))
        return None
    if acted:
        context = _masked_context(_without(context, acted), acted, report)
    candidates: list[Candidate] = []
    for candidate in record.candidates:
        own = _acted(candidate, filters, report, f"{identifier}, candidate {candidate.position}", action, reviewed)
        if own and action == "drop":
            report.drop_candidates(str(own[0].get("filter")))
        elif own:
            changed = _without(candidate, own)
            candidates.append(replace(changed, text=_masked(changed.text, own, report)))
        else:
            candidates.append(candidate)
    if record.candidates and not candidates:
        without_candidates(identifier, report)
        return None
    return RankingRecord(context, renumbered(candidates))


def _acted(
    part: Context | Candidate,
    filters: Collection[str],
    report: CleaningReport,
    where: str,
    action: _Action,
    reviewed: bool,
) -> list[dict[str, Any]]:
    """The marks of a context or candidate that are acted upon, counted."""
    found: list[dict[str, Any]] = []
    marks = part.attributes.get(ATTRIBUTE)
    for mark in marks if isinstance(marks, list) else []:
        name = mark.get("filter") if isinstance(mark, dict) else None
        if not isinstance(name, str) or (filters and name not in filters):
            continue
        votes = mark.get("review")
        texts = [vote for vote in votes.values() if isinstance(vote, str)] if isinstance(votes, dict) else []
        if not _acts(majority(texts), reviewed):
            report.notes.note(f"marks kept: {name}", where)
        elif action == "mask" and isinstance(part, Context) and not isinstance(mark.get("turn"), int):
            report.notes.note(f"marks that cannot be masked, for they are on no text: {name}", where)
        else:
            report.count(name, action, str(mark.get("kind") or name), where)
            found.append(mark)
    return found


def _without(part: Any, acted: list[dict[str, Any]]) -> Any:
    rest = [mark for mark in part.attributes[ATTRIBUTE] if not any(mark is other for other in acted)]
    bare = replace(part, attributes={key: value for key, value in part.attributes.items() if key != ATTRIBUTE})
    return with_marks(bare, set(), rest)


def _masked_context(context: Context, acted: list[dict[str, Any]], report: CleaningReport) -> Context:
    turns = list(context.turns)
    for turn in sorted({mark["turn"] for mark in acted}):
        if 0 <= turn < len(turns):
            own = [mark for mark in acted if mark["turn"] == turn]
            turns[turn] = replace(turns[turn], text=_masked(turns[turn].text, own, report))
    return replace(context, turns=turns)


def _masked(text: str, marks: list[dict[str, Any]], report: CleaningReport) -> str:
    report.masked += len(marks)
    spans: list[_Span] = [
        (*_within(mark.get("start"), mark.get("end"), len(text)), placeholder(str(mark.get("kind") or mark["filter"])))
        for mark in marks
    ]
    return Masking(text, spans).text
