"""Cleaning one context of a ranking set with its candidates.

A ranking set has no annotations: a mark stands in ``attributes.clean`` of the context or the candidate, a list of objects with
``filter``, ``kind``, ``start``, ``end``, ``value`` and, in a context, ``turn``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tertulia.corpus.cleaning.filter import Filter, Hit
from tertulia.corpus.cleaning.masking import Masking, placeholder
from tertulia.corpus.cleaning.plan import Step
from tertulia.corpus.cleaning.report import CleaningReport
from tertulia.corpus.model import Candidate, Context, RankingRecord

__all__ = ["ATTRIBUTE", "clean_context", "renumbered", "with_marks", "without_candidates"]

ATTRIBUTE = "clean"


def clean_context(
    record: RankingRecord, number: int, steps: Sequence[Step], report: CleaningReport
) -> RankingRecord | None:
    """The record after the filters, or ``None`` where its context is dropped or no candidate is left.

    What is found in the context drops all of it, what is found in a candidate that candidate. Marks of an earlier run of the same
    filters are replaced.
    """
    names = {step.filter.name for step in steps}
    context = with_marks(record.context, names, [])
    candidates = [with_marks(candidate, names, []) for candidate in record.candidates]
    identifier, texts = context.id, context.texts
    for step in steps:
        name, action = step.filter.name, step.action
        hits = list(_hits(step.filter, number, identifier, texts))
        for turn, hit in hits:
            report.count(name, action, hit.kind, identifier if turn is None else f"{identifier}, turn {turn}")
        if hits and action == "drop":
            report.drop(name)
            return None
        if hits and action == "mark":
            context = with_marks(context, set(), [_mark(name, hit, turn) for turn, hit in hits])
        elif hits and action == "mask":
            context = _mask_turns(context, hits, report)
        if not step.filter.prompts_only:
            candidates = list(_clean_candidates(candidates, step, identifier, report))
        if record.candidates and not candidates:
            without_candidates(identifier, report)
            return None
    return RankingRecord(context, renumbered(candidates))


def renumbered(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with positions from 0."""
    return [
        candidate if candidate.position == position else replace(candidate, position=position)
        for position, candidate in enumerate(candidates)
    ]


def without_candidates(identifier: str, report: CleaningReport) -> None:
    """A context has lost its last candidate, and is left out."""
    report.notes.note("contexts left out for want of a candidate", identifier)


def _hits(filter_: Filter, number: int, identifier: str, texts: Sequence[str]) -> Iterator[tuple[int | None, Hit]]:
    for hit in filter_.in_prompt(number, identifier, texts):
        yield None, hit
    # What is asked is asked in the last turn.
    first = max(0, len(texts) - 1) if filter_.prompts_only else 0
    for turn in range(first, len(texts)):
        for hit in filter_.in_text(texts[turn]):
            yield turn, hit


def _clean_candidates(
    candidates: Sequence[Candidate], step: Step, identifier: str, report: CleaningReport
) -> Iterator[Candidate]:
    name, action = step.filter.name, step.action
    for candidate in candidates:
        hits = step.filter.in_text(candidate.text)
        for hit in hits:
            report.count(name, action, hit.kind, f"{identifier}, candidate {candidate.position}")
        if not hits:
            yield candidate
        elif action == "drop":
            report.drop_candidates(name)
        elif action == "mark":
            yield with_marks(candidate, set(), [_mark(name, hit) for hit in hits])
        else:
            masking = Masking(candidate.text, _spans(candidate.text, hits))
            report.masked += len(hits)
            yield replace(candidate, text=masking.text, attributes=_moved(candidate.attributes, masking, None))


def _mask_turns(context: Context, hits: Sequence[tuple[int | None, Hit]], report: CleaningReport) -> Context:
    turns, attributes = list(context.turns), context.attributes
    for turn in sorted({turn for turn, _ in hits if turn is not None}):
        own = [hit for where, hit in hits if where == turn]
        masking = Masking(turns[turn].text, _spans(turns[turn].text, own))
        turns[turn] = replace(turns[turn], text=masking.text)
        attributes = _moved(attributes, masking, turn)
        report.masked += len(own)
    return replace(context, turns=turns, attributes=attributes)


def _spans(text: str, hits: Sequence[Hit]) -> list[tuple[int, int, str]]:
    return [(hit.start or 0, len(text) if hit.end is None else hit.end, placeholder(hit.kind)) for hit in hits]


def _moved(attributes: Mapping[str, Any], masking: Masking, turn: int | None) -> dict[str, Any]:
    """The attributes with the spans of the marks on a masked text where they are now."""
    marks = attributes.get(ATTRIBUTE)
    if not isinstance(marks, list):
        return dict(attributes)
    moved: list[Any] = []
    for mark in marks:
        start, end = (mark.get("start"), mark.get("end")) if isinstance(mark, dict) else (None, None)
        if isinstance(start, int) and isinstance(end, int) and mark.get("turn") == turn:
            now = masking.move(start, end)
            moved.append({**mark, "start": now.start, "end": now.end})
        else:
            moved.append(mark)
    return {**attributes, ATTRIBUTE: moved}


def _mark(name: str, hit: Hit, turn: int | None = None) -> dict[str, Any]:
    values = {"turn": turn, "start": hit.start, "end": hit.end, "value": hit.value, **hit.attributes}
    return {"filter": name, "kind": hit.kind} | {key: value for key, value in values.items() if value is not None}


def with_marks(part: Any, without: set[str], marks: Sequence[dict[str, Any]]) -> Any:
    """A context or candidate with these marks added and those of the filters ``without`` taken away."""
    before = part.attributes.get(ATTRIBUTE, [])
    if not isinstance(before, list):
        # Somebody else's attribute of that name: it is not ours to change, and our marks have no other place.
        before = []
    kept = [mark for mark in before if not (isinstance(mark, dict) and mark.get("filter") in without)]
    after = [*kept, *marks]
    if after == before:
        return part
    attributes = {key: value for key, value in part.attributes.items() if key != ATTRIBUTE}
    return replace(part, attributes=attributes | {ATTRIBUTE: after} if after else attributes)
