"""Rated responses as lines: which of the forms a set takes, and each candidate in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tertulia.corpus.exchange import Report
from tertulia.corpus.model import Candidate, Context, RankingRecord
from tertulia.errors import InputError
from tertulia.formats.files.cells import escape, number, spelled
from tertulia.formats.files.context_ids import ContextIds
from tertulia.formats.files.split_writing import SplitFiles

__all__ = ["write_rated"]

_MARKS = {"byte_order_mark", "crlf", "unterminated"}


@dataclass(frozen=True, slots=True)
class _Form:
    """The cells of a line after the prompt: a response or none, and a mean (``annotators`` is ``None``) or a rating of each."""

    response: bool
    rated: bool
    annotators: int | None

    @staticmethod
    def of(candidate: Candidate) -> _Form:
        """The form that fits a set whose first candidate this is."""
        written = candidate.attributes.get("written")
        if candidate.ratings or isinstance(written, list):
            width = max(len(candidate.ratings), len(written) if isinstance(written, list) else 0, 2)
            return _Form(True, True, width)
        if candidate.relevance is not None or isinstance(written, str):
            return _Form(True, True, None)
        return _Form(bool(candidate.text), False, None)


def write_rated(records: Iterator[RankingRecord], path: str, report: Report) -> None:
    """Write one file, or a folder of one file a split where contexts have splits.

    Raises
    ------
    InputError
        A context has not exactly one turn, or a candidate does not fit the form that the first one sets.
    """
    folder = Path(path)
    with SplitFiles(folder, report) as files:
        writer = _Writer(files, report)
        for record in records:
            writer.write(record)
        writer.close()
        single = files.single(".tsv")
    if single is not None:
        aside = folder.with_name(folder.name + ".file")
        os.replace(single, aside)
        folder.rmdir()
        os.replace(aside, folder)


class _Writer:
    def __init__(self, files: SplitFiles, report: Report) -> None:
        self._files = files
        self._report = report
        self._ids = ContextIds()
        self._form: _Form | None = None
        # Of each split how its lines end, the prompt of the context before, and whether a line waits for its end.
        self._ends: dict[str | None, str] = {}
        self._prompts: dict[str | None, str] = {}
        self._waiting: dict[str | None, bool] = {}

    def write(self, record: RankingRecord) -> None:
        context = record.context
        if len(context.turns) != 1:
            raise InputError(
                f"context {context.id!r} has {len(context.turns)} turns; this format holds prompts of one turn"
            )
        for what, count in _losses(record).items():
            self._report.skip(f"{what}, which this format does not hold", context.id, count)
        if not record.candidates:
            return
        split, prompt = context.split, context.turns[0].text
        if context.id != self._ids.next(split):
            self._report.skip("ids of contexts, which are numbered when they are read", context.id)
        if self._prompts.get(split) == prompt:
            self._report.note("prompts that equal the one before and will be read as one with it", context.id)
        file = self._files.get(split, ".tsv")
        if split not in self._prompts:
            self._ends[split] = "\r\n" if context.attributes.get("crlf") is True else "\n"
            file.write("\ufeff" if context.attributes.get("byte_order_mark") is True else "")
        self._prompts[split] = prompt
        end = self._ends[split]
        for candidate in record.candidates:
            before = end if self._waiting.get(split) else ""
            file.write(before + "\t".join([escape(prompt), *self._cells(candidate, context)]))
            self._waiting[split] = True
        # The last line of a file may have no end, which is known when the next line comes or none does.
        if context.attributes.get("unterminated") is not True:
            file.write(end)
            self._waiting[split] = False

    def close(self) -> None:
        """A set without any context is an empty file."""
        if not self._prompts:
            self._files.get(None, ".tsv")

    def _cells(self, candidate: Candidate, context: Context) -> list[str]:
        if self._form is None:
            self._form = _Form.of(candidate)
        form = self._form
        if not form.response:
            if candidate.text or candidate.relevance is not None or candidate.ratings:
                raise self._unlike(candidate, context, "the first has neither text nor rating")
            return []
        if not form.rated:
            if candidate.relevance is not None or candidate.ratings:
                raise self._unlike(candidate, context, "the first has no rating")
            return [escape(candidate.text)]
        if form.annotators is None:
            if candidate.ratings:
                what = "ratings by annotators beside the mean, which this form does not hold"
                self._report.skip(what, context.id, len(candidate.ratings))
            return [escape(candidate.text), _spelled(candidate.relevance, candidate.attributes.get("written"), repr)]
        return [escape(candidate.text), *self._ratings(candidate, context, form.annotators)]

    def _ratings(self, candidate: Candidate, context: Context, width: int) -> list[str]:
        ratings = candidate.ratings
        if len(ratings) > width:
            raise self._unlike(candidate, context, f"has {len(ratings)} ratings; the first has {width}")
        columns = {str(n): n - 1 for n in range(1, width + 1)}
        names = [rating.annotator for rating in ratings]
        if not set(names) <= columns.keys() or len(set(names)) < len(names):
            # People rated some pairs each: their ratings stand side by side, their names have no place.
            self._report.skip("names of annotators, which this format does not hold", context.id, len(names))
            columns = {}
        mean = sum(rating.value for rating in ratings) / len(ratings) if ratings else None
        if candidate.relevance != mean:
            self._report.skip("relevances that are not the mean of the ratings", context.id)
        values: list[float | None] = [None] * width
        for index, rating in enumerate(ratings):
            values[columns.get(rating.annotator, index)] = rating.value
        written = candidate.attributes.get("written")
        spellings = written if isinstance(written, list) and len(written) == width else [None] * width
        return [_spelled(value, cell, spelled) for value, cell in zip(values, spellings, strict=True)]

    def _unlike(self, candidate: Candidate, context: Context, why: str) -> InputError:
        return InputError(
            f"candidate {candidate.position} of context {context.id!r} does not fit the form of the set: {why}"
        )


def _spelled(value: float | None, written: object, canonical: Callable[[float], str]) -> str:
    """A number as it was written, if that is kept and means the same, else in its usual spelling."""
    if isinstance(written, str) and not set(written) & {"\t", "\n", "\r"}:
        try:
            if (number(written, "rating") if written.strip() else None) == value:
                return written
        except InputError:
            pass
    return "" if value is None else canonical(value)


def _losses(record: RankingRecord) -> dict[str, int]:
    """What of a record the format has no place for, and how many of each."""
    context, candidates = record.context, record.candidates
    return {
        "contexts without candidates": int(not candidates),
        "roles other than the user's": sum(turn.role != "user" for turn in context.turns),
        "domains": int(context.domain is not None),
        "ids of dialogues": int(context.dialogue_id is not None),
        "attributes of contexts": len(context.attributes.keys() - _MARKS),
        "sources of candidates": sum(candidate.source is not None for candidate in candidates),
        "attributes of candidates": sum(len(c.attributes.keys() - {"written"}) for c in candidates),
    }
