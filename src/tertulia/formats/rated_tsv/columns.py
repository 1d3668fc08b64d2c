"""Rated responses from any table with a header: which column is what, the user says (``--columns``)."""

from __future__ import annotations

import codecs
import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tertulia.corpus.exchange import Place, ReadOptions, Report, SeenTexts
from tertulia.corpus.model import Candidate, Context, RankingRecord, Rating, Turn
from tertulia.errors import ConfigurationError, InputError
from tertulia.formats.files.cells import number
from tertulia.formats.files.context_ids import ContextIds, split_of
from tertulia.formats.files.gathering import gathered
from tertulia.formats.files.lines import Lines
from tertulia.formats.files.sources import SourceFile
from tertulia.formats.ranking_tsv import alternating

__all__ = ["FIELDS", "read_columns"]

FIELDS = ("prompt", "response", "rating", "context", "id", "dialogue", "domain", "split", "source")
_DELIMITERS = (",", "\t", ";", "|")
_MOST_CANDIDATES = 100_000


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where a table has what: the index of each field's column, of each rating with its name, and of all others."""

    delimiter: str
    width: int
    index: dict[str, int]
    ratings: list[tuple[str, int]]
    others: list[tuple[str, int]]


class _Row(NamedTuple):
    """One row as it waits for others of its context."""

    turns: list[Turn]
    fields: dict[str, str | None]
    candidate: Candidate


def read_columns(
    files: Sequence[SourceFile], report: Report, options: ReadOptions, *, by_runs: bool
) -> Iterator[RankingRecord]:
    """The contexts of tables with a header; rows with the same turns (or the same ``id``) are one context.

    ``options.columns`` says which column is what of ``FIELDS``; ``rating=a+b`` names the columns of several annotators, whose mean
    is the relevance. ``context`` holds earlier turns, a line each, ``prompt`` the last one. A column that is not named becomes an
    attribute of the candidate. ``by_runs`` only brings together rows that follow each other.

    Raises
    ------
    ConfigurationError
        A field is not known, or one that is needed is not named.
    InputError
        A table has not the columns named, or a row does not hold.
    """
    unknown = sorted(options.columns.keys() - set(FIELDS))
    if unknown:
        raise ConfigurationError(f"--columns names {unknown[0]!r}; expected some of {', '.join(FIELDS)}")
    if "response" not in options.columns or not {"prompt", "context"} & options.columns.keys():
        raise ConfigurationError("--columns must name the column of the response and that of the prompt or the context")
    reader = _Reader(report, options)
    for file in files:
        yield from reader.contexts(file, by_runs)


class _Reader:
    def __init__(self, report: Report, options: ReadOptions) -> None:
        self._report = report
        self._options = options
        self._separator = options.values.get("turns") or "\n"
        self._ids = ContextIds()
        self._given_ids: set[str] = set()
        self._texts = SeenTexts()

    def contexts(self, file: SourceFile, by_runs: bool) -> Iterator[RankingRecord]:
        named = split_of(file.name)
        found = ((_key(row), [place, _to_json(row)]) for place, row in self._rows(file))
        for values in _runs(found) if by_runs else gathered(found, where=file.where):
            place = Place(*values[0][0])
            record = None
            with self._report.catching(self._options, place):
                record = self._record([_from_json(value) for _, value in values], named)
            if record is None:
                continue
            texts = [*record.context.texts, *(candidate.text for candidate in record.candidates)]
            if not self._report.is_duplicate(texts, self._texts, self._options, place.shown):
                yield record

    def _record(self, rows: list[_Row], named: str | None) -> RankingRecord:
        first = rows[0]
        if len(rows) > _MOST_CANDIDATES:
            raise InputError(f"a context has more than {_MOST_CANDIDATES:,} responses")
        for row in rows:
            if row.turns != first.turns:
                raise InputError(f"the id {first.fields['id']!r} stands with another prompt in a later row")
            if row.fields != first.fields:
                raise InputError("rows of the same id differ in dialogue, domain or split")
        split = first.fields["split"] or named
        identifier = first.fields["id"]
        if identifier is None:
            identifier = self._ids.next(split)
        elif identifier in self._given_ids:
            raise InputError(f"the id {identifier!r} stands again, apart; expected the rows of an id together")
        else:
            self._given_ids.add(identifier)
        context = Context(identifier, first.turns, first.fields["dialogue"], first.fields["domain"], split)
        for position, row in enumerate(rows):
            row.candidate.position = position
        return RankingRecord(context, [row.candidate for row in rows])

    def _rows(self, file: SourceFile) -> Iterator[tuple[Place, _Row]]:
        """The rows of one table, checked."""
        with file.open(self._options) as stream:
            lines = Lines(stream)
            text = _Decoded(lines)
            columns = _columns(_header(text, file), self._options, file)
            reader = csv.reader(text, delimiter=columns.delimiter, strict=True)
            while True:
                place = file.place(lines.number + 1)
                cells, problem = _next(reader)
                if cells is None and problem is None:
                    return
                row: _Row | None = None
                with self._report.catching(self._options, place):
                    if problem is not None:
                        raise problem
                    if cells:
                        row = self._row(cells, columns, place)
                if row is not None:
                    yield place, row

    def _row(self, cells: list[str], columns: _Columns, place: Place) -> _Row:
        if len(cells) != columns.width:
            raise InputError(f"the row has {len(cells)} fields; the header names {columns.width}")
        if any(_has_surrogates(cell) for cell in cells):
            raise InputError("the row is not UTF-8")
        texts = []
        if "context" in columns.index:
            parts = cells[columns.index["context"]].split(self._separator)
            texts = [part.strip() for part in parts if part.strip()]
        if "prompt" in columns.index:
            texts.append(cells[columns.index["prompt"]])
        if not texts:
            raise InputError("the context is empty; expected at least one turn")
        fields = {
            name: (cells[columns.index[name]] or None) if name in columns.index else None
            for name in ("id", "dialogue", "domain", "split")
        }
        if "id" in columns.index and fields["id"] is None:
            raise InputError(f"the row has no {self._options.columns['id']}")
        candidate = Candidate(
            0,
            cells[columns.index["response"]],
            source=(cells[columns.index["source"]] or None) if "source" in columns.index else None,
            attributes={name: cells[index] for name, index in columns.others if cells[index]},
        )
        values = [(name, number(cells[i], name)) for name, i in columns.ratings if cells[i].strip()]
        if values:
            candidate.relevance = sum(value for _, value in values) / len(values)
        elif columns.ratings:
            self._report.note("rows without a rating", place.shown)
        if len(columns.ratings) > 1:
            candidate.ratings = [Rating(name, value) for name, value in values]
        return _Row(alternating(texts), fields, candidate)


class _Decoded:
    """The lines as text; bytes that are not UTF-8 come through as lone surrogates, so that the row that holds them is named.

    Unlike a generator it goes on after a line that is too long.
    """

    def __init__(self, lines: Lines[bytes]) -> None:
        self._lines = lines

    def __iter__(self) -> _Decoded:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if self._lines.number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        return line.decode(errors="surrogateescape")


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _header(text: _Decoded, file: SourceFile) -> str:
    try:
        header = next(text, "")
        if _has_surrogates(header):
            raise InputError("the header is not UTF-8")
        return header
    except InputError as error:
        raise InputError(error.message, where=error.where or file.place(1).full) from None


def _next(reader: Iterator[list[str]]) -> tuple[list[str] | None, InputError | None]:
    """The cells of the next row, or what is wrong with it; neither after the last."""
    try:
        return next(reader, None), None
    except csv.Error as error:
        ended = "end of data" in str(error)
        return None, InputError("ends in the middle of a row" if ended else f"is not CSV: {error}")
    except InputError as error:
        # A line that is too long; damage of the file itself has named its place and cannot be passed over.
        if error.where is not None:
            raise
        return None, error


def _columns(header: str, options: ReadOptions, file: SourceFile) -> _Columns:
    """Where the table has what. The delimiter is the one by which the header has the columns that are named."""
    best: tuple[int, str, list[str]] = (0, ",", [])
    for delimiter in _DELIMITERS:
        try:
            names = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        wanted = sum(column in names for column in options.columns.values())
        if (wanted, len(names)) > (best[0], len(best[2])):
            best = (wanted, delimiter, names)
    _, delimiter, names = best
    where = file.place(1).full
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"has two columns {twice[0]!r}; expected every name once", where=where)
    place = {name: index for index, name in enumerate(names)}
    ratings: list[tuple[str, int]] = []
    index = {}
    for field, column in options.columns.items():
        wanted_names = [column] if field != "rating" or column in place else column.split("+")
        for name in wanted_names:
            if name not in place:
                shown = ", ".join(repr(name) for name in names[:20]) or "nothing"
                raise InputError(f"has no column {name!r}; its header names {shown}", where=where)
            if field == "rating":
                ratings.append((name, place[name]))
            else:
                index[field] = place[name]
    used = {*index.values(), *(at for _, at in ratings)}
    others = [(name or f"column {at + 1}", at) for name, at in place.items() if at not in used]
    return _Columns(delimiter, len(names), index, ratings, others)


def _key(row: _Row) -> str:
    identifier = row.fields["id"]
    return json.dumps([identifier] if identifier is not None else [row.fields, [turn.text for turn in row.turns]])


def _runs(pairs: Iterator[tuple[str, Any]]) -> Iterator[list[Any]]:
    key: str | None = None
    values: list[Any] = []
    for current, value in pairs:
        if current != key and values:
            yield values
            values = []
        key = current
        values.append(value)
    if values:
        yield values


def _to_json(row: _Row) -> list[Any]:
    c = row.candidate
    ratings = [[rating.annotator, rating.value] for rating in c.ratings]
    return [[turn.text for turn in row.turns], row.fields, [c.text, c.relevance, ratings, c.source, c.attributes]]


def _from_json(value: list[Any]) -> _Row:
    texts, fields, (text, relevance, ratings, source, attributes) = value
    candidate = Candidate(0, text, relevance, [Rating(*rating) for rating in ratings], source, attributes)
    return _Row(alternating(texts), fields, candidate)
